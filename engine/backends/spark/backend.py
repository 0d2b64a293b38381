"""Spark as a backend: plans over tables of the lake run on its workers, all others in the DuckDB of this process.

A plan's text is DuckDB's; sqlglot translates it. Expressions that it names more than once are kept by Spark, which would compute
them anew at each use.
"""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from sqlglot import exp

from counterbalance.engine.backends.duckdb.backend import DuckDB, is_closed
from counterbalance.engine.backends.duckdb.register import name_of
from counterbalance.engine.backends.duckdb.scan import visible_schema
from counterbalance.engine.backends.spark.dialect import lifted, rename, translated
from counterbalance.engine.backends.spark.pushdown import condition_of
from counterbalance.engine.errors import CounterbalanceError, LimitError, RequestError, SqlError
from counterbalance.engine.sql.plan import Combined, Plan, StoredTable

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from counterbalance.engine.functions import Function
    from counterbalance.engine.sql.plan import Relation
    from counterbalance.engine.store.pictures import Unread

_HERE: Final = ("DESCRIBE ", "SUMMARIZE ")
"""Statements that this process answers."""
_TRIES: Final = 4
"""As often as Spark tries a task."""
_LOST: Final = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"
_TRACEBACK: Final = "Traceback (most recent call last)"


class Spark:
    """A session of Spark.

    Args:
        timeout: Seconds a plan may run.

    Raises:
        RequestError: It is not installed, or does not answer.
    """

    shortcuts = False

    def __init__(self, *, timeout: float | None = None) -> None:
        from counterbalance.engine.backends.spark.session import connected

        self._spark: SparkSession = connected()
        from counterbalance.engine.backends.spark.source import source_named

        self._source = f"counterbalance_{secrets.token_hex(6)}"
        self._spark.dataSource.register(source_named(self._source))
        self._here = DuckDB(reusable=False, lazy=True)
        self._given: dict[str, DataFrame] = {}
        self._declared: dict[str, tuple[Function, Mapping[str, Any]]] = {}
        self._is_late, self._closed = False, False
        self.timeout = timeout
        self.functions = self._here.functions
        self.raised: list[CounterbalanceError] = self._here.raised

    @property
    def closed(self) -> bool:
        """Tell whether it was closed."""
        return self._closed

    def close(self) -> None:
        """Stop what runs; Spark itself goes on."""
        if not self._closed:
            self._closed = True
            self.interrupt()
            self._here.close()

    def interrupt(self) -> None:
        """Stop what runs; from another thread."""
        self._here.interrupt()
        with suppress(Exception):
            self._spark.interruptAll()  # of this session, which is no other's

    def run(
        self, plan: Plan, batch_rows: int, unread: Unread | None = None, *, few: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Run a plan; its rows are those that DuckDB would give, in its types, all of them fetched before the first is given."""
        if self._is_of_here(plan):
            yield from self._local(plan).run(plan, batch_rows, unread, few=few)
            return
        schema = self.schema(plan)
        rows = self._collected(plan)
        if plan.verb:
            rows = rows.add_column(0, schema.names[0], [pa.array(["physical_plan"])])
        with self._told():
            rows = _as(rows, schema)
        yield from rows.to_batches(batch_rows) or [pa.RecordBatch.from_pylist([], schema)]

    def _collected(self, plan: Plan) -> pa.Table:
        """Return the rows of a plan; it runs again where a worker was lost, and what it kept with it."""
        for left in reversed(range(_TRIES)):
            try:
                with self._frame(plan) as frame:
                    rows: pa.Table = frame.toArrow()
                    return rows
            except SqlError as error:
                if not left or _LOST not in str(error.__cause__):
                    raise
        raise AssertionError

    def schema(self, plan: Plan) -> pa.Schema:
        """Return the columns of a plan, as DuckDB finds them without running it."""
        return self._local(plan).schema(plan)

    def function(self, function: Function, constants: Mapping[str, Any]) -> str:
        """Make a Python function callable on the workers with its constants fixed; returns the name to call."""
        from counterbalance.engine.backends.spark import functions

        name = name_of(function, constants)
        if name not in self._declared:
            self._declared[name] = (function, constants)
            functions.register(self._spark, name, function, constants)
        return name

    # -- where -------------------------------------------------------------------------------------------------------

    def _is_of_here(self, plan: Plan) -> bool:
        """Tell whether a plan reads no table of the lake, or asks what only DuckDB tells."""
        return plan.verb in _HERE or not any(relation.tables for relation in plan.needed())

    def _local(self, plan: Plan) -> DuckDB:
        """Return the DuckDB of this process, with the functions that a plan calls."""
        if self._closed:
            raise is_closed()
        for name, (function, constants) in self._declared.items():
            if name in (plan.sql or ""):
                self._here.function(function, constants)
        self._here.timeout = self.timeout
        return self._here

    # -- plans -------------------------------------------------------------------------------------------------------

    @contextmanager
    def _frame(self, plan: Plan) -> Iterator[DataFrame]:
        """Give a plan's rows as Spark will compute them; its names are forgotten at the end."""
        if self._closed:
            raise is_closed()
        if plan.verb not in ("", "EXPLAIN "):
            raise RequestError(
                f"{plan.verb.strip()} is DuckDB's, not Spark's", code="E3475", hint="EXPLAIN alone is fine"
            )
        relations = {relation.id: relation for relation in plan.needed()}
        floats = {name.lower() for relation in relations.values() for name in _of_single_precision(relation)}
        tree = translated(plan.sql or "", plan.values, self._declared, floats)
        read = _columns_read(tree, relations)
        with ExitStack() as end, self._told():
            end.callback(self._given.clear)
            end.enter_context(self._timed())
            for use in list(tree.find_all(exp.Table)):
                if not use.args.get("db") and use.name in relations:
                    rows = self._rows(relations[use.name], use, read)
                    rename(use, self._named(rows, end))
            yield self._spark.sql(plan.verb + self._staged(tree, end).sql("spark"))

    def _named(self, rows: DataFrame, end: ExitStack) -> str:
        """Return a name of rows for as long as a plan is run."""
        name = f"rows_{secrets.token_hex(6)}"
        rows.createOrReplaceTempView(name)
        end.callback(self._spark.catalog.dropTempView, name)
        return name

    def _staged(self, tree: exp.Expr, end: ExitStack) -> exp.Expr:
        """Return a query without the expressions that it names more than once: they are views, whose rows Spark keeps.

        Spark forgets how they came about: a plan that held each of them wherever it is named would take minutes to plan.
        Spark Connect drops such rows before they are read, and gets the whole query.
        """
        if type(self._spark).__module__.startswith("pyspark.sql.connect"):
            return tree
        counts = Counter(table.name.lower() for table in tree.find_all(exp.Table))
        inside: list[exp.CTE] = []
        kept: dict[str, str] = {}
        for cte in lifted(tree):
            is_kept = bool(cte.args.get("materialized")) or counts[cte.alias.lower()] > 1
            cte.set("materialized", None)
            _rename_all(cte.this, kept)
            if not is_kept or cte.args["alias"].columns:
                inside.append(cte)
                continue
            rows = self._spark.sql(_with(cte.this, inside).sql("spark"))
            kept[cte.alias.lower()] = self._named(rows.localCheckpoint(eager=False), end)
        _rename_all(tree, kept)
        return _with(tree, inside)

    def _rows(self, relation: Relation, use: exp.Table, read: frozenset[str] | None) -> DataFrame:
        """Return the rows of a relation that one use of it may need, of the columns that a plan reads."""
        holds = relation.holds
        if isinstance(holds, StoredTable):
            return self._stored(holds, use, read)
        if isinstance(holds, Combined) and all(p.table is not None for p in holds.parts):  # labels, open and closed
            parts = (self._rows(part, use, read) for part in holds.parts)
            return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
        from counterbalance.engine.backends.spark.source import plain

        if relation.id not in self._given:
            rows = holds if isinstance(holds, pa.Table) else self._read_here(relation)
            self._given[relation.id] = self._spark.createDataFrame(plain(rows))
        return self._given[relation.id]

    def _read_here(self, relation: Relation) -> pa.Table:
        """Return rows that this process holds, or computes when they are read."""
        query = exp.select("*").from_(exp.Table(this=exp.to_identifier(relation.id, quoted=True)))
        plan = Plan(query, {relation.id: relation}).finished()
        return pa.Table.from_batches(self._here.run(plan, 65_536))

    def _stored(self, table: StoredTable, use: exp.Table, read: frozenset[str] | None) -> DataFrame:
        from counterbalance.engine.backends.spark.source import load

        shown = visible_schema(table.dataset, table.hidden)
        columns = [name for name in shown.names if read is None or name.lower() in read] or shown.names[:1]
        return load(self._spark, self._source, table, columns, condition_of(use, shown))

    # -- limits and errors -------------------------------------------------------------------------------------------

    @contextmanager
    def _timed(self) -> Iterator[None]:
        self._is_late = False

        def late() -> None:
            self._is_late = True
            self.interrupt()

        timer = None if self.timeout is None else threading.Timer(self.timeout, late)
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Raise Spark's errors as ours."""
        from pyspark.errors import PySparkException

        try:
            yield
        except CounterbalanceError:
            raise
        except PySparkException as error:
            raise self._failure(error) from error
        except ValueError as error:  # of Arrow, too; its text may quote a row
            what = "Spark: a value, or a constant, of a type that it does not have"
            raise SqlError(what, code="E3472", hint="cast it to another type", sql=None) from error
        except Exception as error:
            if type(error).__module__.startswith("py4j"):
                raise self._failure(error) from error
            raise

    def _failure(self, error: Exception) -> CounterbalanceError:
        text = str(error)
        if self._is_late:
            return LimitError(
                f"the query ran longer than {self.timeout:g} s", code="E5001", hint="narrow it, or raise --timeout"
            )
        if self._closed or "OPERATION_CANCELED" in text or "cancelled" in text:
            return is_closed() if self._closed else LimitError("cancelled", code="E5004")
        code, told = ("E3477", "a function failed on a worker of Spark") if _TRACEBACK in text else ("E3472", "Spark")
        return SqlError(f"{told}: {_reason(text)}", code=code, hint="the whole error is shown with --debug", sql=None)


def _reason(text: str) -> str:
    r"""Return what an error of Spark says: the last line of a Python function's traceback, else its first line.

    Example:
        >>> _reason("[X] An exception\nTraceback (most recent call last):\n  File ...\nValueError: no lexicon\n\tat org.apache")
        'ValueError: no lexicon'
        >>> _reason("[UNRESOLVED_COLUMN] A column cannot be resolved.\n== SQL ==")
        '[UNRESOLVED_COLUMN] A column cannot be resolved.'
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    starts = [n for n, line in enumerate(lines) if line.startswith(_TRACEBACK)]
    if starts:
        after = lines[starts[-1] + 1 :]
        told = next((line for line in after if ": " in line and not line.startswith(("File ", "at "))), "")
        return told or lines[0]
    return lines[0] if lines else "no reason given"


def _rename_all(tree: exp.Expr, names: Mapping[str, str]) -> None:
    for use in list(tree.find_all(exp.Table)):
        if not use.args.get("db") and use.name.lower() in names:
            rename(use, names[use.name.lower()])


def _of_single_precision(relation: Relation) -> Iterator[str]:
    """Yield the names of a relation's columns of single precision."""
    if isinstance(relation.holds, Combined):
        for part in relation.holds.parts:
            yield from _of_single_precision(part)
        return
    schema = relation.holds.schema if relation.table is None else visible_schema(relation.table.dataset)
    yield from (field.name for field in schema if pa.types.is_float32(field.type))


def _columns_read(tree: exp.Expr, relations: Container[str]) -> frozenset[str] | None:
    """Return the lower-case names of all columns that a query mentions; ``None`` where a star is of a relation."""
    for star in tree.find_all(exp.Star):
        select = star.find_ancestor(exp.Select)
        sources = [] if select is None or isinstance(star.parent, exp.Count) else list(_sources(select))
        if any(isinstance(one, exp.Table) and one.name in relations for one in sources):
            return None
    return frozenset(name.name.lower() for name in tree.find_all(exp.Identifier))


def _sources(select: exp.Select) -> Iterator[exp.Expr]:
    clause = select.args.get("from_")
    if clause is not None:
        yield clause.this
    for join in select.args.get("joins") or []:
        yield join.this


def _with(query: exp.Expr, ctes: list[exp.CTE]) -> exp.Expr:
    """Return a query with those of some expressions that it stands on, its own included."""
    own = query.args.get("with_")  # a recursive one
    needed: list[exp.CTE] = []
    names = {table.name.lower() for table in query.find_all(exp.Table)}
    for cte in reversed(ctes):
        if cte.alias.lower() in names:
            needed.insert(0, cte)
            names |= {table.name.lower() for table in cte.this.find_all(exp.Table)}
    if not needed:
        return query
    result = query.copy()
    mine = [] if own is None else [cte.copy() for cte in own.expressions]
    result.set("with_", exp.With(expressions=[*(cte.copy() for cte in needed), *mine]))
    return result


def _as(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows in the types of a schema; a column that is NULL alone has a type of its own in Spark."""
    columns = [
        pa.nulls(rows.num_rows) if pa.types.is_null(field.type) else column.cast(field.type)
        for column, field in zip(rows.columns, schema, strict=True)
    ]
    return pa.table(columns, schema=schema)
