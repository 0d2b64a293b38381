"""Bind what was asked: views become common table expressions, audits plans of their own, names and functions what they stand for.

The bound text holds base tables, word lists, rows of audits and Python functions only, so that it can be shown, explained and
sent to another engine. A copy of the tree is changed in place; every relation must resolve, or the query is refused.
"""

from __future__ import annotations

import os
import weakref
from dataclasses import replace
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from counterbalance.engine.disclosure.cells import MIN_COUNT
from counterbalance.engine.errors import (
    CounterbalanceError,
    NotFoundError,
    RefusedError,
    SqlError,
    did_you_mean,
)
from counterbalance.engine.recipes import files
from counterbalance.engine.schema import is_of_people
from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.sql import arguments, audit_checks, kept_views, presets, queries
from counterbalance.engine.sql.bind_functions import FunctionCalls
from counterbalance.engine.sql.bind_tables import TableCalls
from counterbalance.engine.sql.call_syntax import arguments_of, call_name, keep_names, known_as
from counterbalance.engine.sql.ctes import apart, in_order, own_names, written
from counterbalance.engine.sql.diagnostics import cross_lake
from counterbalance.engine.sql.macros import calls_python, check, inline
from counterbalance.engine.sql.parse import DIALECT, TABLE_FUNCTIONS, to_sql, visible_ctes
from counterbalance.engine.sql.plan import Asked, AuditCall, Checks, Facts, Given, Held, Plan, Pooled, Relation, is_id
from counterbalance.engine.sql.policy import (
    Cut,
    is_open,
    is_own,
    refuse_cuts,
    refuse_one_lake,
    refuse_own_rows,
    refuse_past,
    refuse_rows,
    refuse_small_cells,
    refuse_undeclared,
    without_values,
)
from counterbalance.engine.sql.requirements import has_no_rows
from counterbalance.engine.sql.resolver import LABELS, described
from counterbalance.engine.sql.rewrites import view_kernels
from counterbalance.engine.sql.scope import (
    Env,
    hides,
    is_inside_call,
    parsed,
    substituted,
    with_params,
    with_schemas,
)
from counterbalance.engine.sql.walk import find_all

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from counterbalance.engine.disclosure.merged_labels import Merged, Of
    from counterbalance.engine.sql.binding import Binding
    from counterbalance.engine.sql.query_model import Among, Meeting, Query, QueryParameter
    from counterbalance.engine.sql.resolver import Resolver


def _is_moved(query: Query, name: str, given: Mapping[str, exp.Expr]) -> bool:
    """Tell whether a call gives a parameter something else than its default."""
    default = next((p.default for p in query.parameters if p.name == name), None)
    return name in given and to_sql(given[name]).strip("'") != str(default).strip("'")


_ROLLED_UP: Final = frozenset({"image_labels", "person_labels"})
"""Views that make one label of several."""
_READING: Final = "image_labels"
"""The view by which it is decided which labels of an attribute are seen."""


