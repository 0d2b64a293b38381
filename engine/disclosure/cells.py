"""Cells: the counts of people or images that rows of an audit tell."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from counterbalance.engine.sql import frontmatter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterbalance.engine.errors import RequestError

_KEYS: Final = {
    "count": "line",
    "of": "line",
    "out_of": "line",
    "below": "number",
    "by": "texts",
    "within": "texts",
    "totals": "texts",
    "measures": "texts",
    "whole": "texts",
    "tests": "texts",
    "places": "texts",
    "omit": "flag",
    "joint": "flag",
    "lines": "flag",
    "overlap": "flag",
    "side": "line",
}

MIN_COUNT: Final = 10
"""Cells of perceived labels with fewer people or images are not shown without a purpose."""
SHOWN: Final = 0
SMALL: Final = 1
COMPLEMENTARY: Final = 2
OTHERS: Final = "others"
"""What ``labels_and_others`` calls all images without a clear label."""
UNCLEAR: Final = frozenset({"mixed", "unclear", "undefined", OTHERS})
"""Labels that say the least: they are hidden before others."""
NO_SHELTER: Final = frozenset({"mixed", "unknown"})
"""Labels that are hidden with no other one: how many have them is known otherwise, or not counted everywhere."""
HIDDEN: Final = f"labels that are hidden {secrets.token_hex(8)} "
"""Name of labels that are hidden, counted as one that is not clear (``is_clear``), before the number of their relations; no label of
a lake is called so."""
TOGETHER: Final = f"hidden labels together {secrets.token_hex(8)} "
"""Name of the same where they are one clear label, and which of its counts would be hidden is asked."""
LABEL: Final = "label"
"""What audits call the column of labels."""
LABELS: Final = frozenset({LABEL, "other", "other_label", "item", "attribute", "other_attribute"})
"""What they call columns of labels where they have several: two-way tables name lines by each."""
CONCEPTS: Final = frozenset(
    {"concept", "keyword", "attribute", "cluster", "topic", "category", "country", "class", "term", "item"}
)
"""What they call what images of several labels have."""


@dataclass(frozen=True, slots=True)
class Cells:
    """One count that rows tell: a ``[[cells]]`` table of an audit's front matter.

    Args:
        count: Its column.
        of: Column of what it is a part of.
        out_of: Column of all that its own label has: what the count lacks of it is protected as the count is. ``of`` is the
            total of the siblings, such as the images with a concept; ``out_of`` of the other margin, the images of the label.
        joint: Columns of ``by`` name a cell together, and all cells of a table are one sum.
        lines: Rows in which some columns of ``by`` are NULL, but not all, are about a line of cells, such as all with the same
            label: they are not cells, and hidden where one of their line is.
        overlap: Cells may have units in common: where they add up to more than ``of``, none follows from it.
        below: Counts from here on are shown, also where ``min_count``, which asks for more of a total, is larger.
        by: Columns that tell cells of one margin apart: siblings that add up to a total.
        within: Columns whose values tell margins apart. Without ``by`` rows are no siblings, but what one of closed labels hides may be
            what others add up to: it is hidden in all of a table, or in none.
        totals: Levels that are sums of others.
        measures: Columns that are computed from the count and tell it.
        whole: Columns that are computed from a whole table: they are set to NULL in all of its rows where any is hidden.
        tests: A column of p and one of q: where rows are hidden, q is computed anew with 1 for the p of these.
        omit: Rows of small cells are left out rather than shown without their count; ``n_suppressed`` says how many of open labels.
        places: A column of places, and the parameter that says how many are shown: rows that are left are numbered anew in every
            table, so that no place tells of a hidden row. Rows without a place are there for the sums of others, and never shown.
        side: Which of two datasets is counted, where rows put them side by side. What closed labels need of one is found without
            the cells and labels of the other, which the caller may have chosen; a row is hidden where either needs it. The count
            is also given in rows that the SQL suppresses because the other side lacks their label.
    """

    count: str
    of: str | None = None
    by: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    totals: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    omit: bool = False
    out_of: str | None = None
    joint: bool = False
    overlap: bool = False
    below: float = float("inf")
    whole: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    lines: bool = False
    side: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that rows must have.

        Example:
            >>> Cells("count", of="n", by=("label",), measures=("share",)).columns
            ('count', 'n', 'label', 'share')
        """
        named = (self.count, self.of, self.out_of, *self.by, *self.within, *self.totals)
        return tuple(c for c in (*named, *self.measures, *self.whole, *self.tests, *self.places[:1]) if c is not None)

    @classmethod
    def read(
        cls, table: Mapping[str, Any], place: Callable[[str], str], problems: list[RequestError] | None = None
    ) -> Self | None:
        """Read one ``[[cells]]`` table.

        Args:
            table: Its keys and values.
            place: Gives the file and line of a key, for errors.
            problems: Takes all that is wrong; ``None`` is returned then.

        Raises:
            RequestError: A key is unknown or its value of another type, or ``count`` is missing.

        Example:
            >>> table = {"count": "negative", "of": "n", "by": ["label"]}
            >>> Cells.read(table, lambda key: "a.sql:9")  # doctest: +ELLIPSIS
            Cells(count='negative', of='n', by=('label',), ..., whole=(), tests=(), places=(), lines=False, side=None)
        """
        told = frontmatter.take(table, _KEYS, place, ("count",), problems)
        return cls(**told) if told.keys() == table.keys() and "count" in told else None
