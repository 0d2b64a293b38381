"""DuckDB's SQL as Spark's, where sqlglot alone would lose something: the order of lists, folds, several lists side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import sqlglot
from sqlglot import exp

from counterbalance.engine.backends.spark.same import refuse_others

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterator, Mapping

_ONE: Final = "one"
_PARTS: Final = "parts"
_FEW: Final = 6
"""Nodes of an expression that may be written twice."""


def translated(
    sql: str, values: Mapping[str, Any] | None = None, own: Container[str] = (), floats: Collection[str] = ()
) -> exp.Expr:
    """Return the tree of a query in DuckDB's SQL, ready to be written as Spark's.

    Args:
        sql: The query.
        values: Values of ``$name``.
        own: Names of Python functions that Spark knows.
        floats: Columns of single precision, in lower case.

    Raises:
        SqlError: Nobody knows whether Spark answers it alike (``E3479``).

    Example:
        >>> translated("SELECT list(a ORDER BY b) FROM t WHERE b > $least", {"least": 3}).sql("spark")
        'SELECT TRY_ELEMENT_AT(FILTER(ARRAY(TRANSFORM(ARRAY_SORT(COLLECT_LIST(STRUCT(b IS NULL, b, a AS value))), one -> one.value)), one -> SIZE(one) > 0), 1) FROM t WHERE b > 3'
        >>> translated("SELECT b, unnest(c) AS d, unnest(e) AS f FROM t").sql("spark")
        'SELECT b, INLINE(ARRAYS_ZIP(COALESCE(c, ARRAY()), COALESCE(e, ARRAY()))) AS (d, f) FROM t'
    """
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    for value in list(tree.find_all(exp.Placeholder, exp.Parameter)):
        if values is not None and value.name in values:
            value.replace(_constant(values[value.name]))
    refuse_others(tree, own, floats)
    for collected in list(tree.find_all(exp.ArrayAgg)):
        _put_in_order(collected)
    _rename_calls(tree)
    _of_lists(tree)
    _of_values(tree)
    for node in reversed(list(tree.find_all(exp.Div, exp.Cast))):  # the inner ones first
        if isinstance(node, exp.Div):
            _divide_by_zero(node)
        elif isinstance(node, exp.Cast) and node.to.this in exp.DataType.INTEGER_TYPES and not _is_whole(node.this):
            _round(node)
    for select in list(tree.find_all(exp.Select)):
        _unnest_at_once(select)
    return tree


def _constant(value: object) -> exp.Expr:
    """Return a value of Python as DuckDB is given it: a float is a double, ``nan`` and ``inf`` included."""
    if isinstance(value, float):
        return exp.cast(exp.Literal.string(repr(value)), "DOUBLE")
    if isinstance(value, list | tuple):
        return exp.Array(expressions=[_constant(item) for item in value])
    return exp.convert(value)


def _rename_calls(tree: exp.Expr) -> None:
    """Let functions be called that Spark has under another name."""
    for node in list(tree.find_all(exp.Anonymous)):
        match node.name.lower(), node.expressions:
            case "list_reduce", [items, fold, first]:
                node.replace(exp.Anonymous(this="AGGREGATE", expressions=[items, first, fold]))
            case "list_slice", [items, begin, end]:
                length = exp.Add(
                    this=exp.Sub(this=exp.paren(end), expression=exp.paren(begin.copy())),
                    expression=exp.Literal.number(1),
                )
                parts = [items, begin, exp.Greatest(this=length, expressions=[exp.Literal.number(0)])]
                node.replace(exp.Anonymous(this="SLICE", expressions=parts))


def _of_lists(tree: exp.Expr) -> None:
    """Let functions of lists take NULL for what DuckDB takes it, and count from 1."""
    for holds in list(tree.find_all(exp.ArrayContains)):  # false where the list holds NULL
        found = exp.Coalesce(this=holds.copy(), expressions=[exp.false()])
        sides = (exp.not_(exp.Is(this=side.copy(), expression=exp.null())) for side in (holds.this, holds.expression))
        holds.replace(exp.Case().when(exp.and_(*sides), found))
    for joined in list(tree.find_all(exp.ArrayConcat)):  # NULL is an empty list
        parts = [joined.this, *joined.expressions]
        whole = [exp.Coalesce(this=part.copy(), expressions=[exp.Array()]) for part in parts]
        joined.replace(exp.ArrayConcat(this=whole[0], expressions=whole[1:]))
    for each in tree.find_all(exp.Transform, exp.ArrayFilter):  # counted from 1
        match each.expression:
            case exp.Lambda(expressions=[_, place]):
                for use in list(each.expression.this.find_all(exp.Identifier)):
                    if use.name == place.name and not isinstance(use.parent, exp.PropertyEQ | exp.Dot):
                        use.replace(exp.paren(exp.Add(this=use.copy(), expression=exp.Literal.number(1))))


def _of_values(tree: exp.Expr) -> None:
    """Let functions of texts and numbers give what DuckDB's give."""
    for mean in tree.find_all(exp.Avg):  # of decimals, which have few places more there
        mean.set("this", exp.cast(mean.this, "DOUBLE"))
    for lower in tree.find_all(exp.Lower):  # letter by letter
        lower.set(
            "this", _call("TRANSLATE", lower.this, exp.Literal.string("\u0130\u03a3"), exp.Literal.string("i\u03c3"))
        )
    for log in list(tree.find_all(exp.Log)):
        if not log.expression:  # of base 10
            log.replace(exp.Anonymous(this="LOG10", expressions=[log.this]))
    for test in list(tree.find_all(exp.IsNan)):  # NULL where the number is
        test.replace(exp.EQ(this=test.this, expression=exp.cast(exp.Literal.string("NaN"), "DOUBLE")))
    for best in list(tree.find_all(exp.ArgMax, exp.ArgMin)):  # of rows with a value
        has_value = exp.not_(exp.Is(this=best.this.copy(), expression=exp.null()))
        best.set("expression", exp.Case().when(has_value, best.expression.copy()))
    for share in list(tree.find_all(exp.PercentileCont)):
        if share.expression:
            share.replace(exp.Anonymous(this="PERCENTILE", expressions=[share.this, share.expression]))


