"""The list of countries is whole, consistent, and every term of it is found."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from counterbalance.udfs import wordlists
from counterbalance.udfs.words import country_mentions


@pytest.fixture(scope="module")
def rows():
    return wordlists.wordlist("countries").to_pylist()


def test_countries(rows):
    countries = {(r["country"], r["iso2"], r["iso3"], r["region"]) for r in rows}
    assert len(countries) == len({c[0] for c in countries}) == len({c[1] for c in countries}) == 201
    assert len({c[2] for c in countries}) == 201
    assert all(re.fullmatch("[A-Z]{2}", c[1]) and re.fullmatch("[A-Z]{3}", c[2]) and c[3] for c in countries)


def test_rows(rows):
    assert {r["class"] for r in rows} == {"name", "adjective", "demonym"}
    assert {r["matching"] for r in rows} == {None, "cased"}
    assert len({(r["term"], r["country"]) for r in rows}) == len(rows)
    assert {r["country"] for r in rows} == {r["country"] for r in rows if r["class"] == "name"}


def test_every_term_is_found_as_written(rows):
    found = country_mentions(pa.array([f"\u201c{r['term']}\u201d, 1" for r in rows]), "cased").to_pylist()
    assert [r["term"] for r, names in zip(rows, found, strict=True) if r["country"] not in names] == []
    twice = {r["term"] for r in rows if sum(o["term"] == r["term"] for o in rows) > 1}
    assert {r["term"] for r, names in zip(rows, found, strict=True) if len(names) > 1} == twice == {"Dominican"}


def test_every_term_is_found_by_lemmas(rows):
    own = [r for r in rows if r["matching"] is None]
    found = country_mentions(pa.array([f"a {r['term'].upper()}." for r in own])).to_pylist()
    assert [r["term"] for r, names in zip(own, found, strict=True) if r["country"] not in names] == []
