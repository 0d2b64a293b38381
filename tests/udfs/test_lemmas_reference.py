"""lemmas equals simplemma token by token, function words left out."""

from __future__ import annotations

import re
import unicodedata

import pyarrow as pa
import simplemma
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.udfs import wordlists
from counterbalance.udfs.words import lemmas

STOP = set(wordlists.wordlist("stop_words")["term"].to_pylist())
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\u03a3")  # see test_gender_words_reference
PIECES = st.sampled_from(
    [
        "The",
        "men",
        "LOOTING",
        "was",
        "don't",
        "woman\u2019s",
        "cafe\u0301",
        "caf\u00e9",
        "\u0130",
        "I",
        "us",
        "12",
        "a_b",
        *" .,-'\n",
    ]
)
TEXTS = st.lists(st.one_of(PIECES, st.text(CHARACTERS, max_size=3)), max_size=10).map(" ".join)


def reference(text):
    tokens = re.findall(r"\w+", unicodedata.normalize("NFC", text).lower())
    found = [simplemma.lemmatize(token, "en").lower() for token in tokens if token not in STOP]
    return [lemma for lemma in found if lemma not in STOP]


def test_by_hand():
    texts = pa.array(["The men were LOOTING shops!", "She doesn\u2019t see me.", "a caf\u00e9's mice", "", None])
    assert lemmas(texts).to_pylist() == [["man", "loot", "shop"], ["see"], ["caf\u00e9", "mouse"], [], None]
    assert lemmas(texts).type == pa.list_(pa.string())


@given(st.lists(st.one_of(st.none(), TEXTS), max_size=6))
def test_any_text(texts):
    assert lemmas(pa.array(texts, pa.string())).to_pylist() == [None if t is None else reference(t) for t in texts]


def test_real_captions(data_dir):
    lines = (data_dir / "gcc" / "validation-8000.tsv").read_text(encoding="utf-8").splitlines()
    texts = [line.split("\t")[0] for line in lines]
    assert lemmas(pa.array(texts)).to_pylist() == [reference(text) for text in texts]


def test_no_rows():
    assert lemmas(pa.array([], pa.string())).to_pylist() == []
    assert lemmas(pa.array([""])).to_pylist() == [[]]
    assert lemmas(pa.nulls(2)).to_pylist() == [None, None]
