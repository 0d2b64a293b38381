"""Charts are well-formed, to scale, and say in words what they show."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ET

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from counterbalance.report.charts import draw
from counterbalance.report.svg import NARROW, WIDE, Axis, Mark, _marks, bars, dots, plain, ticks

SVG = "{http://www.w3.org/2000/svg}"
AXIS = Axis("delta", 0.0)
ROWS = [Mark("low", -0.4, -0.6, -0.2, "n = 20"), Mark("same", 0.1, -0.1, 0.3, "n = 30"), Mark("high", 0.8, 0.5, 1.1)]
words = st.text(max_size=40)
numbers = st.floats(-1e6, 1e6)


def drawn(text: str) -> ET.Element:
    return ET.fromstring(text)


def scale(chart: ET.Element) -> tuple[float, float]:
    """Pixels of zero, and of one unit, from the numbers of the axis."""
    marks = chart.findall(f"{SVG}g[@class='tick']/{SVG}text")
    x0, x1 = float(marks[0].attrib["x"]), float(marks[-1].attrib["x"])
    v0, v1 = float(marks[0].text or ""), float(marks[-1].text or "")
    unit = (x1 - x0) / (v1 - v0)
    return x0 - v0 * unit, unit


@given(numbers, st.floats(0, 1e6), st.integers(3, 8))
@example(low=-1e-05, width=10001.0, most=3)
@example(low=1e6, width=1e-9, most=3)
def test_ticks_are_even_round_and_cover_the_range(low: float, width: float, most: int) -> None:
    marks = ticks(low, low + width, most)
    assert marks[0] <= low + 1e-6 * max(1.0, abs(low))
    assert marks[-1] >= low + width - 1e-6 * max(1.0, abs(low + width))
    assert 2 <= len(marks) <= most + 2
    steps = [b - a for a, b in itertools.pairwise(marks)]
    assert max(steps) == pytest.approx(min(steps), rel=1e-6, abs=1e-9)


@given(st.floats(), st.floats(), st.integers(3, 8))
@example(low=-1.7e308, high=1.7e308, most=6)
@example(low=1e300, high=1e300, most=6)
@example(low=5e-324, high=5e-324, most=6)
def test_any_range_has_rising_finite_ticks(low: float, high: float, most: int) -> None:
    marks = ticks(*sorted((low, high)), most)
    assert all(map(math.isfinite, marks))
    assert all(a < b for a, b in itertools.pairwise(marks))
    assert 2 <= len(marks) <= most + 2


@pytest.mark.parametrize("values", [(0.0, 0.30000000000000004), (-1e-17, 0.3)])
def test_what_rounding_adds_takes_no_tick(values: tuple[float, float]) -> None:
    assert ticks(*values, 4) == [0.0, 0.1, 0.2, 0.3]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_dots_and_intervals_are_to_scale(width: int) -> None:
    chart = drawn(dots(ROWS, AXIS, title="t", desc="d", name="x", width=width))
    zero, unit = scale(chart)
    spots = [float(c.attrib["cx"]) for c in chart.findall(f"{SVG}circle")]
    assert spots == pytest.approx([zero + r.value * unit for r in ROWS if r.value is not None], abs=0.2)
    lines = [p.attrib["d"] for p in chart.findall(f"{SVG}path") if "H" in p.attrib["d"]]
    for row, line in zip(ROWS, lines, strict=True):
        found = re.match(r"M([\d.]+) [\d.]+H([\d.]+)", line)
        assert found is not None
        assert [float(found[1]), float(found[2])] == pytest.approx(
            [zero + v * unit for v in (row.low, row.high)], abs=0.2
        )


def test_a_dot_is_hollow_when_its_interval_holds_the_reference() -> None:
    chart = drawn(dots(ROWS, AXIS, title="t", desc="d", name="x"))
    below, even, above = chart.findall(f"{SVG}circle")
    assert "--under" in below.attrib["fill"]
    assert "--paper" in even.attrib["fill"]
    assert "--over" in above.attrib["fill"]


def test_a_tone_that_is_given_wins() -> None:
    chart = drawn(dots([Mark("a", 1.0, 0.5, 1.5, tone="even")], AXIS, title="t", desc="d", name="x"))
    assert "--paper" in chart.findall(f"{SVG}circle")[0].attrib["fill"]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_bars_start_at_zero_and_are_to_scale(width: int) -> None:
    rows = [Mark("a", 3.0), Mark("b", 1.5), Mark("none", 0.0)]
    chart = drawn(bars(rows, Axis("images", show=lambda v: f"{v:g}"), title="t", desc="d", name="x", width=width))
    zero, unit = scale(chart)
    rects = chart.findall(f"{SVG}rect")
    assert [float(r.attrib["x"]) for r in rects] == pytest.approx([zero] * 3, abs=0.2)
    assert [float(r.attrib["width"]) for r in rects[:2]] == pytest.approx([3 * unit, 1.5 * unit], abs=0.2)
    assert float(rects[2].attrib["width"]) == 1.0


def test_a_chart_names_and_describes_itself() -> None:
    chart = drawn(dots(ROWS, AXIS, title="Title", desc="What it shows", name="fig"))
    assert chart.attrib["role"] == "img"
    assert chart.attrib["aria-labelledby"].split() == [chart[0].attrib["id"], chart[1].attrib["id"]]
    assert (chart[0].text, chart[1].text) == ("Title", "What it shows")
    assert [t.text for t in chart.findall(f"{SVG}g[@class='axis']/{SVG}text")] == ["delta"]


def test_a_suppressed_value_is_a_dash_without_a_mark() -> None:
    chart = drawn(dots([Mark("few", None), Mark("a", 1.0)], AXIS, title="t", desc="d", name="x"))
    assert len(chart.findall(f"{SVG}circle")) == 1
    assert [t.text for t in chart.findall(f"{SVG}g[@class='value']/{SVG}text")] == ["\N{EN DASH}", "1.00"]


@given(st.lists(st.tuples(words, numbers, words), min_size=1, max_size=6), words, st.sampled_from([WIDE, NARROW]))
def test_any_text_gives_well_formed_xml_with_that_text(
    rows: list[tuple[str, float, str]], title: str, width: int
) -> None:
    marks = [Mark(label, value, value - 1, value + 1, note) for label, value, note in rows]
    chart = drawn(dots(marks, Axis(title), title=title, desc=title, name="x", width=width))
    labels = [t.text or "" for t in chart.findall(f"{SVG}g[@class='label']/{SVG}text")]
    for shown, (label, _, _) in zip(labels, rows, strict=True):
        assert (
            shown.removesuffix("…")
            == plain(label).replace("\r\n", "\n").replace("\r", "\n")[: len(shown.removesuffix("…"))]
        )
    assert not {e.tag for e in chart.iter()} - {
        f"{SVG}{t}" for t in ("svg", "title", "desc", "g", "path", "text", "circle")
    }


@given(st.lists(st.one_of(st.none(), st.floats()), min_size=1, max_size=5))
def test_odd_numbers_never_leave_the_picture(values: list[float | None]) -> None:
    text = dots([Mark("a", v, v, v) for v in values], AXIS, title="t", desc="d", name="x")
    for circle in drawn(text).findall(f"{SVG}circle"):
        place = float(circle.attrib["cx"])
        assert math.isfinite(place)
        assert 0 <= place <= WIDE


def test_counts_have_no_halves_on_their_axis():
    axis = Axis("images", show=lambda v: f"{v:,.0f}", start=0.0)
    for most, width in ((1, WIDE), (2, NARROW), (7, WIDE)):
        rows = [Mark("train", float(most))]
        marks = _marks(rows, axis, 6 if width > NARROW else 4)
        shown = [axis.show(m) for m in marks]
        assert len({*shown}) == len(shown)
        assert marks[-1] >= most


def test_percents_are_no_shares() -> None:
    rows = pa.table({"label": ["a"], "percent": [6.0], "low": [4.0], "high": [9.0]})
    chart = draw(rows, ["label"], "rates")
    assert chart is not None
    assert (chart.label, "a: 6.00" in chart.wide, "%" in chart.wide.replace("95 %", "")) == (
        "percent, 95 % interval",
        True,
        False,
    )
