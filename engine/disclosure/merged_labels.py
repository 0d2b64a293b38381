"""Labels of which no audit tells a number, counted as one label, so that no row tells which of them an image has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.disclosure.cells import HIDDEN, NO_SHELTER, TOGETHER, UNCLEAR
from counterbalance.engine.disclosure.suppression import rows_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from numpy.typing import NDArray

Of: TypeAlias = tuple[str, str]
"""A relation parameter, and a category of its labels; '' where they are of one attribute."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Labels of one relation that are counted as one, what this one is called, and labels that are not counted at all."""

    labels: frozenset[str]
    name: str
    without: frozenset[str] = frozenset()

    @property
    def hidden(self) -> Merged:
        """Return the same labels as one that is not clear."""
        return Merged(self.labels, self.name.replace(TOGETHER, HIDDEN))

    @property
    def clear(self) -> Merged:
        """Return the same without labels that are not clear."""
        return Merged(self.labels - UNCLEAR, self.name)


@dataclass(frozen=True, slots=True)
class Labelled:
    """Labels of one relation of a call, and of one category where they are values of several.

    Args:
        side: Which of two datasets it is of.
        labels: All that its images have.
        hidden: Those of which no audit tells a number.
    """

    side: str | None
    labels: frozenset[str]
    hidden: frozenset[str]


def merged_labels(relations: Mapping[Of, Labelled]) -> dict[Of, Merged]:
    """Return which labels of each relation are counted as one: in relations with the same labels, as of two models, the same.

    Of two datasets each has its own, since what a caller puts beside labels must not choose which are hidden.

    Example:
        >>> model, people = Labelled(None, frozenset("abc"), frozenset()), Labelled(None, frozenset("abc"), frozenset("bc"))
        >>> age = Labelled(None, frozenset("xy"), frozenset())
        >>> found = merged_labels({("predicted", ""): model, ("groups", ""): people, ("others", ""): age})
        >>> {name: sorted(one.labels) for (name, _), one in found.items()}
        {'groups': ['b', 'c'], 'predicted': ['b', 'c']}
    """
    found: dict[Of, Merged] = {}
    families: list[set[Of]] = []
    for of, one in relations.items():
        clear = one.labels - UNCLEAR - NO_SHELTER
        near = [f for f in families if any(of[1] == o[1] and clear & relations[o].labels for o in f)]
        families = [f for f in families if f not in near] + [{of}.union(*near)]
    for number, family in enumerate(families):
        for of in sorted(family):
            own = [relations[other] for other in family if relations[other].side == relations[of].side]
            hidden = frozenset[str]().union(*(one.hidden for one in own))
            if hidden:
                found[of] = Merged(hidden, f"{HIDDEN}{number}")
    return found


def together(merged: Mapping[Of, Merged]) -> list[dict[Of, Merged]]:
    """Return the same labels as one clear label: without unclear ones, and with these, since many audits leave them out."""
    name = {of: one.name.replace(HIDDEN, TOGETHER) for of, one in merged.items()}
    unclear = UNCLEAR | NO_SHELTER
    return [
        {of: Merged(one.labels, name[of], unclear - one.labels) for of, one in merged.items()},
        {of: Merged(one.labels | unclear, name[of]) for of, one in merged.items()},
    ]


def is_merged(rows: pa.Table, name: str = HIDDEN) -> NDArray[np.bool_]:
    """Return which rows are about labels that are one.

    Example:
        >>> is_merged(pa.table({"label": ["a", f"{HIDDEN}0"], "count": [12, 15]})).tolist()
        [False, True]
    """
    found = np.zeros(len(rows), bool)
    for field in rows.schema:
        if pa.types.is_string(field.type):
            starts = pc.fill_null(pc.starts_with(rows[field.name], name), fill_value=False)
            found |= starts.to_numpy(zero_copy_only=False)
    return found


def rows_of_each(together: pa.Table, rows: pa.Table, merged: Iterable[Merged], keys: Collection[str]) -> pa.Table:
    """Return a row without numbers for each of the labels that are one, in every table of which other rows are shown.

    Args:
        together: Rows of the same call in which they are one clear label.
        rows: Those of other labels.
        merged: What stands for which labels.
        keys: Columns that name cells.

    Example:
        >>> together = pa.table({"label": ["a", f"{TOGETHER}0"], "count": [30, 15]})
        >>> named = rows_of_each(together, together.slice(0, 1), [Merged(frozenset("cd"), f"{HIDDEN}0")], {"label"})
        >>> named.to_pydict()
        {'label': ['c', 'd'], 'count': [None, None]}
    """
    keys = [name for name in together.column_names if name in keys]
    found = together.filter(pa.array(is_merged(together, TOGETHER)))
    labels: dict[str | None, list[str | None]] = {}
    for one in merged:
        name = one.name.replace(HIDDEN, TOGETHER)
        labels[name] = sorted({*labels.get(name, ()), *one.labels})
    for column in [name for name in keys if pa.types.is_string(rows.schema.field(name).type)]:
        is_named = is_merged(found.select([column]), TOGETHER)
        others = [name for name in keys if name != column]
        if others:
            found = found.filter(pa.array(~is_named | rows_in(found, rows.select(others))))
        each = [labels.get(name, [name]) for name in found[column].to_pylist()]
        names = pa.array([name for one in each for name in one], pa.string())
        found = found.take(pa.array(np.repeat(np.arange(len(each)), [len(one) for one in each])))
        found = found.set_column(found.column_names.index(column), column, names)
    empty = {
        f.name: found[f.name].cast(f.type) if f.name in keys else pa.nulls(len(found), f.type) for f in rows.schema
    }
    return pa.table(empty, schema=rows.schema)
