"""Small charts as SVG text: dots with intervals, and bars.

A chart is plain text that depends on its rows only. Colours are CSS variables with a fall-back, so that a chart follows
the page's light or dark theme and still has colours when it is saved alone. Narrow charts put each label above its row.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Tone = Literal["over", "under", "even", "plain"]
WIDE: Final = 720
NARROW: Final = 340
COLOURS: Final[dict[Tone, str]] = {
    "over": "var(--over, #b4541a)",
    "under": "var(--under, #1f6f8b)",
    "even": "var(--even, #6b7280)",
    "plain": "var(--plain, #4b5d8a)",
}
_CONTROL: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_LETTER: Final = 6.6
"""Width of a letter in pixels, on average, at 12 px."""
_BOLD: Final = 7.6
"""And of a bold one."""
_TOP: Final = 8.0
_LABEL_MAX: Final = 30
_VALUE_MAX: Final = 12
_NOTE_MAX: Final = 24
_FEW_LETTERS: Final = (12, 18)
"""Labels of at most so many letters stand beside their rows in narrow charts without notes, too: of dots, of plain bars."""
_PAD: Final = 20
_SLIP: Final = 1e-12
"""How far beyond the outermost tick a value may lie, in steps: what rounding does, nothing that can be seen."""
_MOST: Final = 1e300
"""Numbers beyond it have no axis."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A row of a chart.

    Args:
        label: What it is about.
        value: The number; ``None`` for one that is not shown (suppressed).
        low: Lower end of its interval.
        high: Upper end.
        note: Small text behind the value, such as ``n = 120``.
        tone: Colour; for dots it is found from the interval when left out.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    tone: Tone | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """A horizontal scale.

    Args:
        label: What is measured, with its unit.
        reference: Where a line is drawn: no difference.
        show: How numbers are written.
        start: Always in range, zero for bars.
        end: Always in range.
    """

    label: str
    reference: float | None = None
    show: Callable[[float], str] = lambda value: f"{value:.2f}"
    start: float | None = None
    end: float | None = None


