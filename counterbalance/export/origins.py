"""Trace where the rows of an export come from: relations with versions, views with their SQL, functions with models and weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from counterbalance.engine.catalog import definitions as declared
from counterbalance.engine.catalog.definitions import Definition
from counterbalance.engine.errors import CounterbalanceError, first_line
from counterbalance.engine.refresh.fingerprint import Fingerprints
from counterbalance.engine.schema import BASE_TABLES, is_sensitive
from counterbalance.engine.sql import parse
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterbalance.engine.catalog.definitions import Definitions
    from counterbalance.engine.session import Session
    from counterbalance.engine.store.location import Location

GENERATIVE: Final = frozenset({"instruct_pix2pix", "inpaint", "generate", "prompt_to_prompt", "swap_face"})
"""Functions whose pictures no camera took."""


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """A Python function that had a part in the rows.

    Args:
        name: In SQL.
        version: Its declared version.
        constants: Such as the name of a model.
        weights: Digest of what it loaded; empty without any.
        target: What it is called by.
    """

    name: str
    version: str
    constants: Mapping[str, Any]
    weights: str
    target: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Describe what rows are made of.

    Args:
        queries: The SQL of the export.
        tables: Base tables and views that are read, directly or through others: version and rows by name; those of
            closed ones with a purpose only.
        steps: Declared views and columns, each after what it reads.
        calls: Functions by step.
        lists: Word lists with digests of their words.
        sensitive: Relations, columns and attributes that need a purpose.
        notes: What could not be told.
    """

    queries: list[str]
    tables: dict[str, tuple[int | None, int | None]]
    steps: list[Definition]
    calls: list[FunctionUse]
    lists: dict[str, str]
    sensitive: list[str]
    notes: list[str] = field(default_factory=list)

    @property
    def makers(self) -> list[str]:
        """Return functions that had a part in it and make or edit pictures."""
        return sorted({c.name for c in self.calls} & GENERATIVE)

    @property
    def is_synthetic(self) -> bool:
        """Return whether pictures may be the work of such a function."""
        return bool(self.makers)


def trace(location: Location, session: Session, queries: Sequence[str]) -> Origin:
    """Follow the rows of queries back to the base tables.

    Args:
        location: The lake.
        session: Whose pinned versions are read.
        queries: What is asked.
    """
    known = declared.load(location)
    read = _read(session, queries)
    steps = _steps(known, read, " ".join(queries))
    relations = {*read, *(d.table for d in steps), *(r for d in steps for r, _ in d.reads)}
    versions = {r: v for r, v in session.pinned.items() if r in relations}
    untold = frozenset(versions) - session.versions.keys()
    found = Origin(
        list(queries), _sizes(location, versions, untold), steps, [], {}, _sensitive(session, known, relations, steps)
    )
    prints = Fingerprints(location, known, session.expand)
    whole = [Definition("view", "export", f"query {n}", q) for n, q in enumerate(queries, 1)]
    for definition in [*steps, *whole]:
        _take(prints, definition, found)
    return found


def _read(session: Session, queries: Sequence[str]) -> set[str]:
    """Return relations that stand in the expanded queries."""
    found: set[str] = set()
    for query in queries:
        for text in (query, session.expand(query)):
            tree = parse.parse(text).tree
            own = {c.alias_or_name.lower() for c in tree.find_all(exp.CTE)}
            found |= {t.name.lower() for t in tree.find_all(exp.Table) if not t.db} - own
    return found


def _steps(known: Definitions, read: set[str], text: str) -> list[Definition]:
    """Return views that are read and columns that are named, with everything they stand on."""
    wanted = [v for name, v in known.views().items() if name in read]
    lower = text.lower()
    for name in read:
        wanted += [c for c in known.columns(name).values() if "*" in text or c.name.lower() in lower]
    reached: dict[str, Definition] = {}
    while wanted:
        definition = wanted.pop()
        if definition.target not in reached:
            reached[definition.target] = definition
            wanted += known.upstream(definition)
    return [d for d in known.order() if d.target in reached]


def _sizes(
    location: Location, versions: Mapping[str, int], untold: frozenset[str]
) -> dict[str, tuple[int | None, int | None]]:
    found: dict[str, tuple[int | None, int | None]] = {}
    for name, version in sorted(versions.items(), key=lambda v: (v[0] not in BASE_TABLES, v[0])):
        dataset = tables.open_table(location, name, version)
        rows = 0 if dataset is None else int(dataset.count_rows())
        found[name] = (None, None) if name in untold else (version, rows)
    return found


def _sensitive(session: Session, known: Definitions, relations: set[str], steps: Sequence[Definition]) -> list[str]:
    found = {d.target for d in steps if d.sensitive}
    found |= {c.target for r in relations for c in known.columns(r).values() if c.sensitive and session.sensitive}
    if "labels" in relations:
        found |= {f"labels: {a}" for a in session.sensitive_attributes()}
    found |= {f"{d.table}.{d.name}" for d in steps if d.kind == "column" and is_sensitive(d.name)}
    return sorted(found)


def _take(prints: Fingerprints, definition: Definition, found: Origin) -> None:
    """Take in the functions and lists of a step, as its fingerprint has them."""
    try:
        parts = prints.parts(definition)
    except (CounterbalanceError, OSError) as error:
        found.notes.append(f"functions of {definition.target} cannot be told here: {first_line(error)}")
        return
    found.lists.update(parts.get("lists") or {})
    for call in parts.get("functions") or []:
        found.calls.append(
            FunctionUse(call["name"], call["version"], call["constants"], str(call["weights"] or ""), definition.target)
        )
