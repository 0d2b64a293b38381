"""VADER's functions over Arrow arrays: NULLs, empty and chunked input, every text type, any batch size, bad rules."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from counterbalance.engine import functions
from counterbalance.engine.errors import RequestError
from counterbalance.udfs import vader as module
from counterbalance.udfs import vader_words
from counterbalance.udfs.vader import vader, vader_scores, vader_tokens
from counterbalance.udfs.vader_texts import score

TEXTS = ["A happy dog.", None, "", " GOOD  boy\n", "such a bad ass 😀", "a tree", "good but bad", "©", None, "   "]
LISTS = [None if text is None else text.split() for text in TEXTS]
EXPECTED = [text if text is None else SentimentIntensityAnalyzer().polarity_scores(text)["compound"] for text in TEXTS]


def plain(lists=LISTS):
    return pa.array(lists, pa.list_(pa.string()))


def encoded(lists=LISTS):
    values = plain(lists)
    words = values.flatten().dictionary_encode()
    return pa.ListArray.from_arrays(values.offsets, words, mask=values.is_null())


def test_nulls_stay_null():
    assert [value is None for value in EXPECTED] == [text is None for text in TEXTS]
    assert vader(pa.array(TEXTS)).to_pylist() == EXPECTED
    assert vader_tokens(plain()).to_pylist() == EXPECTED
    assert vader_scores(pa.array(TEXTS)).is_null().to_pylist() == [text is None for text in TEXTS]


def test_a_text_without_words_has_no_shares():
    nothing = {"neg": 0.0, "neu": 0.0, "pos": 0.0, "compound": 0.0}
    neutral = {**nothing, "neu": 1.0}
    assert vader_scores(pa.array(["", " \n", "a tree", "a"])).to_pylist() == [nothing, nothing, neutral, neutral]
    assert vader_scores(pa.array(["", " \n", "a tree", "a"]), "nltk").to_pylist() == [
        nothing,
        nothing,
        neutral,
        nothing,
    ]


@pytest.mark.parametrize("call", [vader, vader_scores])
@pytest.mark.parametrize("empty", [pa.array([], pa.string()), pa.chunked_array([], pa.string())])
def test_no_rows(call, empty):
    assert call(empty).to_pylist() == []
    assert call(empty).type == call(pa.array(["x"])).type


def test_no_lists():
    assert vader_tokens(plain([])).to_pylist() == []
    assert vader_tokens(pa.chunked_array([], pa.list_(pa.string()))).to_pylist() == []


def test_only_nulls():
    assert vader(pa.nulls(2)).to_pylist() == [None, None]
    assert vader_tokens(pa.nulls(2)).to_pylist() == [None, None]
    assert vader_scores(pa.nulls(2, pa.string())).to_pylist() == [None, None]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())], ids=str
)
def test_every_text_type(kind):
    assert vader(pa.array(TEXTS).cast(kind)).to_pylist() == EXPECTED


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.large_string()),
        pa.list_(pa.string_view()),
        pa.large_list(pa.string()),
        pa.list_view(pa.string()),
        pa.large_list_view(pa.string()),
    ],
    ids=str,
)
def test_every_list_type(kind):
    lists = pa.array(LISTS, kind)
    assert vader_tokens(lists).to_pylist() == EXPECTED
    assert vader_tokens(lists.slice(3, 5)).to_pylist() == EXPECTED[3:8]


def test_dictionary_encoded_tokens_and_slices_of_them():
    assert vader_tokens(encoded()).to_pylist() == EXPECTED
    for start in range(len(TEXTS)):
        assert vader_tokens(encoded().slice(start, 3)).to_pylist() == EXPECTED[start : start + 3]


def test_a_fixed_number_of_tokens():
    lists = pa.array([["good", "dog"], None, ["bad", None]], pa.list_(pa.string(), 2))
    assert vader_tokens(lists).to_pylist() == [0.4404, None, -0.5423]


def test_null_and_empty_tokens_count_as_not_there():
    assert vader_tokens(plain([["not", None, "", "good"]])).to_pylist() == vader(pa.array(["not good"])).to_pylist()


def test_a_token_with_white_space_counts_as_several():
    assert vader_tokens(plain([["not very", " good\t"]])).to_pylist() == vader(pa.array(["not very good"])).to_pylist()


def test_hidden_values_of_null_lists_are_not_read():
    values = pa.array(["good", "good", "bad"])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), values, mask=pa.array([False, True, False]))
    assert vader_tokens(lists).to_pylist() == [0.4404, None, -0.5423]


def test_a_null_in_the_dictionary_counts_as_not_there():
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["not", None, "good"]))
    lists = pa.ListArray.from_arrays(pa.array([0, 3], pa.int32()), words)
    assert vader_tokens(lists).to_pylist() == vader(pa.array(["not good"])).to_pylist()


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
@pytest.mark.parametrize("size", [1, 40, 1 << 26])
def test_results_do_not_depend_on_blocks(monkeypatch, rows, size):
    monkeypatch.setattr(module, "BLOCK_ROWS", rows)
    monkeypatch.setattr(module, "BLOCK_BYTES", size)
    chunked = pa.chunked_array([TEXTS[:4], [], TEXTS[4:]], pa.string())
    assert vader(chunked).to_pylist() == EXPECTED
    assert vader_tokens(pa.chunked_array([plain(LISTS[:3]), plain(LISTS[3:])])).to_pylist() == EXPECTED
    assert vader_tokens(encoded()).to_pylist() == EXPECTED


def test_blocks_are_small(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 3_000)
    blocks = list(module._blocks(pa.array(["x" * 1_000] * 9 + ["x" * 9_000])))
    assert [text for block in blocks for text in block.to_pylist()] == ["x" * 1_000] * 9 + ["x" * 9_000]
    assert all(block.nbytes <= 3_000 or len(block) == 1 for block in blocks)


def test_more_rows_than_a_block():
    count = 2 * module.BLOCK_ROWS // len(TEXTS) + 1
    assert vader(pa.array(TEXTS * count)).to_pylist() == EXPECTED * count


@pytest.mark.parametrize("call", [vader, vader_scores])
def test_unknown_rules_are_refused(call):
    with pytest.raises(RequestError, match=r"no rules 'nlkt' for VADER; did you mean 'nltk'\?") as caught:
        call(pa.array(["x"]), "nlkt")
    assert caught.value.code == "E3051"


def test_null_rules_are_refused():
    with pytest.raises(RequestError, match="no rules None"):
        vader_tokens(plain([["x"]]), None)


def test_the_memory_of_words_is_bounded(monkeypatch):
    monkeypatch.setattr(vader_words, "MEMO_WORDS", 50)
    rules = vader_words.load.__wrapped__("vader")
    long = "good" * vader_words.MEMO_LENGTH
    wanted = SentimentIntensityAnalyzer().polarity_scores(f"w1 GOOD! {long}")["compound"]
    sizes = []
    for start in range(0, 300, 20):
        lists = plain([[f"a_word_of_twenty_letters_{number}", "GOOD!", long] for number in range(start, start + 20)])
        assert set(score(rules, lists, shares=False).compound) == {wanted}
        assert long not in rules.memo
        sizes.append(len(rules.memo))
    assert 20 < max(sizes) <= 50
    many = plain([[f"a_word_of_thirty_letters_{number}", "GOOD!", long] for number in range(300)])
    assert set(score(rules, many, shares=False).compound) == {wanted}
    assert len(rules.memo) <= 50


def test_they_are_declared():
    known = functions._registry
    assert [known[name].signature for name in ("vader", "vader_scores", "vader_tokens")] == [
        "vader(text[, rules])",
        "vader_scores(text[, rules])",
        "vader_tokens(tokens[, rules])",
    ]
    assert known["vader"].parameters[1].constant
    assert known["vader_scores"].returns == vader_scores(pa.array(["x"])).type
    assert all(known[name].doc for name in ("vader", "vader_scores", "vader_tokens"))


def test_imports_are_lazy_and_nltk_is_not_needed():
    program = """
import sys
sys.modules["nltk"] = None  # an import of it would fail
import pyarrow as pa
from counterbalance.udfs.vader import vader
early = {"vaderSentiment", "requests"} & set(sys.modules)
print(sorted(early), vader(pa.array(["no good"]), "nltk").to_pylist(), vader(pa.array(["no good"])).to_pylist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "[] [0.1779] [-0.3412]"
