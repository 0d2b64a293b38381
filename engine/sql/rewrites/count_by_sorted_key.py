"""Counts by image, taken as the rows come: groups of a stored table by ``image_id`` are not hashed where they lie together.

A query over one stored table that groups by ``image_id``, asks for nothing but counts, and looks at nothing but coded
columns besides, such as ::

    SELECT image_id, count(*) FILTER (value = 'male') AS m FROM labels WHERE attribute = 'scene' GROUP BY image_id

becomes a query over a relation with a row an image and a column a count (``search/by_image.py``)::

    SELECT image_id, n1__ AS m FROM counted

Conditions are asked of DuckDB, for each value of a column once. A query that asks for anything else is left alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlglot import exp

from counterbalance.engine.schema import IMAGES
from counterbalance.engine.sql import single_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_UNFIT: Final = ("distinct", "qualify")
_OWN: Final = re.compile(r"n[0-9]+__")


class Condition(NamedTuple):
    """A condition on one coded column."""

    column: str
    text: exp.Expr


Conditions = tuple[Condition, ...]
"""They hold together."""


def count_by_image(
    tree: exp.Query,
    columns: Callable[[str], single_table.Columns | None],
    counted: Callable[[str, Conditions, Sequence[Conditions]], str | None],
) -> exp.Query:
    """The query with every fitting group by image moved onto counts that are taken as the rows come.

    Args:
        tree: An expanded query; a copy is changed.
        columns: The columns of a registered relation that lies image by image; ``None`` of any other.
        counted: Registered name of the counts by image of a relation's rows: those that meet some conditions, and of
            these the ones that meet the conditions of each count; ``None`` where they are not to be had.

    Returns:
        ``tree`` itself when nothing fits.
    """
    if not any(_is_by_image(select) for select in tree.find_all(exp.Select)):
        return tree
    changed, fits = tree.copy(), False
    for select in [s for s in changed.find_all(exp.Select) if _is_by_image(s)]:
        table = single_table.one_table(select)
        known = None if table is None else columns(table.name)
        if table is not None and known is not None:
            fits |= _rewrite(select, table, known, counted)
    return changed if fits else tree


def _is_by_image(select: exp.Select) -> bool:
    """Whether a select groups by the image alone."""
    group = select.args.get("group")
    if not isinstance(group, exp.Group) or any(select.args.get(a) for a in _UNFIT):
        return False
    if any(group.args.get(a) for a in ("cube", "rollup", "grouping_sets", "totals")):
        return False
    nodes = list(group.expressions)
    if group.args.get("all"):
        nodes = [e.unalias() for e in select.expressions if not e.find(exp.AggFunc)]
    if len(nodes) == 1 and isinstance(nodes[0], exp.Literal) and nodes[0].is_int:
        place = int(nodes[0].name)
        nodes = [e.unalias() for e in select.expressions[place - 1 : place]] if place else []
    return len(nodes) == 1 and isinstance(nodes[0], exp.Column) and nodes[0].name.lower() == IMAGES.key


def _rewrite(
    select: exp.Select,
    table: exp.Table,
    columns: single_table.Columns,
    counted: Callable[[str, Conditions, Sequence[Conditions]], str | None],
) -> bool:
    """Rewrite a select if all of it fits; says whether it did."""
    where, nodes = select.args.get("where"), single_table.inside(select)
    coded = {c.lower(): c for c in columns.coded}
    chosen = () if where is None else _conditions(where.this, table, coded)
    counts = [n for n in nodes if isinstance(n, exp.Count) and not _is_within(n, [where])]
    kinds = [_kind(n, table, coded) for n in counts]
    different = list(dict.fromkeys(kind for kind in kinds if kind is not None))
    places = [n.parent if isinstance(n.parent, exp.Filter) else n for n in counts]
    rest = [n for n in nodes if not _is_within(n, [where, *places])]
    made = single_table.made_names(select, columns)
    fits = (
        chosen is not None
        and None not in kinds
        and not any(single_table.is_odd(n) for n in rest)
        and not single_table.has_nameless(select)
        and not any(_OWN.fullmatch(name) for name in made)
        and all(
            isinstance(e.unalias(), exp.Column) for e in select.expressions if e.alias_or_name.lower() == IMAGES.key
        )
        and single_table.are_columns(rest, table, {IMAGES.key, *made})
    )
    name = counted(table.name, chosen, different) if fits and chosen is not None else None
    if name is None:
        return False
    for place, kind in zip(places, kinds, strict=True):
        single_table.replace_count(select, place, exp.column(f"n{different.index(kind) + 1}__"))  # type: ignore[arg-type]
    having = select.args.get("having")
    select.set("where", None if having is None else exp.Where(this=having.this))
    select.set("having", None)
    select.set("group", None)
    single_table.point_at(table, name)
    return True


def _is_within(node: exp.Expr, places: Sequence[exp.Expr | None]) -> bool:
    above: exp.Expr | None = node
    while above is not None:
        if any(above is place for place in places):
            return True
        above = above.parent
    return False


def _kind(count: exp.Count, table: exp.Table, coded: dict[str, str]) -> Conditions | None:
    """What a count is of; ``None`` where that is no condition on single coded columns."""
    if not single_table.counts_one(count) or isinstance(count.this, exp.Distinct):
        return None
    parts = [] if single_table.counts_rows(count) else [_is_there(count.this)]
    if isinstance(count.parent, exp.Filter):
        parts.append(count.parent.expression.this)
    return _conditions(exp.and_(*parts), table, coded) if parts else ()


def _is_there(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=exp.paren(value.copy()), expression=exp.null()))


def _conditions(condition: exp.Expr, table: exp.Table, coded: dict[str, str]) -> Conditions | None:
    """Conditions that hold together, each on one coded column; ``None`` where others are among them."""
    parts = list(condition.flatten()) if isinstance(condition, exp.And) else [condition]
    found = []
    for part in parts:
        nodes = list(part.walk())
        names = {n.name.lower() for n in nodes if isinstance(n, exp.Column)}
        odd = any(single_table.is_odd(n) or isinstance(n, exp.Count) for n in nodes)
        if odd or len(names) != 1 or not single_table.are_columns(nodes, table, coded):
            return None
        own = part.copy()
        for column in own.find_all(exp.Column):
            column.set("table", None)
        found.append(Condition(coded[names.pop()], own))
    return tuple(found)
