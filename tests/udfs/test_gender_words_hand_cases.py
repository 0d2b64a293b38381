"""gender_words and gender_label: counts by hand, under each rule."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.errors import RequestError
from counterbalance.udfs.gender import gender_label, gender_words

CASES = [
    # text, words, gensynth, gensynth_paper
    ("A man.", (1, 0), (0, 0), (1, 0)),
    ("A MAN and a Woman", (1, 1), (1, 1), (1, 1)),
    ("the woman's hat", (0, 1), (0, 0), (0, 1)),
    ("an uncle and his nephews", (3, 0), (3, 0), (1, 0)),
    ("her boyfriend", (1, 1), (0, 1), (1, 1)),
    ("boys, girls and ladies", (1, 2), (0, 2), (1, 1)),
    ("a snowman on the manhattan skyline", (0, 0), (0, 0), (0, 0)),
    ("his, hers\tand him", (2, 1), (1, 1), (2, 1)),
    ("a man\u00a0and a\u2003woman", (1, 1), (1, 1), (1, 1)),
    ("caf\u00e9man and \u00e9man", (0, 0), (0, 0), (0, 0)),
    ("the woman\u2019s \u201cman\u201d", (1, 1), (0, 0), (1, 1)),
    ("man_woman man-woman", (1, 1), (0, 0), (1, 1)),
    ("", (0, 0), (0, 0), (0, 0)),
    ("  \n ", (0, 0), (0, 0), (0, 0)),
]


@pytest.mark.parametrize(("place", "rule"), [(1, "words"), (2, "gensynth"), (3, "gensynth_paper")])
def test_counts(place, rule):
    counts = gender_words(pa.array([case[0] for case in CASES]), rule)
    assert counts.type == pa.struct([("male", pa.int32()), ("female", pa.int32())])
    assert [(c["male"], c["female"]) for c in counts.to_pylist()] == [case[place] for case in CASES]


def test_labels():
    texts = pa.array(["a man", "her", "his wife", "a dog", None, ""])
    assert gender_label(texts).to_pylist() == ["male", "female", "both", None, None, None]
    assert gender_label(pa.array(["a man."]), "gensynth").to_pylist() == [None]


def test_null_gives_null():
    assert gender_words(pa.array([None, "a man"])).to_pylist() == [None, {"male": 1, "female": 0}]
    assert gender_words(pa.nulls(2)).to_pylist() == [None, None]


def test_words_do_not_run_from_row_to_row():
    assert [c["male"] for c in gender_words(pa.array(["a m", "an", "man", "man"])).to_pylist()] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    "texts",
    [
        pa.array(["xx", "a man", None, "her"]).slice(1),
        pa.array(["a man", None, "her"], pa.large_string()),
        pa.array(["a man", None, "her"], pa.string_view()),
        pa.array(["a man", None, "her"]).dictionary_encode(),
        pa.chunked_array([["a man"], [], [None, "her"]]),
    ],
    ids=["slice", "large", "view", "dictionary", "chunks"],
)
def test_every_arrow_text(texts):
    assert gender_label(texts).to_pylist() == ["male", None, "female"]
    assert gender_words(texts).to_pylist() == [{"male": 1, "female": 0}, None, {"male": 0, "female": 1}]


def test_no_rows():
    assert gender_words(pa.array([], pa.string())).to_pylist() == []
    assert gender_words(pa.chunked_array([], pa.string())).type == pa.struct(
        [("male", pa.int32()), ("female", pa.int32())]
    )


@pytest.mark.parametrize("function", [gender_words, gender_label])
def test_unknown_rule(function):
    with pytest.raises(RequestError, match="did you mean 'gensynth'") as error:
        function(pa.array(["a"]), "gensyth")
    assert error.value.code == "E3051"
    assert "words" in error.value.hint
