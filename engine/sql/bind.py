"""Bind what was asked: views become common table expressions, audits plans of their own, names and functions what they stand for.

The bound text holds base tables, word lists, rows of audits and Python functions only, so that it can be shown, explained and
sent to another engine. A copy of the tree is changed in place; every relation must resolve, or the query is refused.
"""

from __future__ import annotations

import weakref
from dataclasses import replace
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from counterbalance.engine.errors import (
    NotFoundError,
    RefusedError,
    SqlError,
    did_you_mean,
)
from counterbalance.engine.recipes import files
from counterbalance.engine.schema import is_of_people
from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.sql import arguments, kept_views, presets, queries
from counterbalance.engine.sql.bind_audits import AuditCalls, distinct, key_of
from counterbalance.engine.sql.bind_functions import FunctionCalls
from counterbalance.engine.sql.bind_tables import TableCalls
from counterbalance.engine.sql.call_syntax import arguments_of, call_name, keep_names, known_as
from counterbalance.engine.sql.ctes import apart, in_order, own_names, written
from counterbalance.engine.sql.macros import calls_python, check, inline
from counterbalance.engine.sql.parse import DIALECT, TABLE_FUNCTIONS, to_sql, visible_ctes
from counterbalance.engine.sql.plan import Facts, Given, Plan, Pooled, Relation, is_id
from counterbalance.engine.sql.policy import (
    Cut,
    is_open,
    is_own,
    refuse_rows,
)
from counterbalance.engine.sql.resolver import LABELS, described
from counterbalance.engine.sql.rewrites import view_kernels
from counterbalance.engine.sql.scope import (
    Env,
    Met,
    Narrowed,
    hides,
    is_inside_call,
    parsed,
    substituted,
    with_schemas,
)
from counterbalance.engine.sql.walk import find_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from counterbalance.engine.sql.binding import Binding
    from counterbalance.engine.sql.query_model import Query
    from counterbalance.engine.sql.resolver import Resolver


