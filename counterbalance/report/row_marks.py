"""Make marks of an audit's rows, and choose which rows a chart shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterbalance.report.figures import decimals, percent, signed
from counterbalance.report.svg import Axis, Mark

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterbalance.report.renderer import Row

_SURE: Final = 0.05
SHARE: Final = Axis("share", show=percent, start=0.0)
DELTA: Final = Axis("over- or under-representation", 0.0, signed)
PMI: Final = Axis("PMI (natural logarithm); 0: no association", 0.0, decimals)
RATIO: Final = Axis("times as often as by chance", 1.0, decimals)
LOG_ODDS: Final = Axis("log-odds against the other groups", 0.0, decimals)


def mark(
    label: Callable[[Row], str],
    value: str,
    low: str = "low",
    high: str = "high",
    note: str = "n",
    when: Callable[[Row], bool] | None = None,
    sure: str = "",
) -> Callable[[Row], Mark | None]:
    """Return a function from a row to its mark; rows that are suppressed or fail ``when`` have none.

    Args:
        label: Text of the row.
        value: Column of the value.
        low: Column of the interval's lower end.
        high: Column of its upper end.
        note: Column of a count that is shown as ``n = …``, or nothing.
        when: Which rows take part; all when left out.
        sure: Column of a q-value; where it is 0.05 or more, the mark is drawn as no difference.
    """

    def made(row: Row) -> Mark | None:
        if row.get(value) is None or (when is not None and not when(row)):
            return None
        counted = row.get(note) if note else None
        return Mark(
            label(row),
            float(row[value]),
            row.get(low),
            row.get(high),
            f"n = {counted:,}" if isinstance(counted, int) else "",
            "even" if sure and (row.get(sure) is None or row[sure] >= _SURE) else None,
        )

    return made


def strongest(value: str, each: int) -> Callable[[Sequence[Row]], list[Row]]:
    """Return the rows of the strongest values of every label, highest first.

    Args:
        value: Column of the value.
        each: Rows a label.
    """

    def chosen(rows: Sequence[Row]) -> list[Row]:
        found: list[Row] = []
        for label in sorted({str(r["label"]) for r in rows}):
            mine = sorted((r for r in rows if str(r["label"]) == label), key=lambda r: -abs(r[value]))[:each]
            found += sorted(mine, key=lambda r: -r[value])
        return found

    return chosen
