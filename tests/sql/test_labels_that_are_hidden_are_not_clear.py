"""A label is clear that says something of an image: neither an unclear one, nor those that are hidden, counted as one."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.disclosure.cells import HIDDEN, TOGETHER


@pytest.mark.parametrize(
    ("label", "is_clear"), [("female", True), ("mixed", False), ("unclear", False), ("undefined", False), (None, None)]
)
def test_which_labels_are_clear(build, label, is_clear):
    assert clear(build, label) is is_clear


def test_hidden_labels_counted_as_one_label_are_not_clear(build):
    assert clear(build, f"{HIDDEN}0") is False


def test_hidden_labels_counted_together_as_a_clear_one_are(build):
    assert clear(build, f"{TOGETHER}0") is True


def clear(build, label: str | None) -> bool | None:
    """Return what ``is_clear`` says of a label, in a lake that holds one image."""
    lake = cb.connect("memory://clear")
    lake.ingest({"images": build.images(image_id=[1])})
    return lake.sql("SELECT is_clear($label)", {"label": label}).fetchall()[0][0]
