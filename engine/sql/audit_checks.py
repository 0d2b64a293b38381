"""What is counted beside a call on perceived labels, of all rows that its arguments give: nothing of it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from counterbalance.engine.sql.plan import LabelCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from counterbalance.engine.disclosure.merged_labels import Merged
    from counterbalance.engine.sql.plan import Plan
    from counterbalance.engine.sql.query_model import Query, QueryParameter

_OF_LABELS = ("label", "concept", "attribute")
"""Columns in which relations have labels."""


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A relation and its columns of units, labels, and what these are values of; '' where a relation is about one attribute."""

    table: exp.Table
    unit: str
    label: str
    category: str = ""


def label_counts(
    query: Query,
    relations: Mapping[str, exp.Table],
    closed: Collection[str],
    readings: Mapping[str, Sequence[exp.Table]],
    planned: Callable[[exp.Query], Plan],
) -> Iterator[LabelCounts]:
    """Yield counts of closed labels: of the relations of a call, of each beside others, and of the attributes these are made of.

    Args:
        query: The audit.
        relations: Its relation parameters.
        closed: Those of them that hold perceived labels.
        readings: By parameter, the group relations of the attributes that it names.
        planned: Returns the plan of a query.
    """
    sides = {p.name: p.side for p in query.parameters}
    labelled = {p.name: one for p in query.parameters if (one := _labelled(p, relations.get(p.name))) is not None}

    def meets(name: str, other: str) -> bool:
        is_of_labels = other in closed or labelled[other].label == "label"
        return is_of_labels and (sides[other], labelled[other].unit) == (sides[name], labelled[name].unit)

    for name, side in {"": None, **sides}.items():
        own = labelled.get(name)
        is_anywhere = own is not None and own.label != "label"
        asked: list[tuple[str | None, _Labelled, _Labelled]] = [
            (None, one, one) for one in (_Labelled(table, "image_id", "label") for table in readings.get(name, ()))
        ]
        if own is not None and name in closed:
            asked.append((None, own, own))
            asked += [(o, own, one) for o, one in labelled.items() if o != name and meets(name, o)]
        for beside, one, other in asked:
            yield LabelCounts(planned(_counted(one, other)), name, beside, side, is_anywhere)


def images_with_several(
    query: Query, relations: Mapping[str, exp.Table], closed: Collection[str]
) -> Iterator[tuple[str, exp.Query, bool]]:
    """Yield for each group relation the query that counts its images with several labels, and whether none may have.

    Closed labels may not overlap: there are many sums, of which some are small. Edits of one image have its labels apart, and an
    image has as many attributes as it likes.
    """
    for parameter in query.parameters:
        if {"image_id", "label"} <= {*parameter.columns}:
            one = exp.select("image_id").from_(relations[parameter.name].copy()).where("image_id IS NOT NULL")
            several = one.group_by("image_id").having("min(label) < max(label)")
            is_apart = parameter.name in closed and "edit_id" not in parameter.columns
            yield parameter.name, exp.select("count(*)").from_(several.subquery("d")), is_apart


def terms_of_several_classes(query: Query, relations: Mapping[str, exp.Table]) -> Iterator[tuple[str, exp.Query]]:
    """Yield for each list of terms the query that counts those of several classes, where classes are totals of their terms."""
    if not any("class" in cell.totals for cell in query.cells):
        return
    for parameter in query.parameters:
        if {"term", "class"} <= {*parameter.columns}:
            several = exp.select("lower(term) AS term").from_(relations[parameter.name].copy())
            several = several.group_by("lower(term)").having("min(class) < max(class)")
            yield parameter.name, exp.select("count(*)").from_(several.subquery("d"))


def odd_vectors(query: Query, relations: Mapping[str, exp.Table]) -> Iterator[tuple[str, exp.Query]]:
    """Yield for each relation of vectors the query that counts those that cannot be compared, and the lengths that there are."""
    for parameter in query.parameters:
        if "embedding" in parameter.columns:
            numbers = exp.select("CAST(embedding AS DOUBLE[]) AS v").from_(relations[parameter.name].copy())
            rows = numbers.where("embedding IS NOT NULL").subquery("r")
            length = "list_inner_product(v, v)"
            bad = f"count_if(NOT coalesce(isfinite({length}) AND {length} > 0, false))"
            yield parameter.name, exp.select(bad, "count(DISTINCT len(v))").from_(rows)


def merged_rows(parameter: QueryParameter, table: exp.Table, merged: Mapping[str, Merged]) -> exp.Select:
    """Return the query of a relation's rows with labels of each category as one; all of them as they are without any."""
    column = next((c for c in _OF_LABELS if c in parameter.columns), None)
    if column is None or not merged:
        return exp.select("*").from_(table.copy())
    label, kept = exp.case().else_(exp.column(column)), []

    def are(labels: frozenset[str], category: str) -> exp.Expr:
        is_one = exp.column(column).isin(*(exp.convert(v) for v in sorted(labels)))
        return exp.and_(exp.column("category").eq(category), is_one) if "category" in parameter.columns else is_one

    for category, one in merged.items():
        label = label.when(are(one.labels, category), exp.convert(one.name))
        kept += [are(one.without, category).not_()] if one.without else []
    others = exp.Star(except_=[exp.column(column)])  # text or vectors among them, which nobody declares
    return exp.select(others, label.as_(column)).from_(table.copy()).where(*kept)


def _labelled(parameter: QueryParameter, table: exp.Table | None) -> _Labelled | None:
    """Return a relation parameter that has labels of images, or other units, if it is one."""
    unit = next((c for c in parameter.columns if c.endswith("_id")), None)
    label = next((c for c in _OF_LABELS if c in parameter.columns), None)
    if table is None or unit is None or label is None:
        return None
    return _Labelled(table, unit, label, "category" if "category" in parameter.columns else "")


def _counted(own: _Labelled, beside: _Labelled) -> exp.Query:
    """Return the query of labels with how many units have each, and all of a category in a row with NULL."""
    there = exp.column(beside.label).is_(exp.null()).not_()
    others = exp.select(exp.column(beside.unit)).distinct().from_(beside.table.copy()).where(there)
    columns = {
        "category": exp.column(own.category, "own") if own.category else exp.Literal.string(""),
        "label": exp.column(own.label, "own"),
        "count": exp.column(beside.unit, "other"),
        "n_label": exp.column(own.unit, "own"),
    }
    rows = exp.select(*(column.as_(name) for name, column in columns.items()))
    rows = rows.from_(exp.alias_(own.table.copy(), "own", table=True))
    rows = rows.join(others.subquery("other"), on=columns["count"].eq(columns["n_label"]), join_type="left")
    rows = rows.where(columns["label"].copy().is_(exp.null()).not_())
    counts = "category", "label", "count(DISTINCT count) AS count", "count(DISTINCT n_label) AS n_label"
    return exp.select(*counts).from_(rows.subquery("r")).group_by("GROUPING SETS ((category, label), (category))")
