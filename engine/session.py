"""A session: one consistent version of every table, one closed DuckDB connection, and the relations a query may name."""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa

from counterbalance.engine import information_schema, lists
from counterbalance.engine.backends.duckdb.connection import Instance, release, take
from counterbalance.engine.catalog import access, snapshot
from counterbalance.engine.catalog.pinned import pin
from counterbalance.engine.disclosure import protection
from counterbalance.engine.errors import (
    CounterbalanceError,
    RefusedError,
    RequestError,
    SensitiveError,
    SqlError,
    is_panic,
)
from counterbalance.engine.relations import Relations
from counterbalance.engine.result import Result
from counterbalance.engine.sql import arguments, parse, queries, statement_size, statements
from counterbalance.engine.sql.as_written import Plain
from counterbalance.engine.sql.call_syntax import callable_names
from counterbalance.engine.sql.diagnostics import argument_schema, engine_errors, join_overlap, notes
from counterbalance.engine.sql.expand import AuditCall, Expander
from counterbalance.engine.sql.policy import without_values
from counterbalance.engine.sql.rewrites import blobs
from counterbalance.engine.sql.rewrites.count_by_sorted_key import count_by_image
from counterbalance.engine.sql.rewrites.count_from_statistics import count_by_tally
from counterbalance.engine.sql.rewrites.count_star import count_by_rows
from counterbalance.engine.sql.rewrites.group_by_dictionary import group_by_codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import duckdb
    from sqlglot import exp

    from counterbalance.engine.catalog.pinned import Pinned
    from counterbalance.engine.functions import OpenFunctions
    from counterbalance.engine.information_schema import Relation
    from counterbalance.engine.sql.scope import Given
    from counterbalance.engine.store.location import Location
    from counterbalance.engine.write.ingest import Progress

_BATCH_ROWS: Final = 65_536
_STREAM_ROWS: Final = 8192
_BYTES_ROWS: Final = 256


@dataclass(frozen=True, slots=True)
class _Runnable:
    """SQL that is ready to run: its parameters, the relations it needs, and what the user wrote."""

    sql: str
    values: Mapping[str, Any]
    needs: tuple[str, ...]
    text: str
    same_text: bool
    given: Callable[[], Iterator[tuple[Given, exp.Query]]] = lambda: iter(())
    answered: Mapping[str, str] = field(default_factory=dict)
    audits: Mapping[str, AuditCall] = field(default_factory=dict)


