"""Bind calls of audits: plans of their own, with what is counted beside them where they count perceived labels."""

from __future__ import annotations

import os
import weakref
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from sqlglot import exp

from counterbalance.engine.disclosure.cells import MIN_COUNT
from counterbalance.engine.errors import CounterbalanceError, RefusedError, SqlError
from counterbalance.engine.sql import arguments, audit_checks, queries
from counterbalance.engine.sql.ctes import written
from counterbalance.engine.sql.diagnostics import cross_lake
from counterbalance.engine.sql.parse import to_sql
from counterbalance.engine.sql.plan import Asked, AuditCall, Checks, Held, Plan
from counterbalance.engine.sql.policy import (
    refuse_cuts,
    refuse_one_lake,
    refuse_own_rows,
    refuse_past,
    refuse_small_cells,
    refuse_undeclared,
    without_values,
)
from counterbalance.engine.sql.requirements import has_no_rows
from counterbalance.engine.sql.scope import Met, parsed, with_params
from counterbalance.engine.sql.walk import find_all

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from counterbalance.engine.disclosure.merged_labels import Merged, Of
    from counterbalance.engine.sql.binding import Binding
    from counterbalance.engine.sql.plan import Facts
    from counterbalance.engine.sql.query_model import Among, Meeting, Query, QueryParameter
    from counterbalance.engine.sql.resolver import Resolver
    from counterbalance.engine.sql.scope import Env

_READING: Final = "image_labels"
"""The view by which it is decided which labels of an attribute are seen."""


class Names(Protocol):
    """Relations of the statement, and how bodies and arguments are bound."""

    met: Met
    reads_past: bool

    def rows_of(self, query: Query, given: Mapping[str, exp.Expr], env: Env, lake: str | None) -> str:
        """Return the name of the rows of a call."""
        ...

    def bound(self, query: Query, given: Mapping[str, exp.Expr], env: Env, lake: str | None, *, trusted: bool) -> Env:
        """Return what the parameters of a call stand for in its body."""
        ...

    def expanded(self, query: Query, bound: Env) -> exp.Query:
        """Return the body of a call with everything in it bound."""
        ...

    def resolved(self, target: exp.Expr, env: Env) -> exp.Table:
        """Return a relation argument as the name of something that is registered or hoisted."""
        ...

    def hoist(self, name: str, body: exp.Query) -> str:
        """Keep a body as an expression of its own; returns its name."""
        ...

    def reads_closed(self, table: exp.Table) -> bool:
        """Tell whether a bound relation holds perceived labels."""
        ...

    def names_of_caller(self, env: Env) -> Callable[[str], bool]:
        """Return what tells whether a name in a text is an expression or rows of the caller."""
        ...

    def shown_as(self, text: str) -> str:
        """Return a relation argument as a reader understands it."""
        ...


