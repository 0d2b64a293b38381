"""match_terms equals a slow reading of its definition: sets of lemmas, term by term, row by row."""

from __future__ import annotations

import re
import unicodedata

import pyarrow as pa
import simplemma
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.udfs import wordlists
from counterbalance.udfs.words import match_terms, matches

STOP = set(wordlists.wordlist("stop_words")["term"].to_pylist())


def lemma_set(text):
    tokens = re.findall(r"\w+", unicodedata.normalize("NFC", text).lower())
    found = {simplemma.lemmatize(token, "en").lower() for token in tokens if token not in STOP}
    return found - STOP


def reference(text, terms):
    have = lemma_set(text)
    forms = {term: [term, re.sub(r"(?<=\w)-(?=\w)", "", term)] for term in dict.fromkeys(terms)}
    return [term for term, own in forms.items() if any(lemma_set(form) <= have for form in own)]


WORDS = [
    "murder",
    "looting",
    "looted",
    "men",
    "man",
    "cyber",
    "attacks",
    "cyberattack",
    "hate",
    "crimes",
    "caf\u00e9",
    "dog",
    "the",
]
TERM = st.lists(st.sampled_from([w for w in WORDS if w != "the"]), min_size=1, max_size=3).flatmap(
    lambda words: st.sampled_from([" ", "-", " the "]).map(lambda mark: mark.join(words))
)
TEXT = st.lists(st.sampled_from([*WORDS, "\u2019s", "MURDERED", ",", "-", "na\u00efve"]), max_size=8).flatmap(
    lambda words: st.sampled_from([" ", "-", "\u2019", ""]).map(lambda mark: mark.join(words))
)


@given(st.lists(st.one_of(st.none(), TEXT), max_size=5), st.lists(TERM, max_size=6))
def test_any_terms(texts, terms):
    array = pa.array(texts, pa.string())
    wanted = [None if t is None else reference(t, terms) for t in texts]
    assert match_terms(array, terms).to_pylist() == wanted
    assert matches(array, terms).to_pylist() == [None if w is None else bool(w) for w in wanted]


def test_real_captions(data_dir):
    lines = (data_dir / "gcc" / "validation-8000.tsv").read_text(encoding="utf-8").splitlines()
    texts = [line.split("\t")[0] for line in lines]
    terms = [*wordlists.terms("crime_words"), *wordlists.terms("coco_categories"), "living room", "film-maker"]
    sets = [lemma_set(text) for text in texts]
    forms = {term: [lemma_set(term), lemma_set(re.sub(r"(?<=\w)-(?=\w)", "", term))] for term in terms}
    wanted = [[term for term, own in forms.items() if any(form <= have for form in own)] for have in sets]
    assert match_terms(pa.array(texts), terms).to_pylist() == wanted
    assert sum(map(bool, wanted)) > 1_000
