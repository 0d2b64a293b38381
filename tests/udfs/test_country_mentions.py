"""country_mentions: names, adjectives and demonyms, by lemmas or as written."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.errors import RequestError
from counterbalance.udfs.words import country_mentions

CASES = [
    # text, by lemmas, as written
    ("a street in Germany", ["Germany"], ["Germany"]),
    ("two germans and some GERMAN beer", ["Germany"], []),
    ("Germans, Italians and a Turk", ["Germany", "Italy", "Turkey"], ["Germany", "Italy", "Turkey"]),
    ("roast turkey on a china plate", ["China", "Turkey"], []),
    ("Turkey's coast", ["Turkey"], ["Turkey"]),
    ("nail polish", ["Poland"], []),
    ("a Polish flag on a pole", ["Poland"], ["Poland"]),
    ("a Pole", [], ["Poland"]),
    ("Michael Jordan", ["Jordan"], ["Jordan"]),
    ("the US and the U.S. army", [], ["United States"]),
    ("the USA", ["United States"], ["United States"]),
    ("let us go", [], []),
    ("Papua New Guinea", ["Guinea", "Papua New Guinea"], ["Papua New Guinea"]),
    ("North Korea", ["North Korea", "South Korea"], ["North Korea"]),
    ("Korean food", ["South Korea"], ["South Korea"]),
    ("Dominican beach", ["Dominica", "Dominican Republic"], ["Dominica", "Dominican Republic"]),
    ("the Dominican Republic", ["Dominica", "Dominican Republic"], ["Dominican Republic"]),
    ("the south of Africa", ["South Africa"], []),
    ("New Zealanders", ["New Zealand"], ["New Zealand"]),
    ("C\u00f4te d'Ivoire, C\u00f4te d\u2019Ivoire", ["Ivory Coast"], ["Ivory Coast"]),
    ("the Holy See", [], ["Vatican City"]),
    ("he holy saw", [], []),
    ("Scotsmen and Scots", ["United Kingdom"], ["United Kingdom"]),
    ("Omani Romanian Nigerian", ["Nigeria", "Oman", "Romania"], ["Nigeria", "Oman", "Romania"]),
    ("the Guinea-Bissau border", ["Guinea", "Guinea-Bissau"], ["Guinea-Bissau"]),
    ("Democratic Republic of the Congo", ["Democratic Republic of the Congo"], ["Democratic Republic of the Congo"]),
    ("Republic of the Congo", ["Democratic Republic of the Congo"], ["Congo-Brazzaville"]),
    ("Germanyx xGermany German1", [], []),
    ("", [], []),
    (None, None, None),
]


@pytest.mark.parametrize(("place", "matching"), [(1, "lemmas"), (2, "cased")])
def test_hand_cases(place, matching):
    found = country_mentions(pa.array([case[0] for case in CASES]), matching)
    assert found.type == pa.list_(pa.string())
    assert dict(zip([case[0] for case in CASES], found.to_pylist(), strict=True)) == {
        case[0]: case[place] for case in CASES
    }


def test_by_lemmas_is_the_default():
    texts = pa.array(["a turkey"])
    assert country_mentions(texts).equals(country_mentions(texts, "lemmas", "country"))


@pytest.mark.parametrize("matching", ["lemmas", "cased"])
def test_codes(matching):
    texts = pa.array(["Kosovo and Germany", "Hong Kong", "a dog"])
    assert country_mentions(texts, matching, "iso2").to_pylist() == [["DE", "XK"], ["HK"], []]
    assert country_mentions(texts, matching, "iso3").to_pylist() == [["DEU", "XKX"], ["HKG"], []]


@pytest.mark.parametrize("matching", ["lemmas", "cased"])
def test_chunks(matching):
    chunked = pa.chunked_array([["in China", None], [], ["a dog", "in China"]])
    assert country_mentions(chunked, matching).to_pylist() == [["China"], None, [], ["China"]]
    assert country_mentions(pa.array([], pa.string()), matching).to_pylist() == []


@pytest.mark.parametrize("arguments", [("words",), ("lemmas", "name"), ("cased", "")])
def test_unknown_arguments(arguments):
    with pytest.raises(RequestError, match="country_mentions") as error:
        country_mentions(pa.array(["a"]), *arguments)
    assert error.value.code == "E3051"
