"""What is closed: which views and generated columns hold perceived-demographic labels, at which versions of their tables.

All that asks, asks here. The answer comes from the history in ``meta.definitions``, which is only appended to, and is *the
strictest of then and now*: something is closed at a pinned version if what was declared when that version was the newest one
says so, or if what is declared now says so. A definition that was dropped still counts until another takes its name.

A name that is closed becomes open only by a statement with a purpose, which says so in its definition (``OPENED``), and only
with what a refresh has made anew since; what is older stays closed. Tables in which anything was ever closed lie in
the lake's closed folder as a whole (``store/enclosing.py``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from counterbalance.engine.catalog import access, definitions, meta, runs, snapshot
from counterbalance.engine.catalog.snapshot import SENSITIVE_LABELS
from counterbalance.engine.errors import UNTOLD, StorageError
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.sql.parse import DIALECT
from counterbalance.engine.store import cleaning, enclosing, tables
from counterbalance.engine.store.location import CLOSED

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.store.location import Location

OPENED: Final = "opened_at"
"""Option of a view or column that was closed: since when it is open, but for what is older."""
_ROWS: Final = re.compile(r"\b\d[\d,]*(?= (?:of|rows|parts|values)\b)")


@dataclass(frozen=True)
class Closed:
    """What is closed of a lake at some versions.

    Args:
        views: Views that are closed as a whole, and tables of dropped ones.
        columns: Closed generated columns by table.
    """

    views: frozenset[str] = frozenset()
    columns: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def hidden(self, table: str) -> frozenset[str]:
        """Return columns of a table that a session without a purpose does not see; a closed view it does not see at all."""
        return self.columns.get(table, frozenset())

    def read_by(self, stored: str, sql: str) -> list[str]:
        """Return closed things of a stored table that a query over it reads, as the access log names them.

        Args:
            stored: The table, with its folder.
            sql: The query; where it cannot be parsed, or has a star, it reads all.

        Example:
            >>> closed = Closed(frozenset({"pg"}), {"captions": frozenset({"gender", "race"})})
            >>> closed.read_by("pg", "SELECT 1 FROM pg"), closed.read_by("images", "SELECT * FROM images")
            (['pg'], [])
            >>> closed.read_by("captions", "SELECT count(*) FROM captions WHERE gender = 'x'")
            ['captions.gender']
        """
        if stored == SENSITIVE_LABELS or stored in self.views:
            return [stored.rpartition("/")[2]]
        hidden = self.hidden(stored)
        named = _named(sql) if hidden else None
        return sorted(f"{stored}.{name}" for name in hidden if named is None or name.lower() in named)

    def holds(self, definition: Definition) -> bool:
        """Tell whether what a definition makes is closed: it says so, or is of a closed view, or (an index on) a closed column."""
        column = definition.sql if definition.kind == "index" else definition.name
        return definition.sensitive or definition.table in self.views or column in self.hidden(definition.table)


def load(
    location: Location,
    versions: Mapping[str, int],
    then: dt.datetime | None = None,
    history: Sequence[Mapping[str, Any]] | None = None,
) -> Closed:
    """Return what is closed at some versions.

    Args:
        location: The lake.
        versions: Of its tables, as they are read.
        then: When these were the newest ones; ``None`` for now.
        history: What was ever declared, where it is at hand.

    Raises:
        StorageError: A table lies in the closed folder, and what is closed in it is not told any more.
    """
    rows = definitions.history(location) if history is None else history
    ways = [_last(rows), *([] if then is None else [_last(r for r in rows if r["at"] <= then)])]
    if untold := location.enclosed() - {d.table for d in ways[0].values()}:
        raise StorageError(
            f"meta/definitions of {location.uri} does not say what is closed in {', '.join(sorted(untold))}",
            code="E6044",
            hint="put meta/definitions.lance back from a copy of the lake; counterbalance verify LAKE shows what else is gone",
        )
    views: set[str] = set()
    columns: dict[str, set[str]] = {}
    for definition in (d for way in ways for d in way.values()):
        if definition.kind == "view" and _is_closed(location, definition, versions):
            views.add(definition.name)
        elif definition.kind == "column" and _is_closed(location, definition, versions):
            columns.setdefault(definition.table, set()).add(definition.name)
    return Closed(frozenset(views), {table: frozenset(names) for table, names in columns.items()})


def ever(location: Location) -> frozenset[str]:
    """Return everything that was closed at any time, by what a refresh calls it: views, columns, indexes on these."""
    found = [definitions.Definition.from_json(row["body"]) for row in definitions.history(location)]
    views = frozenset(d.name for d in found if d.sensitive and d.kind == "view")
    columns: dict[str, frozenset[str]] = {}
    for d in (d for d in found if d.sensitive and d.kind == "column"):
        columns[d.table] = columns.get(d.table, frozenset()) | {d.name}
    closed = Closed(views, columns)
    return frozenset(d.target for d in found if closed.holds(d))


def told(versions: Mapping[str, int], untold: Collection[str]) -> dict[str, int]:
    """Return versions of tables without those of closed ones: which ingest or refresh made one would answer a guess.

    Example:
        >>> told({"images": 3, "sensitive/labels": 7, "men": 2}, {"men"})
        {'images': 3}
    """
    return {name: version for name, version in versions.items() if "/" not in name and name not in untold}


def without_counts(text: str) -> str:
    """Return what is said of something closed without numbers of its rows.

    Example:
        >>> without_counts("1,204 rows are new or changed; 31 of them are computed already; version 2")
        '… rows are new or changed; … of them are computed already; version 2'
        >>> without_counts("f() returned 41 values for 42 rows")
        'f() returned … values for … rows'
    """
    return _ROWS.sub("…", text)


def inherit(location: Location, new: Definition, purpose: str | None) -> Definition:
    """Return a new definition, closed if what had its name last was; a purpose opens it, for rows that are made from now on.

    Once it was opened, that is said in all that have the name later: readers may be on older versions for as long as an
    ingest waits to be completed.
    """
    last = _last(definitions.history(location)).get(new.target)
    if new.sensitive or last is None:
        return new
    if last.sensitive and purpose is None:
        return replace(new, sensitive=True)
    since = meta.now().isoformat() if last.sensitive else last.options.get(OPENED)
    return new if since is None else replace(new, options={**new.options, OPENED: since})


def log_opening(location: Location, new: Definition, purpose: str | None) -> None:
    """Write a definition that opens a name into the access log."""
    if purpose is not None and OPENED in new.options:
        versions = snapshot.take(location).versions
        text = f"open {new.target}: {new.sql}"
        access.record(location, purpose, text, columns=[new.target], rows=None, versions=versions)


def _last(rows: Iterable[Mapping[str, Any]]) -> dict[str, Definition]:
    """Return the newest definition of every target; a dropped one is the one that was dropped."""
    bodies = {row["target"]: row["body"] for row in rows}
    return {target: definitions.Definition.from_json(body) for target, body in bodies.items()}


def _is_closed(location: Location, definition: Definition, versions: Mapping[str, int]) -> bool:
    if definition.sensitive or OPENED not in definition.options:
        return definition.sensitive
    version = versions.get(definition.table)
    return version is not None and not _made_anew(location, definition, version)


def _made_anew(location: Location, definition: Definition, version: int) -> bool:
    """Tell whether a refresh that began after it was opened has made its rows or values, at this version or before it."""
    told = ("target", "started", "versions_out")
    where = "kind = 'refresh' AND state = 'finished' AND mode NOT IN ('failed', 'skipped')"
    for row in meta.read(location, "runs", columns=told, where=where).to_pylist():
        if row["target"] == definition.target and row["started"].isoformat() > definition.options[OPENED]:
            made = runs.by_table(row["versions_out"])
            if made.get(definition.table, version + 1) <= version:
                return True
    return False


def _named(sql: str) -> set[str] | None:
    """Return names of columns that a query uses, in lower case; ``None`` for all."""
    try:
        tree = sqlglot.parse_one(sql, dialect=DIALECT)
    except SqlglotError:
        return None
    stars = (node for node in tree.find_all(exp.Star, exp.Columns, exp.Command))
    if any(not isinstance(star.parent, exp.Count) for star in stars):
        return None
    rows = {t.alias_or_name.lower() for t in tree.find_all(exp.Table)}
    named = {c.name.lower() for c in tree.find_all(exp.Column)} | {
        str(i.name).lower() for u in tree.find_all(exp.Join) for i in u.args.get("using") or ()
    }
    return None if named & rows else named  # a whole row may be meant


# -- where it lies ---------------------------------------------------------------------------------------------------


def lying_open(location: Location) -> list[str]:
    """Return tables with something closed in them that others can read: of a lake that an earlier release has made."""
    return enclosing.lies_open(location, {d.table for d in _ever(definitions.history(location))})


def enclose(location: Location) -> None:
    """Have everything in the closed folder that belongs there, also of a lake of an earlier release. Under the writer lock.

    Raises:
        StorageError: A table cannot be moved.
    """
    _enclose_rows(location, "codes", f"table_name LIKE '{CLOSED}/%'")
    rows = definitions.history(location)
    ever = _ever(rows)
    if not ever:
        return
    names = {d.table for d in ever}
    open_ = enclosing.lies_open(location, names)
    if location.is_local:
        if open_:  # first: once nothing lies open, nobody looks at this again
            _untell(location, {d.target for d in ever})
        for name in open_:
            enclosing.enclose(location, name)
            tables.delete(location, meta.stored("tallies"), f"table_name = '{name}'")
        for target in {d.target for d in ever if d.kind == "column"}:
            enclosing.enclose_folder(location, f"refresh/{target}")
    present = definitions.declared(rows).views()
    for name in sorted(names.difference(open_)):
        if (name in BASE_TABLES or name in present) and not location.encloses(name):
            enclosing.enclose(location, name)
    of_columns = [f"(table_name = '{d.table}' AND column_name = '{d.name}')" for d in ever if d.kind == "column"]
    if of_columns:
        _enclose_rows(location, "errors", " OR ".join(of_columns), message=UNTOLD)


def _ever(rows: Sequence[Mapping[str, Any]]) -> Collection[Definition]:
    """Return everything that was closed at any time, as it was declared last."""
    found = (definitions.Definition.from_json(row["body"]) for row in rows)
    return {d.target: d for d in found if d.sensitive}.values()


def _enclose_rows(location: Location, name: str, where: str, **changes: str) -> None:
    """Move rows of a system table, with some columns changed, to its closed part; no version keeps them."""
    moved = meta.read(location, name, where=where).to_pylist()
    if not moved:
        return
    meta.write(location, name, [{**row, **changes} for row in moved], closed=True)
    _write_anew(location, name, meta.read(location, name, where=f"NOT coalesce({where}, false)"))


def _untell(location: Location, targets: Collection[str]) -> None:
    """Take what an earlier release told of failures of closed things out of the journal."""
    rows = meta.read(location, "runs")
    failed = pc.and_(pc.equal(rows["mode"], "failed"), pc.is_in(rows["target"], pa.array(sorted(targets))))
    failed = pc.fill_null(failed, fill_value=False)
    if pc.any(failed).as_py():
        details = pc.if_else(failed, UNTOLD, rows["details"])
        _write_anew(location, "runs", rows.set_column(rows.column_names.index("details"), "details", details))


def _write_anew(location: Location, name: str, rows: pa.Table) -> None:
    """Write rows in the place of all that a system table holds, in every version of it."""
    stored = meta.stored(name)
    tables.overwrite(location, stored, rows.cast(meta.SCHEMAS[name]).to_reader())
    dataset: Any = tables.open_table(location, stored)
    old = cleaning.old_versions(dataset, meta.now(), frozenset())
    cleaning.remove(location, stored, dataset, old, alone=True)
