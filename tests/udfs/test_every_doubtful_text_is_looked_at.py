"""``gender_words`` counts what ``named`` finds, though it looks closely at few texts."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from counterbalance.udfs import persons
from counterbalance.udfs.gender import gender_words

LISTED = [
    *persons.classes(),
    *persons.context("animal"),
    *persons.context("product"),
    *persons.context("modifier"),
    *persons.context("person"),
    *("s", "a", "mens", "womens", "is", "caf\u00e9"),
]
WORD = st.one_of(st.sampled_from(sorted(LISTED)), st.sampled_from(sorted(persons.context("phrase"))))
BETWEEN = st.sampled_from([" ", " ", " ", "-", ", ", "'s ", "\u2019s ", "\u2019", " / "])
TEXT = st.lists(st.tuples(WORD, BETWEEN), max_size=7).map(lambda parts: "".join(map("".join, parts)))


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=40))
def test_counts_are_of_the_words_that_name_people(texts):
    classes = persons.classes()
    found = [[classes[match[0].lower()] for match in persons.named(text)] for text in texts]
    expected = [{"male": own.count("male"), "female": own.count("female")} for own in found]
    assert gender_words(pa.array(texts)).to_pylist() == expected