class AuditCalls:
    """Binds the audits of one statement, each with the same arguments once.

    Args:
        resolver: Finds relations by name.
        binding: What is known of the statement.
        names: Binds bodies and arguments.
        facts: What is told of the statement.
        bind: Leave nothing as it was written.
        sensitive: The session has a purpose.
        inline: Audits become part of the text, but for those of perceived labels in a session without a purpose.
    """

    def __init__(
        self,
        resolver: Resolver,
        binding: Binding,
        names: Names,
        facts: Facts,
        *,
        bind: bool,
        sensitive: bool,
        inline: bool,
    ) -> None:
        self._resolver, self._binding, self._names, self._facts = resolver, binding, names, facts
        self._bind, self._sensitive, self._inline = bind, sensitive, inline
        self._memo: dict[tuple[str, ...], str] = {}

    def name_of(self, query: Query, given: Mapping[str, exp.Expr], env: Env, lake: str | None) -> str:
        """Return the name of the rows of an audit.

        Its own text may read perceived labels. Its arguments are bound with the rights of whoever wrote them, and may name
        what is closed but never hold a query of it. What comes back are rows whose small cells are hidden, so that nothing
        closed stands in the statement around.
        """
        if lake is not None:
            raise RefusedError(
                f"{lake}.{query.name} is an audit, and audits read the session's own lake",
                code="E3207",
                hint=f"open {lake} itself, or give an audit all that it reads, such as demographics(groups := {lake}.caption_gender)",
            )
        outer, self._names.met = self._names.met, Met()
        is_ours = (
            query.level is None and not query.is_own
        )  # others, and rows about single images, have the caller's rights
        trusted = is_ours or self._sensitive
        bound = self._names.bound(query, given, replace(env, refers=trusted), None, trusted=trusted)
        self._check_together(query, given)
        self._facts.audits.append(query.name)
        self._facts.mixed += cross_lake.matched(query, given, self._resolver.lakes())
        key = key_of(query, bound, None, trusted=trusted)
        if key not in self._memo:
            body = self._expanded_quietly(query, bound)
            closed = self._is_closed()
            if closed:
                self._protect(query, given, bound, env)
                self._facts.counts_closed = True
            if self._bind:
                self._note_relations(query, given, bound, closed=closed)
            params = arguments.as_json(self._shown(query, given, bound))
            if self._inline and not (self._bind and closed):
                self._memo[key] = self._names.hoist(query.name, with_params(body, params))
            else:
                counted = bound
                if closed:
                    body, given, counted = self._at_min_count(query, given, bound, env) or (body, given, bound)
                floor = int(arguments.constant(bound.scalars.get("min_count", exp.null()), "min_count") or 0)
                others, wider = self._alternatives(query, given, env) if closed else ({}, None)
                plan, in_order = self._alone(query, body, env), _is_in_order(query)
                checks = self._checks_of(query, bound, env, others.get(wider)) if closed else Checks()
                alternatives = {
                    what: self._alone(query, self._names.expanded(query, one), env)
                    for what, one in others.items()
                    if what
                }
                leaves_out = [one.parameter for one in self._names.met.narrowed if one.closed]
                call = AuditCall(
                    query,
                    plan,
                    floor,
                    params,
                    closed=closed,
                    in_order=in_order,
                    alternatives=alternatives,
                    wider=wider,
                    leaves_out=bool(leaves_out),
                    drawn=any(parameter.drawn for parameter in leaves_out),
                    checks=checks,
                    instead=partial(_asked_of, weakref.ref(self), query, {*given}, {None: counted, **others}, env),
                )
                self._memo[key] = self._binding.audit(query.name, call)
        self._names.met = outer
        self._facts.changed = True
        return self._memo[key]

    def _at_min_count(
        self, query: Query, given: Mapping[str, exp.Expr], bound: Env, env: Env
    ) -> tuple[exp.Query, Mapping[str, exp.Expr], Env] | None:
        """Return body, arguments and what they are bound to of the same call with ``MIN_COUNT``, if it has another smallest count.

        Only what is hidden goes by the caller's: labels that take no part by one and do by another would be known from totals.
        """
        value = bound.scalars.get("min_count")
        if value is None or arguments.constant(value, "min_count") == MIN_COUNT:
            return None
        given = {**given, "min_count": exp.convert(MIN_COUNT)}
        again = self._names.bound(query, given, replace(env, refers=True), None, trusted=True)
        return self._expanded_quietly(query, again), given, again

    def _expanded_quietly(self, query: Query, bound: Env) -> exp.Query:
        """Return the body of an audit; errors of its table functions, which run at once, quote no perceived label."""
        try:
            return self._names.expanded(query, bound)
        except CounterbalanceError as error:
            if not self._is_closed():
                raise
            failed = without_values(query.name, error)
        raise failed

    def _is_closed(self) -> bool:
        """Tell whether what was bound for an audit reads perceived labels without a purpose."""
        return self._names.met.closed and not self._sensitive

    def _check_together(self, query: Query, given: Mapping[str, exp.Expr]) -> None:
        if query.together & given.keys() and not query.together <= given.keys():
            one, other = (min(names) for names in (query.together & given.keys(), query.together - given.keys()))
            raise SqlError(
                f"{query.name}() was given {one!r} without {other!r}, which would be of another ranking",
                code="E3196",
                hint=f"give both, such as {other} := …",
            )

    def _note_relations(self, query: Query, given: Mapping[str, exp.Expr], bound: Env, *, closed: bool) -> None:
        """Remember what notes have to look at: relations that should meet, labels that should be there.

        Of closed labels neither is told: whether few images have one, or none, or which of two hidden ones has more, would be.
        """
        if closed:
            return
        if query.meets is not None and query.meets.left[0] in given:
            self._facts.held.append(self._meeting(query.name, query.meets, bound))
        for among in query.among:
            own = [n for n in (*among.labels, *among.relations) if _is_moved(query, n, given)]
            self._facts.asked += [self._asked(query.name, among, own, bound)] if own else []

    def _alternatives(
        self, query: Query, given: Mapping[str, exp.Expr], env: Env
    ) -> tuple[dict[str | None, Env], str | None]:
        """Return calls that a caller might subtract from this one, by what is different in them, and which is of more rows.

        They have another value of the grid, where a parameter was given one beside its default; or rows that a view leaves out.
        """
        found: dict[str | None, Env] = {}
        shown = None
        if self._names.met.narrowed:
            shown = f"without {', '.join(dict.fromkeys(f'{one.view}()' for one in self._names.met.narrowed))}"
            found[shown] = self._names.bound(query, given, replace(env, refers=True, widens=True), None, trusted=True)
        for cut in {c.parameter.name: c for c in self._names.met.cuts if c.is_moved}.values():
            for value in cut.others():
                other = replace(env, refers=True, instead={**env.instead, cut.parameter.name: value})
                found[f"with {cut.parameter.name} := {to_sql(value)}"] = self._names.bound(
                    query, given, other, None, trusted=True
                )
        return found, shown

    def _checks_of(self, query: Query, bound: Env, env: Env, whole: Env | None) -> Checks:
        """Return what is counted beside a call on closed labels; ``whole``: its rows without what views leave out."""
        plan, relations = self._binding.plan, bound.relations
        closed = {name for name, table in relations.items() if self._names.reads_closed(table)}
        refuse_one_lake(query, {name: self._lakes_of(relations[name]) for name in closed})
        readings = {name: self._readings(attributes, env) for name, attributes in bound.named.items()}
        counts = [*audit_checks.label_counts(query, relations, closed, readings, plan)]
        if whole is not None:
            all_closed = {name for name, table in whole.relations.items() if self._names.reads_closed(table)}
            counts += audit_checks.label_counts(query, whole.relations, all_closed, {}, plan)
        return Checks(
            {name: (plan(one), a) for name, one, a in audit_checks.images_with_several(query, relations, closed)},
            {name: plan(one) for name, one in audit_checks.terms_of_several_classes(query, relations)},
            {name: plan(one) for name, one in audit_checks.odd_vectors(query, relations)},
            counts,
            frozenset(bound.scalars[n].name for among in query.among for n in among.labels),
        )

    def called_instead(
        self, query: Query, given: Collection[str], bound: Env, env: Env, merged: Mapping[Of, Merged]
    ) -> Plan:
        """Return the plan of the same call with other rows in its relations of perceived labels: see ``AuditCall``.

        Relations that were not given are made anew, as which images are ranked goes by their labels: over those that are not hidden.
        """
        relations, under = dict(bound.relations), dict(bound.relations)
        for parameter in query.parameters:
            name, table = parameter.name, bound.relations.get(parameter.name)
            if table is None:
                continue
            if name not in given:
                target = arguments.relation(parameter.default or "", f"{name!r} of {query.name}()")
                read = {node.name for node in find_all(target, exp.Table, exp.Column)}
                if any(under[one] is not bound.relations[one] for one in read & under.keys()):
                    table = relations[name] = under[name] = self._names.resolved(
                        target, replace(bound, relations=under)
                    )
            if self._names.reads_closed(bound.relations[name]):
                own = {category: one for (of, category), one in merged.items() if of == name}
                hidden = {category: one.hidden for category, one in own.items()}
                relations[name] = self._merged(parameter, table, own, is_any=bool(merged))
                under[name] = relations[name] if own == hidden else self._merged(parameter, table, hidden, is_any=True)
        return self._alone(query, self._names.expanded(query, replace(bound, relations=relations)), env)

    def _merged(
        self, parameter: QueryParameter, table: exp.Table, own: Mapping[str, Merged], *, is_any: bool
    ) -> exp.Table:
        """Return a relation of perceived labels with some of them as one, or no rows of it."""
        rows = audit_checks.merged_rows(parameter, table, own)
        return exp.Table(
            this=exp.to_identifier(self._names.hoist(parameter.name, rows if is_any else rows.where("false")))
        )

    def _lakes_of(self, table: exp.Table) -> frozenset[str]:
        """Return the places of the lakes that a bound relation reads, whatever links lead there."""
        read = self._binding.plan(exp.select("*").from_(table.copy())).needed()
        places = [stored.lake.location for relation in read for stored in relation.behind()]
        return frozenset(os.path.realpath(place.root) if place.is_local else place.root for place in places)

    def _readings(self, attributes: Iterable[tuple[str, str | None]], env: Env) -> list[exp.Table]:
        """Return the relations by which it is decided which labels of some attributes are seen."""
        refers, view = replace(env, refers=True, abroad=True), queries.queries()[_READING]
        asked = [({"attribute": exp.convert(attribute)}, lake) for attribute, lake in dict.fromkeys(attributes)]
        told = len(self._facts.pooled)
        names = [self._names.rows_of(view, given, refers, lake) for given, lake in asked]
        del self._facts.pooled[told:]  # nobody asked for these
        return [exp.Table(this=exp.to_identifier(name)) for name in names]

    def _alone(self, query: Query, body: exp.Query, env: Env) -> Plan:
        """Return the plan of an audit's body, which stands on nothing else."""
        name = self._names.hoist(query.name, body)
        return self._binding.plan(exp.select("*").from_(exp.Table(this=exp.to_identifier(name))), env.placeholders)

    def _meeting(self, audit: str, meeting: Meeting, bound: Env) -> Held:
        """Return the queries that tell whether two arguments have names in common."""
        left, right = (
            distinct(self._binding, bound.relations[r], column) for r, column in (meeting.left, meeting.right)
        )
        return Held(audit, meeting, (left, right))

    def _asked(self, audit: str, among: Among, given: Collection[str], bound: Env) -> Asked:
        """Return what tells whether labels that an audit counts are there."""
        relation = next((r for r in among.relations if r in given), among.relations[-1])
        labels = tuple((n, v.name) for n in among.labels if not isinstance(v := bound.scalars[n], exp.Null))
        return Asked(audit, labels, distinct(self._binding, bound.relations[relation], "label"))

    def _protect(self, query: Query, given: Mapping[str, exp.Expr], bound: Env, env: Env) -> None:
        """Refuse a call on perceived labels whose cells could tell of single persons."""
        if self._names.reads_past or self._resolver.is_past(None):
            refuse_past(query)
        refuse_small_cells(bound.scalars.get("min_count"))
        refuse_own_rows(query, given, self._names.names_of_caller(env))
        refuse_cuts(query, self._names.met.cuts)
        refuse_undeclared(query)

    def _shown(self, query: Query, given: Mapping[str, exp.Expr], bound: Env) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for parameter in query.parameters:
            if parameter.named and parameter.name not in given:  # no preset was asked for
                continue
            if not parameter.is_relation:
                shown[parameter.name] = arguments.constant(bound.scalars[parameter.name], parameter.name)
            elif parameter.name in given:
                shown[parameter.name] = self._names.shown_as(written(given[parameter.name]))
            elif not has_no_rows(parameter):
                shown[parameter.name] = parameter.default
        return shown


