"""An arrow of the lineage that passes other columns goes between their rows, and through no box."""

from __future__ import annotations

import re

from counterbalance.ui import graph
from counterbalance.ui.graph import Node


def boxes_and_arrows(drawn):
    boxes = [tuple(map(float, b)) for b in re.findall(r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"', drawn)]
    return boxes, re.findall(r'class="arrow"[^>]* d="([^"]*)"', drawn)


def test_it_passes_between_rows():
    reads = {"a": (), "z": (), "b": ("a",), "c": ("b", "a", "z"), "d": ("c", "a")}
    drawn = str(graph.drawn([Node(name, "view", of) for name, of in reads.items()]))
    boxes, arrows = boxes_and_arrows(drawn)
    lanes = [(re.search(r"([\d.]+) ([\d.]+)H([\d.]+)", arrow)) for arrow in arrows if "H" in arrow]
    assert len(arrows) == 6
    assert len(lanes) == 3
    for left, lane, right in ((float(n) for n in found.groups()) for found in lanes):
        assert not [b for b in boxes if b[0] < right and left < b[0] + b[2] and b[1] <= lane <= b[1] + b[3]]
    height = float(re.search(r'viewBox="0 0 \d+ (\d+)"', drawn)[1])
    assert all(0 <= float(found[2]) <= height for found in lanes)
