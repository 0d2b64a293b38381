"""Queries on one snapshot: text is parsed, bound to a plan, rewritten, and run by a backend.

    text --parse--> tree --bind--> Plan --rewrites--> Plan --backend--> Arrow batches

An audit in it is a plan of its own. It runs first; its small cells are hidden; its rows stand in the plan around.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from counterbalance.engine import information_schema
from counterbalance.engine.backends import dialects
from counterbalance.engine.backends.duckdb.backend import DuckDB, is_closed
from counterbalance.engine.backends.duckdb.scan import bytes_of
from counterbalance.engine.catalog import access
from counterbalance.engine.catalog.pinned import pin
from counterbalance.engine.disclosure import protection, refusals
from counterbalance.engine.disclosure.cells import MIN_COUNT
from counterbalance.engine.disclosure.merged_labels import Labelled, merged_labels, together
from counterbalance.engine.disclosure.suppression import hidden_labels
from counterbalance.engine.errors import (
    CounterbalanceError,
    LimitError,
    NotFoundError,
    RequestError,
    SensitiveError,
    SqlError,
    is_ctrl_c,
    is_panic,
)
from counterbalance.engine.result import Result
from counterbalance.engine.sql import arguments, parse
from counterbalance.engine.sql.bind import Binder
from counterbalance.engine.sql.binding import Binding
from counterbalance.engine.sql.call_syntax import callable_names
from counterbalance.engine.sql.diagnostics import argument_schema, engine_errors
from counterbalance.engine.sql.diagnostics.diagnose import diagnosed, notes_before, unshown_pictures
from counterbalance.engine.sql.plan import AuditCall, Facts, Plan
from counterbalance.engine.sql.policy import without_values
from counterbalance.engine.sql.resolver import Resolver, bound_rows
from counterbalance.engine.sql.rewrites import rewritten
from counterbalance.engine.sql.rewrites.blobs import show_bytes
from counterbalance.engine.store.pictures import Unread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from counterbalance.engine.backends import Backend
    from counterbalance.engine.backends.dialects import Dialect
    from counterbalance.engine.disclosure.merged_labels import Merged, Of
    from counterbalance.engine.sql.resolver import Declared
    from counterbalance.engine.store.location import Location

_BATCH_ROWS: Final = 65_536
_STREAM_ROWS: Final = 8192
_TRIED_ROWS: Final = 2
_OF_ALL: Final = "SHOW ALL TABLES lists built-in views, audits, system tables and word lists, too"
_VERBS: Final = {"query": "", "explain": "EXPLAIN ", "describe": "DESCRIBE ", "summarize": "SUMMARIZE "}


class QueryEngine:
    """Plans and runs what only reads.

    Args:
        resolver: What names mean.
        backend: Runs plans.
        at: The tag or moment that is read, for notes.
        with_bytes: Stars of queries stand for pictures, too.
        tries: What has to run while a query is bound runs on a few rows, as where only types are asked for.
        purpose: For which perceived labels are read; every query is then logged.
        unread_is_null: A picture that cannot be read is NULL, which a note tells, and does not end a query. Not in its audits,
            whose numbers would be of fewer images, nor where rows are kept.
    """

    def __init__(
        self,
        resolver: Resolver,
        backend: Backend,
        *,
        at: str | None = None,
        with_bytes: bool = False,
        tries: bool = False,
        purpose: str | None = None,
        unread_is_null: bool = False,
    ) -> None:
        self.resolver, self.backend = resolver, backend
        self.purpose, self._unread_is_null = purpose, unread_is_null
        self._at, self._with_bytes, self._tries = at, with_bytes, tries
        self.has_tried = False

    def sql(self, text: str, params: Mapping[str, Any] | None = None, *, max_rows: int | None = None) -> Result:
        """Return the result of a statement that only reads, lazy until it is read.

        Args:
            text: The statement.
            params: Values of ``$name``, and tables by the names that the statement has for them.
            max_rows: Stop after that many rows.

        Raises:
            SqlError: It is not right; says where.
            RefusedError: It does more than read.
            SensitiveError: It needs a purpose.
            LimitError: It is too long to be read.
        """
        parse.check_length(text)
        try:
            statement = parse.parse(text)
            if statement.kind == "show":
                found = information_schema.relations(self.resolver.main, sensitive=self.resolver.sensitive)
                shown = information_schema.listed(found, all_=statement.of_all)
                notes = [] if statement.of_all else [_OF_ALL]
                return Result(lambda: iter(shown.to_batches()), lambda: shown.schema, text, notes=notes)
            return self._result(statement, text, params or {}, max_rows)
        except (SqlError, NotFoundError) as error:
            raise engine_errors.located(error, text) from error.__cause__
        except RecursionError:
            raise SqlError("nested too deeply", code="E3102", sql=None) from None

    def expand(self, text: str, params: Mapping[str, Any] | None = None, *, dialect: Dialect | None = None) -> str:
        """Return a query as plain SQL over base tables, word lists and functions; of another engine, without word lists."""
        binder = Binder(self.resolver, self._binding(), as_written=True, checks=False)
        plan = binder.run(parse.parse(text).tree, params)
        return parse.to_sql(plan.tree, pretty=True) if dialect is None else dialects.written(plan.tree, dialect)

    def bound(self, text: str) -> tuple[Plan, Facts]:
        """Return the plan of a query with names as they were written, and what was found out about it; nothing is run."""
        binder = Binder(self.resolver, self._binding(), as_written=True)
        return binder.run(parse.parse(text).tree), binder.facts

    def evaluate(self, plan: Plan) -> pa.Table:
        """Run a plan now."""
        if not self._tries:
            return self._evaluated(plan)
        self.has_tried = True
        inner: Any = plan.tree.copy()
        rows = exp.select("*").from_(inner.subquery("q"))
        try:
            return self._evaluated(replace(plan, tree=rows.limit(_TRIED_ROWS)))
        except LimitError:
            return self._evaluated(replace(plan, tree=rows.limit(0)))

    def stream(self, plan: Plan) -> Iterator[pa.RecordBatch]:
        """Run a plan, batch after batch; its rows are never all there."""
        return self._run(plan.finished(), Facts(), _STREAM_ROWS)

    def _evaluated(self, plan: Plan) -> pa.Table:
        plan = replace(plan.finished(), as_written=True)
        facts = Facts(plan.sql or "")
        return pa.Table.from_batches(self._run(plan, facts))

    def _binding(self) -> Binding:
        return Binding(self.resolver, self.backend, self)

    # -- plans -------------------------------------------------------------------------------------------------------

    def _result(self, statement: parse.Statement, text: str, params: Mapping[str, Any], max_rows: int | None) -> Result:
        own = {n.lower(): bound_rows(n, arguments.rows_of(n, v)) for n, v in params.items() if arguments.is_table(v)}
        values = {n: v for n, v in params.items() if n.lower() not in own}
        places = [n.name for n in statement.tree.find_all(exp.Placeholder, exp.Parameter)]
        if places or values:
            arguments.check_places(places, values)
        binder = Binder(self.resolver, self._binding(), inline_audits=statement.kind == "explain")
        facts = binder.facts
        facts.text = text
        try:
            plan = binder.run(statement.tree, values, own)
        except SqlError as error:
            raise self._explained(error, facts) from error.__cause__
        if statement.analyze and facts.reads_sensitive and not self.resolver.sensitive:
            raise SensitiveError(
                "EXPLAIN ANALYZE counts rows that are too few to be shown", code="E3307", hint="EXPLAIN alone is fine"
            )
        is_as_written = not facts.changed and statement.kind == "query" and statement.is_plain and "?" not in text
        verb = "EXPLAIN ANALYZE " if statement.analyze else _VERBS[statement.kind]
        all_columns = self._with_bytes or (statement.kind == "describe" and statement.of_name)
        bound = replace(plan, verb=verb, shows_bytes=all_columns)
        plan = self._rewritten(bound)
        plans = (plan, *(call.plan for call in plan.audits))
        _check_values({name for one in plans for name in one.placeholders()}, params, own.keys())
        notes = [*notes_before(self.resolver, facts, plans, self._at), *unshown_pictures(bound)]
        if plan is bound and is_as_written:
            plan = replace(plan.finished(text.strip().rstrip(";")), as_written=True)
        plan = plan.finished(last=True)
        unread = Unread() if self._unread_is_null and plan.reads_bytes else None
        return Result(
            lambda: diagnosed(
                self._run(plan, facts, unread=unread), self.resolver, facts, self.evaluate, notes, unread
            ),
            lambda: self._schema(plan, facts),
            f"{plan.verb}{plan.sql}",
            max_rows=max_rows,
            notes=notes,
            done=lambda rows: self._log(plan, text, rows),
        )

    # -- running -----------------------------------------------------------------------------------------------------

    def _run(
        self,
        plan: Plan,
        facts: Facts,
        batch_rows: int = _BATCH_ROWS,
        unread: Unread | None = None,
        *,
        few: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Run a plan; what is wrong with it is told of the text as it was written."""
        try:
            ready = self._with_audits(plan, facts, self._audit_rows)
            self._log(plan, facts.text, None)
            yield from self.backend.run(ready, batch_rows, unread, few=few)
        except NotFoundError as error:
            raise engine_errors.located(error, facts.text) from error.__cause__
        except CounterbalanceError:
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            raise self._failure(error, plan, facts) from error

    def _schema(self, plan: Plan, facts: Facts) -> pa.Schema:
        try:
            return self.backend.schema(self._with_audits(plan, facts, self._audit_schema))
        except CounterbalanceError:
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            raise self._failure(error, plan, facts) from error

    def _with_audits(self, plan: Plan, facts: Facts, rows: Callable[[AuditCall, Facts], pa.Table]) -> Plan:
        """Return the plan with rows in the place of its audits."""
        audits = [r for r in plan.needed() if isinstance(r.holds, AuditCall)]
        if not audits:
            return plan
        made = {r.id: replace(r, holds=rows(r.holds, facts)) for r in audits}
        return replace(plan, relations={**plan.relations, **made})

    def _audit_rows(self, call: AuditCall, facts: Facts) -> pa.Table:
        """Return the rows of an audit with small cells hidden, computed once."""
        if call.rows is None:
            try:
                call.rows = self._protected(call, facts)
            except CounterbalanceError as error:
                if not call.closed:
                    raise
                failed = without_values(call.query.name, error)
            else:
                return call.rows
            raise failed  # out of reach of what was caught, which may quote labels
        return call.rows

    def _protected(self, call: AuditCall, facts: Facts) -> pa.Table:
        checks = call.checks
        vectors = {name: self._unprotected(plan, facts).to_pylist()[0] for name, plan in checks.vectors.items()}
        refusals.refuse_odd_vectors(call.query.name, {name: tuple(row.values()) for name, row in vectors.items()})
        for name, (plan, is_apart) in checks.doubles.items():
            images = self._unprotected(plan, facts).column(0)[0].as_py()
            refusals.refuse_doubles(call.query.name, name, images, overlap=not is_apart)
        for name, plan in checks.shared.items():
            refusals.refuse_shared_terms(call.query.name, name, self._unprotected(plan, facts).column(0)[0].as_py())
        unseen = self._unseen(call, facts)
        if unseen.is_asked:
            # whether it fails, and how long it takes, would tell which of the hidden labels is small
            found = self._instead(call, {}, facts)
            facts.hidden.append(
                f"{call.query.name}() shows no number: a label that it names has fewer than {MIN_COUNT} images, or "
                "would give away one that has"
            )
        else:
            if unseen.merged or call.alternatives:
                self._columns_of(call, facts)  # refuses rows without a column that its cells name
            if unseen.merged:
                if protection.tells_labels(call.query.cells):
                    few = [self._instead(call, one, facts) for one in together(unseen.merged)]
                    unseen = replace(unseen, tables=protection.tables_of_few(few, call.query.cells), together=few[0])
                found = self._instead(call, unseen.merged, facts)
                others = {what: self._instead(call, unseen.merged, facts, what) for what in call.alternatives}
            else:
                is_short = call.query.level is None  # others have a row an image
                found = pa.Table.from_batches(self._run(self._final(call), facts, few=is_short))
                others = {what: self._unprotected(plan, facts) for what, plan in call.alternatives.items()}
            refusals.refuse_narrow(call.query.name, found, others, call.query.cells, call.wider)
        refusals.require_columns(call.query.name, found.schema, call.query.cells)
        if call.closed:
            refusals.refuse_row_level(call.query.name, found.schema)
        shown = protection.protect(
            found,
            call.query.cells,
            call.min_count,
            call.params,
            closed=call.closed,
            in_order=call.in_order,
            unseen=unseen,
        )
        if not unseen.is_asked and protection.is_all_hidden(shown):
            facts.all_hidden.append(
                f"every row of {call.query.name}() is hidden: each counts fewer than {max(call.min_count, 1)}, or would tell a count that is"
            )
        return shown

    def _instead(self, call: AuditCall, merged: Mapping[Of, Merged], facts: Facts, what: str | None = None) -> pa.Table:
        """Return the rows of a call, or of one of its alternatives, with some labels as one, or over no labels without any."""
        plan = call.instead(merged, what)
        if plan is None:
            raise RuntimeError(f"what bound {call.query.name}() is gone")
        return self._unprotected(plan, facts)

    def _unseen(self, call: AuditCall, facts: Facts) -> protection.Unseen:
        """Return the labels that a session without a purpose is told no number of, by any audit."""
        found: list[tuple[str | None, bool, frozenset[str]]] = []
        relations: dict[Of, Labelled] = {}
        apart: list[tuple[str, str, pa.Table]] = []
        # first those of relations by themselves: what is hidden of a part goes by what is hidden of all
        for counts in sorted(call.checks.label_counts, key=lambda one: one.beside is not None):
            rows = self._unprotected(counts.plan, facts)
            refusals.refuse_odd_labels(call.query.name, counts.parameter, rows.schema.field("label").type)
            if counts.beside is not None:
                apart.append((counts.parameter, counts.beside, rows))
            of = {(counts.parameter, category) for category in rows["category"].to_pylist()}
            already = frozenset[str]().union(*(relations[one].hidden for one in of & relations.keys()))
            labels = hidden_labels(rows, MIN_COUNT, already)
            found.append((counts.side, counts.is_anywhere, labels))
            for parameter, category in of:
                own = relations.get((parameter, category), Labelled(counts.side, frozenset(), frozenset()))
                known = frozenset(rows.filter(pc.equal(rows["category"], category))["label"].drop_null().to_pylist())
                every, hidden = own.labels | known, own.hidden | (labels & known)
                relations[parameter, category] = Labelled(counts.side, every, hidden)
        is_of_labels = protection.tells_labels(call.query.cells) or call.query.among
        merged = merged_labels(relations) if is_of_labels else {}
        unseen = protection.Unseen(tuple(found), call.checks.labels, merged=merged)
        if call.leaves_out:  # before others, which count images of the subset
            refusals.refuse_left_out(call.query.name, unseen, None if call.drawn else call.wider)
        for parameter, beside, rows in apart:
            refusals.refuse_few_apart(call.query.name, parameter, beside, rows)
        return unseen

    def _unprotected(self, plan: Plan, facts: Facts) -> pa.Table:
        return pa.Table.from_batches(self._run(self._rewritten(plan).finished(last=True), facts, few=True))

    def _rewritten(self, plan: Plan) -> Plan:
        if self.backend.shortcuts:
            return rewritten(plan)
        if show_bytes(plan) is not plan:
            raise RequestError("pictures are read by DuckDB only", code="E3478", hint="leave out --engine spark")
        return plan

    def _final(self, call: AuditCall) -> Plan:
        """Return the plan of an audit's rows as it is run, made once."""
        if call.plan.sql is None:
            call.plan = self._rewritten(call.plan).finished(last=True)
        return call.plan

    def _columns_of(self, call: AuditCall, facts: Facts) -> pa.Schema:
        """Return the columns of an audit before small cells are hidden, looked up once."""
        if call.schema is None:
            call.schema = self._schema(self._final(call), facts)
            refusals.require_columns(call.query.name, call.schema, call.query.cells)
        return call.schema

    def _audit_schema(self, call: AuditCall, facts: Facts) -> pa.Table:
        if call.rows is not None:
            return call.rows.schema.empty_table()
        return protection.schema_of(self._columns_of(call, facts), call.query.cells).empty_table()

    def _log(self, plan: Plan, text: str, rows: int | None) -> None:
        """Note a read in this lake, and in every attached one of which something closed is read.

        With its rows, it is a read of what its audits read, too.
        """
        if self.purpose is None:
            return
        plans = (plan,) if rows is None else (plan, *(call.plan for call in plan.audits))
        read: dict[str | None, list[str]] = {}
        for one in plans:
            for lake, found in self.resolver.closed_reads(one.needed(), one.sql or "").items():
                read[lake] = sorted({*read.get(lake, ()), *found})
        lakes = [(None, self.resolver.main), *self.resolver.attached.items()]
        for name, pinned in lakes:
            columns, versions = read.get(name, []), pinned.snapshot.versions
            if name is None or columns:
                access.record(pinned.location, self.purpose, text, columns=columns, rows=rows, versions=versions)

    # -- errors ------------------------------------------------------------------------------------------------------

    def _failure(self, error: BaseException, plan: Plan, facts: Facts) -> Exception:
        raised = self.backend.raised
        if engine_errors.is_of_function(error) and raised:
            told = raised.pop()
            error.__cause__ = told.__cause__
            return engine_errors.located(told, facts.text)
        if self.backend.closed and not is_ctrl_c(error):
            return is_closed()
        stored = information_schema.stored_columns(self.resolver.main, sensitive=self.resolver.sensitive)
        columns = {name: [column for column, _ in known] for name, known in stored.items()}
        names = [*chain(*columns.values()), *self.resolver.names(), *callable_names()]
        tables = [r.table for r in plan.needed() if r.table is not None]
        failure = engine_errors.translate(
            error,
            facts.text,
            same_text=plan.as_written,
            names=names,
            columns=columns,
            answered=facts.answered,
            bytes_={c for table in tables for c in bytes_of(table.dataset)},
            seconds=self.backend.timeout,
        )
        return self._explained(failure, facts) if isinstance(failure, SqlError) else failure

    def _explained(self, error: SqlError, facts: Facts) -> SqlError:
        """Return the error, or the one behind it: rows that were given for a parameter lack what it needs."""
        return argument_schema.explained(error, facts.text, facts.given(), self._columns)

    def _columns(self, plan: Plan) -> pa.Schema:
        plan = replace(plan.finished(), as_written=True)
        return self._schema(plan, Facts(plan.sql or ""))


