"""Braces mean what they mean in a shell."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.ingest.globs import split_braces, split_commas

PIECES = st.sampled_from(
    ["a", "x.tar", "{a,b}", "{1..3}", "{08..11}", "{3..1}", "{a,{b,c}}", "{p,{1..2}}", "{,z}", "{q}", "-"]
)


@pytest.mark.skipif(shutil.which("bash") is None, reason="compares with bash")
@given(st.lists(PIECES, min_size=1, max_size=4).map("".join))
def test_equal_to_bash(pattern):
    out = subprocess.run(["bash", "-c", f"printf '%s\\n' {pattern}"], capture_output=True, text=True, check=True)
    expected = [w for w in out.stdout.splitlines() if w]  # bash drops empty words
    assert [w for w in split_braces(pattern) if w] == expected


@pytest.mark.parametrize("text", ["{", "}", "{}", "a{b", "a}b", "{a}", "}{", "{1..}", "{..2}", "{a..c}", "{1...3}"])
def test_what_is_no_pattern_stays(text):
    assert split_braces(text) == [text]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a,b", ["a", "b"]),
        (" a , b ", ["a", "b"]),
        ("{a,b}", ["{a,b}"]),
        ("{a,{b,c}},d", ["{a,{b,c}}", "d"]),
        (",,a,", ["a"]),
        ("a},b", ["a}", "b"]),
    ],
)
def test_commas_split_outside_braces(text, parts):
    assert split_commas(text) == parts
