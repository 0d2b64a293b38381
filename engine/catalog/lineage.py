"""Where a column, view or index comes from, and what is made of it, through every step; as rows, and as a Mermaid chart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa
import sqlglot
from sqlglot import exp

from counterbalance.engine.catalog import dependencies
from counterbalance.engine.catalog.planning import Catalog, queries_over
from counterbalance.engine.catalog.snapshot import SENSITIVE_LABELS
from counterbalance.engine.errors import CounterbalanceError, NotFoundError, did_you_mean
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.sql.parse import DIALECT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.store.location import Location

SCHEMA: Final = pa.schema(
    [
        ("name", pa.string()),
        ("kind", pa.string()),
        ("direction", pa.string()),
        ("depth", pa.int32()),
        ("relation", pa.string()),
        ("column", pa.string()),
        ("how", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, order=True)
class Thing:
    """A column of a relation; a whole table, view, list or index without ``column``."""

    relation: str
    column: str = ""

    @property
    def name(self) -> str:
        """Return it as it is written."""
        return f"{self.relation}.{self.column}" if self.column else self.relation


@dataclass(frozen=True, slots=True)
class Step:
    """Something that was reached: how far away, and the SQL of the step that leads to or from it."""

    thing: Thing
    direction: Literal["upstream", "downstream"]
    depth: int
    how: str


def lineage(location: Location, name: str) -> pa.Table:
    """Return everything that a thing is made of, and everything that is made of it.

    Args:
        location: The lake.
        name: A table, ``table.column``, a view, ``view.column``, or an index.

    Returns:
        One row a thing and direction: ``name``, ``kind`` ('table', 'view', 'column', 'index', 'list'), ``direction``
        ('upstream' or 'downstream'), ``depth`` (steps, int32), ``relation``, ``column`` (NULL for the whole), ``how`` (the
        SQL of the step next to it; of a column of a view its expression; the whole ``SELECT`` of a view stands in its
        first row, NULL in the others). Nearest first.

    Raises:
        NotFoundError: There is nothing of that name.
    """
    graph = Graph(Catalog(location))
    told: set[tuple[str, str]] = set()
    rows = []
    for step in graph.steps(graph.find(name)):
        again = graph.is_select(step.how) and (step.direction, step.how) in told
        told.add((step.direction, step.how))
        rows.append(
            {
                "name": step.thing.name,
                "kind": graph.kind(step.thing),
                "direction": step.direction,
                "depth": step.depth,
                "relation": step.thing.relation,
                "column": step.thing.column or None,
                "how": None if again else step.how,
            }
        )
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def mermaid(location: Location, name: str) -> str:
    """Return the same as a Mermaid flowchart, left to right.

    Raises:
        NotFoundError: There is nothing of that name.
    """
    graph = Graph(Catalog(location))
    start = graph.find(name)
    shown = sorted({start, *(step.thing for step in graph.steps(start))})
    number = {thing: f"n{i}" for i, thing in enumerate(shown)}
    lines = ["flowchart LR"]
    for thing in shown:
        opening, closing = _SHAPES[graph.kind(thing)]
        lines.append(f'  {number[thing]}{opening}"{_escaped(thing.name)}"{closing}')
    edges = {(p, t) for t in shown for p, _ in graph.parents(t) if p in number}
    lines += [f"  {number[a]} --> {number[b]}" for a, b in sorted(edges)]
    lines.append(f"  style {number[start]} stroke-width:3px")
    return "\n".join(lines) + "\n"


_SHAPES: Final = {
    "table": ("[(", ")]"),
    "view": ("[[", "]]"),
    "column": ("[", "]"),
    "index": ("{{", "}}"),
    "list": ("(", ")"),
}


def _escaped(name: str) -> str:
    """Return text between Mermaid's quotes, by its own number codes.

    Example:
        >>> _escaped('a"b'), _escaped("captions.text")
        ('a#34;b', 'captions.text')
    """
    return "".join(c if c.isalnum() or c in "._ /" else f"#{ord(c)};" for c in name)


def _output(select: str, column: str) -> str:
    """Return the expression of a column of a ``SELECT``; empty where a star or a union stands for it.

    Example:
        >>> _output("SELECT a, max(b) AS m FROM t GROUP BY a", "m"), _output("SELECT * FROM t", "m")
        ('max(b)', '')
    """
    tree = sqlglot.parse_one(select, dialect=DIALECT)
    items = tree.expressions if isinstance(tree, exp.Select) else []
    found = next((i for i in items if i.alias_or_name.lower() == column.lower()), None)
    return "" if found is None else found.unalias().sql(DIALECT, normalize_functions="lower")


class Graph:
    """Who reads whom in a lake, column by column where it can be told.

    Args:
        catalog: The lake.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog, self._definitions = catalog, catalog.definitions
        self._views = catalog.definitions.views()
        self._outputs: dict[str, dict[str, tuple[dependencies.Pair, ...]]] = {}

    def kind(self, thing: Thing) -> str:
        """Return ``table``, ``view``, ``column``, ``index`` or ``list``."""
        if thing.column:
            return "column"
        if thing.relation in self._definitions.indexes():
            return "index"
        if thing.relation in self._views:
            return "view"
        return "list" if thing.relation.startswith("lists.") else "table"

    def find(self, name: str) -> Thing:
        """Return the thing of that name.

        Raises:
            NotFoundError: There is none.
        """
        known = {t.name.lower(): t for t in self._known()}
        found = known.get(name.strip().lower())
        if found is None:
            raise NotFoundError(
                f"nothing is named {name!r}{did_you_mean(name, known)}", code="E1052", hint="such as captions.text"
            )
        return found

    def _known(self) -> Iterator[Thing]:
        for relation in {*BASE_TABLES, *self._views, *self._catalog.stored}:
            yield Thing(relation)
            yield from (Thing(relation, column) for column in self._columns(relation))
        yield from map(Thing, self._definitions.indexes())

    def _columns(self, relation: str) -> list[str]:
        try:
            return list(self._catalog.types(relation))
        except CounterbalanceError:  # a view whose SELECT does not bind any more; it is known as a whole
            return []

    def steps(self, start: Thing) -> list[Step]:
        """Return everything that can be reached, nearest first, upstream first."""
        return [*self._walk(start, self.parents, "upstream"), *self._walk(start, self.children, "downstream")]

    def _walk(
        self,
        start: Thing,
        following: Callable[[Thing], list[tuple[Thing, str]]],
        direction: Literal["upstream", "downstream"],
    ) -> list[Step]:
        found: dict[Thing, Step] = {}
        level, depth = [start], 0
        while level:
            depth += 1
            fresh: dict[Thing, str] = {}
            for thing in level:
                for other, how in following(thing):
                    if other not in found and other != start:
                        fresh.setdefault(other, how)
            found |= {t: Step(t, direction, depth, how) for t, how in sorted(fresh.items())}
            level = sorted(fresh)
        return list(found.values())

    def parents(self, thing: Thing) -> list[tuple[Thing, str]]:
        """Return what it is made of directly, each with the SQL that makes it."""
        how = self.sql(thing)
        return [(Thing(r, "" if c == "*" else c), how) for r, c in self._made_of(thing)[1]]

    def sql(self, thing: Thing) -> str:
        """Return what makes it: an expression, the ``SELECT`` of a view, kind and column of an index; empty for what is ingested."""
        definition, _ = self._made_of(thing)
        if definition is None:
            return ""
        if definition.kind == "index":
            return f"{definition.options['kind']} ({definition.sql})"
        return _output(definition.sql, thing.column) if definition.kind == "view" and thing.column else definition.sql

    def is_select(self, sql: str) -> bool:
        """Tell whether this is the whole of a view."""
        return any(view.sql == sql for view in self._views.values())

    def _made_of(self, thing: Thing) -> tuple[Definition | None, tuple[dependencies.Pair, ...]]:
        generated = self._definitions.columns(thing.relation).get(thing.column)
        if generated is not None:
            return generated, generated.reads
        view = self._views.get(thing.relation)
        if view is not None:
            return view, self._origins(view).get(thing.column, ()) if thing.column else view.reads
        index = self._definitions.indexes().get(thing.relation)
        return index, () if index is None else index.reads

    def _origins(self, view: Definition) -> dict[str, tuple[dependencies.Pair, ...]]:
        """Return for each column of a view the columns its values come from."""
        if view.name not in self._outputs:
            try:
                with queries_over(self._catalog, knows_all=True) as engine:
                    reading = dependencies.read(self._catalog, engine, view.sql)
                    found = dependencies.origins(reading.tree, reading.schema)
            except CounterbalanceError:  # it does not bind any more; what was declared is still known
                found = {}
            self._outputs[view.name] = {
                c: tuple((r, o) for r, o in p if r != SENSITIVE_LABELS) for c, p in found.items()
            }
        return self._outputs[view.name]

    def children(self, thing: Thing) -> list[tuple[Thing, str]]:
        """Return what is made of it directly; of a whole relation, what reads any column of it."""
        found = []
        for other, parents in self._all_parents.items():
            for parent, how in parents:
                same = parent.relation == thing.relation
                if same and other != thing and (not thing.column or parent.column in {"", thing.column}):
                    found.append((other, how))
                    break
        return found

    @cached_property
    def _all_parents(self) -> dict[Thing, list[tuple[Thing, str]]]:
        things = {
            Thing(d.table, d.name) if d.kind == "column" else Thing(d.name)
            for d in self._definitions.by_target.values()
        }
        things |= {Thing(v, column) for v, view in self._views.items() for column in self._origins(view)}
        return {thing: self.parents(thing) for thing in sorted(things)}
