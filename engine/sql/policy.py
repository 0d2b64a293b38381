"""What a session without a purpose may ask of perceived labels: counts of many, over relations not of its own making."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import sqlglot
from sqlglot import exp

from counterbalance.engine.disclosure.cells import MIN_COUNT
from counterbalance.engine.errors import CounterbalanceError, LimitError, SensitiveError
from counterbalance.engine.functions import functions
from counterbalance.engine.schema import is_sensitive
from counterbalance.engine.sql import arguments, queries
from counterbalance.engine.sql.call_syntax import arguments_of, call_name
from counterbalance.engine.sql.parse import DIALECT, to_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from counterbalance.engine.sql.query_model import Query, QueryParameter

_OF_NAMES: Final = frozenset({"E3040", "E3102", "E3103", "E3104", "E3116", "E3119", "E3131"})
"""Codes of errors that speak of names and types, never of values."""
_PURPOSE: Final = 'state a purpose: --sensitive "why", which is logged'


def perceives(tree: exp.Expr, given: Any = None) -> str | None:
    """Return the sensitive attribute of which an expression makes labels from pictures; ``None`` where it makes none.

    It does when one of its functions sees pictures, and one is given such a name as ``attribute``: ``label_person`` itself,
    or ``label_prompt`` inside of ``ask``. A question in other words is not recognised.

    Args:
        tree: The expression, as written.
        given: Value of ``attribute`` where it is known to be another than what is written, such as a parameter's.
    """
    calls = [(functions().get(str(node.name).lower()), node) for node in tree.find_all(exp.Anonymous)]
    known = [(function, node) for function, node in calls if function is not None]
    if not any(pa.types.is_binary(p.type) for function, _ in known for p in function.parameters):
        return None
    written = (
        node
        for function, call in known
        for parameter, node in arguments.of_function(function, call.expressions)
        if parameter.name == "attribute"
    )
    literals = (node.this for node in written if isinstance(node, exp.Literal) and node.is_string)
    return next((a for a in (given, *literals) if isinstance(a, str) and is_sensitive(a)), None)


def refuse_labelling(call: exp.Anonymous, constants: Mapping[str, Any]) -> None:
    """Refuse to make perceived labels in a query."""
    attribute = perceives(call, constants.get("attribute"))
    if attribute is not None:
        raise SensitiveError(
            f"{call.name.lower()}() makes labels of {attribute}",
            code="E3311",
            hint=f"keep them as a generated column, which audits may use; to read rows, {_PURPOSE}",
        )


def refuse_rows(query: Query, value: exp.Expr, attributes: Collection[str]) -> None:
    """Refuse a view that would show the labels of such an attribute row by row."""
    if isinstance(value, exp.Literal) and value.is_string and not is_open(value, attributes):
        raise SensitiveError(
            f"{query.name}({value.this!r}) shows perceived-demographic labels row by row",
            code="E3301",
            hint=f"audits that come with counterbalance may use them; to read rows, or for a file of your own, {_PURPOSE}",
        )


def is_open(value: exp.Expr, attributes: Collection[str]) -> bool:
    """Tell whether it is the name of an attribute, in any spelling, that is none of those.

    Example:
        >>> is_open(exp.Literal.string("scene"), {"perceived_gender"})
        True
        >>> is_open(exp.Literal.string("Perceived Gender"), {"perceived_gender"}), is_open(exp.null(), set())
        (False, False)
    """
    if not (isinstance(value, exp.Literal) and value.is_string):
        return False
    return _plain(value.this) not in {_plain(name) for name in attributes}


def _plain(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.lower().strip())


def refuse_small_cells(floor: exp.Expr | None) -> None:
    """Refuse an audit whose cells may be smaller than ``MIN_COUNT``."""
    if floor is not None and int(arguments.constant(floor, "min_count") or 0) < MIN_COUNT:
        raise SensitiveError(
            f"min_count below {MIN_COUNT} would show cells of perceived labels so small that they point at people",
            code="E3303",
            hint=_PURPOSE,
        )


def without_values(name: str, error: CounterbalanceError) -> CounterbalanceError:
    """Return the error of an audit of perceived labels, or one that quotes no value where it may: the kind of error only.

    Example:
        >>> from counterbalance.engine.errors import SqlError
        >>> shown = without_values("f", SqlError("Could not convert string 'x' to INT64", code="E3105"))
        >>> shown.message, shown.code
        ('f() cannot be computed over these perceived labels: error E3105', 'E3324')
    """
    if error.code in _OF_NAMES or isinstance(error, SensitiveError | LimitError):
        return error
    return SensitiveError(
        f"{name}() cannot be computed over these perceived labels: error {error.code}",
        code="E3324",
        hint=f"its message may quote them; to read it, {_PURPOSE}",
    )


def refuse_undeclared(query: Query) -> None:
    """Refuse an audit of perceived labels that does not say which of its columns count people or images, or whose numbers do."""
    if query.exact:
        raise SensitiveError(
            f"{query.name}() shows numbers that tell single perceived labels, whatever counts are hidden",
            code="E3329",
            hint=f"ask it of open labels, or of what a model says of the images; or {_PURPOSE}",
        )
    if not query.cells:
        raise SensitiveError(
            f"{query.name}() declares no cells, so that nothing would hide small counts of perceived labels",
            code="E3323",
            hint=f"declare [[cells]] in its file, which a row about single images cannot have; or {_PURPOSE}",
        )


def refuse_past(query: Query) -> None:
    """Refuse an audit of perceived labels as they were: two moments differ by the few images that came or went between."""
    raise SensitiveError(
        f"{query.name}() counts perceived labels of another moment: the difference between two moments would reveal single images",
        code="E3325",
        hint=f"ask without --at; or {_PURPOSE}",
    )


def refuse_one_lake(query: Query, lakes: Mapping[str, Collection[str]]) -> None:
    """Refuse to compare perceived labels of one lake with others of the same lake: both counts would be of nearly the same images.

    Whether few images tell the two apart is not looked at, since what is refused for it would answer guesses.

    Args:
        query: The audit.
        lakes: By parameter that holds perceived labels, the places of the lakes that it reads.
    """
    sides = {p.name: p.side for p in query.parameters}
    for one, other in combinations(sorted(lakes), 2):
        if sides[one] != sides[other] and not {*lakes[one]}.isdisjoint(lakes[other]):
            raise SensitiveError(
                f"{query.name}() holds perceived labels of one lake beside each other in {one!r} and {other!r}: where few images "
                "differ, both counts tell of these",
                code="E3330",
                hint=f"compare another lake; or {_PURPOSE}",
            )


def refuse_own_rows(query: Query, given: Mapping[str, exp.Expr], is_theirs: Callable[[str], bool]) -> None:
    """Refuse rows of the caller's own choosing, which could cut the cells of an audit to tell of single persons.

    A list of words is not an exception: words choose images.

    Args:
        query: The audit.
        given: Its arguments.
        is_theirs: Whether a name is an expression or rows of the caller.
    """
    for parameter in query.parameters:
        node = given.get(parameter.name)
        if node is None or not parameter.is_relation:
            continue
        if parameter.grid is not None:
            raise SensitiveError(
                f"{query.name}() on perceived labels takes no {parameter.name!r}",
                code="E3306",
                hint=f"rows that tie some images together would reveal what they have in common; {_PURPOSE}",
            )
        if is_own(node, is_theirs, of_any_lake=parameter.name in query.apart):
            lakes = "any lake" if parameter.name in query.apart else "this lake"
            raise SensitiveError(
                f"{query.name}() on perceived labels takes tables and views of {lakes} for {parameter.name!r}, "
                "no rows of your own",
                code="E3306",
                hint=f"rows that are cut to measure would reveal single people; {_PURPOSE}",
            )


def is_own(node: exp.Expr, is_theirs: Callable[[str], bool], *, of_any_lake: bool = False) -> bool:
    """Tell whether a relation argument, or one inside of it, is of the caller's own making.

    So is every table of another lake, whatever its name, unless no images are matched (``of_any_lake``), what a table
    function returns, and a view whose rows are about single images (``level``): its arguments pick them.
    """
    target = arguments.as_relation(node, "the argument")
    if not isinstance(target, exp.Table):
        return True
    if isinstance(target.this, exp.Func):
        known = queries.queries().get(call_name(target.this))
        if target.db.lower() not in {"", "main"} or known is None or known.is_own or known.level is not None:
            return True
        bound = arguments.bind(known.name, [p.name for p in known.parameters], arguments_of(target.this))
        return any(is_own(bound[p.name], is_theirs) for p in known.parameters if p.is_relation and p.name in bound)
    is_other = target.db.lower() not in {"", "main", "lists"}
    view = queries.queries().get(target.name.lower())
    return is_theirs(target.name.lower()) or (is_other and not of_any_lake) or (view is not None and view.is_own)


@dataclass(frozen=True, slots=True)
class Cut:
    """A value that a caller gave for a parameter of an audit, or of a view that stands in its arguments.

    Args:
        query: Name of the audit or view.
        parameter: The parameter.
        value: The value, as a literal.
    """

    query: str
    parameter: QueryParameter
    value: exp.Expr

    @property
    def is_moved(self) -> bool:
        """Tell whether the value is another than the default, and can choose whom an audit counts: a number, or one with a grid."""
        kind = self.parameter.type.removesuffix("[]")
        chooses = kind not in {"varchar", "boolean", "relation", "stream"} or self.parameter.grid is not None
        view = queries.queries().get(self.query)
        hides = self.parameter.name == "min_count" and view is not None and view.kind == "audit"
        if not chooses or self.parameter.free or hides:
            return False
        return bool(self._given != self._default)

    @property
    def is_on_grid(self) -> bool:
        """Return whether the value is one that the parameter's file offers to everybody."""
        return bool(self._given in (self.parameter.grid or ()))

    def others(self) -> list[exp.Expr]:
        """Return the other values of the grid, the default with them, as literals."""
        values = dict.fromkeys((self._default, *(self.parameter.grid or ())))
        return [exp.convert(v) for v in values if v != self._given]

    @property
    def _given(self) -> Any:
        return arguments.constant(self.value, self.parameter.name)

    @property
    def _default(self) -> Any:
        text = self.parameter.default
        if self.parameter.is_relation:
            return text
        return None if text is None else arguments.constant(sqlglot.parse_one(text, dialect=DIALECT), "the default")


def refuse_cuts(query: Query, cuts: Collection[Cut]) -> None:
    """Refuse numbers that choose whom an audit of perceived labels counts, but for those of a coarse grid.

    Two calls whose numbers differ by a little would count all but one person, who is then known by subtraction.
    """
    seen: dict[str, Cut] = {}
    for cut in cuts:
        first = seen.setdefault(cut.parameter.name, cut)
        if cut.is_moved and not cut.is_on_grid:
            grid = ", ".join(map(str, cut.parameter.grid or ())) or f"{cut.parameter.default}, its default"
            raise SensitiveError(
                f"{cut.parameter.name!r} of {cut.query}() cuts the persons that {query.name}() counts; on perceived labels it "
                f"takes {grid}",
                code="E3320",
                hint=f"two numbers that differ by a little would reveal single people; {_PURPOSE}",
            )
        if to_sql(first.value) != to_sql(cut.value) and (first.is_moved or cut.is_moved):
            raise SensitiveError(
                f"{cut.parameter.name!r} is {to_sql(first.value)} and {to_sql(cut.value)} in one call of {query.name}()",
                code="E3320",
                hint=f"give the same value in both places; or {_PURPOSE}",
            )
