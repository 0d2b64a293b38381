"""The lake as it will be once everything declared is refreshed: what a new definition is checked against.

Columns and views that were declared and never refreshed are there too, without rows, so that a script may declare a whole
chain first and refresh it in the end.
"""

from __future__ import annotations

import weakref
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.catalog import closed, definitions, snapshot
from counterbalance.engine.errors import LimitError, NotFoundError, RefusedError, SensitiveError
from counterbalance.engine.executors.worker import input_type
from counterbalance.engine.relations import LABELS, Relations
from counterbalance.engine.schema import BASE_TABLES, CODE_SUFFIX, STAMP_SUFFIX
from counterbalance.engine.session import Session
from counterbalance.engine.sql.expression import Evaluator, analyse
from counterbalance.engine.sql.types import storable
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from sqlglot import exp

    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.store.location import Location

CHECK_SECONDS: Final = 5.0
"""How long a query may run while something is declared."""
_TRIED_ROWS: Final = 2


class Catalog:
    """Tables of a lake with their columns, declared ones included.

    Args:
        location: The lake.
    """

    def __init__(self, location: Location) -> None:
        self.location = location
        self.version = tables.latest_version(location, "meta/definitions")
        history = definitions.history(location, self.version)
        self.definitions = definitions.declared(history)
        self.closed = closed.load(location, snapshot.newest(location), history=history)
        self._types: dict[str, dict[str, pa.DataType]] = {}

    @cached_property
    def stored(self) -> frozenset[str]:
        """Names of the tables that are there."""
        return frozenset(t for t in snapshot.known_tables(self.location) if "/" not in t)

    def require(self, table: str) -> tuple[str, ...]:
        """The key of a base table or view.

        Raises:
            NotFoundError: There is no such table.
            RefusedError: It was made by another tool, and has no key that is known.
        """
        if table in BASE_TABLES:
            return (BASE_TABLES[table].key,)
        views = self.definitions.views()
        if table in views:
            return views[table].key
        if table in self.stored:
            raise RefusedError(
                f"{table} was made by another tool, and its key is not known",
                code="E3210",
                hint=f"declare a view of it: CREATE MATERIALIZED VIEW v WITH (key = '…') AS SELECT * FROM {table}",
            )
        raise NotFoundError.table(table, {*BASE_TABLES, *views})

    def types(self, table: str) -> dict[str, pa.DataType]:
        """Arrow types of a table's columns as functions get them, generated ones included.

        Raises:
            NotFoundError: There is no such table.
        """
        if table not in self._types:
            found = self._types[table] = self._plain(table)
            for definition in self.definitions.order():
                if definition.kind == "column" and definition.table == table and definition.name not in found:
                    found[definition.name] = column_type(definition, found)
        return self._types[table]

    def _plain(self, table: str) -> dict[str, pa.DataType]:
        dataset = tables.open_table(self.location, table)
        if dataset is not None:
            names = set(dataset.schema.names)
            return {f.name: input_type(f) for f in dataset.schema if not _is_hidden(f.name, names)}
        if table in BASE_TABLES:
            return {f.name: f.type for f in BASE_TABLES[table].schema(blobs=True)}
        self.require(table)
        with Planning(self, knows_all=True) as session:
            schema = session.sql(self.definitions.views()[table].sql).schema
        return {f.name: storable(f.type) for f in schema}

    def missing(self, table: str) -> bool:
        """Whether a refresh has yet to make the table, or a column of it."""
        dataset = tables.open_table(self.location, table)
        there = set() if dataset is None else set(dataset.schema.names)
        is_unmade_view = dataset is None and table in self.definitions.views()
        return is_unmade_view or not there >= self.definitions.columns(table).keys()

    def sensitive_columns(self, table: str) -> set[str]:
        """Columns of a table that are shown only with a purpose; all of them in a sensitive view."""
        if table in self.closed.views:
            return set(self.types(table))
        return set(self.closed.hidden(table))


def closed_to_all(what: str) -> SensitiveError:
    """The error for reading perceived labels without a purpose."""
    return SensitiveError(f"{what} holds perceived labels", code="E3308", hint='state a purpose: --sensitive "why"')


