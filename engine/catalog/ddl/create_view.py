"""Materialized views: declaring them, and taking the place of one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from sqlglot import exp

from counterbalance.engine.catalog import closed, definitions, dependencies, meta, names, runs, snapshot, system
from counterbalance.engine.catalog.ddl.declaration import (
    check_schedule,
    is_another,
    journaled,
    refuse_cycle,
    refuse_dependents,
    way_for,
)
from counterbalance.engine.catalog.definitions import ERRORS, Definition
from counterbalance.engine.catalog.planning import Catalog, queries_over
from counterbalance.engine.errors import LimitError, NotFoundError, RefusedError, SqlError, did_you_mean
from counterbalance.engine.sql.parse import parse, quoted, to_sql
from counterbalance.engine.sql.resolver import closed_to_all
from counterbalance.engine.sql.statements import VIEW_OPTIONS, check_options
from counterbalance.engine.sql.types import refuse_wide, storable
from counterbalance.engine.sql.volatility import is_volatile
from counterbalance.engine.store import enclosing, tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterbalance.engine.catalog.dependencies import Reading
    from counterbalance.engine.query_engine import QueryEngine
    from counterbalance.engine.sql.statements import CreateView
    from counterbalance.engine.store.location import Location

REPLACED: Final = "replaced_at"
"""Option of a view whose rows are of another shape than its definition: the moment since when."""
UNCHECKED: Final = "the key is checked by the first refresh"
"""How a note begins that a declaration could not check the key."""
_COUNT: Final = "__rows"


def create_view(
    location: Location, statement: CreateView, *, purpose: str | None = None, notes: list[str] | None = None
) -> Definition:
    """Declare a materialized view: checked at once, without rows until the next refresh.

    Args:
        location: The lake.
        statement: What was said.
        purpose: For which sensitive labels are read, unless the statement says ``sensitive = false``; the view is then
            sensitive where it reads some. It also opens a view that was closed.
        notes: Gets what could not be checked, and which labels it goes without.

    Raises:
        NotFoundError: No such relation, or no such key column.
        SqlError: The query, its columns or its key are not right, or the name is in use.
        RefusedError: It reads what is not data of this lake, or replaces what others stand on.
        SensitiveError: It reads perceived labels without a purpose.
        BusyError: Somebody else is writing.
    """
    notes = [] if notes is None else notes
    catalog = Catalog(location)
    check_options(statement.options, VIEW_OPTIONS)
    known = catalog.definitions.views().get(statement.name)
    if known is not None and statement.if_not_exists:
        notes += _lacking(location, known)
        return _same(catalog, known, statement)
    if known is None or not statement.replace:
        names.check_relation(catalog, statement.name, "a view")
    _refuse_odd(statement.select)
    reads_open = statement.options.get("sensitive") is False
    with queries_over(catalog, purpose=None if reads_open else purpose) as engine:
        reading = dependencies.read(catalog, engine, statement.select)
        _refuse_unsteady(reading.tree)
        if not engine.resolver.sensitive:
            _refuse_sensitive(catalog, reading)
        as_said = _definition(catalog, statement, reading, purpose=engine.purpose)
        new = closed.inherit(location, as_said, purpose)
        if new.sensitive and not as_said.sensitive:
            opening = 'declare it with --sensitive "why" to open it, from its next refresh on'
            notes.append(f"{new.name} stays closed, for what had this name held perceived labels; {opening}")
        refuse_cycle(catalog.definitions, new)
        result = engine.sql(statement.select)
        notes += result.notes
        schema = _checked_schema(result.schema, reading.columns)
        key = _key(statement, schema)
        new = replace(new, key=key, options={**new.options, **_told(statement, schema)})
        _refuse_repeated_keys(engine, statement.select, key, notes)
        if known is not None:
            new = _in_place_of(catalog, known, new, schema, anew=new.sensitive and not as_said.sensitive)
    if new.sensitive:
        enclosing.refuse_move(location, new.name)
    closed.log_opening(location, new, purpose)
    with journaled(catalog, new.target, "declared"):
        definitions.declare(location, new)
        if new.sensitive:
            closed.enclose(location)
    return new


def _same(catalog: Catalog, known: Definition, statement: CreateView) -> Definition:
    same_key = [k.lower() for k in known.key] == [k.lower() for k in statement.key]
    if not same_key or parse(known.sql).tree != parse(statement.select).tree:
        kept = "CREATE OR REPLACE (of a recipe: --replace) changes it and keeps rows whose key stays, if its columns do"
        first = way_for(catalog.definitions, known, f"DROP MATERIALIZED VIEW {known.name}")
        raise is_another(known.name, "query or key", f"{kept}; or first: {first}")
    return known


def _lacking(location: Location, known: Definition) -> list[str]:
    """Say that a view goes without perceived labels, which a purpose that is stated now does not change."""
    attributes = system.sensitive_attributes(snapshot.codes(location))
    if known.sensitive or not attributes or all(relation != "labels" for relation, _ in known.reads):
        return []
    made_anew = f'DROP MATERIALIZED VIEW {known.name}, then declare it with --sensitive "why"'
    labels = ", ".join(sorted(attributes))
    return [f"{known.name} was declared without a purpose and has no labels of {labels}; to have them, {made_anew}"]


def _definition(catalog: Catalog, statement: CreateView, reading: Reading, *, purpose: str | None) -> Definition:
    hidden = {r: catalog.sensitive_columns(r) for r, _ in reading.reads}
    reads_labels = reading.reads_labels or (snapshot.SENSITIVE_LABELS, "*") in reading.reads  # those to come, too
    reads_closed = reads_labels or any(hidden[r] and (c == "*" or c in hidden[r]) for r, c in reading.reads)
    said = bool(statement.options.get("sensitive"))
    return Definition(
        "view",
        statement.name,
        statement.name,
        statement.select,
        key=statement.key,
        schedule=check_schedule(statement.options),
        reads=reading.reads,
        sensitive=said or (purpose is not None and reads_closed),
        recipe=statement.recipe,
    )


def _refuse_odd(select: str) -> None:
    statement = parse(select)
    if statement.kind != "query":
        raise RefusedError("a view is a SELECT", code="E3213")
    place = statement.tree.find(exp.Placeholder, exp.Parameter)
    if place is not None:
        raise RefusedError(
            f"a view has no parameters, such as ${place.name}", code="E3213", hint="write the value itself"
        )
    _refuse_unsteady(statement.tree)
    _refuse_any_rows(statement.tree)


def _refuse_any_rows(tree: exp.Expr) -> None:
    """Refuse ``LIMIT`` without an order, which may take other rows tomorrow."""
    for cut in tree.find_all(exp.Limit, exp.Offset, exp.Fetch):
        query = cut.parent
        if isinstance(query, exp.Query) and query.args.get("order") is None:
            raise RefusedError(
                "LIMIT without ORDER BY takes other rows from run to run, and cannot be part of a view",
                code="E3215",
                hint="add ORDER BY the key to the same SELECT",
            )


def _refuse_unsteady(tree: exp.Expr) -> None:
    """Refuse what may come out otherwise tomorrow, and would be stored."""
    for node in tree.find_all(exp.Func, exp.TableSample):
        if isinstance(node, exp.TableSample):
            if node.args.get("seed") is None:
                raise RefusedError(
                    "a sample without a seed differs from run to run", code="E3214", hint="add REPEATABLE (1)"
                )
            continue
        if isinstance(node, exp.Func) and is_volatile(node):
            shown = to_sql(node).lower()
            hint = "write the value itself; ORDER BY hash(key) shuffles rows the same way every time"
            raise RefusedError(
                f"{shown} changes from call to call, and cannot be part of a view", code="E3214", hint=hint
            )


def _refuse_sensitive(catalog: Catalog, reading: Reading) -> None:
    """Name the purpose that is missing, rather than a column that is not shown."""
    used = {c.name.lower() for c in reading.tree.find_all(exp.Column)}
    for relation in {r for r, _ in reading.reads}:
        hidden = catalog.sensitive_columns(relation)
        found = sorted(c for c in hidden if c.lower() in used)
        if found or relation in catalog.closed.views:
            raise closed_to_all(f"{relation}.{found[0]}" if found else f"view {relation}")


def _checked_schema(schema: pa.Schema, written: Sequence[str]) -> dict[str, pa.DataType]:
    twice = [n for n, count in Counter(n.lower() for n in written).items() if count > 1]
    if twice:
        raise SqlError(f"two columns are called {twice[0]!r}", code="E3175", hint="give one another name with AS")
    found: dict[str, pa.DataType] = {}
    for field in schema:
        try:
            names.check(field.name, "a column of a view")
        except SqlError as error:
            raise SqlError(error.message, code=error.code, hint="give it a name with AS") from None
        refuse_wide(field.type, field.name, sums=True)
        found[field.name] = storable(field.type)
    return found


def _key(statement: CreateView, schema: dict[str, pa.DataType]) -> tuple[str, ...]:
    lower = {n.lower(): n for n in schema}
    for name in statement.key:
        if name.lower() not in lower:
            raise NotFoundError(
                f"the query has no column {name!r} for the key{did_you_mean(name, schema)}",
                code="E1042",
                hint="columns: " + ", ".join(schema),
            )
        if pa.types.is_nested(schema[lower[name.lower()]]):
            raise SqlError(f"{name} is {schema[lower[name.lower()]]}, and cannot be a key", code="E3176")
    if len({k.lower() for k in statement.key}) < len(statement.key):
        raise SqlError("a key names a column once", code="E3176")
    return tuple(lower[k.lower()] for k in statement.key)


def _told(statement: CreateView, schema: dict[str, pa.DataType]) -> dict[str, Any]:
    """Return the column whose texts ``meta.errors`` shows, if one is named."""
    name = statement.options.get(ERRORS)
    if name is None:
        return {}
    found = next((n for n in schema if n.lower() == name.lower()), None)
    if found is None or not pa.types.is_string(schema[found]):
        texts = [n for n, kind in schema.items() if pa.types.is_string(kind)]
        raise NotFoundError(
            f"the query has no text column {name!r} for errors{did_you_mean(name, texts)}",
            code="E1047",
            hint="the column that says why a row was skipped; columns of text: " + (", ".join(texts) or "none"),
        )
    return {ERRORS: found}


def _refuse_repeated_keys(engine: QueryEngine, select: str, key: Sequence[str], notes: list[str]) -> None:
    if engine.has_tried or engine.resolver.has_unmade:
        why = "the view calls a table function" if engine.has_tried else "the view reads what was not refreshed yet"
        notes.append(f"{UNCHECKED}: {why}")
        return
    columns = ", ".join(map(quoted, key))
    missing = " OR ".join(f"{quoted(k)} IS NULL" for k in key)
    rows = f"(SELECT * FROM (\n{select}\n) AS q)"
    text = (
        f"SELECT {columns}, count(*) AS {_COUNT} FROM {rows} AS r GROUP BY {columns} "
        f"HAVING count(*) > 1 OR {missing} ORDER BY {columns} LIMIT 1"
    )
    try:
        found = engine.sql(text).to_arrow().to_pylist()
    except LimitError:
        notes.append(f"{UNCHECKED}: the query takes longer than a declaration may")
        return
    for row in found:
        shown = ", ".join(f"{k} = {row[k]!r}" if row[k] is not None else f"{k} = NULL" for k in key)
        if any(row[k] is None for k in key):
            raise SqlError(f"the key is NULL in a row: {shown}", code="E3177", hint=f"add WHERE {key[0]} IS NOT NULL")
        raise SqlError(
            f"the key is not unique: {row[_COUNT]} rows have {shown}",
            code="E3177",
            hint="add columns to the key, or group",
        )


def _in_place_of(
    catalog: Catalog, known: Definition, new: Definition, schema: dict[str, pa.DataType], *, anew: bool
) -> Definition:
    """Return the new definition in the place of the known one; keeps its rows when key and columns are the same.

    With ``anew`` its rows are not compared with those that are there: they are closed, and the new ones may be guesses.
    """
    old = {n: t for n, t in catalog.types(known.name).items() if n not in catalog.definitions.columns(known.name)}
    gone = {n for n, t in old.items() if schema.get(n) != t}
    broken = list(_broken(catalog, known, gone))
    refuse_dependents(
        f"{', '.join(sorted(gone))} of view {known.name}", broken, "keep these columns, or drop what reads them first"
    )
    clash = {n.lower() for n in schema} & {n.lower() for n in catalog.definitions.columns(known.name)}
    if clash:
        raise names.in_use(f"{known.name} has a generated column {min(clash)!r}")
    same = known.key == new.key and old == schema and not anew
    options: dict[str, Any] = {**new.options, **{k: v for k, v in known.options.items() if k == REPLACED}}
    if not same and tables.open_table(catalog.location, known.name) is not None:
        options[REPLACED] = meta.now().isoformat()
    return replace(new, options=options)


def _broken(catalog: Catalog, known: Definition, gone: set[str]) -> Iterator[Definition]:
    for other in catalog.definitions.by_target.values():
        read = {c for relation, c in other.reads if relation == known.name}
        if other.target != known.target and gone and (read & gone or "*" in read):
            yield other


def must_rebuild(location: Location, definition: Definition) -> bool:
    """Tell whether the stored rows of a view are of another shape than its definition, so that a refresh begins anew.

    True from ``CREATE OR REPLACE`` with another key or other columns, without a purpose over closed rows, or that opened
    it, until the next finished refresh.
    """
    since = max((definition.options[o] for o in (REPLACED, closed.OPENED) if o in definition.options), default=None)
    if since is None:
        return False
    last = runs.refreshes(location, ["started"]).get(definition.target)
    return last is None or last["started"].isoformat() <= since
