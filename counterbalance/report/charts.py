"""Draw the rows of any audit: the measure with an interval, or the count, by what tells rows apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.report import svg
from counterbalance.report.figures import cell, decimals, percent
from counterbalance.report.svg import Axis, Mark

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Row = dict[str, Any]
MOST: Final = 24
"""Rows of a chart."""
_BEST: Final = ("value", "delta", "difference", "ratio")
_SHARES: Final = ("share", "rate")
_COUNTS: Final = ("count", "n")


@dataclass(frozen=True, slots=True)
class Measure:
    """The columns that are drawn: a value, and the ends of its interval where there is one."""

    value: str
    low: str = ""
    high: str = ""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A chart for wide screens, one for telephones, what must be said of them, and the rows in them with their labels."""

    wide: str
    narrow: str
    label: str
    note: str = ""
    rows: Sequence[Row] = ()
    labels: Sequence[str] = ()


def measure(rows: pa.Table) -> Measure | None:
    """Return what is drawn of some rows: what has an interval, the most telling first; else a count.

    Example:
        >>> names = ["share", "share_low", "share_high", "delta", "delta_low", "delta_high"]
        >>> measure(pa.table({name: [0.5] for name in names})).value
        'delta'
        >>> measure(pa.table({"label": ["a"], "share": [0.5], "low": [0.1], "high": [0.9]}))
        Measure(value='share', low='low', high='high')
    """
    names, found = rows.column_names, []
    for at, low in enumerate(names):
        start = low.removesuffix("low")
        high = f"{start}high"
        if start == low or high not in names:
            continue
        own = start.removesuffix("_") or "value"
        value = own if own in names else names[at - 1] if at else ""
        if value and pa.types.is_floating(rows.schema.field(value).type):
            found.append(Measure(value, low, high))
    found.sort(key=lambda one: _BEST.index(one.value) if one.value in _BEST else len(_BEST))
    return next(iter(found), None) or next((Measure(name) for name in _COUNTS if name in names), None)


def draw(rows: pa.Table, keys: Sequence[str], title: str, name: str = "chart") -> Drawn | None:
    """Return the chart of some rows; none where nothing in them has a value.

    Args:
        rows: Of an audit.
        keys: The columns that tell them apart.
        title: For those who cannot see it.
        name: Unique in the page, for ids.
    """
    drawn = measure(rows)
    if drawn is None:
        return None
    values = [r for r in rows.to_pylist() if _number(r[drawn.value]) is not None]
    if not values:
        return None
    axis = _axis(drawn, values)
    names = [k for k in keys if len({r[k] for r in values}) > 1] or list(keys[:1])
    marks = [_mark(r, drawn, names, title) for r in values[:MOST]]
    desc = "; ".join(f"{m.label}: {axis.show(m.value or 0)}" for m in marks[:12])
    kind: Callable[..., str] = svg.dots if drawn.low else svg.bars
    wide = kind(marks, axis, title=title, desc=desc, name=f"{name}-w")
    narrow = kind(marks, axis, title=title, desc=desc, name=f"{name}-n", width=svg.NARROW)
    note = f"The chart shows the first {len(marks)} of {len(values):,} rows." if len(values) > len(marks) else ""
    return Drawn(wide, narrow, axis.label, note, values[:MOST], [m.label for m in marks])


def _axis(drawn: Measure, rows: Sequence[Row]) -> Axis:
    told = drawn.value.replace("_", " ") + (", 95 % interval" if drawn.low else "")
    name = drawn.value
    if name in _SHARES or name.endswith(("_ratio", "_share", "_rate")):
        return Axis(told, show=percent, start=0.0)
    if not drawn.low:
        return Axis(told, show=cell, start=0.0)
    if name == "ratio":
        return Axis(told, 1.0, show=decimals)
    is_signed = any((_number(r[column]) or 0) < 0 for r in rows for column in (drawn.value, drawn.low))
    return Axis(told, 0.0 if is_signed else None, show=decimals)


def _mark(row: Row, drawn: Measure, names: Sequence[str], title: str) -> Mark:
    label = " · ".join(cell(row[name]) for name in names if row[name] is not None) or title
    low, high = (_number(row[name]) if name else None for name in (drawn.low, drawn.high))
    count = next((row[name] for name in _COUNTS if isinstance(row.get(name), int)), None)
    note = f"n = {cell(count)}" if count is not None and drawn.low else ""
    return Mark(label, _number(row[drawn.value]), low, high, note)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
