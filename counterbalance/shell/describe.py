"""Texts that say what there is: relations, audits with their parameters, functions."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import CounterbalanceError, NotFoundError, did_you_mean
from counterbalance.engine.information_schema import STORED
from counterbalance.engine.sql import queries
from counterbalance.shell.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from counterbalance.engine.information_schema import Relation
    from counterbalance.engine.session import Session
    from counterbalance.engine.sql.query_model import Query, QueryParameter

_KINDS: Final = {
    "table": "Tables",
    "materialized view": "Materialized views",
    "view": "Views",
    "audit": "Audits",
    "list": "Word lists",
    "meta": "System tables",
    "table function": "Table functions",
}
_WIDTH: Final = 100
_LEAST: Final = 20
_OTHER: Final = "others"
SUBJECTS: Final = (
    "who is in the pictures",
    "what goes with whom",
    "two datasets",
    "retrieval",
    "what a model associates",
    "from data to models",
    "contrast sets",
)
"""Of audits, in the order in which they are listed; those of other packages may have more."""


def columns(rows: Sequence[tuple[str, ...]], indent: str = "") -> str:
    """Return words in aligned columns.

    Example:
        >>> print(columns([("a", "1"), ("long", "2")]))
        a     1
        long  2
    """
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]) - 1)] if rows else []
    lines = []
    for row in rows:
        start = indent + "".join(cell.ljust(width + 2) for cell, width in zip(row, widths, strict=False))
        lines.append(_hanging(start, row[-1]))
    return "\n".join(lines)


def _hanging(start: str, text: str) -> str:
    """Return a text after its start, its further lines below its first."""
    if len(start) + _LEAST > _width():
        return (start + text).rstrip()
    further = " " * len(start)
    filled = textwrap.fill(text, _width(), initial_indent=further, subsequent_indent=further, break_on_hyphens=False)
    return (start + filled[len(start) :]).rstrip()


def _width() -> int:
    """Return columns to fill: those of the terminal, and no more than are pleasant to read."""
    return min(_WIDTH, shutil.get_terminal_size((_WIDTH, 24)).columns)


def _paragraphs(text: str) -> str:
    """Return a text with its paragraphs filled; lines that begin with a blank or a dash are left as they are."""
    parts = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(
        p if re.search(r"^[\s*-]", p, re.MULTILINE) else _hanging("", " ".join(p.split())) for p in parts
    )


def full_name(relation: Relation) -> str:
    """Return a relation's name as SQL needs it."""
    return relation.name if relation.schema in {"", "main", None} else f"{relation.schema}.{relation.name}"


def tables(relations: Iterable[Relation], *, everything: bool = True) -> str:
    """Return the relations by kind, with a line of doc each; without ``everything``, those that are stored."""
    by_kind: dict[str, list[tuple[str, ...]]] = {}
    for relation in relations:
        if relation.kind == "function" or not (everything or relation.kind in STORED):
            continue
        by_kind.setdefault(relation.kind, []).append((escape(full_name(relation)), escape(relation.doc or "")))
    order = [*_KINDS, *(k for k in by_kind if k not in _KINDS)]
    parts = [f"{_KINDS.get(kind, kind)}\n{columns(sorted(by_kind[kind]), '  ')}" for kind in order if kind in by_kind]
    return "\n\n".join(parts)


def schema(session: Session, name: str | None = None) -> str:
    """Return columns and types of relations.

    Raises:
        NotFoundError: There is none of that name.
    """
    known = {full_name(r): r for r in session.relations()}
    if name is None:
        return "\n\n".join(_schema_of(r, r.columns) for r in known.values() if r.kind in STORED)
    found = {n.lower(): r for n, r in known.items()}.get(name.lower())
    if found is None:
        raise NotFoundError.table(name, known)
    return _schema_of(found, columns_of(session, found))


def columns_of(session: Session, relation: Relation) -> tuple[tuple[str, str], ...]:
    """Return names and types of a relation's columns; none where they depend on parameters that it needs."""
    if relation.columns or not named_alone(relation):
        return relation.columns
    try:
        found = session.sql(f"SELECT * FROM {full_name(relation)}").schema
    except CounterbalanceError:  # a lake may lack what an audit reads
        return ()
    return tuple((f.name, str(f.type)) for f in found)


