"""swap_gender: words of the other gender become their counterparts, in their case; all else stays."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.errors import RequestError
from counterbalance.udfs.gender import gender_words, swap_gender

TO_FEMALE = {
    "A Man, a MAN and a man": "A Woman, a WOMAN and a woman",
    "He took his hat to him": "She took her hat to her",
    "His dog, a friend of his.": "Her dog, a friend of hers.",
    "his and hers": "hers and hers",
    "a man and his wife": "a woman and her wife",
    "the boy\u2019s uncles  himself": "the girl\u2019s aunts  herself",
    "a snowman": "a snowman",
    "The King, a prince and two WAITERS": "The Queen, a princess and two WAITRESSES",
}
TO_MALE = {
    "A Woman and HER dog": "A Man and HIS dog",
    "a man behind her": "a man behind him",
    "She looks at her phone": "He looks at his phone",
    "ladies and gentlemen": "gentlemen and gentlemen",
    "that hat is hers": "that hat is his",
    "her nieces' girlfriend": "his nephews' boyfriend",
    "Herself": "Himself",
    "Grandma's cowgirl": "Grandpa's cowboy",
    "a geisha, the landlady, Miss Day": "an entertainer, the landlord, Mr Day",
    "her US flag, a photo of her": "his US flag, a photo of him",
}


@pytest.mark.parametrize(
    ("to", "text", "wanted"),
    [*(("female", *case) for case in TO_FEMALE.items()), *(("male", *case) for case in TO_MALE.items())],
)
def test_hand_cases(to, text, wanted):
    assert swap_gender(pa.array([text]), to).to_pylist() == [wanted]


WORDS = (
    "man men boy boys male males gentleman gentlemen son sons father fathers brother brothers uncle uncles nephew nephews "
    "husband husbands boyfriend boyfriends he himself dog x \u00e9 1 the"
)
NOUNS = st.sampled_from(WORDS.split())
CASES = st.sampled_from([str.lower, str.upper, str.capitalize])


@given(st.lists(st.tuples(NOUNS, CASES, st.sampled_from([" ", ", ", "\u2019s ", "-"])), max_size=8))
def test_there_and_back(pieces):
    text = "".join(case(word) + mark for word, case, mark in pieces)
    there = swap_gender(pa.array([text]), "female")
    assert gender_words(there).to_pylist()[0]["male"] == 0
    assert swap_gender(there, "male").to_pylist() == [text]


def test_nulls():
    assert swap_gender(pa.array([None, "a man", None]), "female").to_pylist() == [None, "a woman", None]
    assert swap_gender(pa.nulls(1), "male").to_pylist() == [None]


def test_unknown_gender():
    with pytest.raises(RequestError, match="did you mean 'female'") as error:
        swap_gender(pa.array(["a"]), "femal")
    assert error.value.code == "E3051"
