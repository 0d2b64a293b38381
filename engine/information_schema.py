"""What can be named in a lake, for listings, completion and suggestions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa

from counterbalance.engine import lists
from counterbalance.engine.backends.duckdb.scan import visible_schema
from counterbalance.engine.catalog import system
from counterbalance.engine.functions import function_list
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.search import DOCS, SIGNATURES
from counterbalance.engine.sql import queries
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from counterbalance.engine.catalog.pinned import Pinned


STORED: Final = frozenset({"table", "materialized view"})
"""Kinds of relations that hold rows of the lake's own."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Something a query can name."""

    schema: str | None
    name: str
    kind: Literal["table", "materialized view", "view", "audit", "recipe", "meta", "list", "function", "table function"]
    doc: str
    columns: tuple[tuple[str, str], ...] = ()
    signature: str = ""


def relations(lake: Pinned, *, sensitive: bool) -> list[Relation]:
    """Return everything a query can name, with columns where they are known without running anything."""
    found = [_stored(lake, n, c) for n, c in stored_columns(lake, sensitive=sensitive).items()]
    found += [Relation(None, q.name, q.kind, q.doc, (), q.signature) for q in queries.sound()]
    for name, doc in DOCS.items():
        found.append(
            Relation(None, name, "table function", doc, (), f"{name}({', '.join(p.name for p in SIGNATURES[name])})")
        )
    found += [Relation("meta", name, "meta", doc) for name, doc in system.DOCS.items()]
    found += [Relation("lists", name, "list", "word list") for name in lists.names()]
    found += [Relation(None, f.name, "function", f.doc, (), f.signature) for f in function_list()]
    found += [Relation(None, f.name, "function", f.doc, (), f.signature) for f in queries.sql_functions().values()]
    return found


def _stored(lake: Pinned, name: str, columns: tuple[tuple[str, str], ...]) -> Relation:
    if name in BASE_TABLES:
        return Relation(None, name, "table", BASE_TABLES[name].doc, columns)
    if name not in lake.declared.views():
        return Relation(None, name, "table", "made by another tool", columns)
    computed = name in lake.snapshot.versions
    return Relation(None, name, "materialized view", "" if computed else f"not computed yet: REFRESH {name}", columns)


def stored_columns(lake: Pinned, *, sensitive: bool) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return name and type of every visible column by stored table."""
    stored = (v for v in lake.snapshot.versions if "/" not in v)
    found = {}
    for name in sorted({*BASE_TABLES, *stored, *lake.declared.views()}):
        version = lake.snapshot.versions.get(name)
        dataset = None if version is None else tables.open_table(lake.location, name, version)
        if dataset is not None:
            hidden = frozenset() if sensitive else lake.closed.hidden(name)
            schema = visible_schema(dataset, hidden, pictures=True)
        elif name in BASE_TABLES:
            schema = BASE_TABLES[name].schema(blobs=True)
        else:
            schema = pa.schema([])
        found[name] = tuple((f.name, str(f.type)) for f in schema)
    return found


def listed(found: list[Relation], *, all_: bool) -> pa.Table:
    """Return relations as a table, for SHOW TABLES: those with rows of the lake's own, or all of them."""
    rows = [
        {"name": r.name if r.schema is None else f"{r.schema}.{r.name}", "kind": r.kind, "doc": r.doc}
        for r in found
        if r.kind in STORED or (all_ and r.kind != "function")
    ]
    return pa.Table.from_pylist(rows)
