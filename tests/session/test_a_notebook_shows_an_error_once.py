"""In a notebook an error is a few lines: those of the user's own code, what is wrong, and what to do; shown once."""

from __future__ import annotations

import re

import pytest

from counterbalance.engine.errors import CounterbalanceError, SqlError


@pytest.fixture
def failed(lake):
    result = lake.sql("SELECT x FROM captions")
    with pytest.raises(SqlError) as caught:
        repr(result)  # what a notebook asks for first
    return result, caught.value


def test_packages_are_left_out(failed):
    shown = "".join(failed[1]._render_traceback_())
    assert re.match(rf'  File "{__file__}", line \d+, in failed\n    repr\(result\)', shown)
    assert shown.count("File ") == 1
    assert shown.endswith(f"SqlError {failed[1].code}: {failed[1]}")


def test_the_page_does_not_show_it_again(failed):
    assert failed[0]._repr_html_() is None


def test_lines_of_a_function_that_failed_are_shown():
    def fails():
        try:
            int("of mine")
        except ValueError as error:
            raise SqlError("a function failed", code="E3101", sql=None) from error

    with pytest.raises(SqlError) as caught:
        fails()
    shown = "".join(caught.value._render_traceback_())
    assert 'int("of mine")' in shown
    assert shown.index("of mine") < shown.index("a function failed")


def test_of_a_bug_all_is_shown():
    with pytest.raises(CounterbalanceError) as caught:
        raise CounterbalanceError("unforeseen")
    assert caught.value._render_traceback_()[0].startswith("Traceback")
