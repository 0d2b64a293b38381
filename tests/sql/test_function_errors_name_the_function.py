"""What a Python function raises in a query reaches the user as it was said, with the function's name and place."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from counterbalance.engine import functions as registry
from counterbalance.engine.errors import CounterbalanceError, SourceError, SqlError


@pytest.fixture
def raising(monkeypatch):
    """Make ``broken(text)`` raise something, or return it."""

    def make(error, result=None):
        def broken(text):
            del text
            if error is None:
                return result
            raise error

        function = registry.Function("broken", broken, (registry.Parameter("text", pa.string()),), pa.string(), "1")
        registry.functions()
        monkeypatch.setitem(registry._registry, "broken", function)

    return make


def fails(lake, text="SELECT caption_id,\n  broken(text) FROM captions"):
    with pytest.raises(CounterbalanceError) as caught:
        lake.sql(text).fetchall()
    return caught.value


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("the model file is gone"), "broken() failed: RuntimeError: the model file is gone"),
        (ValueError("two\nlines: 'x' and 'y'"), "broken() failed: ValueError: two lines: 'x' and 'y'"),
        (KeyError("lexicon"), "broken() failed: KeyError: 'lexicon'"),
        (AssertionError(), "broken() failed: AssertionError"),
        (SystemExit(3), "broken() failed: SystemExit: 3"),
    ],
)
def test_its_own_message_and_nothing_of_duckdb(lake, raising, error, message):
    raising(error)
    told = fails(lake)
    assert isinstance(told, SqlError)
    assert (told.message, told.code) == (message, "E3132")
    assert "--debug" in told.hint


def test_the_place_and_the_cause(lake, raising):
    cause = RuntimeError("gone")
    raising(cause)
    told = fails(lake)
    assert (told.line, told.column) == (2, 3)
    assert told.__cause__.__cause__ is cause


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (["one"], r"broken\(\) failed: ValueError: 1 values for \d+ rows"),
        (pa.array([b"\xff"]), r"broken\(\) failed: ArrowInvalid: .*UTF8.*"),
    ],
)
def test_a_result_that_does_not_fit(lake, raising, result, message):
    raising(None, result)
    told = fails(lake)
    assert told.code == "E3132"
    assert re.fullmatch(message, told.message)


def test_errors_of_ours_keep_class_code_and_hint(lake, raising):
    raising(SourceError("the weights are not there", code="E4999", hint="fetch them"))
    told = fails(lake)
    assert (type(told), told.message, told.code, told.hint) == (
        SourceError,
        "the weights are not there",
        "E4999",
        "fetch them",
    )


def test_a_wrong_constant(lake):
    told = fails(lake, "SELECT neutralize(text, mode := 'nix') FROM captions")
    assert (told.message, told.code) == ("'mode' of neutralize() cannot be 'nix'", "E3051")
    assert "replace" in told.hint


def test_a_later_error_is_not_taken_for_it(lake, raising):
    raising(RuntimeError("gone"))
    with lake.session() as session:
        for text, code in [
            ("SELECT broken(text) FROM captions", "E3132"),
            ("SELECT key::INT FROM images", "E3105"),
        ] * 2:
            with pytest.raises(SqlError) as caught:
                session.sql(text).fetchall()
            assert caught.value.code == code
