"""Maps of points are to scale, coloured, named, and well-formed for any text."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.report.scatter import Point, points
from counterbalance.report.svg import NARROW, WIDE, plain

SVG = "{http://www.w3.org/2000/svg}"
ROWS = [Point(0, 0, "1 oven", "under"), Point(4, 0, "2 wave", "over"), Point(4, 3, "2 wave", "over")]
LEGEND = {"over": "more", "under": "less"}


def drawn(rows, width=WIDE):
    return ET.fromstring(points(rows, LEGEND, title="t & t", desc="d", name="x", width=width))


def spots(chart):
    """Colour and places of the spots of the map; the legend's are larger."""
    paths = [p for p in chart.findall(f"{SVG}path") if p.attrib["stroke-width"] != "9"]
    return {
        re.search(r"--(\w+)", p.attrib["stroke"])[1]: [
            (float(x), float(y)) for x, y in re.findall(r"M([\d.-]+) ([\d.-]+)h0", p.attrib["d"])
        ]
        for p in paths
    }


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_both_dimensions_have_one_scale_and_y_is_upwards(width):
    found = spots(drawn(ROWS, width))
    (oven,), (low, high) = found["under"], found["over"]
    unit = (low[0] - oven[0]) / 4
    assert unit > 20
    assert low[1] == oven[1]
    assert low[1] - high[1] == pytest.approx(3 * unit, abs=0.2)
    assert low[0] == high[0]


def test_a_group_is_named_once_and_briefly_where_there_is_little_room():
    for width, wanted in ((WIDE, ["2 wave", "1 oven"]), (NARROW, ["2", "1"])):
        assert [t.text for t in drawn(ROWS, width).findall(f"{SVG}g/{SVG}text")] == wanted


def test_names_do_not_lie_on_each_other():
    rows = [Point(i / 100, i / 90, f"{i} name") for i in range(12)] + [Point(50, 50, "far")]
    texts = drawn(rows).findall(f"{SVG}g/{SVG}text")
    heights = sorted(float(t.attrib["y"]) for t in texts if t.text != "far")
    assert min(b - a for a, b in itertools.pairwise(heights)) >= 14.9


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.text(max_size=30)), min_size=1, max_size=8),
    st.sampled_from([WIDE, NARROW]),
)
def test_any_points_and_names_give_a_picture_that_holds_them(rows, width):
    chart = drawn([Point(*r) for r in rows], width)
    height = float(chart.attrib["height"])
    assert all(0 <= x <= width and 0 <= y <= height for own in spots(chart).values() for x, y in own)
    shown = chart.findall(f"{SVG}g/{SVG}text")
    assert len(shown) == len({n for _, _, n in rows})
    whole = {plain(n) for _, _, n in rows} | {plain(n.split(" ")[0]) for _, _, n in rows}
    for text in shown:
        said = (text.text or "").removesuffix("…")
        assert any(w.replace("\r", "\n").startswith(said) for w in whole)
