"""Relations of schema ``meta``: what the lake holds and what happened to it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.backends.duckdb.scan import visible_schema
from counterbalance.engine.catalog import access, definitions, meta, runs
from counterbalance.engine.catalog import closed as closing
from counterbalance.engine.functions import function_list
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.search import DOCS as SEARCHES
from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.sql import queries
from counterbalance.engine.store import cleaning, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterbalance.engine.catalog.closed import Closed
    from counterbalance.engine.store.location import Location

_COUNTS: Final = ("rows_read", "written", "updated", "unchanged", "rejected")
DOCS: Final = {
    "tables": "tables of the lake: rows, pinned version, bytes",
    "columns": "columns with type and meaning; of a generated one, its expression",
    "views": "materialized views: their SELECT, key and schedule",
    "indexes": "indexes: table, column, kind and options, schedule",
    "lineage": "what reads what, column by column, and which recipe declared it",
    "runs": "what was run, one row a run",
    "errors": "rows and items that were refused, with the reason",
    "tags": "named versions",
    "queries": "audits and views with their parameters",
    "functions": "functions callable in any query, and those that stand in FROM",
}


def relation(
    location: Location, name: str, versions: Mapping[str, int], closed: Closed, *, sensitive: bool = False
) -> pa.Table | None:
    """Return a relation of the schema, or ``None``.

    Args:
        location: The lake.
        name: Which.
        versions: Of its tables, as they are read.
        closed: What is closed at these.
        sensitive: Tell keys of closed rows that failed, and how many rows and bytes are closed; else that is NULL.
    """
    makers: dict[str, Callable[[], pa.Table]] = {
        "tables": lambda: _tables(location, versions, closing.Closed() if sensitive else closed),
        "columns": lambda: _columns(location, versions),
        "runs": lambda: _runs(location, None if sensitive else closing.ever(location)),
        "errors": lambda: _errors(location, None if sensitive else closed),
        "tags": lambda: _tags(location, None if sensitive else closing.ever(location)),
        "views": lambda: definitions.relation(location, "view"),
        "indexes": lambda: definitions.relation(location, "index"),
        "lineage": lambda: _lineage(location),
        "queries": _queries,
        "functions": _functions,
        "access": lambda: access.read(location),
    }
    return makers[name]() if name in makers else None


def _tables(location: Location, versions: Mapping[str, int], closed: Closed) -> pa.Table:
    """Return every table; ``closed`` is what is not told of: rows and versions of views, bytes of these and of tables with closed columns."""
    rows = []
    docs = dict.fromkeys(definitions.load(location).views(), "materialized view")
    docs |= {name: table.doc for name, table in BASE_TABLES.items()}
    for name in sorted({*BASE_TABLES, *(v for v in versions if "/" not in v)}):
        dataset = tables.open_table(location, name, versions[name]) if name in versions else None
        is_closed = name in closed.views
        size = 0 if dataset is None else sum(cleaning.sizes(location, name, dataset).values())
        rows.append(
            {
                "name": name,
                "rows": None if is_closed else 0 if dataset is None else dataset.count_rows(),
                "version": None if is_closed else versions.get(name),
                "bytes": None if is_closed or closed.hidden(name) else size,
                "doc": docs.get(name, "made by another tool"),
            }
        )
    fields = [
        ("name", pa.string()),
        ("rows", pa.int64()),
        ("version", pa.int64()),
        ("bytes", pa.int64()),
        ("doc", pa.string()),
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


def _columns(location: Location, versions: Mapping[str, int]) -> pa.Table:
    declared = definitions.load(location)
    rows = []
    for name, table in BASE_TABLES.items():
        for column in table.columns:
            kind = str(column.type or pa.binary())
            rows.append({"table_name": name, "column_name": column.name, "type": kind, "doc": column.doc})
    for name in sorted({*(v for v in versions if "/" not in v), *BASE_TABLES, *declared.views()}):
        dataset = tables.open_table(location, name, versions[name]) if name in versions else None
        generated = declared.columns(name)
        known = {} if dataset is None else {f.name: str(f.type) for f in visible_schema(dataset, pictures=True)}
        names = [n for n in known if n in generated or name not in BASE_TABLES]
        names += [n for n in generated if n not in known]  # declared, and not computed yet
        rows += [
            {
                "table_name": name,
                "column_name": column,
                "type": known.get(column) or generated[column].type or "",
                "doc": f"AS ({generated[column].sql})" if column in generated else "",
            }
            for column in names
        ]
    return pa.Table.from_pylist(
        rows, schema=pa.schema([(c, pa.string()) for c in ("table_name", "column_name", "type", "doc")])
    )


def _runs(location: Location, untold: frozenset[str] | None) -> pa.Table:
    """Return every run once: its closing row, or its opening one while it runs or after it was killed.

    Of closed targets, ``untold``, no counts, no versions of any table, for a refresh that changed nothing notes none, and not
    whether a refresh that computed them changed anything.
    """
    rows = meta.read(location, "runs", where=f"kind <> '{access.NOTE}'").drop_columns(["access"])
    last = {run: number for number, run in enumerate(rows["run_id"].to_pylist())}
    chosen = rows.take(pa.array(sorted(last.values()), pa.int64()))
    for name in ("versions", "versions_in"):
        chosen = chosen.set_column(chosen.column_names.index(name), name, _as_json(chosen[name], untold))
    if untold is not None:
        made = [
            row and [v for v in row if closing.told({v["table"]: 0}, untold)]
            for row in chosen["versions_out"].to_pylist()
        ]
        kept = pa.array(made, chosen.schema.field("versions_out").type)
        chosen = chosen.set_column(chosen.column_names.index("versions_out"), "versions_out", kept)
    hidden = pc.is_in(chosen["target"], pa.array(sorted(untold or ()), pa.string()))
    details = [None if text is None else closing.without_counts(text) for text in chosen["details"].to_pylist()]
    instead: dict[str, Any] = {name: pa.scalar(None, pa.int64()) for name in _COUNTS}
    instead |= dict.fromkeys(("versions", "versions_in"), pa.scalar("{}"))
    instead["versions_out"] = pa.scalar(None, chosen.schema.field("versions_out").type)
    modes = pc.replace_substring_regex(chosen["mode"].combine_chunks(), "^(no_op|rebuild)$", "incremental")
    for name, value in {**instead, "details": pa.array(details, pa.string()), "mode": modes}.items():
        chosen = chosen.set_column(
            chosen.column_names.index(name), name, pc.if_else(hidden, value, chosen[name].combine_chunks())
        )
    return chosen


def _errors(location: Location, hidden: Closed | None) -> pa.Table:
    """Return refused items and failed rows.

    Args:
        location: The lake.
        hidden: What is closed to the session. Which rows of a closed view there are, or for which a column fails that is
            computed of closed ones, would tell labels: each code of these is one row, without a key. Keys of others are told
            where they are numbers, for a text may be a label.
    """
    failed = meta.read(location, "errors", closed=True)
    if hidden is not None and len(failed):
        declared = definitions.load(location).by_target
        ever = closing.ever(location)

        def tells(table: str, column: str | None) -> bool:
            definition = declared.get(f"{table}.{column}")
            read = frozenset() if definition is None else {c for r, c in definition.reads if r == table}
            return table in hidden.views or table in ever or not read.isdisjoint(hidden.hidden(table))

        pairs = zip(failed["table_name"].to_pylist(), failed["column_name"].to_pylist(), strict=True)
        mask = pa.array([tells(*pair) for pair in pairs], pa.bool_())
        number = pc.match_substring_regex(failed["key"], r"^-?\d+$")
        shown = pc.if_else(number, failed["key"], pa.scalar(None, pa.string()))
        failed = failed.set_column(failed.column_names.index("key"), "key", shown)
        failed = pa.concat_tables([failed.filter(pc.invert(mask)), _kinds(failed.filter(mask))])
    return pa.concat_tables([meta.read(location, "errors"), failed])


def _kinds(failed: pa.Table) -> pa.Table:
    """Return one row for every code of a column, and nothing of single rows."""
    found = {(row["table_name"], row["column_name"], row["code"]): row for row in failed.to_pylist()}
    unsaid = {"error_id": 0, "key": None, "source": None, "position": None, "attempts": None}
    return pa.Table.from_pylist([{**row, **unsaid} for row in found.values()], schema=failed.schema)


def _as_json(versions: pa.ChunkedArray, untold: frozenset[str] | None) -> pa.Array:
    named = map(runs.by_table, versions.to_pylist())
    return pa.array([json.dumps(row if untold is None else closing.told(row, untold)) for row in named], pa.string())


def _tags(location: Location, untold: frozenset[str] | None) -> pa.Table:
    rows = meta.read(location, "tags")
    return rows.set_column(rows.column_names.index("versions"), "versions", _as_json(rows["versions"], untold))


def _lineage(location: Location) -> pa.Table:
    """Return what every declared thing reads itself, a row a column; NULL for a whole relation."""
    rows = [
        {
            "target": d.target,
            "kind": d.kind,
            "relation": r,
            "column_name": None if c in {"", "*"} else c,
            "sql": d.sql,
            "recipe": d.recipe,
        }
        for d in definitions.load(location).order()
        for r, c in sorted(d.reads)
    ]
    names = ("target", "kind", "relation", "column_name", "sql", "recipe")
    return pa.Table.from_pylist(rows, schema=pa.schema([(n, pa.string()) for n in names]))


def _queries() -> pa.Table:
    rows = [
        {"name": q.name, "kind": q.kind, "doc": q.doc, "signature": q.signature, "source": q.source}
        for q in queries.sound()
    ]
    names = ("name", "kind", "doc", "signature", "source")
    return pa.Table.from_pylist(rows, schema=pa.schema([(n, pa.string()) for n in names]))


CALLABLE: Final = pa.schema(
    [(n, pa.string()) for n in ("name", "kind", "signature", "returns", "version", "device", "memory", "doc")]
)


def callables() -> list[dict[str, str | None]]:
    """Return functions of single rows, in Python and in SQL, then those that return rows: the columns of ``CALLABLE``.

    Example:
        >>> [row["kind"] for row in callables() if row["name"] == "top_k"]
        ['table function']
    """
    rows: list[dict[str, str | None]] = [{"kind": "function", **asdict(f)} for f in function_list()]
    rows += [
        {
            "name": f.name,
            "kind": "SQL function",
            "signature": f.signature,
            "returns": f.returns,
            "version": None,
            "device": None,
            "memory": None,
            "doc": f.doc,
        }
        for f in queries.sql_functions().values()
    ]
    for name, parameters in SIGNATURES.items():
        parts = [p.name if p.default is None else f"{p.name} := {p.default}" for p in parameters]
        rows.append(
            {
                "name": name,
                "kind": "table function",
                "signature": f"{name}({', '.join(parts)})",
                "returns": "rows",
                "version": None,
                "device": None,
                "memory": None,
                "doc": SEARCHES[name],
            }
        )
    return rows


def _functions() -> pa.Table:
    return pa.Table.from_pylist(callables(), schema=CALLABLE)


def sensitive_attributes(codes: Mapping[tuple[str, str], Any]) -> frozenset[str]:
    """Return attributes that labels of this lake keep apart."""
    values = codes.get(("sensitive/labels", "attribute"), [])
    return frozenset(v.lower() for v in values if v is not None)
