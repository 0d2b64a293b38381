"""Define what a figure of the report is made of, and how its numbers are written."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterbalance.report.svg import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from counterbalance.report.pictures import Thumbnail

_HIDDEN: Final = "params"
_CELL_MAX: Final = 120
_COUNTS: Final = ("n", "count", "images")
"""Columns that say of how many a row is, the most telling first."""
MINUS: Final = "\N{MINUS SIGN}"
DASH: Final = "\N{EN DASH}"
"""Stands for nothing."""


@dataclass(frozen=True, slots=True)
class Strip:
    """A row of small pictures under a headline."""

    title: str
    pictures: Sequence[Thumbnail]


@dataclass(frozen=True, slots=True)
class Figure:
    """A titled chart with its numbers and what produced them; or, with ``gap``, the reason why it is not there.

    Args:
        name: Unique in the page.
        title: Headline.
        says: What the numbers mean and how to read them.
        wide: SVG for wide screens and base.
        narrow: SVG for telephones.
        columns: Heads of the table of numbers.
        rows: Its cells as text.
        call: What a user types to get the same rows.
        sql: The plain SQL behind it.
        parameters: Name and value of every parameter.
        source: Paper and table.
        notes: What else must be said: cells left out, rows cut off.
        gap: Why there is nothing to see; it is then left out, and named at the end.
        finding: The surest difference in it, in words; empty when there is none.
        tests: p of every value with an interval against the line of no difference, the surest first.
        strips: Pictures behind its rows.
        examples: Pictures behind single rows, which a reader opens.
        rule: How these were chosen, and what must be said of them.
        lacks: Base tables without rows that leave nothing to see.
        audit: Name of the audit whose rows these are, if they are of one.
        given: The parameters that it was called with.
    """

    name: str
    title: str
    says: str
    wide: str = ""
    narrow: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    call: str = ""
    sql: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    notes: Sequence[str] = ()
    gap: str = ""
    finding: str = ""
    tests: Sequence[float] = ()
    strips: Sequence[Strip] = ()
    examples: Sequence[Strip] = ()
    rule: Sequence[str] = ()
    lacks: Sequence[str] = ()
    audit: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def counted(self) -> str:
        """Return the column that says of how many a row is, which stays in sight on telephones."""
        return next((name for name in _COUNTS if name in self.columns), "")


@dataclass(frozen=True, slots=True)
class Section:
    """A chapter of the report; a compact one stands in two columns."""

    name: str
    title: str
    says: str
    figures: Sequence[Figure]
    compact: bool = False


def cell(value: Any) -> str:
    """Return a value as a person writes it: four significant digits, thousands apart, a dash for nothing.

    Example:
        >>> cell(0.123456), cell(12345), cell(1234.5), cell(float("inf")), cell([1, 2])
        ('0.1235', '12,345', '1,234', '∞', '1, 2')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list):
        return ", ".join(cell(v) for v in value)
    text = plain(str(value))
    return text if len(text) <= _CELL_MAX else text[: _CELL_MAX - 1] + "…"


def _number(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace("-", MINUS)
    text = f"{value:.4g}"
    return (f"{value:.2e}" if "e" in text else text).replace("-", MINUS)


def signed(value: float) -> str:
    """Return a share of change in percent with its sign.

    Example:
        >>> signed(0.234), signed(-0.5) == MINUS + "50 %", signed(0.0)
        ('+23 %', True, '0 %')
    """
    text = f"{100 * value:+.0f} %".replace("-", MINUS)
    return "0 %" if text in {"+0 %", f"{MINUS}0 %"} else text


def percent(value: float) -> str:
    """Return a share in percent.

    Example:
        >>> percent(0.5), percent(0.0123)
        ('50 %', '1.2 %')
    """
    shown = 100 * value
    return f"{shown:.0f} %" if abs(shown) >= 10 or shown == 0 else f"{shown:.1f} %"


def decimals(value: float) -> str:
    """Return two decimals with a real minus sign."""
    text = f"{value:.2f}".replace("-", MINUS)
    return "0.00" if text == f"{MINUS}0.00" else text


def table_of(rows: pa.Table, most: int = 40) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells of at most ``most`` rows, the parameters' column left out."""
    columns = [c for c in rows.column_names if c != _HIDDEN]
    cells = [[cell(row[c]) for c in columns] for row in rows.select(columns).slice(0, most).to_pylist()]
    return columns, cells


def cut_off(rows: pa.Table, cells: Sequence[Sequence[str]]) -> list[str]:
    """Return what to say of rows that are not in the table; nothing if all are."""
    if rows.num_rows == len(cells):
        return []
    return [f"The table shows {len(cells)} of {rows.num_rows:,} rows; the query below gives all."]