class Session:
    """Queries on one snapshot of a lake. Use as a context manager; results are read before it is closed.

    Not for use by two threads at once, except ``interrupt``.

    Args:
        location: The lake.
        at: Tag or moment to read.
        attach: Other lakes by name; their tables are ``name.table``.
        sensitive: Purpose for which sensitive labels are read; every query is then logged.
        timeout: Seconds a query may run, as far as DuckDB listens; ``isolation.session`` keeps to it.
        memory: DuckDB's limit, such as ``"2GB"``; ``isolation.session`` counts all that a query takes.
        threads: Worker threads; all cores by default.
        with_bytes: Queries may select pictures.
    """

    def __init__(
        self,
        location: Location,
        *,
        at: str | None = None,
        attach: Mapping[str, Location] | None = None,
        sensitive: str | None = None,
        timeout: float | None = None,
        memory: str | None = None,
        threads: int | None = None,
        with_bytes: bool = False,
    ) -> None:
        access.check_purpose(sensitive)
        self._at, self._with_bytes = at, with_bytes
        self._stop = threading.Event()
        self.on_progress: Callable[[Progress], None] | None = None
        main = self._pinned(location, at)
        attached = {name.lower(): self._pinned(place, None) for name, place in (attach or {}).items()}
        self._pins = [main.pin, *(p.pin for p in attached.values())]
        self.purpose, self.timeout = sensitive, timeout
        self.sensitive = sensitive is not None
        self._limits = memory, threads
        self._instance: Instance | None = None
        self._end: Callable[[], object] | None = None
        self._closed = False
        if memory is not None or threads is not None:
            self._duckdb()  # now: limits that cannot be are told, and a cap on the process counts what is mapped
        own = weakref.proxy(self)  # no cycle: a session that is let go gives its spill space back at once
        self._relations = Relations(main, attached, sensitive=self.sensitive, session=own)
        self._running: list[duckdb.DuckDBPyConnection] = []
        self._audits: weakref.WeakValueDictionary[str, AuditCall] = weakref.WeakValueDictionary()

    def _pinned(self, location: Location, at: str | None) -> Pinned:
        """The lake as it is read here."""
        return pin(location, at)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop what still runs, and give memory and spill space back."""
        if not self._closed:
            self._closed = True
            self.interrupt()
            if self._end is not None:
                self._end()
            self._relations.close()
            for pin in self._pins:
                pin.release()

    def _duckdb(self) -> Instance:
        """Its DuckDB, there from the first query on."""
        if self._closed:
            raise is_closed()
        if self._instance is None:
            self._instance = take(*self._limits, reusable=not self.sensitive)
            self._end = weakref.finalize(self, release, self._instance)
        return self._instance

    def connection_for_functions(self) -> duckdb.DuckDBPyConnection:
        """Where functions are registered: from then on its DuckDB serves no other session."""
        self._duckdb().reusable = False
        return self._duckdb().connection

    @property
    def versions(self) -> dict[str, int]:
        """Pinned Lance version of every table."""
        return dict(self._relations.versions)

    @property
    def functions(self) -> OpenFunctions:
        """Functions with their models that its queries opened; they stay open while somebody holds this."""
        return self._relations.functions

    # -- queries -----------------------------------------------------------------------------------------------------

    def sql(
        self, text: str, values: Mapping[str, Any] | None = None, /, *, max_rows: int | None = None, **params: Any
    ) -> Result:
        """A query's result, lazy until it is read.

        Args:
            text: One read-only statement in DuckDB's SQL, with audits, views, functions and word lists.
            values: Values of ``$name``; ``params`` win over them. A table (anything with ``__arrow_c_stream__``: of
                Arrow, pandas, Polars, or a result) is a relation of that name instead: ``FROM name``.
            max_rows: Stop after that many rows.
            params: The same, as keywords.

        Raises:
            SqlError: It is not right; says where.
            RefusedError: It does more than read.
            SensitiveError: It needs a purpose.
            LimitError: It is too long to be read.
        """
        statement_size.check_length(text)
        given = {**arguments.by_name(values), **params}
        params = {n: v if arguments.is_table(v) else arguments.plain(v) for n, v in given.items()}
        arguments.check_used(text, params)
        try:
            managed = statements.read(text)
            if managed is not None:
                return self._manage(managed, text)
            return self._ask(text, params, max_rows)
        except SqlError as error:
            raise engine_errors.located(error, text) from error.__cause__
        except RecursionError:
            raise SqlError("nested too deeply", code="E3102", sql=None) from None

    def _ask(self, text: str, params: Mapping[str, Any], max_rows: int | None) -> Result:
        """Plan a statement that only reads."""
        statement = parse.parse(text)
        if statement.kind == "show":
            shown = information_schema.listed(self.relations())
            return Result(lambda: iter(shown.to_batches()), lambda: shown.schema, text)
        return self._result(statement, text, params, max_rows)

    def audit(self, name: str, *, max_rows: int | None = None, **params: Any) -> Result:
        """Run an audit with Python values for its parameters.

        Args:
            name: Its name, or the path of its file (``*.sql``).
            max_rows: Stop after that many rows.
            params: By parameter name; a relation is a name, a call, ``(SELECT …)``, a list file, or anything with
                ``__arrow_c_stream__``.
        """
        (name,) = queries.load(name) if name.endswith(".sql") else (name,)
        query = queries.audit(name)
        known = {p.name: p for p in query.parameters}
        parts = []
        for key, value in params.items():
            if key.lower() not in known:
                arguments.bind(name, list(known), [_named(key)])
            parts.append(f"{key} := {self._argument(name, known[key.lower()], value)}")
        return self.sql(f"SELECT * FROM {name}({', '.join(parts)})", max_rows=max_rows)

    def expand(self, text: str, **params: Any) -> str:
        """The query as plain SQL over base tables, word lists and functions."""
        tree = Expander(Plain(self._relations), bind_functions=False).run(parse.parse(text).tree, params)
        return parse.to_sql(tree, pretty=True)

    def explain(self, text: str, **params: Any) -> str:
        """DuckDB's plan of the expanded query."""
        verb = "EXPLAIN "
        try:
            rows = self.sql(verb + text, **params).to_arrow().to_pylist()
        except SqlError as error:  # its place is one in what was given
            error.sql = text if error.sql is not None else None
            error.column = error.column - len(verb) if error.column is not None and error.line == 1 else error.column
            raise
        return "\n".join(str(list(row.values())[-1]) for row in rows)

    def _manage(self, statement: statements.Statement, text: str) -> Result:
        """Run a statement that changes the lake, and see what it did from here on."""
        from counterbalance.engine import dispatch

        if self._at is not None:
            raise RefusedError(
                f"a session at {self._at!r} only reads", code="E3208", hint="open one without --at to change the lake"
            )
        self._stop.clear()
        said: list[str] = []
        if snapshot.take(self._relations.main.location).versions != self.versions:
            said.append("others have written to the lake meanwhile: this session sees it as it is now")
        told = dispatch.execute(
            self._relations.main.location, statement, purpose=self.purpose, notes=said, progress=self._progress
        )
        self.renew()
        return Result(lambda: iter(told.to_batches()), lambda: told.schema, text, notes=said)

    def _progress(self, progress: Progress) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt
        if self.on_progress is not None:
            self.on_progress(progress)

    def renew(self) -> None:
        """Pin the newest versions; results that were not read yet can still be read."""
        if self._at is None:
            main = pin(self._relations.main.location, None)
            self._pins.append(main.pin)
            self._relations.renew(main)

    def bind(self, name: str, rows: pa.Table, of: str | None = None) -> str:
        """Register rows under a fresh name, and make that name known to queries; returns it."""
        return self._relations.bind(name, rows, of)

    def names(self) -> list[str]:
        """Names of all relations that can be written in FROM."""
        return self._relations.names()

    def relations(self) -> list[Relation]:
        """Everything a query can name, with columns where they are known without running anything."""
        return information_schema.relations(self._relations.main, sensitive=self.sensitive)

    def sensitive_attributes(self) -> frozenset[str]:
        """Attributes of this lake whose labels need a purpose."""
        return self._relations.sensitive_attributes()

    def interrupt(self) -> None:
        """Stop the queries, or the refresh, that are running; from another thread."""
        self._stop.set()
        for cursor in tuple(self._running):
            with suppress(Exception):  # its query ended at this moment, and it with the query
                cursor.interrupt()

    def _result(self, statement: parse.Statement, text: str, params: Mapping[str, Any], max_rows: int | None) -> Result:
        from sqlglot import exp

        expander = Expander(self._relations, inline_audits=statement.kind == "explain")
        try:
            relations = {n: self._own_rows(n, v) for n, v in params.items() if arguments.is_table(v)}
            expanded = expander.run(statement.tree, params, {n.lower(): table for n, table in relations.items()})
        except SqlError as error:
            raise self._explained(error, text, expander.arguments_given()) from error.__cause__
        if statement.analyze and expander.reads_sensitive and not self.sensitive:
            raise SensitiveError(
                "EXPLAIN ANALYZE counts rows that are too few to be shown", code="E3307", hint="EXPLAIN alone is fine"
            )
        tree = self._rewritten(expanded, params)
        tree = blobs.show_bytes(tree, self._relations.bytes_of, self._relations.bytes_source, selected=self._with_bytes)
        same = tree is expanded and not expander.changed and statement.kind == "query" and statement.is_plain
        prefix = {
            "query": "",
            "explain": "EXPLAIN ANALYZE " if statement.analyze else "EXPLAIN ",
            "describe": "DESCRIBE ",
            "summarize": "SUMMARIZE ",
        }
        trees = (tree, *(call.tree for call in expander.audits))
        names = {n.name for one in trees for n in one.find_all(exp.Placeholder, exp.Parameter)}
        missing = sorted(n for n in names if n not in params and not n.isdigit())
        if missing:
            raise _no_value(missing[0], params)
        given_as_value = sorted(names & {*relations})
        if given_as_value:
            name = given_as_value[0]
            raise SqlError(f"${name} is a table, not a value", code="E3192", hint=f"write it without $: FROM {name}")
        own = {n.name for n in tree.find_all(exp.Placeholder, exp.Parameter)}
        values = {n: params[n] for n in own if n in params}
        told, needed = notes.of(self._relations, expander, trees, self._at), self._needed(tree)
        pooled = expander.pooled if expander.pooled and notes.has_annotators(self._relations) else []
        sql = prefix[statement.kind] + (text.strip().rstrip(";") if same else parse.to_sql(tree, last=True))
        audits = {call.name: call for call in expander.audits}
        run = _Runnable(sql, values, needed, text, same, expander.arguments_given, expander.answered, audits)
        empty = partial(self._relations.without_rows, expander.used)
        return Result(
            lambda: join_overlap.watched(
                self._run(run), expander.held, expander.asked, pooled, self.evaluate, told, empty
            ),
            lambda: self._schema(run),
            sql,
            max_rows=max_rows,
            notes=told,
            done=lambda rows: self._log(run, rows),
        )

    def _rewritten(self, tree: exp.Query, params: Mapping[str, Any]) -> exp.Query:
        """Return an expanded query that reads less for the same rows."""
        counts = self._relations.counts
        tree = count_by_tally(tree, counts.tallied)
        tree = count_by_image(
            tree,
            counts.lies_by_image,
            lambda n, where, of: counts.by_image(self._duckdb().cursor, n, where, of, params),
        )
        tree = group_by_codes(tree, lambda name: self._relations.codes.get(name, {}), self._relations.coded_source)
        return count_by_rows(tree, self._relations.counted)

    def _needed(self, tree: exp.Query) -> tuple[str, ...]:
        from sqlglot import exp

        known = self._relations.sources.keys() | self._audits.keys()
        return tuple(sorted({t.name for t in tree.find_all(exp.Table)} & known))

    def audit_call(self, call: AuditCall) -> None:
        """Make the rows of an audit known to queries, by the call's name and as long as somebody holds it."""
        self._audits[call.name] = call

    @contextmanager
    def _cursor(self, run: _Runnable, *, rows: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of its own that knows the relations of this query and no others.

        Args:
            run: The query.
            rows: Whether audits that it reads are there with their rows, or with their columns only.
        """
        audits = {n: self._audits[n] for n in run.needs if n in self._audits}
        tables = {
            n: self._audit_rows(call, run) if rows else self._audit_schema(call, run) for n, call in audits.items()
        }
        with self._duckdb().cursor() as cursor:
            for name in run.needs:
                if name in tables:
                    cursor.register(name, tables[name])
                else:
                    self._relations.sources[name](cursor)
            yield cursor

    def _audit_rows(self, call: AuditCall, run: _Runnable) -> pa.Table:
        """The protected rows of an audit, computed once."""
        if call.rows is None:
            try:
                call.rows = self._protected(call, run)
            except CounterbalanceError as error:
                if not call.closed:
                    raise
                failed = without_values(call.query.name, error)
            else:
                return call.rows
            raise failed  # out of reach of what was caught, which may quote labels
        return call.rows

    def _protected(self, call: AuditCall, run: _Runnable) -> pa.Table:
        found = self._unprotected(call.tree, call, run)
        if call.closed:
            protection.refuse_row_level(call.query.name, found.schema)
        others = {what: self._unprotected(tree, call, run) for what, tree in call.alternatives.items()}
        protection.refuse_narrow(call.query.name, found, others, call.query.cells)
        return protection.protect(
            found, call.query.cells, call.min_count, call.params, closed=call.closed, in_order=call.in_order
        )

    def _unprotected(self, tree: exp.Query, call: AuditCall, run: _Runnable) -> pa.Table:
        own = self._own_run(tree, call, run)
        schema = self._schema(own)
        protection.require_columns(call.query.name, schema, call.query.cells)
        return pa.Table.from_batches(self._run(own), schema)

    def _audit_schema(self, call: AuditCall, run: _Runnable) -> pa.Table:
        schema = self._schema(self._own_run(call.tree, call, run))
        protection.require_columns(call.query.name, schema, call.query.cells)
        return protection.schema_of(schema, call.query.cells).empty_table()

    def _own_run(self, tree: exp.Query, call: AuditCall, run: _Runnable) -> _Runnable:
        """The query of an audit, to be run for another one."""
        from sqlglot import exp

        tree = self._rewritten(tree, call.values)
        values = {n.name: call.values[n.name] for n in tree.find_all(exp.Placeholder, exp.Parameter)}
        return replace(run, sql=parse.to_sql(tree, last=True), values=values, needs=self._needed(tree), same_text=False)

    def _run(self, run: _Runnable, at_once: int = _BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        try:
            with self._cursor(run) as cursor:
                self._log(run, None)
                with self._stoppable(cursor):
                    rows = cursor.sql(run.sql, params=dict(run.values) or None)
                    yield from rows.to_arrow_reader(_BYTES_ROWS if "BLOB" in map(str, rows.types) else at_once)
        except CounterbalanceError:
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            raise self._failure(error, run) from error

    @contextmanager
    def _stoppable(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """By ``interrupt``, by the end of the session, and when its time is over."""
        timer = None if self.timeout is None else threading.Timer(self.timeout, cursor.interrupt)
        self._running.append(cursor)
        try:
            if timer is not None:
                timer.daemon = True
                timer.start()
            yield
        finally:
            self._running.remove(cursor)
            if timer is not None:
                timer.cancel()

    def _schema(self, run: _Runnable) -> pa.Schema:
        try:
            with self._cursor(run, rows=False) as cursor:
                return cursor.sql(run.sql, params=dict(run.values) or None).limit(0).to_arrow_table().schema
        except CounterbalanceError:
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            raise self._failure(error, run) from error

    def _failure(self, error: BaseException, run: _Runnable) -> Exception:
        if engine_errors.is_of_function(error) and self._relations.raised:
            told = self._relations.raised.pop()
            error.__cause__ = told.__cause__
            return engine_errors.located(told, run.text)
        if self._closed and not engine_errors.is_ctrl_c(error):
            return is_closed()
        columns = {r.name: [c for c, _ in r.columns] for r in self.relations()}
        names = [*chain(*columns.values()), *self.names(), *callable_names()]
        hidden = {c for name in run.needs for c in self._relations.bytes_of(name)}
        failure = engine_errors.translate(
            error,
            run.text,
            same_text=run.same_text,
            names=names,
            columns=columns,
            answered=run.answered,
            bytes_=hidden,
            seconds=self.timeout,
        )
        return self._explained(failure, run.text, run.given()) if isinstance(failure, SqlError) else failure

    def _explained(self, error: SqlError, text: str, given: Iterable[tuple[Given, exp.Query]]) -> SqlError:
        """The error, or the one behind it: rows that were given for a parameter lack what it needs."""

        def columns(rows: exp.Query) -> pa.Schema:
            sql = parse.to_sql(rows)
            return self._schema(_Runnable(sql, {}, self._needed(rows), sql, same_text=True))

        return argument_schema.explained(error, text, given, columns)

    def _log(self, run: _Runnable, rows: int | None) -> None:
        """In this lake, and in every attached one of which something closed is read."""
        if self.purpose is None:
            return
        read = self._relations.closed_reads(run.needs, run.sql)
        lakes = [(None, self._relations.main), *self._relations.attached.items()]
        for name, pinned in lakes:
            columns, versions = read.get(name, []), pinned.snapshot.versions
            if name is None or columns:
                access.record(pinned.location, self.purpose, run.text, columns=columns, rows=rows, versions=versions)

    def _argument(self, name: str, parameter: queries.QueryParameter, value: Any) -> str:
        where = f"{parameter.name!r}"
        if not parameter.is_relation:
            return parse.to_sql(arguments.literal(parameter, value, where))
        if hasattr(value, "__arrow_c_stream__"):
            return self.bind(parameter.name, arguments.rows_of(where, value))
        if not isinstance(value, str | Path):
            raise RequestError(
                f"{where} of {name}() is a relation, not a {type(value).__name__}",
                code="E3048",
                hint="give a name, a call or (SELECT …) as text, the path of a list, or a table",
            )
        text = str(value)
        if lists.is_file(text):
            rows = lists.load(text, where)
            if "class" not in rows.column_names:
                rows = rows.append_column("class", pa.nulls(len(rows), pa.string()))
            return self.bind(parameter.name, rows, text)
        return parse.to_sql(arguments.relation(text, where)) if text.lstrip().startswith("(") else _quoted(text)

    def _own_rows(self, name: str, rows: Any) -> exp.Table:
        """A table of the caller's, as what its name stands for in a query."""
        from sqlglot import exp

        return exp.Table(this=exp.to_identifier(self.bind(name, arguments.rows_of(name, rows))))

    def evaluate(self, query: exp.Query) -> pa.Table:
        """Run an expanded query now."""
        sql = parse.to_sql(query)
        run = _Runnable(sql, {}, self._needed(query), sql, same_text=True)
        return pa.Table.from_batches(self._run(run), self._schema(run))

    def stream(self, query: exp.Query) -> Iterator[pa.RecordBatch]:
        """Run an expanded query, batch after batch; its rows are never all there."""
        own = _Runnable(parse.to_sql(query), {}, self._needed(query), text="", same_text=False)
        return self._run(own, _STREAM_ROWS)


def is_closed() -> RequestError:
    """Return the error of a session that was closed."""
    return RequestError("the session is closed", code="E3040", hint="read results before closing it")


def _no_value(name: str, given: Mapping[str, Any]) -> SqlError:
    """No value for a parameter of a query; perhaps it was given under another name."""
    if name == "?":
        return SqlError("? has no name to give it a value by", code="E3119", hint="write $name in its place")
    others = f"; given: {', '.join(given)}" if given else ""
    return SqlError(f"no value for ${name}", code="E3119", hint=f"-p {name}=… or sql(…, {name}=…){others}")


def _named(key: str) -> exp.Expr:
    from sqlglot import exp

    return exp.PropertyEQ(this=exp.to_identifier(key), expression=exp.null())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