def rename(use: exp.Table, name: str) -> None:
    """Let a use of a table read another one; columns that are qualified by its name still find it."""
    if not use.alias:
        use.set("alias", exp.TableAlias(this=exp.to_identifier(use.name, quoted=True)))
    use.set("this", exp.to_identifier(name))


def lifted(query: exp.Expr) -> Iterator[exp.CTE]:
    """Yield the expressions that a query and its expressions stand on, each before its first use, and take them out of it.

    Names are those of one plan, in which no two expressions have the same.
    """
    clause = query.args.get("with_")
    if clause is None or clause.args.get("recursive"):
        return
    query.set("with_", None)
    for cte in list(clause.expressions):
        for inner in list(cte.this.find_all(exp.With)):
            holder = inner.parent
            if holder is not None and inner.args.get("recursive") is None:
                yield from lifted(holder)
        yield cte


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def _put_in_order(node: exp.ArrayAgg) -> None:
    """Let a list that is collected hold NULL, be sorted afterwards, and be NULL where there is no row: Spark drops and forgets these."""
    around = node.parent if isinstance(node.parent, exp.Filter) else None
    order = node.this.expressions if isinstance(node.this, exp.Order) else []
    value = node.this.this if isinstance(node.this, exp.Order) else node.this
    is_distinct = isinstance(value, exp.Distinct)
    if is_distinct:  # which is sorted by itself only
        value = value.expressions[0]
        order = order or [exp.Ordered(this=value)]
    falls = bool(order) and all(isinstance(one, exp.Ordered) and one.args.get("desc") for one in order)
    keys = [key for one in order for key in _sort_keys(one, falls=falls)]
    rows: exp.Expr = _call("STRUCT", *keys, exp.alias_(value.copy(), "value"))
    rows = exp.Anonymous(this="COLLECT_SET" if is_distinct else "COLLECT_LIST", expressions=[rows])
    rows = rows if around is None else exp.Filter(this=rows, expression=around.expression.copy())
    rows = exp.Anonymous(this="ARRAY_SORT", expressions=[rows]) if order else rows
    rows = exp.Anonymous(this="REVERSE", expressions=[rows]) if falls else rows
    one = exp.to_identifier(_ONE)
    field = exp.Dot(this=one.copy(), expression=exp.to_identifier("value"))
    values = exp.Anonymous(this="TRANSFORM", expressions=[rows, exp.Lambda(this=field, expressions=[one.copy()])])
    has_rows = exp.GT(this=_call("SIZE", exp.column(one.copy())), expression=exp.Literal.number(0))
    lists = exp.Anonymous(this="ARRAY", expressions=[values])
    lists = exp.Anonymous(this="FILTER", expressions=[lists, exp.Lambda(this=has_rows, expressions=[one.copy()])])
    (around or node).replace(exp.Anonymous(this="TRY_ELEMENT_AT", expressions=[lists, exp.Literal.number(1)]))


def _sort_keys(ordered: exp.Expr, *, falls: bool) -> Iterator[exp.Expr]:
    """Yield what puts values in an order when it rises, or when all of it ``falls``. Texts cannot fall among others that rise."""
    key = ordered.this if isinstance(ordered, exp.Ordered) else ordered
    is_null: exp.Expr = exp.Is(this=key.copy(), expression=exp.null())
    is_first = isinstance(ordered, exp.Ordered) and bool(ordered.args.get("nulls_first"))
    yield is_null if falls == is_first else exp.Not(this=is_null)
    turned = isinstance(ordered, exp.Ordered) and bool(ordered.args.get("desc")) and not falls
    yield exp.Neg(this=exp.paren(key.copy())) if turned else key.copy()