_ROLLED_UP: Final = frozenset({"image_labels", "person_labels"})
"""Views that make one label of several."""


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
        self.met, self.reads_past = Met(), False
        self._named: list[tuple[str, str | None]] = []
        self._stored_calls: dict[str, dict[tuple[str, ...], str]] = {}
        self._qualified: set[str] = set()

    @cached_property
    def _tables(self) -> TableCalls:
        names = weakref.proxy(self)  # no cycle: what was asked lets the session go
        return TableCalls(self._binding, names, bind=self._bind)

    @cached_property
    def _audits(self) -> AuditCalls:
        return AuditCalls(
            self._resolver,
            self._binding,
            weakref.proxy(self),
            self.facts,
            bind=self._bind,
            sensitive=self._sensitive,
            inline=self._inline_audits,
        )

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
            self._memo[key] = self.hoist("argument", exp.select("*").from_(source))
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
                self.met.closed = self.facts.reads_sensitive = True
                self.reads_past |= self._resolver.is_past(schema)
            return found
        if name in queries.queries() and schema in {None, "main", *self._resolver.lakes()}:
            return self.rows_of(queries.queries()[name], {}, env, self._lake(schema))
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

    def shown_as(self, text: str) -> str:
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
            return self.rows_of(known[name], arguments.bind(name, names, arguments_of(call)), env, lake)
        if name in SIGNATURES and schema in {None, "main"}:
            return self._tables.name_of(name, call, replace(env, refers=False))
        whole = name if schema is None else f"{schema}.{name}"
        near = did_you_mean(whole, {*known, *SIGNATURES})
        hint = "counterbalance audit --list lists all" if near else "audits: " + ", ".join(queries.audits())
        hint = known_as(name) or hint
        raise NotFoundError(f"no audit, view or table function {whole!r}{near}", code="E1004", hint=hint)

    def rows_of(self, query: Query, given: Mapping[str, exp.Expr], env: Env, lake: str | None) -> str:
        """Return the name of the rows of an audit or a view over the tables of a lake; the same call twice is one relation."""
        given = self._with_preset(query, given, env)
        if query.kind == "audit":
            return self._audits.name_of(query, given, env, lake)
        narrowed = next((p for p in query.parameters if p.narrowed), None) if env.is_callers else None
        if narrowed is not None and env.widens and narrowed.name in given:
            target = arguments.as_relation(given[narrowed.name], f"{narrowed.name!r} of {query.name}()")
            return self.resolved(target, env).name
        trusted = self._may_be_closed(env, lake) and (not query.is_own or self._sensitive)
        outer_read, self.met.closed = self.met.closed, False
        try:
            bound = self.bound(query, given, env, lake, trusted=trusted)
            if narrowed is not None:
                self.met.narrowed.append(
                    Narrowed(query.name, narrowed, self.reads_closed(bound.relations[narrowed.name]))
                )
            if query.name in _ROLLED_UP and self._bind and isinstance(bound.scalars["annotator"], exp.Null):
                self.facts.pooled.append(_pooled(self._binding, bound))
            key = key_of(query, bound, lake, trusted=trusted)
            if key not in self._memo:
                kept = self._kept(query, bound) if self._bind and lake is None else None
                self._memo[key] = name = kept or self.hoist(query.name, self.expanded(query, bound))
                self._memo_sensitive |= {name} if self.met.closed else set()
            self.met.closed |= self._memo[key] in self._memo_sensitive
        finally:
            self.met.closed |= outer_read
        self.facts.changed = True
        return self._memo[key]

    def _kept(self, query: Query, bound: Env) -> str | None:
        """Return the name of a fresh materialized view that has the rows of a call, if there is one."""
        wanted = key_of(query, bound, None, trusted=False)
        if query.name not in self._stored_calls:
            self._stored_calls[query.name] = {}  # a call inside of what is bound here is computed
            found = kept_views.keeping(query.name, self._resolver.materialized)
            for view, call in found:
                if self._binding.is_fresh(view):
                    given = arguments.bind(query.name, [p.name for p in query.parameters], arguments_of(call))
                    same = self.bound(query, self._with_preset(query, given, Env()), Env(), None, trusted=False)
                    self._stored_calls[query.name][key_of(query, same, None, trusted=False)] = view.name
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

    def expanded(self, query: Query, bound: Env) -> exp.Query:
        """Return the body of an audit or a view with everything in it bound."""
        body = parsed(query).copy()
        self._body(body, bound)
        if query.kernel is not None and self._bind:
            body = self._by_kernel(query.kernel, body, bound)
        return body

    def reads_closed(self, table: exp.Table) -> bool:
        """Tell whether a bound relation holds perceived labels."""
        relation = self._binding.relations.get(table.name)
        return table.name in self._memo_sensitive or (relation is not None and relation.closed)

    def _by_kernel(self, kernel: str, body: exp.Query, bound: Env) -> exp.Query:
        """Return a read of what the kernel computes, or the body itself."""
        named = {t.name for t in find_all(body, exp.Table)} & self._binding.relations.keys()
        relations = [self._binding.relations[name] for name in sorted(named)]
        found = view_kernels.computed(kernel, relations, bound.scalars) if self._binding.shortcuts else None
        if found is None:
            return body
        return exp.select("*").from_(exp.Table(this=exp.to_identifier(self._binding.add(found), quoted=True)))

    def hoist(self, name: str, body: exp.Query) -> str:
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
                node = env.instead.get(parameter.name, node)
            value = scalars[parameter.name] = arguments.scalar(parameter, node, f"{parameter.name!r} of {query.name}()")
            if not trusted or (query.open_labels and not self._sensitive):
                refuse_rows(query, value, self._attributes())
            if env.is_callers:
                self.met.cuts.append(Cut(query.name, parameter, value))
            if parameter.label_column is not None and "labels" not in given and isinstance(value, exp.Literal):
                self.facts.named.append((parameter.label_column, value.this))
        return scalars

    def bound(self, query: Query, given: Mapping[str, exp.Expr], env: Env, lake: str | None, *, trusted: bool) -> Env:
        """Return what the parameters of a call stand for in its body."""
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
            widens=env.widens,
            instead=env.instead,
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
                    shown = self.shown_as(written(node))  # before it becomes the name of what it expands to
                    if env.is_callers and parameter.grid is not None:
                        self.met.cuts.append(Cut(query.name, parameter, exp.convert(written(node))))
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
            outer, self.met.closed = self.met.closed, False
            self._body(inner, replace(env, refers=False))
            key = ("argument", to_sql(inner))
            if key not in self._memo:
                self._memo[key] = self.hoist("argument", inner.copy())
            self._memo_sensitive |= {self._memo[key]} if self.met.closed else set()
            self.met.closed |= outer
            return exp.Table(this=exp.to_identifier(self._memo[key]))
        self._body(holder, env)
        table = holder.find(exp.Table)
        if table is None:
            raise SqlError(f"no relation: {to_sql(target)}", code="E3113")
        return exp.Table(this=table.this.copy())

    def _own_rows(self, query: Query, given: Mapping[str, exp.Expr], env: Env) -> Iterator[str]:
        """Yield the relation parameters of a call that have rows of the caller's own making, by default in a file of theirs."""
        is_theirs = self.names_of_caller(env)
        for parameter in query.parameters:
            node, name = given.get(parameter.name), parameter.name
            if node is None and query.is_own and parameter.is_relation and parameter.default:
                node = arguments.relation(parameter.default, f"{name!r} of {query.name}()")
            if node is not None and parameter.is_relation and is_own(node, is_theirs, of_any_lake=name in query.apart):
                yield name

    def names_of_caller(self, env: Env) -> Callable[[str], bool]:
        """Return what tells whether a name in a text is an expression or rows of the caller."""
        own = {*env.own_rows, *(self._binding.user if env.is_user else ())}
        own |= {name for name, relation in self._binding.relations.items() if relation.is_bound}
        return own.__contains__


def _arguments_given(given: Iterable[Given], binding: Binding) -> Iterator[tuple[Given, Plan]]:
    """Return relation arguments of the caller, each with a plan of its rows."""
    for one in given:
        source = exp.Table(this=exp.to_identifier(one.name, quoted=True))
        yield one, binding.plan(exp.select("*").from_(source))


def _pooled(binding: Binding, bound: Env) -> Pooled:
    """Return what tells whose labels were pooled."""
    attribute = bound.scalars["attribute"]
    of_it = exp.column("attribute").eq(attribute.copy())
    return Pooled(attribute.name, distinct(binding, bound.relations["labels"], "annotator", of_it))
