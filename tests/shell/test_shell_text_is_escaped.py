"""Text from strangers cannot drive a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.shell.text import escape


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 日本 👩‍🚀".replace("\u200d", ""), "plain é 日本 👩🚀"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x9b2J", "\\x9b2J"),
        ("left\u202eright", "left\\u202eright"),
        ("\u200b\ufeff", "\\u200b\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("\x00\x7f", "\\x00\\x7f"),
    ],
)
def test_escape(text, shown):
    assert escape(text) == shown


@given(st.text())
def test_nothing_that_controls_is_left(text):
    for char in escape(text):
        assert unicodedata.category(char) != "Cc"
        assert unicodedata.bidirectional(char) not in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_letters_stay(text):
    assert escape(text) == text


def test_keep():
    assert escape("a\nb\x1b", keep="\n") == "a\nb\\x1b"