def plain(text: str) -> str:
    r"""Return the text without control characters and without those that turn the direction of what follows.

    Example:
        >>> plain("a\x1b[31m\u202eb")
        'a�[31m�b'
    """
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers that cover a range: steps of 1, 2, 2.5 or 5 times a power of ten.

    Example:
        >>> ticks(-0.31, 0.92)
        [-0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if not math.isfinite(low) or not math.isfinite(high) or max(-low, high) > _MOST:
        return [0.0, 1.0]
    if high - low < 1e-12 * max(1.0, -low, high):
        low, high = low - 0.5 * max(1.0, abs(low)), high + 0.5 * max(1.0, abs(high))
    exact = (high - low) / (most - 1)
    digits = math.floor(math.log10(exact))
    step = next(10.0**digits * m for m in (1, 2, 2.5, 5, 10) if 10.0**digits * m >= exact * (1 - 1e-9))
    first, last = math.floor(low / step + _SLIP), math.ceil(high / step - _SLIP)
    return [round(i * step, 1 - digits) + 0.0 for i in range(first, last + 1)]


def dots(rows: Sequence[Mark], axis: Axis, *, title: str, desc: str, name: str, width: int = WIDE) -> str:
    """Return one dot per row with its interval as a line; filled when the interval leaves the reference out.

    Args:
        rows: From top to bottom.
        axis: The scale.
        title: Name of the chart, for readers that cannot see it.
        desc: What it shows, likewise.
        name: Unique in the page, for ids.
        width: In pixels.
    """
    return _chart(rows, axis, title, desc, name, width, _dot)


def bars(rows: Sequence[Mark], axis: Axis, *, title: str, desc: str, name: str, width: int = WIDE) -> str:
    """Return one bar per row from zero (or the reference), with its interval when there is one. Arguments as for ``dots``."""
    start = axis.reference or 0.0
    whole = Axis(axis.label, axis.reference, axis.show, start if axis.start is None else axis.start, axis.end)
    return _chart(rows, whole, title, desc, name, width, _bar)


@dataclass(frozen=True, slots=True)
class _Frame:
    """Describe where things are: pixels of the plot's sides, numbers at them, the height of a row.

    ``stacked``: labels and values stand above their row; ``beside``: a value stands at the end of its mark.
    """

    left: float
    right: float
    low: float
    high: float
    row: float
    stacked: bool = False
    beside: bool = False
    notes: bool = False

    @property
    def middle(self) -> float:
        """Return where a row's mark is, from the row's top."""
        return 30.0 if self.stacked else self.row / 2

    def x(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.left + (self.right - self.left) * min(1.0, max(0.0, share))


def _chart(
    rows: Sequence[Mark],
    axis: Axis,
    title: str,
    desc: str,
    name: str,
    width: int,
    draw: Callable[[Mark, Axis, _Frame, float], list[str]],
) -> str:
    marks = _marks(rows, axis, 6 if width > NARROW else 4)
    beside = draw is _bar and not any(r.note for r in rows)
    frame = _frame(rows, axis, marks, width, beside=beside)
    bottom = _TOP + len(rows) * frame.row + 4
    height = round(bottom + 40)
    lines = [_TOP + i * frame.row for i in range(len(rows))]
    drawn = [p for r, y in zip(rows, lines, strict=True) for p in draw(r, axis, frame, y + frame.middle)]
    parts = [
        *_grid(marks, axis, frame, bottom),
        *_texts(rows, lines, axis, frame, width),
        *drawn,
        _group("axis", "middle", [((frame.left + frame.right) / 2, bottom + 34, axis.label)]),
    ]
    return drawing(parts, width, height, title=title, desc=desc, name=name)


def drawing(parts: Sequence[str], width: int, height: int, *, title: str, desc: str, name: str) -> str:
    """Return a whole SVG document of some elements; its title and description are for readers who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-labelledby="{name}-t {name}-d" font-size="12">'
        f'<title id="{name}-t">{escape(plain(title))}</title><desc id="{name}-d">{escape(plain(desc))}</desc>{"".join(parts)}</svg>'
    )


def _marks(rows: Sequence[Mark], axis: Axis, most: int) -> list[float]:
    """Return ticks that do not read alike: counts have no halves."""
    low, high = _range(rows, axis)
    tried = (ticks(low, high, few) for few in range(most, 1, -1))
    return next((m for m in tried if len({axis.show(t) for t in m}) == len(m)), ticks(low, high, most))


def _range(rows: Sequence[Mark], axis: Axis) -> tuple[float, float]:
    fixed = [axis.reference, axis.start, axis.end]
    values = [v for r in rows for v in (r.value, r.low, r.high)] + fixed
    known = [v for v in values if v is not None and math.isfinite(v)]
    return (min(known), max(known)) if known else (0.0, 1.0)


def _frame(rows: Sequence[Mark], axis: Axis, marks: list[float], width: int, *, beside: bool) -> _Frame:
    letters = max((len(_short(r.label)) for r in rows), default=4)
    has_notes = any(r.note for r in rows)
    if width <= NARROW and (has_notes or letters > _FEW_LETTERS[beside]):
        return _Frame(_PAD, width - _PAD, marks[0], marks[-1], 42.0, stacked=True)
    values = max((len(_value(r, axis)) for r in rows), default=4) * _BOLD + 14
    notes = max((len(_short(r.note, _NOTE_MAX)) for r in rows), default=0) * _LETTER
    right = width - values - notes - (notes > 0) * 12
    return _Frame(letters * _LETTER + _PAD + 8, right, marks[0], marks[-1], 26.0, beside=beside, notes=notes > 0)


def _texts(rows: Sequence[Mark], lines: list[float], axis: Axis, frame: _Frame, width: int) -> list[str]:
    """Return labels, values and notes of all rows, a group of each."""
    labels, values, notes = [], [], []
    for row, y in zip(rows, lines, strict=True):
        base = y + 15 if frame.stacked else y + frame.middle + 4
        labels.append((2.0 if frame.stacked else frame.left - 12, base, _short(row.label)))
        ends = [v for v in (row.value, row.high) if v is not None and math.isfinite(v)]
        at = frame.x(max(ends)) if frame.beside and ends else frame.right
        shown = _value(row, axis)
        if frame.stacked and row.note:
            shown += f" · {_short(row.note, _NOTE_MAX)}"
        values.append((width - 2.0 if frame.stacked else at + 8, base, shown))
        if row.note and frame.notes:
            notes.append((width - 2.0, base, _short(row.note, _NOTE_MAX)))
    sides = ("start", "end") if frame.stacked else ("end", "start")
    found = [_group("label", sides[0], labels), _group("value", sides[1], values)]
    return [*found, _group("note", "end", notes)] if notes else found


def _value(row: Mark, axis: Axis) -> str:
    if row.value is None:
        return "\N{EN DASH}"
    text = axis.show(row.value)
    return text if len(text) <= _VALUE_MAX else f"{row.value:.2e}"


def _grid(marks: list[float], axis: Axis, frame: _Frame, bottom: float) -> list[str]:
    """Return upright lines with their numbers; the reference is drawn stronger."""
    places = [round(frame.x(t), 1) for t in marks]
    lines = "".join(f"M{x:g} {_TOP:g}V{bottom:g}" for x in places)
    parts = [f'<path d="{lines}" stroke="var(--grid, #e3e5ea)"/>']
    if axis.reference is not None and marks[0] <= axis.reference <= marks[-1]:
        x = frame.x(axis.reference)
        parts.append(f'<path d="M{x:.1f} {_TOP:g}V{bottom:g}" stroke="var(--ink-soft, #6b7280)"/>')
    texts = [(x, bottom + 16, axis.show(t)) for x, t in zip(places, marks, strict=True)]
    return [*parts, _group("tick", "middle", texts)]


def tone(row: Mark, axis: Axis) -> Tone:
    """Return which side of the reference a value is on, or ``even`` when its interval holds the reference."""
    if row.tone is not None:
        return row.tone
    if axis.reference is None or row.value is None or row.low is None or row.high is None:
        return "plain"
    if row.low > axis.reference:
        return "over"
    return "under" if row.high < axis.reference else "even"


def _whisker(row: Mark, frame: _Frame, y: float, colour: str, *, thick: float) -> list[str]:
    if row.low is None or row.high is None or not (math.isfinite(row.low) or math.isfinite(row.high)):
        return []
    low, high = frame.x(row.low), frame.x(row.high)
    caps = "".join(f"M{x:.1f} {y - 4:g}v8" for x in (low, high))
    return [f'<path d="M{low:.1f} {y:g}H{high:.1f}{caps}" stroke="{colour}" stroke-width="{thick}" fill="none"/>']


def _dot(row: Mark, axis: Axis, frame: _Frame, y: float) -> list[str]:
    if row.value is None:
        return []
    side = tone(row, axis)
    colour = COLOURS[side]
    fill = "var(--paper, #ffffff)" if side == "even" else colour
    spot = f'<circle cx="{frame.x(row.value):.1f}" cy="{y:g}" r="5" fill="{fill}" stroke="{colour}" stroke-width="2"/>'
    return [*_whisker(row, frame, y, colour, thick=2), spot]


def _bar(row: Mark, axis: Axis, frame: _Frame, y: float) -> list[str]:
    if row.value is None:
        return []
    colour = COLOURS[row.tone or "plain"]
    ends = sorted((frame.x(axis.reference or 0.0), frame.x(row.value)))
    tall = 9 if frame.stacked else 14
    rect = f'<rect x="{ends[0]:.1f}" y="{y - tall / 2:g}" width="{max(1.0, ends[1] - ends[0]):.1f}" height="{tall}" rx="2" fill="{colour}" opacity="0.85"/>'
    return [rect, *_whisker(row, frame, y, "var(--ink, #1c2230)", thick=1.2)]


def _group(kind: str, anchor: str, texts: Sequence[tuple[float, float, str]]) -> str:
    """Return texts of one kind: x, y, what."""
    fill = "var(--ink, #1c2230)" if kind in {"label", "value"} else "var(--ink-soft, #6b7280)"
    inner = "".join(f'<text x="{x:.1f}" y="{y:g}">{escape(plain(text))}</text>' for x, y, text in texts)
    return f'<g class="{kind}" fill="{fill}" text-anchor="{anchor}">{inner}</g>'


def _short(text: str, most: int = _LABEL_MAX) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