def column_type(definition: Definition, types: dict[str, pa.DataType]) -> pa.DataType:
    """Arrow type of a generated column over columns of these types."""
    expression = analyse(definition.sql, definition.table, list(types), definition.type)
    evaluator = Evaluator(expression, {c: types[c] for c in expression.columns})
    evaluator.close()
    return evaluator.type


def _is_hidden(name: str, names: set[str]) -> bool:
    return name.endswith(CODE_SUFFIX) or (name.endswith(STAMP_SUFFIX) and name.removesuffix(STAMP_SUFFIX) in names)


class Planning(Session):
    """A session that also knows what is declared and not refreshed.

    Args:
        catalog: The lake.
        purpose: For which sensitive labels are read.
        knows_all: Bind over sensitive columns without a purpose; for looking up types, never for reading rows.
    """

    def __init__(self, catalog: Catalog, *, purpose: str | None = None, knows_all: bool = False) -> None:
        super().__init__(catalog.location, sensitive=purpose, timeout=CHECK_SECONDS)
        self.catalog = catalog
        self.sensitive |= knows_all
        main = self._relations.main
        self.planned = Planned(main, {}, sensitive=self.sensitive, session=weakref.proxy(self), catalog=catalog)
        self._relations = self.planned

    @property
    def read(self) -> dict[str, str]:
        """Name in the lake of every relation that was read so far, by registered name."""
        return self.planned.read

    @property
    def partial(self) -> str | None:
        """Why rows read here are not those of the view, if they are not."""
        return self.planned.partial


class Planned(Relations):
    """The relations of such a session; remembers what was read.

    Attributes:
        read: Name in the lake of every relation that was read, by registered name.
        partial: Why the rows are not all there, if they are not.
        reads_closed_labels: Whether a shipped query, or a purpose, reads perceived labels.
    """

    def __init__(self, *given: Any, catalog: Catalog, **options: Any) -> None:
        super().__init__(*given, **options)
        self._catalog = catalog
        self.read: dict[str, str] = {}
        self.partial: str | None = None
        self.reads_closed_labels = False
        self.empty: dict[str, str] = {}

    def table(self, schema: str | None, name: str, *, trusted: bool) -> str | None:
        """As in any session; a relation without a stored form is there without rows.

        Raises:
            RefusedError: It is a system table.
            SensitiveError: It is a view of sensitive labels.
        """
        own = schema in {None, "main"}
        if schema == "meta":
            hint = "what is stored is made of tables, views and word lists"
            raise RefusedError(f"meta.{name} cannot be read by a view", code="E3211", hint=hint)
        if own and self._catalog.missing(name):
            found: str | None = self._declared(name)
        else:
            found = super().table(schema, name, trusted=trusted)
        if found is not None:
            self.read[found] = name if own else f"{schema}.{name}"
            self.reads_closed_labels |= own and trusted and name == LABELS
        return found

    def _declared(self, name: str) -> str:
        if name not in self.empty:
            if name in self._catalog.closed.views and not self.sensitive:
                raise closed_to_all(f"view {name}")
            hidden = set() if self.sensitive else self._catalog.sensitive_columns(name)
            blobs = BASE_TABLES[name].blobs if name in BASE_TABLES else ()
            kinds = self._catalog.types(name).items()
            shown = pa.schema([(n, t) for n, t in kinds if n not in hidden and n not in blobs])
            self.empty[name] = self.bind(name, shown.empty_table())
        self.partial = "the view reads what was not refreshed yet"
        return self.empty[name]

    def evaluate(self, query: exp.Query) -> pa.Table:
        """A few rows of a query, for the types that a table function makes of them."""
        from sqlglot import exp

        inner: Any = query.copy()
        rows = exp.select("*").from_(inner.subquery("q"))
        self.partial = "the view calls a table function"
        try:
            return super().evaluate(rows.limit(_TRIED_ROWS))
        except LimitError:
            return super().evaluate(rows.limit(0))
