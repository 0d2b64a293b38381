"""gender_words equals a row-by-row reading of its definition, on any text and in batches of any size."""

from __future__ import annotations

import re

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.udfs.gender import gender_words

MALE_WORDS = (
    "man boy male gentleman his he him son father brother uncle nephew husband boys men gentlemen sons fathers brothers "
    "uncles nephews husbands"
)
FEMALE_WORDS = (
    "woman girl female lady her she hers daughter mother sister aunt niece wife girls women ladies daughters mothers "
    "sisters aunts nieces wives"
)
MALE, FEMALE = set(MALE_WORDS.split()), set(FEMALE_WORDS.split())
# The lower case of a capital sigma depends on the letters around it, also on those of the next word: see tokens.py.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\u03a3")
PIECES = st.sampled_from(
    [
        "man",
        "Woman",
        "HIS",
        "hers",
        "boyfriend",
        "men",
        "x",
        "\u00e9",
        "\u0130",
        "\u2019s",
        "'s",
        "\u00a0",
        "\u2003",
        "\x85",
        "\x1c",
        *" \t\n.,-_'\"\u201c",
    ]
)
TEXTS = st.lists(st.one_of(PIECES, st.text(CHARACTERS, max_size=3)), max_size=12).map("".join)


def by_words(text):
    tokens = re.findall(r"\w+", text.lower())
    return sum(t in MALE | {"boyfriend"} for t in tokens), sum(t in FEMALE | {"girlfriend"} for t in tokens)


def by_spaces(text):
    tokens = text.lower().split()
    return sum(t in MALE for t in tokens), sum(t in FEMALE for t in tokens)


@given(st.lists(st.one_of(st.none(), TEXTS), max_size=8))
def test_any_texts(texts):
    for rule, reference in (("words", by_words), ("gensynth", by_spaces)):
        counts = gender_words(pa.array(texts, pa.string()), rule).to_pylist()
        wanted = [None if t is None else reference(t) for t in texts]
        assert [None if c is None else (c["male"], c["female"]) for c in counts] == wanted


def test_many_rows():
    texts = [f"man {'woman ' * (i % 4)}{i}" if i % 7 else None for i in range(40_000)]
    counts = gender_words(pa.array(texts)).to_pylist()
    assert [None if c is None else c["female"] for c in counts] == [i % 4 if i % 7 else None for i in range(40_000)]


def test_long_rows():
    texts = ["man " * 2_000_000, "woman", "man " * 7_000_000 + "woman", None]  # 8, 0, 28 MB
    counts = gender_words(pa.array(texts)).to_pylist()
    assert [c and (c["male"], c["female"]) for c in counts] == [(2_000_000, 0), (0, 1), (7_000_000, 1), None]