def _divide_by_zero(quotient: exp.Div) -> None:
    """Let a quotient be a double, and infinite or no number where its divisor is 0: Spark would raise."""
    above, below = (exp.cast(side, "DOUBLE") for side in (quotient.left, quotient.right))
    divisor = quotient.right.unnest()
    if isinstance(divisor, exp.Nullif) or (isinstance(divisor, exp.Literal) and float(divisor.this) != 0):
        quotient.replace(exp.Div(this=above, expression=below))
    else:
        quotient.replace(_with_parts(_quotient, above, below))


def _quotient(above: exp.Expr, below: exp.Expr) -> exp.Expr:
    is_zero = exp.EQ(this=below.copy(), expression=exp.Literal.number(0))
    infinite = exp.Mul(this=above.copy(), expression=exp.cast(exp.Literal.string("Infinity"), "DOUBLE"))
    return exp.If(this=is_zero, true=infinite, false=exp.Div(this=above.copy(), expression=below.copy()))


def _round(cast: exp.Cast) -> None:
    """Let a number become the nearest whole one, which Spark would cut: a double to the even one of two, a decimal away from 0."""

    def nearest(number: exp.Expr) -> exp.Expr:
        return _nearest(number, lambda value: exp.cast(value, cast.to))

    cast.replace(_with_parts(nearest, cast.this))


def _nearest(number: exp.Expr, of_kind: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    def is_like(pattern: str) -> exp.Expr:
        return exp.Like(this=_call("TYPEOF", number), expression=exp.Literal.string(pattern))

    double = exp.cast(number.copy(), "DOUBLE")
    has_places = exp.and_(is_like("decimal(%"), exp.not_(is_like("%,0)")))
    return (
        exp.Case()
        .when(exp.or_(is_like("double"), is_like("float")), of_kind(_call("RINT", double)))
        .when(has_places, of_kind(exp.Round(this=exp.cast(number.copy(), "DECIMAL(38, 18)"))))
        .else_(of_kind(number.copy()))
    )


def _is_whole(value: exp.Expr) -> bool:
    """Tell whether a value is no fraction as it is written, or a text."""
    value = value.unnest()
    if isinstance(value, exp.Cast):
        return value.to.this in exp.DataType.INTEGER_TYPES
    if isinstance(value, exp.Case):
        ends = [branch.args["true"] for branch in value.args["ifs"]] + [value.args.get("default") or exp.null()]
        return all(map(_is_whole, ends))
    if isinstance(value, exp.Sum | exp.Min | exp.Max | exp.Window | exp.Filter | exp.Neg | exp.Abs):
        return _is_whole(value.this)
    if isinstance(value, exp.Add | exp.Sub | exp.Mul):
        return _is_whole(value.left) and _is_whole(value.right)
    is_number = isinstance(value, exp.Literal) and (value.is_string or value.is_int)
    return is_number or isinstance(value, exp.Null | exp.Boolean | exp.Count | exp.IntDiv)


def _with_parts(make: Callable[..., exp.Expr], *parts: exp.Expr) -> exp.Expr:
    """Return an expression that names parts several times, so that Spark computes each once, and each is written once where it is long."""
    asks = any(part.find(exp.Select) for part in parts)  # which Spark does not inside of a function of a list
    if asks or all(len(list(part.walk())) <= _FEW for part in parts):
        return make(*parts)
    named = [exp.alias_(part, f"part_{n}") for n, part in enumerate(parts)]
    struct = exp.Anonymous(this="STRUCT", expressions=named)
    fields = [exp.Dot(this=exp.to_identifier(_PARTS), expression=exp.to_identifier(one.alias)) for one in named]
    once = exp.Lambda(this=make(*fields), expressions=[exp.to_identifier(_PARTS)])
    made = exp.Anonymous(this="TRANSFORM", expressions=[exp.Anonymous(this="ARRAY", expressions=[struct]), once])
    return exp.Anonymous(this="ELEMENT_AT", expressions=[made, exp.Literal.number(1)])


def _unnest_at_once(select: exp.Select) -> None:
    """Take apart several lists side by side, as DuckDB does, where Spark would pair each item with all of the others."""
    lists = [(n, column) for n, column in enumerate(select.expressions) if isinstance(column.unalias(), exp.Explode)]
    if len(lists) < 2:
        return
    names = [exp.to_identifier(column.alias_or_name or f"unnest_{n}") for n, column in lists]
    whole = [_call("COALESCE", column.unalias().this, exp.Array()) for _, column in lists]
    rows = _call("INLINE", _call("ARRAYS_ZIP", *whole))
    first, last = lists[0][0], lists[-1][0]
    before, behind = select.expressions[:first], select.expressions[last + 1 :]
    select.set("expressions", [*before, exp.Aliases(this=rows, expressions=names), *behind])