def _check_values(names: set[str], given: Mapping[str, Any], tables: Any) -> None:
    """Refuse values that are missing, and tables that stand where a value should."""
    missing = sorted(n for n in names if n not in given and not n.isdigit())
    if missing:
        raise _no_value(missing[0], given)
    as_values = sorted(n for n in names if n.lower() in tables)
    if as_values:
        name = as_values[0]
        raise SqlError(f"${name} is a table, not a value", code="E3192", hint=f"write it without $: FROM {name}")


def _no_value(name: str, given: Mapping[str, Any]) -> SqlError:
    """Return the error that there is no value for a parameter of a query; perhaps it was given under another name."""
    others = f"; given: {', '.join(given)}" if given else ""
    return SqlError(f"no value for ${name}", code="E3119", hint=f"-p {name}=… or sql(…, {name}=…){others}")


@contextmanager
def reading(
    location: Location, *, purpose: str | None = None, declared: Declared | None = None
) -> Iterator[QueryEngine]:
    """Give queries on the newest snapshot of a lake.

    Args:
        location: The lake.
        purpose: For which perceived labels are read.
        declared: What is declared in it: base tables that hold nothing yet have its columns.
    """
    access.check_purpose(purpose)
    main = pin(location, None)
    sensitive = purpose is not None
    backend = DuckDB(reusable=not sensitive)
    try:
        resolver = Resolver(main, {}, sensitive=sensitive, declared=declared, computes=True)
        yield QueryEngine(resolver, backend, purpose=purpose)
    finally:
        backend.close()
        main.pin.release()
