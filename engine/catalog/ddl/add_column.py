"""Generated columns: declaring them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import parse_one

from counterbalance.engine.catalog import closed, definitions, names
from counterbalance.engine.catalog.ddl.declaration import (
    check_schedule,
    is_another,
    journaled,
    reads_itself,
    refuse_cycle,
    way_for,
)
from counterbalance.engine.catalog.definitions import Definition
from counterbalance.engine.catalog.planning import Catalog
from counterbalance.engine.errors import NotFoundError, SqlError, did_you_mean
from counterbalance.engine.schema import IMAGES, PICTURES, STAMP_SUFFIX, is_sensitive
from counterbalance.engine.sql.call_syntax import callable_names
from counterbalance.engine.sql.diagnostics import hints
from counterbalance.engine.sql.expression import Evaluator, analyse, same_call
from counterbalance.engine.sql.parse import DIALECT
from counterbalance.engine.sql.policy import perceives
from counterbalance.engine.sql.resolver import closed_to_all
from counterbalance.engine.sql.statements import COLUMN_OPTIONS, check_options
from counterbalance.engine.store import columns, enclosing, pictures, tables
from counterbalance.engine.store.location import ENCLOSED

if TYPE_CHECKING:
    import lance

    from counterbalance.engine.sql.expression import Expression
    from counterbalance.engine.sql.statements import AddColumn
    from counterbalance.engine.store.location import Location


def add_column(
    location: Location, statement: AddColumn, *, purpose: str | None = None, notes: list[str] | None = None
) -> Definition:
    """Declare a generated column: checked at once, NULL until the next refresh.

    The definition is written first, the empty column after it: a kill in between leaves a definition whose column the
    next refresh makes, as it does for a table that had no rows yet.

    Args:
        location: The lake.
        statement: What to declare.
        purpose: For which closed columns are read, or a name that was closed is opened.
        notes: Gets what a person should know.

    Raises:
        NotFoundError: No such table, column or function.
        SqlError: The name is in use, or the expression does not fit.
        RefusedError: The table was made by another tool.
        SensitiveError: It is computed from perceived labels, without a purpose.
        BusyError: Somebody else is writing.
    """
    catalog = Catalog(location)
    table, name = statement.table, statement.name
    catalog.require(table)
    check_options(statement.options, COLUMN_OPTIONS)
    known = catalog.definitions.columns(table).get(name)
    if known is not None and statement.if_not_exists:
        return _same(catalog, known, statement)
    names.check_column(catalog, table, name)
    if purpose is None and table in catalog.closed.views:
        raise closed_to_all(f"view {table}")  # which rows fail, and whether all do, would tell what they hold
    expression, kind = _checked(catalog, statement)
    if purpose is None and (read := sorted(catalog.sensitive_columns(table) & set(expression.columns))):
        raise closed_to_all(f"{table}.{read[0]}")
    own = catalog.types(table)
    _refuse_other_pictures(catalog, table, name)
    reads = tuple((table if c in own else IMAGES.name, c) for c in expression.columns)
    as_said = Definition(
        "column",
        table,
        name,
        statement.expression,
        statement.type,
        schedule=check_schedule(statement.options),
        reads=reads,
        sensitive=_is_sensitive(catalog, statement, expression),
        recipe=statement.recipe,
    )
    new = closed.inherit(location, as_said, purpose)
    if new.sensitive and not as_said.sensitive and notes is not None:
        notes.append(f"{new.target} is closed, as the last column of this name was; a purpose would open it")
    refuse_cycle(catalog.definitions, new)
    if new.sensitive:
        enclosing.refuse_move(location, table)
    closed.log_opening(location, new, purpose)
    with journaled(catalog, new.target, "declared") as work:
        definitions.declare(location, new)
        try:
            if new.sensitive:
                if notes is not None and enclosing.lies_open(location, [table]):
                    notes.append(
                        f"{table} lies in {ENCLOSED}/ from here on: other users and lake.lancedb() do not see it"
                    )
                closed.enclose(location)
            dataset = tables.open_table(location, table)
            if dataset is not None:
                if notes is not None:
                    notes += _without_pictures(dataset, new, expression)
                fields = [pa.field(name, kind), pa.field(name + STAMP_SUFFIX, pa.int64())]
                work.committed(table, columns.declare(location, table, fields))
        except BaseException:
            definitions.drop(location, new)
            raise
    return new


def _refuse_other_pictures(catalog: Catalog, table: str, name: str) -> None:
    """Refuse a column that would take the place of the pictures that others of the table read by key.

    Raises:
        SqlError: It is called as they are.
    """
    others = [d.name for d in catalog.definitions.columns(table).values() if (IMAGES.name, name) in d.reads]
    if others:
        raise SqlError(
            f"{table}.{others[0]} reads {name!r} of images, by image_id and sha256: a column of {table} of that name would change it",
            code="E3199",
            hint="take another name",
        )


def _without_pictures(dataset: lance.LanceDataset, new: Definition, expression: Expression) -> list[str]:
    """Return what to say where the column reads pictures and no row has one; the first row that has one ends the search."""
    read = [c for c in expression.columns if c in PICTURES and c in dataset.schema.names]
    if not read or not dataset.count_rows():
        return []
    if pictures.are_there(dataset, read):
        return []
    return [f"no row of {new.table} has a picture: {new.target} will be NULL; {pictures.HELP}"]


def _same(catalog: Catalog, known: Definition, statement: AddColumn) -> Definition:
    types = {re.sub(r"\s", "", (type_ or "").lower()) for type_ in (known.type, statement.type)}
    if len(types) > 1 or same_call(known.sql) != same_call(statement.expression):
        first = way_for(catalog.definitions, known, f"ALTER TABLE {known.table} DROP COLUMN {known.name}")
        raise is_another(known.target, f"expression: {known.sql}", f"take another name, or first: {first}")
    return known


def _checked(catalog: Catalog, statement: AddColumn) -> tuple[Expression, pa.DataType]:
    types = catalog.types(statement.table)
    try:
        expression = analyse(statement.expression, statement.table, pictures.readable(list(types)), statement.type)
    except NotFoundError as error:
        if error.code == "E1033" and f"no column {statement.name!r}" in error.message.lower():
            target = f"{statement.table}.{statement.name}"
            raise reads_itself(target, (target, target)) from None
        raise
    if any(c not in types for c in expression.columns) and not pa.types.is_integer(types[IMAGES.key]):
        raise SqlError(
            f"{statement.table}.{IMAGES.key} is {types[IMAGES.key]}, and pictures are read by a whole number",
            code="E3198",
            hint=f"select {IMAGES.key} of images as it is",
        )
    try:
        evaluator = Evaluator(expression, {c: types.get(c, pa.binary()) for c in expression.columns})
        try:
            evaluator.check()
        finally:
            evaluator.close()
    except SqlError as error:
        raise _unknown_function(error) from None
    return expression, evaluator.type


def _unknown_function(error: SqlError) -> SqlError | NotFoundError:
    missing = re.search(r"Function with name \"?(\w+)\"? does not exist", error.message)
    if missing is None:
        message = re.split(r"\s+Candidate functions", error.message)[0]
        return SqlError(message, code=error.code, hint=error.hint)
    near = did_you_mean(missing[1], callable_names())
    return NotFoundError(
        f"no function {missing[1]!r}{near}",
        code="E1003",
        hint=hints.FUNCTIONS,
    )


def _is_sensitive(catalog: Catalog, statement: AddColumn, expression: Expression) -> bool:
    hidden = catalog.sensitive_columns(statement.table)
    if hidden & set(expression.columns):
        return True
    said: Any = statement.options.get("sensitive")
    if said is not None:
        return bool(said)
    return is_sensitive(statement.name) or perceives(parse_one(expression.sql, dialect=DIALECT)) is not None