def distinct(binding: Binding, relation: exp.Table, column: str, where: exp.Expr | None = None) -> Plan:
    """Return the plan of the different values of a column."""
    found = exp.select(exp.column(column)).from_(relation.copy()).group_by(exp.column(column))
    return binding.plan(found.where(exp.column(column).is_(exp.null()).not_(), where))


def key_of(query: Query, bound: Env, lake: str | None, *, trusted: bool) -> tuple[str, ...]:
    """Return what equal calls have in common."""
    given = {**bound.relations, **bound.scalars}
    return (query.name, str(trusted), lake or "", *(f"{n}={to_sql(t)}" for n, t in given.items()))


def _asked_of(
    calls: weakref.ref[AuditCalls],
    query: Query,
    given: Collection[str],
    bound: Mapping[str | None, Env],
    env: Env,
    merged: Mapping[Of, Merged],
    what: str | None = None,
) -> Plan | None:
    there = calls()
    return None if there is None else there.called_instead(query, given, bound[what], env, merged)


def _is_moved(query: Query, name: str, given: Mapping[str, exp.Expr]) -> bool:
    """Tell whether a call gives a parameter something else than its default."""
    default = next((p.default for p in query.parameters if p.name == name), None)
    return name in given and to_sql(given[name]).strip("'") != str(default).strip("'")


def _is_in_order(query: Query) -> bool:
    """Tell whether the order of an audit's rows tells nothing of what they count."""
    order = parsed(query).args.get("order")
    keys = {c for cell in query.cells for c in (*cell.by, *cell.within, *cell.totals)}
    return order is None or {c.name for c in find_all(order, exp.Column)} <= keys
