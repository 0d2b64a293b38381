"""Maps as SVG text: many points in two dimensions, and names over the middle of each group of them.

As in ``svg``, colours are CSS variables with a fall-back and the text depends on the points only. Both dimensions have one
scale and no axis: who is near whom is all that a map says.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from html import escape
from statistics import median
from typing import TYPE_CHECKING, Final

from counterbalance.report.svg import COLOURS, NARROW, WIDE, Tone, drawing, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PAD: Final = 26.0
_LINE: Final = 15.0
"""Height of a name."""
_LETTER: Final = 7.6
_NAME_MAX: Final = 18
_ORDER: Final[tuple[Tone, ...]] = ("even", "plain", "under", "over")
"""What is drawn first lies below."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a map.

    Args:
        x: To the right, any unit.
        y: Upwards, the same unit.
        name: Of its group.
        tone: Its colour.
    """

    x: float
    y: float
    name: str
    tone: Tone = "plain"


def points(
    rows: Sequence[Point], legend: Mapping[Tone, str], *, title: str, desc: str, name: str, width: int = WIDE
) -> str:
    """Return one spot per point, and the name of every group over its median point.

    Args:
        rows: At least one.
        legend: What the colours mean.
        title: Name of the chart, for readers that cannot see it.
        desc: What it shows, likewise.
        name: Unique in the page, for ids.
        width: In pixels; names are cut to their first word where it is ``NARROW``.
    """
    inner = round(width * (0.72 if width > NARROW else 0.9))
    lines = len(legend) if width <= NARROW else bool(legend)
    height = inner + round(_LINE * 1.4 * lines) + 6
    placed = _placed(rows, width, inner)
    parts = [*_spots(rows, placed, width), *_names(rows, placed, width), *_legend(legend, inner, width)]
    return drawing(parts, width, height, title=title, desc=desc, name=name)


def _placed(rows: Sequence[Point], width: int, height: int) -> list[tuple[float, float]]:
    """Return pixels of every point, the middle of all in the middle."""
    left, right = min(r.x for r in rows), max(r.x for r in rows)
    low, high = min(r.y for r in rows), max(r.y for r in rows)
    unit = min((width - 2 * _PAD) / ((right - left) or 1.0), (height - 2 * _PAD) / ((high - low) or 1.0))
    return [(width / 2 + (r.x - (left + right) / 2) * unit, height / 2 - (r.y - (low + high) / 2) * unit) for r in rows]


def _spots(rows: Sequence[Point], placed: Sequence[tuple[float, float]], width: int) -> list[str]:
    """Return one path per colour: a line of no length with round ends is a spot."""
    size = 5 if width > NARROW else 3.5
    found = []
    for tone in _ORDER:
        spots = "".join(f"M{x:.1f} {y:.1f}h0" for r, (x, y) in zip(rows, placed, strict=True) if r.tone == tone)
        if spots:
            found.append(
                f'<path d="{spots}" stroke="{COLOURS[tone]}" stroke-width="{size:g}" stroke-linecap="round" opacity="0.6"/>'
            )
    return found


def _names(rows: Sequence[Point], placed: Sequence[tuple[float, float]], width: int) -> list[str]:
    """Return names over the middle of their groups; one that would lie on another moves down."""
    groups: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row, at in zip(rows, placed, strict=True):
        groups[row.name].append(at)
    middles = sorted((median(y for _, y in g), median(x for x, _ in g), n) for n, g in groups.items())
    taken: list[tuple[float, float, float]] = []
    texts = []
    for y, x, whole in middles:
        text = plain(whole if width > NARROW else whole.split(" ")[0])
        text = text if len(text) <= _NAME_MAX else text[: _NAME_MAX - 1] + "…"
        half = len(text) * _LETTER / 2
        middle, base = min(max(x, half + 2), width - half - 2), y + 4
        while any(abs(base - b) < _LINE and abs(middle - m) < half + h for m, b, h in taken):
            base += 1.0
        taken.append((middle, base, half))
        texts.append(f'<text x="{middle:.1f}" y="{base:.1f}">{escape(text)}</text>')
    style = 'fill="var(--ink, #1c2230)" stroke="var(--paper, #ffffff)" stroke-width="3.5" stroke-linejoin="round" paint-order="stroke"'
    return [f'<g class="value" text-anchor="middle" font-weight="600" {style}>{"".join(texts)}</g>']


def _legend(legend: Mapping[Tone, str], top: float, width: int) -> list[str]:
    """Return a spot and its meaning, side by side, or below each other in narrow charts."""
    found = []
    x, y = 12.0, top + _LINE
    for tone, text in legend.items():
        found.append(f'<path d="M{x:g} {y - 4:g}h0" stroke="{COLOURS[tone]}" stroke-width="9" stroke-linecap="round"/>')
        found.append(f'<text x="{x + 10:g}" y="{y:g}" fill="var(--ink-soft, #6b7280)">{escape(plain(text))}</text>')
        if width > NARROW:
            x += 26 + len(text) * 6.6
        else:
            y += _LINE * 1.4
    return found
