"""A session: one consistent version of every table, one closed DuckDB connection, and the relations a query may name."""

from __future__ import annotations

import re
import secrets
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import pyarrow as pa

from counterbalance.engine import lists, spilling
from counterbalance.engine.catalog import access, definitions, fresh, snapshot, system
from counterbalance.engine.errors import (
    CounterbalanceError,
    NotFoundError,
    RefusedError,
    RequestError,
    SensitiveError,
    SqlError,
)
from counterbalance.engine.functions import functions
from counterbalance.engine.result import Result
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.search import DOCS, SIGNATURES, table_functions
from counterbalance.engine.sql import arguments, failures, kernels, labels, parse, pictures, queries, shapes, statements
from counterbalance.engine.sql.binding import register_function
from counterbalance.engine.sql.counting import count_by_rows
from counterbalance.engine.sql.expand import Expander, Given
from counterbalance.engine.sql.grouping import group_by_codes
from counterbalance.engine.sql.plain import Plain
from counterbalance.engine.sql.sources import COUNTED, bytes_of, register, visible_schema
from counterbalance.engine.store import tables
from counterbalance.engine.store.pins import Pin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import duckdb
    import lance
    from sqlglot import exp

    from counterbalance.engine.catalog.snapshot import Snapshot
    from counterbalance.engine.functions import Function, Opened
    from counterbalance.engine.search.stored import Stored
    from counterbalance.engine.store.location import Location
    from counterbalance.engine.write.ingest import Progress

_BATCH_ROWS: Final = 65_536
_LABELS: Final = "labels"


@dataclass(frozen=True, slots=True)
class Relation:
    """Something a query can name."""

    schema: str | None
    name: str
    kind: Literal["table", "view", "audit", "meta", "list", "function", "table function"]
    doc: str
    columns: tuple[tuple[str, str], ...] = ()
    signature: str = ""


@dataclass(frozen=True, slots=True)
class _Runnable:
    """SQL that is ready to run: its parameters, the relations it needs, and what the user wrote."""

    sql: str
    values: Mapping[str, Any]
    needs: tuple[str, ...]
    text: str
    same_text: bool
    given: Callable[[], Iterator[tuple[Given, exp.Query]]] = lambda: iter(())


@dataclass(frozen=True, slots=True)
class _Pinned:
    pin: Pin
    location: Location
    snapshot: Snapshot
    codes: Mapping[tuple[str, str], list[str | None]]
    declared: definitions.Definitions


