"""A session: queries on one consistent version of every table, and statements that change the lake."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, get_args

import pyarrow as pa

from counterbalance.engine import dispatch, information_schema, lists
from counterbalance.engine.backends import Engine
from counterbalance.engine.backends.duckdb.backend import DuckDB
from counterbalance.engine.catalog import access, closed, snapshot
from counterbalance.engine.catalog.pinned import pin
from counterbalance.engine.errors import NotFoundError, RefusedError, RequestError, SqlError, did_you_mean
from counterbalance.engine.query_engine import QueryEngine
from counterbalance.engine.result import Result
from counterbalance.engine.sql import arguments, parse, queries, statements
from counterbalance.engine.sql.diagnostics import engine_errors, nothing_to_count
from counterbalance.engine.sql.resolver import Resolver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlglot import exp

    from counterbalance.engine.backends import Backend
    from counterbalance.engine.backends.dialects import Dialect
    from counterbalance.engine.catalog.pinned import Pinned
    from counterbalance.engine.functions import OpenFunctions
    from counterbalance.engine.information_schema import Relation
    from counterbalance.engine.isolation.remote import Remote
    from counterbalance.engine.progress import Progress
    from counterbalance.engine.sql.query_model import QueryParameter
    from counterbalance.engine.store.location import Location


ENGINES: Final = get_args(Engine)


def _check_alias(name: str) -> None:
    if not name or name.lower() in {"main", "lists", "meta"}:
        raise RequestError(
            f"{name!r} is not a name for an attached lake", code="E3445", hint="take a word, but main, lists and meta"
        )


def _check_engine(engine: str, **limits: Any) -> None:
    """Refuse an engine that there is not, and limits that are not its own."""
    if engine not in ENGINES:
        raise RequestError(f"no engine {engine!r}{did_you_mean(engine, ENGINES)}", code="E3473", hint="duckdb or spark")
    given = [name for name, limit in limits.items() if limit is not None]
    if engine == "spark" and given:
        raise RequestError(
            f"{given[0]} is DuckDB's, not Spark's", code="E3474", hint="set it where Spark is started, or leave it out"
        )


class Session:
    """Queries on one snapshot of a lake. Use as a context manager; results are read before it is closed.

    Not for use by two threads at once, except ``interrupt``.

    Args:
        location: The lake.
        at: Tag or moment to read.
        attach: Other lakes by name; their tables are ``name.table``.
        attached_at: Tag or moment at which some of them are read.
        sensitive: Purpose for which sensitive labels are read; every query is then logged.
        timeout: Seconds a query may run, as far as DuckDB listens; a worker process keeps to it.
        memory: DuckDB's limit, such as ``"2GB"``; a worker process counts all that a query takes.
        threads: Worker threads; all cores by default.
        with_bytes: Stars of queries stand for pictures, too.
        engine: What runs queries: ``"duckdb"``, or ``"spark"``, whose limits of memory and threads are its own.
        isolated: Queries run in a worker process, which the limits end: a query that can run in this process only is refused
            with ``True``, and runs here with ``False``; ``None`` for no such process.
        pins: Gives a lake at its snapshot; another process hands in what it has pinned.
    """

    def __init__(
        self,
        location: Location,
        *,
        at: str | None = None,
        attach: Mapping[str, Location] | None = None,
        attached_at: Mapping[str, str] | None = None,
        sensitive: str | None = None,
        timeout: float | None = None,
        memory: str | None = None,
        threads: int | None = None,
        with_bytes: bool = False,
        engine: Engine = "duckdb",
        isolated: bool | None = None,
        pins: Callable[[Location, str | None], Pinned] = pin,
    ) -> None:
        access.check_purpose(sensitive)
        _check_engine(engine, memory=memory, threads=threads, isolated=isolated)
        if isolated is not None:
            from counterbalance.engine.isolation.remote import Remote, size_of

            _ = None if memory is None else size_of(memory)  # refused before anything is pinned
        self._at = at
        self._stop = threading.Event()
        self.on_progress: Callable[[Progress], None] | None = None
        is_sensitive = sensitive is not None
        lazy, reusable = isolated is not None, not is_sensitive
        backend: Backend
        if engine == "spark":
            from counterbalance.engine.backends.spark.backend import Spark

            backend = Spark(timeout=timeout)
        else:
            backend = DuckDB(memory=memory, threads=threads, timeout=timeout, reusable=reusable, lazy=lazy)
        main = pins(location, at)
        for name in attach or {}:
            _check_alias(name)
        attached = {name.lower(): pins(place, (attached_at or {}).get(name)) for name, place in (attach or {}).items()}
        self._pins = [main.pin, *(p.pin for p in attached.values())]
        resolver = Resolver(main, attached, sensitive=is_sensitive)
        self._engine = QueryEngine(
            resolver, backend, at=at, with_bytes=with_bytes, purpose=sensitive, unread_is_null=True
        )
        self._remote: Remote | None = None
        if isolated is not None:
            settings: dict[str, Any] = {"at": at, "sensitive": sensitive, "with_bytes": with_bytes, "threads": threads}
            settings["attached_at"] = dict(attached_at or {})
            self._remote = Remote(self._engine, timeout=timeout, memory=memory, required=isolated, settings=settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop what still runs, and give memory and spill space back."""
        if not self._engine.backend.closed:
            self._engine.backend.close()
            for kept in self._pins:
                kept.release()
        if self._remote is not None:
            self._remote.close()

    @property
    def location(self) -> Location:
        """Return the lake."""
        return self._engine.resolver.main.location

    @property
    def purpose(self) -> str | None:
        """Tell for which purpose perceived labels are read."""
        return self._engine.purpose

    @property
    def sensitive(self) -> bool:
        """Tell whether perceived labels are read."""
        return self._engine.resolver.sensitive

    @property
    def timeout(self) -> float | None:
        """Return the seconds that a query may run."""
        return self._engine.backend.timeout

    @timeout.setter
    def timeout(self, seconds: float | None) -> None:
        self._engine.backend.timeout = seconds
        if self._remote is not None:
            self._remote.timeout = seconds

    @property
    def versions(self) -> dict[str, int]:
        """Return the pinned Lance version of every table; those of closed ones, by which guesses are answered, with a purpose only."""
        return self.pinned if self.sensitive else closed.told(self.pinned, closed.ever(self.location))

    @property
    def pinned(self) -> dict[str, int]:
        """Return the pinned Lance version of every table, closed ones too: for keys of what is kept, never to be shown."""
        return dict(self._engine.resolver.versions)

    @property
    def functions(self) -> OpenFunctions:
        """Return functions with their models that its queries opened; they stay open while somebody holds this."""
        return self._engine.backend.functions

    # -- queries -----------------------------------------------------------------------------------------------------

    def sql(
        self,
        text: str,
        values: Mapping[str, Any] | Sequence[Any] | None = None,
        /,
        *,
        params: Mapping[str, Any] | Sequence[Any] | None = None,
        max_rows: int | None = None,
        **named: Any,
    ) -> Result:
        """Return a query's result, lazy until it is read.

        Args:
            text: One statement in DuckDB's SQL that reads, with audits, views, functions and word lists; or one that declares,
                drops or refreshes columns, views and indexes.
            values: Values of ``$name``, or a list of those of ``?``; ``named`` win over them. A table (anything with
                ``__arrow_c_stream__``: of Arrow, pandas, Polars, or a result) is a relation of that name instead: ``FROM name``.
            params: The same by a keyword.
            max_rows: Stop after that many rows.
            named: Values of ``$name``, and tables, as keywords.

        Raises:
            SqlError: It is not right; says where.
            RefusedError: It does more than read.
            SensitiveError: It needs a purpose.
            LimitError: It is too long to be read.
        """
        parse.check_length(text)
        given = named
        if values is not None or params is not None or named:
            given = {**arguments.by_name(values), **arguments.by_name(params), **named}
            given = {n: v if arguments.is_table(v) else arguments.plain(v) for n, v in given.items()}
            arguments.check_used(text, given)
        manage = partial(self._manage, text)
        try:
            return dispatch.dispatch(text, query=partial(self._read, given, max_rows), declare=manage, refresh=manage)
        except (SqlError, NotFoundError) as error:
            raise engine_errors.located(error, text) from error.__cause__
        except RecursionError:
            raise SqlError("nested too deeply", code="E3102", sql=None) from None

    def _read(self, params: Mapping[str, Any], max_rows: int | None, text: str) -> Result:
        here = partial(self._engine.sql, text, params, max_rows=max_rows)
        result = here() if self._remote is None else self._remote.sql(text, params, max_rows, here)
        result.session = self
        return result

    def audit(self, name: str, *, max_rows: int | None = None, **params: Any) -> Result:
        """Run an audit with Python values for its parameters.

        Args:
            name: Its name, or the path of its file (``*.sql``).
            max_rows: Stop after that many rows.
            params: By parameter name; a relation is a name, a call, ``(SELECT …)``, a list file, or anything with
                ``__arrow_c_stream__``.
        """
        here = partial(self._audit, name, params, max_rows)
        result = here() if self._remote is None else self._remote.audit(name, params, max_rows, here)
        result.session = self
        return result

    def _audit(self, name: str, params: Mapping[str, Any], max_rows: int | None) -> Result:
        (name,) = queries.load(name) if name.endswith(".sql") else (name,)
        query = queries.audit(name)
        known = {p.name: p for p in query.parameters}
        parts = []
        for key, value in params.items():
            if key.lower() not in known:
                arguments.bind(name, list(known), [_named(key)])
            parts.append(f"{key} := {self._argument(name, known[key.lower()], value)}")
        try:
            return self._engine.sql(f"SELECT * FROM {name}({', '.join(parts)})", max_rows=max_rows)
        except NotFoundError as error:  # its place is one in what nobody wrote
            error.sql = error.line = error.column = None
            raise

    def expand(self, text: str, *, dialect: Dialect | None = None, **params: Any) -> str:
        """Return the query as plain SQL over base tables, word lists and functions.

        Args:
            text: The query.
            dialect: SQL of ``"duckdb"``, ``"spark"`` or ``"trino"``, with its word lists written out.
            **params: Values of ``$name``.
        """
        here = partial(self._engine.expand, text, params, dialect=dialect)
        return here() if self._remote is None or dialect is not None else self._remote.expand(text, params, here)

    def explain(self, text: str, **params: Any) -> str:
        """Return DuckDB's plan of the expanded query."""
        verb = "EXPLAIN "
        try:
            rows = self.sql(verb + text, **params).to_arrow().to_pylist()
        except (SqlError, NotFoundError) as error:  # its place is one in what was given
            error.sql = text if error.sql is not None else None
            error.column = error.column - len(verb) if error.column is not None and error.line == 1 else error.column
            raise
        return "\n".join(str(list(row.values())[-1]) for row in rows)

    def _manage(self, text: str, statement: statements.Statement) -> Result:
        """Run a statement that changes the lake, and see what it did from here on."""
        if self._at is not None:
            raise RefusedError(
                f"a session at {self._at!r} only reads", code="E3208", hint="open one without --at to change the lake"
            )
        self._stop.clear()
        notes: list[str] = []
        if snapshot.take(self.location).versions != self.pinned:
            notes.append("others have written to the lake meanwhile: this session sees it as it is now")
        told = dispatch.execute(self.location, statement, purpose=self.purpose, notes=notes, progress=self._progress)
        self.renew()
        return Result(lambda: iter(told.to_batches()), lambda: told.schema, text, notes=notes)

    def _progress(self, progress: Progress) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt
        if self.on_progress is not None:
            self.on_progress(progress)

    def renew(self) -> None:
        """Pin the newest versions; results that were not read yet can still be read."""
        if self._at is None:
            main = pin(self.location, None)
            self._pins.append(main.pin)
            self._engine.resolver.renew(main)
            if self._remote is not None:
                self._remote.renew()

    def bind(self, name: str, rows: pa.Table, of: str | None = None) -> str:
        """Make rows known to queries under a fresh name, which is returned."""
        return self._engine.resolver.bind(name, rows, of).id

    def names(self) -> list[str]:
        """Return the names of all relations that can be written in FROM."""
        return self._engine.resolver.names()

    def relations(self) -> list[Relation]:
        """Return everything a query can name, with columns where they are known without running anything."""
        return information_schema.relations(self._engine.resolver.main, sensitive=self.sensitive)

    def sensitive_attributes(self) -> frozenset[str]:
        """Return the attributes of this lake whose labels need a purpose."""
        return self._engine.resolver.sensitive_attributes()

    def filled(self) -> set[str]:
        """Return what audits may need and this lake holds: base tables with rows, and ``captions of origin …``."""
        return nothing_to_count.filled(self._engine.resolver)

    def interrupt(self) -> None:
        """Stop the queries, or the refresh, that are running; from another thread."""
        self._stop.set()
        self._engine.backend.interrupt()
        if self._remote is not None:
            self._remote.interrupt()

    def _argument(self, name: str, parameter: QueryParameter, value: Any) -> str:
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
        return parse.to_sql(arguments.relation(text, where)) if text.lstrip().startswith("(") else parse.as_text(text)


def _named(key: str) -> exp.Expr:
    from sqlglot import exp

    return exp.PropertyEQ(this=exp.to_identifier(key), expression=exp.null())
