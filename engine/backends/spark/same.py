"""Refuse what Spark may answer otherwise than DuckDB: whatever is not listed here.

The list is of what shipped audits and views are made of, which tests compare on both engines, and a little more, which is compared,
too (``tests/backends``). It goes by how a query is written: what depends on types that nobody wrote down is told in docs/spark.md.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from counterbalance.engine.errors import SqlError

if TYPE_CHECKING:
    from collections.abc import Collection, Container

_FORMS: Final = frozenset(
    """
    abs add alias and argmax argmin array arrayagg arrayconcat arraycontains arrayfilter arraymax arraysize arraysort
    arraytostring asinh avg between boolean bracket case cast cbrt ceil coalesce column concat concatws contains count
    countif cte cumedist datatype datatypeparam day denserank distinct div dot dpipe endswith eq except exists exp
    explode filter firstvalue floor from generateseries greatest group groupconcat grouping groupingsets gt gte having
    identifier if in intdiv intersect is isnan join lag lambda lastvalue lateral lead least left length like limit
    literal ln log logicaland logicalor lower lt lte max md5 median min mod month mul neg neq not nthvalue ntile null
    nullif nullsafeeq nullsafeneq offset or order ordered parameter paren percentilecont percentrank placeholder pow propertyeq
    rank regexpextract regexpextractall regexplike regexpreplace regexpsplit replace rollup round rownumber select
    sign splitpart sqrt star startswith stddev strposition struct structextract sub subquery substring sum table
    tablealias transform trim tuple union unnest values var variancepop where window windowspec with year
    """.split()  # noqa: SIM905 - one name after another
)
"""Kinds of nodes, as sqlglot names them."""
_CALLS: Final = frozenset({"list_reduce", "list_slice"})
_TYPES: Final = exp.DataType.INTEGER_TYPES | {
    exp.DataType.Type[name] for name in ("DOUBLE", "FLOAT", "DECIMAL", "BOOLEAN", "VARCHAR", "TEXT", "ARRAY", "LIST")
}
_PATTERN: Final = re.compile(
    r"(?:\\[pP]\{\w+\}|\\x[0-9A-F]{2}|\\x\{[0-9A-Fa-f]+\}|\\[dwtnfrz.+*?()\[\]]|\[\^?|[^\\.$?&|{}])+"
)
"""Of a regular expression that RE2 and Java read alike."""
_COMPARED: Final = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between, exp.NullSafeEQ)
_COMPUTED: Final = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Least, exp.Greatest)
_FINE: Final = 9
"""Places from which on rounding meets no number that lies half-way."""


def refuse_others(tree: exp.Expr, own: Container[str] = (), floats: Collection[str] = ()) -> None:
    """Refuse a query in which something stands that Spark may answer otherwise.

    Args:
        tree: The query, as DuckDB's SQL.
        own: Names of Python functions that Spark knows.
        floats: Columns of single precision in lower case, which DuckDB compares in that precision, and Spark in double.

    Raises:
        SqlError: Something does (``E3479``).

    Example:
        >>> import sqlglot
        >>> refuse_others(sqlglot.parse_one("SELECT * FROM a NATURAL JOIN b", dialect="duckdb"))
        Traceback (most recent call last):
        counterbalance.engine.errors.SqlError: NATURAL JOIN is not known to give the same on Spark
        hint: leave out --engine spark
    """
    for node in tree.walk():
        what = _unlisted(node, own) or _differs(node) or _is_of_single_precision(node, floats)
        if what:
            raise SqlError(
                f"{what} is not known to give the same on Spark",
                code="E3479",
                hint="leave out --engine spark",
                sql=None,
            )


def _unlisted(node: exp.Expr, own: Container[str]) -> str | None:
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        return None if node.name in own or node.name.lower() in _CALLS else f"{node.name.lower()}()"
    return None if node.key in _FORMS else f"{node.sql('duckdb')[:60]!r}"


def _differs(node: exp.Expr) -> str | None:  # noqa: C901, PLR0912 - one line a form
    """Name what is wrong with a form that is listed."""
    match node:
        case exp.Distinct() if node.args.get("on"):
            return "DISTINCT ON"
        case exp.Join() if node.method:
            return f"{node.method} JOIN"
        case exp.Select():
            return _differs_in_columns(node)
        case exp.Star() if node.args.get("replace"):
            return "* REPLACE"
        case exp.Table() if isinstance(node.this, exp.Identifier) and node.alias_column_names:
            return "a table whose columns get other names"
        case exp.WindowSpec() if node.args.get("exclude"):
            return "EXCLUDE of a window"
        case exp.In() if node.args.get("query") and not isinstance(
            node.find_ancestor(exp.Where, exp.Having, exp.Select), exp.Where | exp.Having
        ):
            return "IN (SELECT …) as a value"
        case exp.Cast() if node.to.this not in _TYPES:
            return f"a value as {node.to.sql('duckdb')}"
        case exp.Round() if not _is_fine(node.args.get("decimals")):
            return f"rounding to fewer than {_FINE} places"
        case exp.Like() if not _is_text(node.expression) or "\\" in node.expression.name:
            return "LIKE with a backslash, or of a pattern that is computed"
        case exp.RegexpLike() | exp.RegexpExtract() | exp.RegexpExtractAll() | exp.RegexpReplace() | exp.RegexpSplit():
            return None if _is_same_pattern(node) else f"the regular expression in {node.sql('duckdb')[:60]!r}"
        case exp.Left() if not (_is_number(node.expression, 0) or isinstance(node.expression, exp.Sub)):
            return "left() of a length that is computed"
        case exp.Substring() if not _starts_inside(node.args.get("start")):
            return "substring() from a place that is computed"
        case exp.SplitPart() if not (_is_text(node.args["delimiter"]) and node.args["delimiter"].name):
            return "split_part() without a separator"
        case exp.GenerateSeries() if not node.args.get("is_end_exclusive"):
            return "generate_series()"
        case exp.Anonymous(this="list_slice" | "LIST_SLICE") if not _is_number(node.expressions[1], 1):
            return "list_slice() from a place that is computed"
        case exp.Order() if isinstance(node.parent, exp.Select):
            return _differs_in_order(node, node.parent)
    return None


def _differs_in_columns(select: exp.Select) -> str | None:
    stars = [c for c in select.expressions if isinstance(c, exp.Star) or isinstance(c.this, exp.Star)]
    if stars and any(join.args.get("using") for join in select.args.get("joins") or []):
        return "* over USING"
    lists = [n for n, column in enumerate(select.expressions) if isinstance(column.unalias(), exp.Explode)]
    if lists and lists[-1] - lists[0] >= len(lists):
        return "unnest() on both sides of a column"
    return None


def _differs_in_order(order: exp.Order, select: exp.Select) -> str | None:
    """Name what differs in an order: in an expression DuckDB reads a column of the table, where Spark reads what SELECT calls so."""
    made = {
        c.alias.lower()
        for c in select.expressions
        if isinstance(c, exp.Alias) and c.this.name.lower() != c.alias.lower()
    }
    for one in order.expressions:
        if not isinstance(one.this, exp.Column):
            for column in one.this.find_all(exp.Column):
                if not column.table and column.name.lower() in made:
                    return "an order by an expression of what SELECT makes"
    return None


def _is_of_single_precision(node: exp.Expr, floats: Collection[str]) -> str | None:
    """Name a column that DuckDB compares with a number, or adds to it, in single precision."""
    if not isinstance(node, (*_COMPARED, *_COMPUTED)):
        return None
    sides = [side.unnest() for side in node.iter_expressions()]
    columns = [side for side in sides if isinstance(side, exp.Column) and side.name.lower() in floats]
    numbers = [side for side in sides if isinstance(side, exp.Literal) and not side.is_string]
    if columns and any(struct.unpack("f", struct.pack("f", float(n.name)))[0] != float(n.name) for n in numbers):
        return f"{columns[0].name} beside a number that single precision does not hold"
    return None


def _is_text(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _is_number(node: exp.Expr | None, least: int) -> bool:
    return isinstance(node, exp.Literal) and node.is_int and int(node.name) >= least


def _is_fine(places: exp.Expr | None) -> bool:
    return places is None or _is_number(places, _FINE) or (_is_number(places, 0) and places.name == "0")


def _starts_inside(start: exp.Expr | None) -> bool:
    """Tell whether a place is 1 or more as it is written, or one more than something."""
    return _is_number(start, 1) or (
        isinstance(start, exp.Add) and any(_is_number(s, 1) for s in (start.left, start.right))
    )


def _is_same_pattern(node: exp.Expr) -> bool:
    pattern, put = node.expression, node.args.get("replacement")
    if node.args.get("flag") or node.args.get("parameters") or not _is_text(pattern):
        return False
    if isinstance(node, exp.RegexpReplace):  # Spark replaces all, and reads groups in what it puts there
        flags = node.args.get("modifiers")
        if flags is None or flags.name != "g" or put is None or not _is_text(put) or re.search(r"[\\$]", put.name):
            return False
    return _PATTERN.fullmatch(pattern.name) is not None
