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
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from counterbalance.engine.schema import IMAGES
from counterbalance.engine.search.by_image import ByImage
from counterbalance.engine.sql import dictionary_predicates, single_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterbalance.engine.catalog.file_statistics import Tallies
    from counterbalance.engine.sql.dictionary_predicates import Conditions
    from counterbalance.engine.sql.plan import Plan, Relation

_UNFIT: Final = ("distinct", "qualify")
_OWN: Final = re.compile(r"n[0-9]+__")


def count_by_image(plan: Plan) -> Plan:
    """Move every fitting group by image of a plan onto counts that are taken as the rows come."""
    if not any(_is_by_image(select) for select, _, _ in single_table.over_stored(plan, plan.tree)):
        return plan
    tree, made = plan.tree.copy(), []
    for select, table, relation in single_table.over_stored(plan, tree):
        if not _is_by_image(select):
            continue
        known = None if relation.table is None else single_table.tallies(relation.table)
        if known is None or not known.rises:
            continue
        columns = single_table.columns(relation.tables)
        counted = _rewrite(select, table, columns, partial(_counted, relation, known, plan.values))
        made += [] if counted is None else [counted]
    return plan.with_tree(tree, made) if made else plan


def _counted(
    relation: Relation, known: Tallies, given: Mapping[str, Any], where: Conditions, counts: Sequence[Conditions]
) -> Relation | None:
    """Return counts of a relation's rows by image; ``None`` where they are not to be had.

    Args:
        relation: A stored table.
        known: What is kept of its files.
        given: Values of ``$name``.
        where: Conditions of the rows that count at all.
        counts: Of these, what each count is of.
    """
    passed = [dictionary_predicates.passed(conditions, known.codes, given) for conditions in (where, *counts)]
    own = [found for found in passed if found is not None]
    fragments = known.in_order(own[0]) if len(own) == len(passed) else None
    if fragments is None:
        return None
    key = tuple(tuple((column, values.tobytes()) for column, values in one.items()) for one in own)
    return relation.derived("by_image", lambda: ByImage(known.dataset, fragments, own[0], own[1:]), key=key)


def _is_by_image(select: exp.Select) -> bool:
    """Tell whether a select groups by the image alone."""
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
    counted: Callable[[Conditions, Sequence[Conditions]], Relation | None],
) -> Relation | None:
    """Rewrite a select if all of it fits; returns what it reads then."""
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
    found = counted(chosen, different) if fits and chosen is not None else None
    if found is None:
        return None
    for place, kind in zip(places, kinds, strict=True):
        single_table.replace_count(select, place, exp.column(f"n{different.index(kind) + 1}__"))  # type: ignore[arg-type]
    having = select.args.get("having")
    select.set("where", None if having is None else exp.Where(this=having.this))
    select.set("having", None)
    select.set("group", None)
    single_table.point_at(table, found.id)
    return found


def _is_within(node: exp.Expr, places: Sequence[exp.Expr | None]) -> bool:
    above: exp.Expr | None = node
    while above is not None:
        if any(above is place for place in places):
            return True
        above = above.parent
    return False


def _kind(count: exp.Count, table: exp.Table, coded: dict[str, str]) -> Conditions | None:
    """Return what a count is of; ``None`` where that is not a condition on single coded columns."""
    if not single_table.counts_one(count) or isinstance(count.this, exp.Distinct):
        return None
    parts = [] if single_table.counts_rows(count) else [_is_there(count.this)]
    if isinstance(count.parent, exp.Filter):
        parts.append(count.parent.expression.this)
    return _conditions(exp.and_(*parts), table, coded) if parts else ()


def _is_there(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=exp.paren(value.copy()), expression=exp.null()))


def _conditions(condition: exp.Expr, table: exp.Table, coded: dict[str, str]) -> Conditions | None:
    """Return conditions that hold together, each on one coded column; ``None`` where others are among them."""
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
        found.append(dictionary_predicates.Condition(coded[names.pop()], own))
    return tuple(found)
