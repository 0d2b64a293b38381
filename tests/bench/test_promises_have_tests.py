"""Every test that docs/promises.md names is there, and every test of disclosure is named by some promise."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
_SPEC = importlib.util.spec_from_file_location("promises", TESTS.parent / "bench" / "promises.py")
promises = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(promises)


@pytest.mark.parametrize("promise", list(promises.PROMISES))
def test_tests_of_a_promise_are_there(promise):
    _, words = promises.PROMISES[promise]
    assert promises.files_of(words)


def test_a_promise_names_each_test_of_disclosure():
    named = [file.stem for _, words in promises.PROMISES.values() for file in promises.files_of(words)]
    assert not {file.stem for file in (TESTS / "disclosure").glob("test_*.py")} - {*named}


def test_a_folder_has_the_tests_that_no_other_promise_names():
    cells = {file.stem for file in promises.files_of(promises.PROMISES["P17"][1])}
    closed = {file.stem for file in promises.files_of(promises.PROMISES["P16"][1])}
    assert "test_no_hidden_count_follows_by_linear_programming" in cells
    assert not cells & closed