class Binder:
    """Binds one statement. Not reusable, not thread-safe.

    Args:
        resolver: Finds relations by name.
        binding: What is known of the statement.
        as_written: Leave functions and names as they were written, for showing and for other engines; nothing is run.
        checks: Refuse what the session may not read; off where the text is only shown.
        inline_audits: Whether audits become part of the query's text, for showing its plan; those of perceived labels never
            do in a session without a purpose.
    """

    def __init__(
        self,
        resolver: Resolver,
        binding: Binding,
        *,
        as_written: bool = False,
        checks: bool = True,
        inline_audits: bool = False,
    ) -> None:
        self._resolver, self._binding, self._bind, self._checks = resolver, binding, not as_written, checks
        self._sensitive = resolver.sensitive or not checks
        self._inline_audits = inline_audits or as_written
        self._given: list[Given] = []
        self.facts = Facts(given=partial(_arguments_given, self._given, binding))
        self._memo: dict[tuple[str, ...], str] = {}
        self._memo_sensitive: set[str] = set()
        self._written: set[str] = set()
        self._names: frozenset[str] = frozenset()
        self._numbers = count(1)
        self._root: exp.Query | None = None
        self._schemas: set[str] = set()
        self._read_sensitive = self._read_past = False
        self._cuts: list[Cut] = []
        self._narrowed: list[tuple[str, QueryParameter]] = []
        self._is_widening = False
        self._named: list[tuple[str, str | None]] = []
        self._stored_calls: dict[str, dict[tuple[str, ...], str]] = {}
        self._instead: Mapping[str, exp.Expr] = {}
        self._qualified: set[str] = set()

    @cached_property
    def _tables(self) -> TableCalls:
        names = weakref.proxy(self)  # no cycle: what was asked lets the session go
        return TableCalls(self._binding, names, bind=self._bind)

    @cached_property
    def _functions(self) -> FunctionCalls:
        return FunctionCalls(self._binding, self.facts, sensitive=self._sensitive, bind=self._bind)

    def run(
        self,
        tree: exp.Query,
        placeholders: Mapping[str, Any] | None = None,
        relations: Mapping[str, Relation] | None = None,
    ) -> Plan:
        """Return the plan of a query.

        Args:
            tree: The query.
            placeholders: Values of ``$name``.
            relations: Tables of the caller's own, by the lower-case name that the query has for them.
        """
        tree = tree.copy()
        own = {name: exp.Table(this=exp.to_identifier(self._binding.add(r))) for name, r in (relations or {}).items()}
        self._root = tree
        self.facts.changed |= apart(tree, 0, lambda: self._known() | own.keys())
        with self._binding:
            self._body(
                tree,
                Env(own, {}, placeholders=placeholders or {}, is_user=True, is_callers=True, own_rows=frozenset(own)),
            )
        plan = replace(self._binding.plan(tree, placeholders), binder=self)
        if not self._bind:
            with_schemas(plan.tree, self._qualified)
        return plan

    # -- bodies ------------------------------------------------------------------------------------------------------

    def _body(self, tree: exp.Expr, env: Env) -> None:
        if env.is_user:
            self._note_names(tree)
        for node in find_all(tree, exp.Placeholder, exp.Parameter):
            value = env.scalars.get(node.name)
            if value is not None:
                node.replace(exp.paren(value.copy()) if isinstance(value, exp.Neg) else value.copy())
        if find_all(tree, exp.Anonymous) or len(find_all(tree, exp.Query)) > 1:
            keep_names(tree, bound=self._bind)
        done: dict[int, exp.Expr] = {}  # by identity, and kept, so that no other takes theirs
        for part in (
            *(cte.this for cte in in_order(tree)),
            tree,
        ):  # a common table expression is ready before anything that evaluates it
            self._part(part, tree, done, env)

    def _note_names(self, tree: exp.Expr) -> None:
        """Refuse an expression with a name that the session made up, and make up none of the others."""
        self._binding.recursive |= any(clause.args.get("recursive") for clause in find_all(tree, exp.With))
        for cte in find_all(tree, exp.CTE):
            name = cte.alias.lower()
            if is_id(name) or name in self._resolver.bound or name in self._binding.hoisted:
                raise hides(name, "what the session calls so")
            self._written.add(name)
            self._binding.user[name] = cte

    def _part(self, part: exp.Expr, root: exp.Expr, done: dict[int, exp.Expr], env: Env) -> None:
        def fresh(*kinds: type[exp.Expr]) -> list[exp.Expr]:
            nodes = [n for n in find_all(part, *kinds) if id(n) not in done]
            done.update((id(n), n) for n in nodes)
            return nodes

        for node in fresh(exp.Table):
            if isinstance(node, exp.Table) and not is_inside_call(node, root):
                self._table(node, env)
        for node in fresh(exp.Column):
            if node.args.get("db") is not None and node.args["db"].name.lower() in self._schemas:
                node.set("db", None)
                node.set("catalog", None)
                self.facts.changed = True
        if not find_all(part, exp.Anonymous):
            return
        put = check if self._bind and not calls_python(part) else inline
        self.facts.changed |= put(part, is_callers=env.is_callers)
        for node in fresh(exp.Anonymous):
            if isinstance(node, exp.Anonymous) and not isinstance(node.parent, exp.Table):
                self._functions.bind(node, env)

    # -- relations ---------------------------------------------------------------------------------------------------

    def _table(self, node: exp.Table, env: Env) -> None:
        schema = node.args["db"].name.lower() if node.args.get("db") else None
        if schema is not None:
            self._schemas.add(schema)
        if isinstance(node.this, exp.Func):
            name = call_name(node.this)
            if schema is not None or name not in TABLE_FUNCTIONS:
                self._rename(node, self._called(node.this, schema, env), name)
            return
        name, visible = node.name.lower(), {*visible_ctes(node)}
        if schema is None and name in env.relations:
            target = env.relations[name].name
            self._rename(node, self._under_another_name(target) if target.lower() in visible else target, name)
            return
        if schema is None and name in visible:
            return
        if schema is None and env.is_user and name in self._binding.user and node.root() is not self._root:
            return  # in an argument, which is looked at apart from the query that it stands in
        found = self._stored(schema, name, env)
        if found is None:
            raise self._unknown(node)
        if found != node.name or schema is not None:
            if found.lower() in visible:
                raise hides(found, f"the table {found!r} that this query reads")
            self._rename(node, found, name)

    def _under_another_name(self, target: str) -> str:
        """Hoist under another name an argument whose name the body uses for an expression of its own."""
        key = ("argument", target)
        if key not in self._memo:
            source = exp.Table(this=exp.to_identifier(target, quoted=True))
            self._memo[key] = self._hoist("argument", exp.select("*").from_(source))
        return self._memo[key]

    def _stored(self, schema: str | None, name: str, env: Env) -> str | None:
        """Return the registered name of a table, or the name of the expression a view became."""
        schema = env.lake if schema is None else schema
        trusted = self._may_be_closed(env, schema)
        relation, found = self._relation(schema, name, trusted=trusted)
        if found is not None:
            self.facts.hides_labels |= name == LABELS and not trusted and not env.open_labels
            self.facts.reads_labels |= name == LABELS and trusted and schema in {None, "main"}
            self._qualified |= {found} if schema is not None else set()
            if not env.is_user and found.lower() in self._binding.user:
                raise hides(found, f"the table {found!r} that an audit in this query reads")
            closed = self._checks and relation is not None and relation.closed
            if trusted and (closed or (name == LABELS and self._attributes())):
                self._read_sensitive = self.facts.reads_sensitive = True
                self._read_past |= self._resolver.is_past(schema)
            return found
        if name in queries.queries() and schema in {None, "main", *self._resolver.lakes()}:
            return self._query(queries.queries()[name], {}, env, self._lake(schema))
        return None

    def _relation(self, schema: str | None, name: str, *, trusted: bool) -> tuple[Relation | None, str | None]:
        """Return the relation of a name, if there is one, and what the query's text calls it, if it is known."""
        found = self._resolver.relation(schema, name, trusted=trusted)
        if found is None:
            return None, None
        self.facts.used[found.id] = found
        self._binding.add(found)
        written = name if schema in {None, "main"} else f"{schema}.{name}"
        return found, found.id if self._bind else written

    def _attributes(self) -> frozenset[str]:
        """Return the attributes whose labels need a purpose; none where nothing is read."""
        return self._resolver.sensitive_attributes() if self._checks else frozenset()

    def _shown_as(self, text: str) -> str:
        """Return a relation argument as a reader understands it."""
        return described(text, [*self._resolver.bound.values(), *self._binding.relations.values()])

    def _may_be_closed(self, env: Env, lake: str | None) -> bool:
        """Tell whether what is named may be closed; of another lake only where an audit matches none of its images."""
        refers = env.refers and (env.abroad or lake in {None, "main"})
        return env.trusted or refers or self._sensitive

    def _lake(self, schema: str | None) -> str | None:
        return None if schema == "main" else schema

    def _unknown(self, node: exp.Table) -> NotFoundError | RefusedError:
        name = ".".join(part.name for part in node.parts)
        if node.this.args.get("quoted") and any(c in name for c in "/.:"):
            return RefusedError(
                f"reading {name!r} is refused: a session reads the lake and nothing else",
                code="E3204",
                hint="ingest it first",
            )
        return NotFoundError.table(name, self._resolver.names(), other=known_as(name) or files.made_by(name))

    def _rename(self, node: exp.Table, target: str, shown: str) -> None:
        node.set("this", exp.to_identifier(target, quoted=not target.isidentifier()))
        node.set("db", None)
        node.set("catalog", None)
        if node.args.get("alias") is None:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(shown)))
        elif not node.args["alias"].this:
            node.args["alias"].set("this", exp.to_identifier(shown))
        self.facts.changed = True

    def _called(self, call: exp.Func, schema: str | None, env: Env) -> str:
        name = call_name(call)
        known = queries.queries()
        if name in SIGNATURES or (not env.is_callers and name in known and known[name].is_own):
            known = {}  # what was loaded from a file of one's own stands in no body of ours
        if name in known and schema in {None, "main", *self._resolver.lakes()}:
            names = [p.name for p in known[name].parameters]
            lake = env.lake if schema is None else self._lake(schema)
            return self._query(known[name], arguments.bind(name, names, arguments_of(call)), env, lake)
        if name in SIGNATURES and schema in {None, "main"}:
            return self._tables.name_of(name, call, replace(env, refers=False))
        whole = name if schema is None else f"{schema}.{name}"
        near = did_you_mean(whole, {*known, *SIGNATURES})
        hint = "counterbalance audit --list lists all" if near else "audits: " + ", ".join(queries.audits())
        hint = known_as(name) or hint
        raise NotFoundError(f"no audit, view or table function {whole!r}{near}", code="E1004", hint=hint)

    def _query(self, query: Query, given: Mapping[str, exp.Expr], env: Env, lake: str | None) -> str:
        """Return the name of the rows of an audit or a view over the tables of a lake; the same call twice is one relation."""
        given = self._with_preset(query, given, env)
        if query.kind == "audit":
            return self._audit(query, given, env, lake)
        narrowed = next((p for p in query.parameters if p.narrowed), None) if env.is_callers else None
        if narrowed is not None and self._is_widening and narrowed.name in given:
            target = arguments.as_relation(given[narrowed.name], f"{narrowed.name!r} of {query.name}()")
            return self.resolved(target, env).name
        self._narrowed += [(query.name, narrowed)] if narrowed is not None else []
        trusted = self._may_be_closed(env, lake) and (not query.is_own or self._sensitive)
        outer_read, self._read_sensitive = self._read_sensitive, False
        try:
            bound = self._bound(query, given, env, lake, trusted=trusted)
            if query.name in _ROLLED_UP and self._bind and isinstance(bound.scalars["annotator"], exp.Null):
                self.facts.pooled.append(self._pooled(bound))
            key = self._key(query, bound, lake, trusted=trusted)
            if key not in self._memo:
                kept = self._kept(query, bound) if self._bind and lake is None else None
                self._memo[key] = name = kept or self._hoist(query.name, self._expanded(query, bound))
                self._memo_sensitive |= {name} if self._read_sensitive else set()
            self._read_sensitive |= self._memo[key] in self._memo_sensitive
        finally:
            self._read_sensitive |= outer_read
        self.facts.changed = True
        return self._memo[key]

    def _kept(self, query: Query, bound: Env) -> str | None:
        """Return the name of a fresh materialized view that has the rows of a call, if there is one."""
        wanted = self._key(query, bound, None, trusted=False)
        if query.name not in self._stored_calls:
            self._stored_calls[query.name] = {}  # a call inside of what is bound here is computed
            found = kept_views.keeping(query.name, self._resolver.materialized)
            for view, call in found:
                if self._binding.is_fresh(view):
                    given = arguments.bind(query.name, [p.name for p in query.parameters], arguments_of(call))
                    same = self._bound(query, self._with_preset(query, given, Env()), Env(), None, trusted=False)
                    self._stored_calls[query.name][self._key(query, same, None, trusted=False)] = view.name
        name = self._stored_calls[query.name].get(wanted)
        return None if name is None else self._relation(None, name, trusted=False)[1]

    def _with_preset(self, query: Query, given: Mapping[str, exp.Expr], env: Env) -> Mapping[str, exp.Expr]:
        """Return the arguments of a call with those of the preset that it names."""
        parameter = presets.parameter(query.parameters)
        if parameter is None or parameter.name not in given:
            return given
        named = arguments.scalar(parameter, substituted(given[parameter.name], env), f"'preset' of {query.name}()")
        values = presets.values(query.parameters, named.name)
        return {name: exp.maybe_parse(text, dialect=DIALECT) for name, text in values.items()} | dict(given)

    def _expanded(self, query: Query, bound: Env) -> exp.Query:
        """Return the body of an audit or a view with everything in it bound."""
        body = parsed(query).copy()
        self._body(body, bound)
        if query.kernel is not None and self._bind:
            body = self._by_kernel(query.kernel, body, bound)
        return body

    def _key(self, query: Query, bound: Env, lake: str | None, *, trusted: bool) -> tuple[str, ...]:
        """Return what equal calls have in common."""
        given = {**bound.relations, **bound.scalars}
        return (query.name, str(trusted), lake or "", *(f"{n}={to_sql(t)}" for n, t in given.items()))

    def _audit(self, query: Query, given: Mapping[str, exp.Expr], env: Env, lake: str | None) -> str:
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
        outer = self._read_sensitive, self._cuts, self._narrowed
        self._read_sensitive, self._cuts, self._narrowed = False, [], []
        is_ours = (
            query.level is None and not query.is_own
        )  # others, and rows about single images, have the caller's rights
        trusted = is_ours or self._sensitive
        bound = self._bound(query, given, replace(env, refers=trusted), None, trusted=trusted)
        self._check_together(query, given)
        self.facts.audits.append(query.name)
        self.facts.mixed += cross_lake.matched(query, given, self._resolver.lakes())
        key = self._key(query, bound, None, trusted=trusted)
        if key not in self._memo:
            body = self._expanded_quietly(query, bound)
            closed = self._is_closed()
            if closed:
                self._protect(query, given, bound, env)
                self.facts.counts_closed = True
            if self._bind:
                self._note_relations(query, given, bound, closed=closed)
            params = arguments.as_json(self._shown(query, given, bound))
            if self._inline_audits and not (self._bind and closed):
                self._memo[key] = self._hoist(query.name, with_params(body, params))
            else:
                counted = bound
                if closed:
                    body, given, counted = self._at_min_count(query, given, bound, env) or (body, given, bound)
                floor = int(arguments.constant(bound.scalars.get("min_count", exp.null()), "min_count") or 0)
                others, wider = self._alternatives(query, given, env) if closed else ({}, None)
                plan, in_order = self._alone(query, body, env), _is_in_order(query)
                checks = self._checks_of(query, bound, env, others.get(wider)) if closed else Checks()
                alternatives = {
                    what: self._alone(query, self._expanded(query, one), env) for what, one in others.items() if what
                }
                drawn = any(parameter.drawn for _, parameter in self._narrowed)
                instead = partial(_asked_of, weakref.ref(self), query, {*given}, {None: counted, **others}, env)
                call = AuditCall(
                    query, plan, floor, params, closed, in_order, alternatives, wider, drawn, checks, instead
                )
                self._memo[key] = self._binding.audit(query.name, call)
        self._read_sensitive, self._cuts, self._narrowed = outer
        self.facts.changed = True
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
        again = self._bound(query, given, replace(env, refers=True), None, trusted=True)
        return self._expanded_quietly(query, again), given, again

    def _expanded_quietly(self, query: Query, bound: Env) -> exp.Query:
        """Return the body of an audit; errors of its table functions, which run at once, quote no perceived label."""
        try:
            return self._expanded(query, bound)
        except CounterbalanceError as error:
            if not self._is_closed():
                raise
            failed = without_values(query.name, error)
        raise failed

    def _is_closed(self) -> bool:
        """Tell whether what was bound for an audit reads perceived labels without a purpose."""
        return self._read_sensitive and not self._sensitive

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
            self.facts.held.append(self._meeting(query.name, query.meets, bound))
        for among in query.among:
            own = [n for n in (*among.labels, *among.relations) if _is_moved(query, n, given)]
            self.facts.asked += [self._asked(query.name, among, own, bound)] if own else []

    def _alternatives(
        self, query: Query, given: Mapping[str, exp.Expr], env: Env
    ) -> tuple[dict[str | None, Env], str | None]:
        """Return calls that a caller might subtract from this one, by what is different in them, and which is of more rows.

        They have another value of the grid, where a parameter was given one beside its default; or rows that a view leaves out.
        """
        found: dict[str | None, Env] = {}
        shown = None
        if self._narrowed:
            shown = f"without {', '.join(dict.fromkeys(f'{view}()' for view, _ in self._narrowed))}"
            self._is_widening = True
            try:
                found[shown] = self._bound(query, given, replace(env, refers=True), None, trusted=True)
            finally:
                self._is_widening = False
        for cut in {c.parameter.name: c for c in self._cuts if c.is_moved}.values():
            for value in cut.others():
                self._instead = {cut.parameter.name: value}
                bound = self._bound(query, given, replace(env, refers=True), None, trusted=True)
                found[f"with {cut.parameter.name} := {to_sql(value)}"] = bound
                self._instead = {}
        return found, shown

    def _checks_of(self, query: Query, bound: Env, env: Env, whole: Env | None) -> Checks:
        """Return what is counted beside a call on closed labels; ``whole``: its rows without what views leave out."""
        plan, relations = self._binding.plan, bound.relations
        closed = {name for name, table in relations.items() if self._reads_closed(table)}
        refuse_one_lake(query, {name: self._lakes_of(relations[name]) for name in closed})
        readings = {name: self._readings(attributes, env) for name, attributes in bound.named.items()}
        counts = [*audit_checks.label_counts(query, relations, closed, readings, plan)]
        if whole is not None:
            all_closed = {name for name, table in whole.relations.items() if self._reads_closed(table)}
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
                    table = relations[name] = under[name] = self.resolved(target, replace(bound, relations=under))
            if self._reads_closed(bound.relations[name]):
                own = {category: one for (of, category), one in merged.items() if of == name}
                hidden = {category: one.hidden for category, one in own.items()}
                relations[name] = self._merged(parameter, table, own, is_any=bool(merged))
                under[name] = relations[name] if own == hidden else self._merged(parameter, table, hidden, is_any=True)
        return self._alone(query, self._expanded_quietly(query, replace(bound, relations=relations)), env)

    def _merged(
        self, parameter: QueryParameter, table: exp.Table, own: Mapping[str, Merged], *, is_any: bool
    ) -> exp.Table:
        """Return a relation of perceived labels with some of them as one, or no rows of it."""
        rows = audit_checks.merged_rows(parameter, table, own)
        return exp.Table(this=exp.to_identifier(self._hoist(parameter.name, rows if is_any else rows.where("false"))))

    def _reads_closed(self, table: exp.Table) -> bool:
        """Tell whether a bound relation holds perceived labels."""
        relation = self._binding.relations.get(table.name)
        return table.name in self._memo_sensitive or (relation is not None and relation.closed)

    def _lakes_of(self, table: exp.Table) -> frozenset[str]:
        """Return the places of the lakes that a bound relation reads, whatever links lead there."""
        read = self._binding.plan(exp.select("*").from_(table.copy())).needed()
        places = [stored.lake.location for relation in read for stored in relation.behind()]
        return frozenset(os.path.realpath(place.root) if place.is_local else place.root for place in places)

    def _readings(self, attributes: Iterable[tuple[str, str | None]], env: Env) -> list[exp.Table]:
        """Return the relations by which it is decided which labels of some attributes are seen."""
        refers, view = replace(env, refers=True, abroad=True), queries.queries()[_READING]
        asked = [({"attribute": exp.convert(attribute)}, lake) for attribute, lake in dict.fromkeys(attributes)]
        told = len(self.facts.pooled)
        names = [self._query(view, given, refers, lake) for given, lake in asked]
        del self.facts.pooled[told:]  # nobody asked for these
        return [exp.Table(this=exp.to_identifier(name)) for name in names]

    def _alone(self, query: Query, body: exp.Query, env: Env) -> Plan:
        """Return the plan of an audit's body, which stands on nothing else."""
        name = self._hoist(query.name, body)
        return self._binding.plan(exp.select("*").from_(exp.Table(this=exp.to_identifier(name))), env.placeholders)

    def _meeting(self, audit: str, meeting: Meeting, bound: Env) -> Held:
        """Return the queries that tell whether two arguments have names in common."""
        left, right = (self._distinct(bound.relations[r], column) for r, column in (meeting.left, meeting.right))
        return Held(audit, meeting, (left, right))

    def _asked(self, audit: str, among: Among, given: Collection[str], bound: Env) -> Asked:
        """Return what tells whether labels that an audit counts are there."""
        relation = next((r for r in among.relations if r in given), among.relations[-1])
        labels = tuple((n, v.name) for n in among.labels if not isinstance(v := bound.scalars[n], exp.Null))
        return Asked(audit, labels, self._distinct(bound.relations[relation], "label"))

    def _pooled(self, bound: Env) -> Pooled:
        attribute = bound.scalars["attribute"]
        of_it = exp.column("attribute").eq(attribute.copy())
        return Pooled(attribute.name, self._distinct(bound.relations["labels"], "annotator", of_it))

    def _distinct(self, relation: exp.Table, column: str, where: exp.Expr | None = None) -> Plan:
        """Return the plan of the different values of a column."""
        found = exp.select(exp.column(column)).from_(relation.copy()).group_by(exp.column(column))
        return self._binding.plan(found.where(exp.column(column).is_(exp.null()).not_(), where))

    def _by_kernel(self, kernel: str, body: exp.Query, bound: Env) -> exp.Query:
        """Return a read of what the kernel computes, or the body itself."""
        named = {t.name for t in find_all(body, exp.Table)} & self._binding.relations.keys()
        relations = [self._binding.relations[name] for name in sorted(named)]
        found = view_kernels.computed(kernel, relations, bound.scalars) if self._binding.shortcuts else None
        if found is None:
            return body
        return exp.select("*").from_(exp.Table(this=exp.to_identifier(self._binding.add(found), quoted=True)))

    def _hoist(self, name: str, body: exp.Query) -> str:
        """Keep a body as an expression of its own; returns its name."""
        taken = self._known() | self._written
        number = next(n for n in self._numbers if f"{name}__{n}" not in taken)
        own_names(body, number, taken)
        self._binding.hoisted[f"{name}__{number}"] = body
        return f"{name}__{number}"

    def _known(self) -> frozenset[str]:
        """Return the names of all relations."""
        self._names = self._names or frozenset(self._resolver.names())
        return self._names

    def _scalars(self, query: Query, given: Mapping[str, exp.Expr], env: Env, *, trusted: bool) -> dict[str, exp.Expr]:
        """Return the values of a query's parameters that are not relations, as literals."""
        scalars: dict[str, exp.Expr] = {}
        for parameter in query.parameters:
            node = given.get(parameter.name)
            if node is None and parameter.default is None:
                raise SqlError(f"{query.name}() needs {parameter.name!r}", code="E3116", hint=query.signature)
            if parameter.is_relation:
                continue
            is_told = env.is_callers and node is not None
            if node is None:
                node = exp.maybe_parse(parameter.default or "NULL", dialect=DIALECT)
            node = substituted(node, env)
            if is_told:
                node = self._instead.get(parameter.name, node)
            value = scalars[parameter.name] = arguments.scalar(parameter, node, f"{parameter.name!r} of {query.name}()")
            if not trusted or (query.open_labels and not self._sensitive):
                refuse_rows(query, value, self._attributes())
            if env.is_callers:
                self._cuts.append(Cut(query.name, parameter, value))
            if parameter.label_column is not None and "labels" not in given and isinstance(value, exp.Literal):
                self.facts.named.append((parameter.label_column, value.this))
        return scalars

    def _bound(self, query: Query, given: Mapping[str, exp.Expr], env: Env, lake: str | None, *, trusted: bool) -> Env:
        relations: dict[str, exp.Table] = {}
        named: dict[str, Sequence[tuple[str, str | None]]] = {}
        seen = len(self._named)
        scalars = self._scalars(query, given, env, trusted=trusted)
        self._named += self._closed_attributes(query, scalars, lake)
        named[""] = self._named[seen:]
        open_labels = query.open_labels or self._asks_open_labels(query, scalars)
        inner = Env(
            relations,
            scalars,
            trusted=trusted and not open_labels,
            placeholders=env.placeholders,
            lake=lake,
            open_labels=open_labels,
            is_callers=query.is_own,
            own_rows=frozenset(self._own_rows(query, given, env)),
            named=named,
        )
        for parameter in query.parameters:
            if parameter.is_relation:
                seen = len(self._named)
                where = f"{parameter.name!r} of {query.name}()"
                node = given.get(parameter.name)
                if node is None:
                    target = arguments.relation(parameter.default or "", where)
                    relations[parameter.name] = self.resolved(target, inner)
                else:
                    target = arguments.as_relation(node, where)
                    shown = self._shown_as(written(node))  # before it becomes the name of what it expands to
                    if env.is_callers and parameter.grid is not None:
                        self._cuts.append(Cut(query.name, parameter, exp.convert(written(node))))
                    abroad = env.abroad or parameter.name in query.apart
                    refers = env.refers and not (open_labels and parameter.default == LABELS)
                    relations[parameter.name] = self.resolved(target, replace(env, abroad=abroad, refers=refers))
                    if parameter.columns:
                        self._given.append(Given(where, parameter, shown, relations[parameter.name].name))
                named[parameter.name] = self._named[seen:]
        return inner

    def _closed_attributes(
        self, query: Query, scalars: Mapping[str, exp.Expr], lake: str | None
    ) -> Iterator[tuple[str, str | None]]:
        """Yield the attributes of perceived labels of a lake that a query's own parameters name."""
        asked = (scalars[p.name] for p in query.parameters if p.label_column == "attribute")
        yield from ((a.name, lake) for a in asked if a.name and not is_open(a, self._attributes()))

    def _asks_open_labels(self, query: Query, scalars: Mapping[str, exp.Expr]) -> bool:
        """Tell whether a body reads labels of one attribute, which is said, and needs no purpose.

        With one, labels of people count as closed before there are any: a view that is declared first is closed from the start.
        """
        asked = [scalars[p.name] for p in query.parameters if p.label_column == "attribute"]
        hidden = self._attributes() if asked else frozenset()
        closed = [self._sensitive and is_of_people(value.name) for value in asked]
        return bool(asked) and not any(closed) and all(is_open(value, hidden) for value in asked)

    def resolved(self, target: exp.Expr, env: Env) -> exp.Table:
        """Return a relation argument as the name of something that is registered or hoisted."""
        holder = exp.select("*").from_(target)
        if isinstance(target, exp.Subquery):
            inner = target.this
            outer, self._read_sensitive = self._read_sensitive, False
            self._body(inner, replace(env, refers=False))
            key = ("argument", to_sql(inner))
            if key not in self._memo:
                self._memo[key] = self._hoist("argument", inner.copy())
            self._memo_sensitive |= {self._memo[key]} if self._read_sensitive else set()
            self._read_sensitive |= outer
            return exp.Table(this=exp.to_identifier(self._memo[key]))
        self._body(holder, env)
        table = holder.find(exp.Table)
        if table is None:
            raise SqlError(f"no relation: {to_sql(target)}", code="E3113")
        return exp.Table(this=table.this.copy())

    def _protect(self, query: Query, given: Mapping[str, exp.Expr], bound: Env, env: Env) -> None:
        """Refuse a call on perceived labels whose cells could tell of single persons."""
        if self._read_past or self._resolver.is_past(None):
            refuse_past(query)
        refuse_small_cells(bound.scalars.get("min_count"))
        refuse_own_rows(query, given, self._names_of_caller(env))
        refuse_cuts(query, self._cuts)
        refuse_undeclared(query)

    def _own_rows(self, query: Query, given: Mapping[str, exp.Expr], env: Env) -> Iterator[str]:
        """Yield the relation parameters of a call that have rows of the caller's own making, by default in a file of theirs."""
        is_theirs = self._names_of_caller(env)
        for parameter in query.parameters:
            node, name = given.get(parameter.name), parameter.name
            if node is None and query.is_own and parameter.is_relation and parameter.default:
                node = arguments.relation(parameter.default, f"{name!r} of {query.name}()")
            if node is not None and parameter.is_relation and is_own(node, is_theirs, of_any_lake=name in query.apart):
                yield name

    def _names_of_caller(self, env: Env) -> Callable[[str], bool]:
        """Return what tells whether a name in a text is an expression or rows of the caller."""
        own = {*env.own_rows, *(self._binding.user if env.is_user else ())}
        own |= {name for name, relation in self._binding.relations.items() if relation.is_bound}
        return own.__contains__

    def _shown(self, query: Query, given: Mapping[str, exp.Expr], bound: Env) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for parameter in query.parameters:
            if parameter.named and parameter.name not in given:  # no preset was asked for
                continue
            if not parameter.is_relation:
                shown[parameter.name] = arguments.constant(bound.scalars[parameter.name], parameter.name)
            elif parameter.name in given:
                shown[parameter.name] = self._shown_as(written(given[parameter.name]))
            elif not has_no_rows(parameter):
                shown[parameter.name] = parameter.default
        return shown


def _asked_of(
    binder: weakref.ref[Binder],
    query: Query,
    given: Collection[str],
    bound: Mapping[str | None, Env],
    env: Env,
    merged: Mapping[Of, Merged],
    what: str | None = None,
) -> Plan | None:
    there = binder()
    return None if there is None else there.called_instead(query, given, bound[what], env, merged)


def _is_in_order(query: Query) -> bool:
    """Tell whether the order of an audit's rows tells nothing of what they count."""
    order = parsed(query).args.get("order")
    keys = {c for cell in query.cells for c in (*cell.by, *cell.within, *cell.totals)}
    return order is None or {c.name for c in find_all(order, exp.Column)} <= keys


def _arguments_given(given: Iterable[Given], binding: Binding) -> Iterator[tuple[Given, Plan]]:
    """Return relation arguments of the caller, each with a plan of its rows."""
    for one in given:
        source = exp.Table(this=exp.to_identifier(one.name, quoted=True))
        yield one, binding.plan(exp.select("*").from_(source))