def named_alone(relation: Relation) -> bool:
    """Return whether FROM takes a relation without parameters."""
    query = queries.queries().get(relation.name) if relation.schema is None else None
    return relation.kind not in {"function", "table function"} and not any(
        map(required, query.parameters if query else ())
    )


def _schema_of(relation: Relation, names: Iterable[tuple[str, str]]) -> str:
    head = relation.signature or full_name(relation)
    doc = f"  -- {relation.doc}" if relation.doc else ""
    body = columns([(escape(n), escape(str(t))) for n, t in names], "  ")
    return f"{escape(head)}{escape(doc)}\n{body}".rstrip()


def required(parameter: QueryParameter) -> bool:
    """Return whether a parameter has no default."""
    return parameter.default is None


def by_subject(known: Mapping[str, Query]) -> dict[str, list[Query]]:
    """Return audits by what they are listed under, in the order in which they are."""
    found: dict[str, list[Query]] = {}
    for query in known.values():
        found.setdefault(query.subject or _OTHER, []).append(query)
    order = [s for s in SUBJECTS if s in found] + sorted(found.keys() - {*SUBJECTS})
    return {subject: found[subject] for subject in order}


def audits(known: Mapping[str, Query]) -> str:
    """Return every audit with its line of doc, by subject; lines are cut where a terminal ends."""
    longest = max((len(name) for name in known), default=0)
    room = shutil.get_terminal_size().columns - longest - 4 if sys.stdout.isatty() else None
    parts = []
    for subject, listed in by_subject(known).items():
        lines = [f"  {query.name.ljust(longest)}  {_cut(query.doc, room)}" for query in listed]
        parts.append("\n".join([subject, *lines]))
    return "\n\n".join(parts)


def _cut(text: str, room: int | None) -> str:
    return text if room is None else textwrap.shorten(text, max(room, _LEAST), placeholder=" …")


def _parameter(parameter: QueryParameter) -> str:
    default = ", required" if required(parameter) else f" = {' '.join(str(parameter.default).split())}"
    head = _hanging("  ", f"{parameter.name} {parameter.type}{default}")
    return f"{head}\n{_hanging('      ', parameter.doc)}".rstrip()


def audit(known: Mapping[str, Query], name: str) -> str:
    """Return all about one audit.

    Raises:
        NotFoundError: There is none of that name.
    """
    if name not in known:
        raise NotFoundError.audit(name, known)
    query = known[name]
    parts = [_hanging("", f"{name}: {query.doc}")]
    if query.text.strip():
        parts.append(_paragraphs(query.text))
    if query.parameters:
        parts.append("Parameters:\n" + "\n".join(_parameter(p) for p in query.parameters))
    if query.source:
        parts.append(_hanging("Source: ", query.source))
    words = " ".join(f"{p.name}=…" for p in query.parameters if required(p))
    parts.append(
        f"counterbalance audit LAKE {name} {words}".rstrip()
        + f'\ncounterbalance sql LAKE "FROM {name}({_call(query)})"'
    )
    return "\n\n".join(parts)


def _call(query: Query) -> str:
    return ", ".join(f"{p.name} := …" for p in query.parameters if required(p))


def functions(name: str = "") -> str:
    """Return every function with its doc, or the one of a name; those that stand in FROM last.

    Raises:
        NotFoundError: There is none of that name (E1003).
    """
    from counterbalance.engine.catalog import system

    known = system.callables()
    listed = [row for row in known if name.lower() in {"", row["name"]}]
    if not listed:
        near = did_you_mean(name, [str(row["name"]) for row in known])
        raise NotFoundError(f"no function {name!r}{near}", code="E1003", hint="without a name all are listed")
    single = columns([(row["signature"] or "", row["doc"] or "") for row in listed if row["kind"] != "table function"])
    tables = [
        f"{row['signature']}\n{_hanging('  ', row['doc'] or '')}" for row in listed if row["kind"] == "table function"
    ]
    return "\n".join([single, *tables])
