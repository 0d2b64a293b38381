"""A label is clear that says something of an image: neither an unclear one, nor those that are hidden, counted as one."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.disclosure.cells import HIDDEN, TOGETHER


@pytest.mark.parametrize(
    ("label", "is_clear"),
    [
        ("female", True), ("mixed", False), ("unclear", False), ("undefined", False), (None, None), (f"{HIDDEN}0", False),
        (f"{TOGETHER}0", True),
    ],
)  # fmt: skip
def test_which_labels_are_clear(build, label, is_clear):
    lake = cb.connect("memory://clear")
    lake.ingest({"images": build.images(image_id=[1])})
    assert lake.sql("SELECT is_clear($label)", {"label": label}).fetchall() == [(is_clear,)]
