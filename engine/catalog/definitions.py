"""What users declared: generated columns, materialized views and indexes, in ``meta.definitions`` of the lake.

The table is only appended to; the newest row about a target says whether it is there and what it is. Declaring
computes nothing.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa

from counterbalance.engine.catalog import meta

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterbalance.engine.store.location import Location

Kind = Literal["column", "view", "index"]
FINGERPRINT: Final = b"counterbalance.fingerprint"
"""Key of a generated column's field metadata: the fingerprint its values were computed under."""
ERRORS: Final = "errors"
"""Option of a view whose rows tell what was skipped: the column that says why. ``meta.errors`` has these rows, too."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One declared thing.

    Args:
        kind: ``column``, ``view`` or ``index``.
        table: Table of a column or index; a view's own name.
        name: Name of the column, view or index.
        sql: The expression of a column, the ``SELECT`` of a view, the column of an index.
        type: SQL type that a column was declared with, if any.
        key: Key columns of a view.
        schedule: Cron text or ``@daily`` …, if any.
        options: Kind and options of an index; of a view ``errors``, the column that tells why a row was skipped.
        reads: Inputs as (relation, column) pairs; ``*`` for the whole relation.
        sensitive: It holds perceived-demographic labels, and is shown only in a session with a purpose.
        recipe: The recipe that declared it, if one did; no part of what it is.
    """

    kind: Kind
    table: str
    name: str
    sql: str
    type: str | None = None
    key: tuple[str, ...] = ()
    schedule: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    reads: tuple[tuple[str, str], ...] = ()
    sensitive: bool = False
    recipe: str | None = field(default=None, compare=False)

    @property
    def target(self) -> str:
        """Return its name for ``REFRESH``.

        Example:
            >>> Definition("column", "captions", "sentiment", "vader(text)").target
            'captions.sentiment'
        """
        return f"{self.table}.{self.name}" if self.kind == "column" else self.name

    def to_json(self) -> str:
        """Return it as stored."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Definition:
        """Read it back as stored."""
        body = json.loads(text)
        body["key"] = tuple(body["key"])
        body["reads"] = tuple((relation, column) for relation, column in body["reads"])
        return cls(**body)


@dataclass(frozen=True)
class Definitions:
    """Everything that is declared in a lake, by target."""

    by_target: Mapping[str, Definition]

    def columns(self, table: str) -> dict[str, Definition]:
        """Return generated columns of a table by name."""
        return {d.name: d for d in self.by_target.values() if d.kind == "column" and d.table == table}

    def views(self) -> dict[str, Definition]:
        """Return materialized views by name."""
        return {d.name: d for d in self.by_target.values() if d.kind == "view"}

    def indexes(self, table: str | None = None) -> dict[str, Definition]:
        """Return indexes by name, of one table or of all."""
        wanted = [d for d in self.by_target.values() if d.kind == "index"]
        return {d.name: d for d in wanted if table is None or d.table == table}

    def upstream(self, definition: Definition) -> list[Definition]:
        """Return what must be fresh before it: the generated columns and views it reads, and the view it stands on."""
        found: dict[str, Definition] = {}
        views = self.views()
        reads = list(definition.reads)
        if definition.kind != "view":
            reads.append((definition.table, ""))
        for relation, column in reads:
            if relation in views and relation != definition.name:
                found[relation] = views[relation]
            for name, generated in self.columns(relation).items():
                if column in {name, "*"} and generated.target != definition.target:
                    found[generated.target] = generated
        return list(found.values())

    def with_upstream(self, found: Iterable[Definition]) -> set[str]:
        """Return the targets of some definitions, and of all that they read, directly or through others."""
        pending, targets = list(found), set[str]()
        while pending:
            definition = pending.pop()
            if definition.target not in targets:
                targets.add(definition.target)
                pending += self.upstream(definition)
        return targets

    def downstream(self, definition: Definition) -> list[Definition]:
        """Return what reads it directly, or stands on it."""
        return [d for d in self.by_target.values() if definition in self.upstream(d)]

    def order(self) -> list[Definition]:
        """Return all of them, each after what it reads; ties by target."""
        done: dict[str, Definition] = {}

        def visit(definition: Definition) -> None:
            if definition.target in done:
                return
            for other in sorted(self.upstream(definition), key=lambda d: d.target):
                visit(other)
            done[definition.target] = definition

        for _, definition in sorted(self.by_target.items()):
            visit(definition)
        return list(done.values())


def load(location: Location, version: int | None = None) -> Definitions:
    """Return what is declared now, or at a version of ``meta/definitions``."""
    return declared(history(location, version))


def history(location: Location, version: int | None = None) -> list[dict[str, Any]]:
    """Return all that was ever declared or dropped, oldest first, or up to a version of ``meta/definitions``."""
    rows: list[dict[str, Any]] = meta.read(location, "definitions", version).to_pylist()
    return rows


def declared(rows: Iterable[Mapping[str, Any]]) -> Definitions:
    """Return what is declared at the end of a history."""
    newest = {row["target"]: row for row in rows}
    return Definitions(
        {target: Definition.from_json(row["body"]) for target, row in newest.items() if row["state"] != "dropped"}
    )


def declare(location: Location, definition: Definition) -> None:
    """Keep a definition; it takes the place of one with the same target."""
    _append(location, definition, "declared")


def drop(location: Location, definition: Definition) -> None:
    """Forget a definition."""
    _append(location, definition, "dropped")


def _append(location: Location, definition: Definition, state: str) -> None:
    row = {
        "at": meta.now(),
        "user": meta.user(),
        "target": definition.target,
        "kind": definition.kind,
        "state": state,
        "body": definition.to_json(),
    }
    meta.write(location, "definitions", [row])


def relation(location: Location, kind: Kind) -> pa.Table:
    """Return what is declared, for SQL: ``meta.views`` and ``meta.indexes``, or all generated columns."""
    rows = [
        {
            "name": d.name,
            "table_name": d.table,
            "sql": d.sql,
            "key": list(d.key),
            "schedule": d.schedule,
            "options": json.dumps(dict(d.options), sort_keys=True),
            "sensitive": d.sensitive,
        }
        for d in load(location).order()
        if d.kind == kind
    ]
    fields = [
        ("name", pa.string()),
        ("table_name", pa.string()),
        ("sql", pa.string()),
        ("key", pa.list_(pa.string())),
        ("schedule", pa.string()),
        ("options", pa.string()),
        ("sensitive", pa.bool_()),
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))