class Session:
    """Queries on one snapshot of a lake. Use as a context manager; results are read before it is closed.

    Not for use by two threads at once, except ``interrupt``.

    Args:
        location: The lake.
        at: Tag or moment to read.
        attach: Other lakes by name; their tables are ``name.table``.
        sensitive: Purpose for which sensitive labels are read; every query is then logged.
        timeout: Seconds a query may run.
        memory: DuckDB's limit, such as ``"2GB"``.
        threads: Worker threads; all cores by default.
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
    ) -> None:
        if sensitive is not None and len(sensitive.strip()) < 4:
            raise SensitiveError(
                "a purpose is a few words that say why", code="E3304", hint='--sensitive "audit of skin-tone labels"'
            )
        self._at = at
        self._stop = threading.Event()
        self.on_progress: Callable[[Progress], None] | None = None
        self._main = _pin(location, at)
        self._attached = {name.lower(): _pin(place, None) for name, place in (attach or {}).items()}
        self._pins = [self._main.pin, *(p.pin for p in self._attached.values())]
        self.purpose, self.timeout = sensitive, timeout
        self.sensitive = sensitive is not None
        self._spill = spilling.folder()
        self._tidy = weakref.finalize(self, spilling.remove, self._spill)
        self._connection = _connect(self._spill, memory, threads)
        self._registered: dict[tuple[str | None, str, bool], str] = {}
        self._sources: dict[str, Callable[[duckdb.DuckDBPyConnection], object]] = {}
        self._codes: dict[str, Mapping[str, list[str | None]]] = {}
        self._bound: dict[str, str] = {}
        self._functions: dict[str, Opened] = {}
        self._stored: dict[str, tuple[_Pinned, str, lance.LanceDataset]] = {}
        self._fresh: dict[str, Mapping[str, str]] = {}
        self._parts: dict[str, list[str]] = {}
        self._computed: dict[str, str] = {}
        self._raised: list[CounterbalanceError] = []
        self._bound_rows: dict[str, str] = {}
        self._token = secrets.token_hex(6)
        self._running: duckdb.DuckDBPyConnection | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give memory and spill space back."""
        if not self._closed:
            self._closed = True
            self._connection.close()
            for opened in self._functions.values():
                opened.close()
            self._tidy()
            for pin in self._pins:
                pin.release()

    @property
    def versions(self) -> dict[str, int]:
        """Pinned Lance version of every table."""
        return dict(self._main.snapshot.versions)

    # -- queries -----------------------------------------------------------------------------------------------------

    def sql(
        self, text: str, values: Mapping[str, Any] | None = None, /, *, max_rows: int | None = None, **params: Any
    ) -> Result:
        """A query's result, lazy until it is read.

        Args:
            text: One read-only statement in DuckDB's SQL, with audits, views, functions and word lists.
            values: Values of ``$name``; ``params`` win over them.
            max_rows: Stop after that many rows.
            params: The same, as keywords.

        Raises:
            SqlError: It is not right; says where.
            RefusedError: It does more than read.
            SensitiveError: It needs a purpose.
        """
        params = {**arguments.by_name(values), **params}
        try:
            managed = statements.read(text)
            if managed is not None:
                return self._manage(managed, text)
            statement = parse.parse(text)
            if statement.kind == "show":
                shown = self._shown()
                return Result(lambda: iter(shown.to_batches()), lambda: shown.schema, text)
            return self._result(statement, text, params, max_rows)
        except SqlError as error:
            raise self._located(error, text) from error.__cause__

    def audit(self, name: str, *, max_rows: int | None = None, **params: Any) -> Result:
        """Run an audit with Python values for its parameters.

        Args:
            name: Its name.
            max_rows: Stop after that many rows.
            params: By parameter name; a relation is a name, a call, ``(SELECT …)``, a list file, or anything with
                ``__arrow_c_stream__``.
        """
        query = queries.audit(name)
        known = {p.name: p for p in query.parameters}
        parts = []
        for key, value in params.items():
            if key not in known:
                arguments.bind(name, list(known), [_named(key)])
            parts.append(f"{key} := {self._argument(known[key], value)}")
        return self.sql(f"SELECT * FROM {name}({', '.join(parts)})", max_rows=max_rows)

    def expand(self, text: str, **params: Any) -> str:
        """The query as plain SQL over base tables, word lists and functions."""
        tree = Expander(Plain(self), bind_functions=False).run(parse.parse(text).tree, params)
        return parse.to_sql(tree, pretty=True)

    def explain(self, text: str, **params: Any) -> str:
        """DuckDB's plan of the expanded query."""
        rows = self.sql(f"EXPLAIN {text}", **params).to_arrow().to_pylist()
        return "\n".join(str(list(row.values())[-1]) for row in rows)

    def _manage(self, statement: statements.Statement, text: str) -> Result:
        """Run a statement that changes the lake, and see what it did from here on."""
        from counterbalance.engine import manage

        if self._at is not None:
            raise RefusedError(
                f"a session at {self._at!r} only reads", code="E3208", hint="open one without --at to change the lake"
            )
        self._stop.clear()
        told = manage.execute(self._main.location, statement, progress=self._progress)
        self.renew()
        return Result(lambda: iter(told.to_batches()), lambda: told.schema, text)

    def _progress(self, progress: Progress) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt
        if self.on_progress is not None:
            self.on_progress(progress)

    def renew(self) -> None:
        """Pin the newest versions; results that were not read yet can still be read."""
        if self._at is None:
            self._main = _pin(self._main.location, None)
            self._pins.append(self._main.pin)
            for known in (self._registered, self._codes, self._stored, self._fresh, self._computed):
                known.clear()

    def interrupt(self) -> None:
        """Stop the query or refresh that is running; from another thread."""
        self._stop.set()
        if self._running is not None:
            self._running.interrupt()

    def _result(self, statement: parse.Statement, text: str, params: Mapping[str, Any], max_rows: int | None) -> Result:
        from sqlglot import exp

        expander = Expander(self)
        try:
            expanded = expander.run(statement.tree, params)
        except SqlError as error:
            raise self._explained(error, text, expander.arguments_given()) from error.__cause__
        if statement.analyze and expander.reads_sensitive and not self.sensitive:
            raise SensitiveError(
                "EXPLAIN ANALYZE counts rows that are too few to be shown", code="E3307", hint="EXPLAIN alone is fine"
            )
        tree = group_by_codes(expanded, lambda name: self._codes.get(name, {}), self._coded_source)
        tree = count_by_rows(tree, lambda name: name + COUNTED if name + COUNTED in self._sources else None)
        tree = pictures.show_bytes(tree, self._bytes_of)
        same = tree is expanded and not expander.changed and statement.kind == "query" and statement.is_plain
        body = text.strip().rstrip(";") if same else parse.to_sql(tree)
        prefix = {
            "query": "",
            "explain": "EXPLAIN ANALYZE " if statement.analyze else "EXPLAIN ",
            "describe": "DESCRIBE ",
            "summarize": "SUMMARIZE ",
        }
        names = {n.name for n in tree.find_all(exp.Placeholder, exp.Parameter)}
        missing = sorted(n for n in names if n not in params and not n.isdigit())
        if missing:
            raise SqlError(
                f"no value for ${missing[0]}", code="E3119", hint=f"-p {missing[0]}=… or sql(…, {missing[0]}=…)"
            )
        values = {n: params[n] for n in names if n in params}
        sql = prefix[statement.kind] + body
        notes = self._notes(expander)
        run = _Runnable(sql, values, self._needed(tree), text, same, expander.arguments_given)
        return Result(
            lambda: self._run(run),
            lambda: self._schema(run),
            sql,
            max_rows=max_rows,
            notes=notes,
            done=lambda rows: self._log(run, rows),
        )

    def _notes(self, expander: Expander) -> list[str]:
        notes = []
        hidden = self.sensitive_attributes()
        if _LABELS in expander.used and hidden and not self.sensitive:
            notes.append(
                f"labels of {', '.join(sorted(hidden))} are not shown; state a purpose with --sensitive to read them"
            )
        lakes = (self._main, *self._attached.values())
        for column, value in dict.fromkeys(expander.named):
            known = labels.known([(lake.snapshot, lake.codes) for lake in lakes], column)
            if known is not None and value not in known:
                notes.append(labels.note(column, value, known))
        return notes

    def _needed(self, tree: exp.Query) -> tuple[str, ...]:
        from sqlglot import exp

        return tuple(sorted({t.name for t in tree.find_all(exp.Table)} & self._sources.keys()))

    def _cursor(self, run: _Runnable) -> duckdb.DuckDBPyConnection:
        """A connection of its own that knows the relations of this query and no others."""
        if self._closed:
            raise RequestError("the session is closed", code="E3040", hint="read results before closing it")
        cursor = self._connection.cursor()
        for name in run.needs:
            self._sources[name](cursor)
        return cursor

    def _run(self, run: _Runnable) -> Iterator[pa.RecordBatch]:
        cursor = self._cursor(run)
        self._log(run, None)
        timer = None if self.timeout is None else threading.Timer(self.timeout, cursor.interrupt)
        self._running = cursor
        try:
            if timer is not None:
                timer.daemon = True
                timer.start()
            yield from cursor.sql(run.sql, params=dict(run.values) or None).to_arrow_reader(_BATCH_ROWS)
        except Exception as error:
            raise self._failure(error, run) from error
        finally:
            self._running = None
            if timer is not None:
                timer.cancel()
            cursor.close()

    def _schema(self, run: _Runnable) -> pa.Schema:
        cursor = self._cursor(run)
        try:
            return cursor.sql(run.sql, params=dict(run.values) or None).limit(0).to_arrow_table().schema
        except Exception as error:
            raise self._failure(error, run) from error
        finally:
            cursor.close()

    def _failure(self, error: Exception, run: _Runnable) -> Exception:
        if failures.is_of_function(error) and self._raised:
            told = self._raised.pop()
            error.__cause__ = told.__cause__
            return failures.located(told, run.text)
        names = [c for r in self.relations() for c, _ in r.columns] + self.names() + list(functions())
        failure = failures.translate(error, run.text, same_text=run.same_text, names=names, seconds=self.timeout)
        return self._explained(failure, run.text, run.given()) if isinstance(failure, SqlError) else failure

    def _explained(self, error: SqlError, text: str, given: Iterable[tuple[Given, exp.Query]]) -> SqlError:
        """The error, or the one behind it: rows that were given for a parameter lack what it needs."""

        def columns(rows: exp.Query) -> pa.Schema:
            sql = parse.to_sql(rows)
            return self._schema(_Runnable(sql, {}, self._needed(rows), sql, same_text=True))

        return shapes.explained(error, text, given, columns)

    def _located(self, error: SqlError, text: str) -> SqlError:
        if error.sql is None:
            error.sql = text
        return error

    def _log(self, run: _Runnable, rows: int | None) -> None:
        """In this lake, and in every attached one whose sensitive labels are read."""
        if self.purpose is None:
            return
        read = {name: p for name, p in self._attached.items() if f"{name}.{_LABELS}_{self._token}" in run.needs}
        for pinned in (self._main, *read.values()):
            versions = pinned.snapshot.versions
            access.record(pinned.location, self.purpose, run.text, columns=[], rows=rows, versions=versions)

    def _argument(self, parameter: queries.QueryParameter, value: Any) -> str:
        where = f"{parameter.name!r}"
        if not parameter.is_relation:
            return parse.to_sql(arguments.literal(parameter, value, where))
        if hasattr(value, "__arrow_c_stream__"):
            return self.bind(parameter.name, pa.table(value))
        text = str(value)
        if lists.is_file(text):
            rows = lists.load(text)
            if "class" not in rows.column_names:
                rows = rows.append_column("class", pa.nulls(len(rows), pa.string()))
            return self.bind(parameter.name, rows)
        return parse.to_sql(arguments.relation(text, where)) if text.lstrip().startswith("(") else _quoted(text)

    # -- what the expander asks for ----------------------------------------------------------------------------------

    def table(self, schema: str | None, name: str, *, trusted: bool) -> str | None:
        """Registered name of a stored relation, or ``None``."""
        if schema == "main":
            schema = None
        if schema is None and name in self._bound:
            return self._bound[name]
        trusted = trusted and name == _LABELS
        key = (schema, name, trusted)
        if key not in self._registered:
            found = self._register(schema, name, trusted=trusted)
            if found is None:
                return None
            self._registered[key] = found
        return self._registered[key]

    def _register(self, schema: str | None, name: str, *, trusted: bool) -> str | None:
        if schema == "meta":
            return self._register_rows(f"meta.{name}", self._system(name))
        if schema == "lists":
            return self._register_rows(f"lists.{name}", lists.wordlist(name) if name in lists.names() else None)
        pinned = self._main if schema is None else self._attached.get(schema)
        if pinned is None or "/" in name:  # folders of a lake are closed: they hold the journal and sensitive labels
            return None
        shown = name if schema is None else f"{schema}.{name}"
        if trusted and snapshot.SENSITIVE_LABELS in pinned.snapshot.versions:
            return self._register_all_labels(pinned, shown)
        return self._register_stored(pinned, name, shown)

    def _register_stored(self, pinned: _Pinned, stored: str, shown: str) -> str | None:
        version = pinned.snapshot.versions.get(stored)
        if version is None:
            if stored in pinned.declared.views():
                raise NotFoundError(
                    f"the materialized view {shown} was not computed yet", code="E1035", hint=f"REFRESH {shown}"
                )
            base = BASE_TABLES.get(stored)
            return None if base is None else self._register_rows(shown, base.schema().empty_table())
        dataset = tables.open_table(pinned.location, stored, version)
        if dataset is None:
            return None
        view = pinned.declared.views().get(stored)
        if view is not None and view.sensitive and not self.sensitive:
            raise SensitiveError(
                f"{shown} holds perceived-demographic labels", code="E3308", hint='state a purpose: --sensitive "why"'
            )
        hidden = frozenset() if self.sensitive else fresh.hidden_columns(pinned.declared, stored)
        self._stored[shown] = (pinned, stored, dataset)
        trusted_codes = stored in pinned.snapshot.coded
        codes = {c: v for (t, c), v in pinned.codes.items() if t == stored and None not in v} if trusted_codes else {}
        self._register_ways(shown, dataset, codes, hidden)
        return shown

    def _register_ways(
        self,
        shown: str,
        dataset: lance.LanceDataset,
        codes: Mapping[str, list[str | None]],
        hidden: frozenset[str],
        condition: str | None = None,
    ) -> None:
        """A stored table under the names that the rewrites of a query ask for."""

        def way(suffix: str, **how: bool) -> None:
            name = shown + suffix
            self._sources[name] = lambda connection: register(
                connection, name, dataset, codes=codes, hidden=hidden, condition=condition, **how
            )

        way("")
        if bytes_of(dataset):
            way(pictures.SUFFIX, with_bytes=True)
        if hasattr(self._connection, "_register_arrow_source"):
            way(COUNTED, to_count=True)
            if codes:
                self._codes[shown] = codes
                way("__codes", show_codes=True)

    def failed(self, name: str, column: str) -> bool:
        """Whether a generated column of a registered relation has rows whose function failed."""
        from counterbalance.engine.refresh import failures as recorded

        pinned, stored, _ = self._stored[name]
        return len(recorded.of_column(pinned.location, stored, column)) > 0

    def narrowed(self, name: str, condition: str) -> str | None:
        """Registered name of the rows of a stored relation that a Lance filter keeps, or ``None``."""
        if name not in self._stored or not hasattr(self._connection, "_register_arrow_source"):
            return None
        pinned, stored, dataset = self._stored[name]
        key = f"{name} {condition}"
        if key not in self._computed:
            hidden = frozenset() if self.sensitive else fresh.hidden_columns(pinned.declared, stored)
            shown = f"{name}__only_{len(self._sources)}"
            self._register_ways(shown, dataset, dict(self._codes.get(name, {})), hidden, condition)
            self._computed[key] = shown
        return self._computed[key]

    def found(self, key: str, make: Callable[[], pa.Table]) -> str:
        """Registered name of rows that are made once a session."""
        if key not in self._computed:
            rows, shown = make(), f"found__{len(self._sources)}_{self._token}"
            self._sources[shown] = lambda connection: connection.register(shown, rows)
            self._computed[key] = shown
        return self._computed[key]

    def _register_all_labels(self, pinned: _Pinned, shown: str) -> str:
        """Open and sensitive labels together, under a name that no text can know."""
        parts = []
        for stored in (_LABELS, snapshot.SENSITIVE_LABELS):
            part = (
                self._register_stored(pinned, stored, f"{shown}/{stored}_part_{self._token}")
                if stored in pinned.snapshot.versions
                else None
            )
            parts += [part] if part is not None else []
        name = f"{shown}_{self._token}"
        union = " UNION ALL ".join(f'SELECT * FROM "{p}"' for p in parts)

        def make(connection: duckdb.DuckDBPyConnection) -> None:
            for part in parts:
                self._sources[part](connection)
            connection.execute(f'CREATE TEMP VIEW "{name}" AS {union}')

        self._sources[name] = make
        self._parts[name] = parts
        return name

    def kernel(self, name: str, relations: set[str], scalars: Mapping[str, exp.Expr]) -> str | None:
        """Registered name of the rows of a view that are computed without its SQL, or ``None``."""
        parts = {r: [p for p in self._parts.get(r, [r]) if p in self._stored] for r in relations}
        stored = {
            self._stored[own[0]][1].removeprefix("sensitive/"): [
                kernels.Stored(self._stored[p][2], self._codes.get(p, {})) for p in own
            ]
            for own in parts.values()
            if own
        }
        if name != "roll_up" or stored.keys() != {_LABELS, "detections"}:
            return None
        work = kernels.roll_up(stored[_LABELS], stored["detections"], scalars)
        if work is None:
            return None
        key = " ".join([name, *sorted(relations), *(parse.to_sql(s) for s in scalars.values())])
        if key not in self._computed:
            shown = f"{name}__{len(self._sources) + 1}_{self._token}"
            later = kernels.Later(work.schema, work.run)
            self._sources[shown] = lambda connection: connection.register(shown, later)
            self._computed[key] = shown
        return self._computed[key]

    def _register_rows(self, name: str, rows: pa.Table | None) -> str | None:
        if rows is None:
            return None
        self._sources[name] = lambda connection: connection.register(name, rows)
        return name

    def _system(self, name: str) -> pa.Table | None:
        if name == "access" and not self.sensitive:
            raise SensitiveError(
                "the access log is read in a session with a purpose", code="E3305", hint='--sensitive "why"'
            )
        return system.relation(self._main.location, name, self.versions)

    def _coded_source(self, name: str) -> str:
        return f"{name}__codes"

    def evaluate(self, query: exp.Query) -> pa.Table:
        """Run an expanded query now."""
        sql = parse.to_sql(query)
        run = _Runnable(sql, {}, self._needed(query), sql, same_text=True)
        return pa.Table.from_batches(self._run(run), self._schema(run))

    def bind(self, name: str, rows: pa.Table) -> str:
        """Register rows under a fresh name, and make that name known to queries."""
        fresh = f"{name}__bound_{len(self._bound) + 1}"
        self._sources[fresh] = lambda connection: connection.register(fresh, rows)
        self._bound[fresh] = fresh
        self._bound_rows[fresh] = f"<table of {rows.num_columns} columns, {rows.num_rows} rows>"
        return fresh

    def function(self, function: Function, constants: Mapping[str, Any]) -> str:
        """Registered name of a Python function with its constants fixed."""
        return register_function(self._connection, function, constants, self._functions, self._raised)

    def stored_calls(self, name: str) -> Mapping[str, str]:
        """Expressions that a registered relation holds the values of, fresh in every row, each with its column."""
        if name not in self._fresh:
            found: Mapping[str, str] = {}
            if name in self._stored:
                pinned, stored, dataset = self._stored[name]
                hidden = frozenset() if self.sensitive else fresh.hidden_columns(pinned.declared, stored)
                from counterbalance.engine.refresh.fingerprint import Fingerprints

                known = Fingerprints(pinned.location, pinned.declared, self)
                found = fresh.fresh_calls(dataset, pinned.declared, stored, known.of, hidden)
            self._fresh[name] = found
        return self._fresh[name]

    def _bytes_of(self, name: str) -> list[str]:
        return bytes_of(self._stored[name][2]) if name in self._stored else []

    def table_function(self, name: str) -> Callable[..., pa.Table] | None:
        """The function that returns rows (``top_k``, ``knn``), or ``None``."""
        return table_functions()[name] if name in SIGNATURES else None

    def stored_table(self, name: str) -> Stored | None:
        """The stored table that is registered under a name, with the columns that this session shows."""
        from counterbalance.engine.search.stored import Stored

        if name not in self._stored:
            return None
        pinned, stored, dataset = self._stored[name]
        hidden = frozenset() if self.sensitive else fresh.hidden_columns(pinned.declared, stored)
        return Stored(name, visible_schema(dataset, hidden), dataset)

    def lakes(self) -> frozenset[str]:
        """Names of the attached lakes."""
        return frozenset(self._attached)

    def shown(self, text: str) -> str:
        """A relation argument as a reader understands it: rows that were bound are described, not named."""
        for name, rows in self._bound_rows.items():
            text = re.sub(rf'"{re.escape(name)}"|(?<!\w){re.escape(name)}(?!\w)', rows, text)
        return text

    def sensitive_attributes(self) -> frozenset[str]:
        """Attributes of this lake whose labels need a purpose."""
        lakes = (self._main, *self._attached.values())
        return frozenset().union(*(system.sensitive_attributes(lake.codes) for lake in lakes))

    # -- discovery ---------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Names of all relations that can be written in FROM."""
        stored = {v for v in self.versions if "/" not in v} | set(BASE_TABLES)
        attached = {
            f"{a}.{t}" for a, p in self._attached.items() for t in (*p.snapshot.versions, *BASE_TABLES) if "/" not in t
        }
        attached |= {f"{a}.{q.name}" for a in self._attached for q in queries.queries().values() if q.kind == "view"}
        own = {
            *queries.queries(),
            *SIGNATURES,
            *(f"meta.{n}" for n in system.DOCS),
            *(f"lists.{n}" for n in lists.names()),
        }
        return sorted(stored | attached | own)

    def relations(self) -> list[Relation]:
        """Everything a query can name, with columns where they are known without running anything."""
        found = [
            Relation(None, n, "table", BASE_TABLES[n].doc if n in BASE_TABLES else "made by another tool", c)
            for n, c in self._stored_columns()
        ]
        found += [Relation(None, q.name, q.kind, q.doc, (), q.signature) for q in queries.queries().values()]
        for name, doc in DOCS.items():
            found.append(
                Relation(
                    None, name, "table function", doc, (), f"{name}({', '.join(p.name for p in SIGNATURES[name])})"
                )
            )
        found += [Relation("meta", name, "meta", doc) for name, doc in system.DOCS.items()]
        found += [Relation("lists", name, "list", "word list") for name in lists.names()]
        found += [Relation(None, f.name, "function", f.doc, (), f.signature) for f in functions().values()]
        return found

    def _stored_columns(self) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
        for name in sorted({*BASE_TABLES, *(v for v in self.versions if "/" not in v)}):
            if name in BASE_TABLES:
                schema = BASE_TABLES[name].schema()
            else:
                dataset = tables.open_table(self._main.location, name, self.versions[name])
                if dataset is None:
                    continue
                schema = visible_schema(dataset)
            yield name, tuple((f.name, str(f.type)) for f in schema)

    def _shown(self) -> pa.Table:
        rows = [
            {"name": r.name if r.schema is None else f"{r.schema}.{r.name}", "kind": r.kind, "doc": r.doc}
            for r in self.relations()
            if r.kind != "function"
        ]
        return pa.Table.from_pylist(rows)


def _pin(location: Location, at: str | None) -> _Pinned:
    pin = Pin(location)
    taken = snapshot.take(location, at)
    pin.keep(taken.versions)
    return _Pinned(pin, location, taken, snapshot.codes(location), definitions.load(location))


def _connect(spill: str, memory: str | None, threads: int | None) -> duckdb.DuckDBPyConnection:
    """A closed connection: no files, no network, no extensions, settings locked; it spills into a private folder."""
    import duckdb

    config: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        "temp_directory": spill,
        "preserve_insertion_order": "true",
    }
    if memory is not None:
        config["memory_limit"] = memory
    if threads is not None:
        config["threads"] = str(threads)
    try:
        connection = duckdb.connect(":memory:", config=config)
    except duckdb.Error as error:
        raise RequestError(f"cannot open a session: {str(error).splitlines()[0]}", code="E3041") from error
    connection.execute(f"SET max_temp_directory_size = '{spilling.most_bytes(spill)}'")  # as a config it is not kept to
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _named(key: str) -> exp.Expr:
    from sqlglot import exp

    return exp.PropertyEQ(this=exp.to_identifier(key), expression=exp.null())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
