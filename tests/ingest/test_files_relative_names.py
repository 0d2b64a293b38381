"""Names that come out of data reach a file system only when they are plain and relative."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.ingest.files import relative_name


@pytest.mark.parametrize(
    "name", ["a.jpg", "val2017/000000000139.jpg", "a b.jpg", "é.jpg", "..a.jpg", "a..b", "...", "日本/1.png"]
)
def test_plain_names_pass(name):
    assert relative_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", "/", "/etc/passwd", "..", ".", "../a", "a/../b", "a/..", "./a", "a//b", "a/", "~/a", "~root/a", "//h/s"),
        *("a\\b", "..\\a", "C:\\a", "C:a", "http://h/a.jpg", "file:///etc/passwd", "memory::x"),
        *("a\0b", "a\nb", "a\x1b[0m", "\ud800"),
    ],
)
def test_others_do_not(name):
    assert relative_name(name) is None


@given(st.text(alphabet=st.sampled_from("ab./\\~:\0 é"), max_size=12))
def test_what_passes_stays_below_its_folder(name):
    if relative_name(name) is not None:
        joined = posixpath.normpath(posixpath.join("/pictures", name))
        assert joined.startswith("/pictures/")
        assert joined.removeprefix("/pictures/") == name
