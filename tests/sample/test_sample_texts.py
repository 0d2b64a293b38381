"""Captions and alt-texts hold what is planted and nothing else that an audit would count."""

from __future__ import annotations

import re

import pytest
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from counterbalance.engine import lists
from counterbalance.sample import world
from counterbalance.sample.plan import Scene, make_plan
from counterbalance.sample.words import alt_text, captions

SEEDS = range(4)


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    return [scene for seed in SEEDS for scene in make_plan(400, seed)]


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def terms(name: str) -> list[tuple[str, str]]:
    rows = lists.wordlist(name).to_pylist()
    return [(r["term"].lower(), r["class"]) for r in rows]


def test_captions_name_the_genders_shown_and_no_other(scenes: list[Scene]) -> None:
    gendered = dict(terms("gender_words"))
    for scene in scenes:
        said = [{gendered[w] for w in words(text) if w in gendered} for text in captions(scene)]
        expected = {"mixed": {"male", "female"}, "nobody": set[str]()}.get(scene.kind, {scene.kind})
        assert said[0] == said[1] == expected
        assert said[2] in (expected, set())
        assert not any(w in gendered for w in words(alt_text(scene)))


def test_gender_words_stand_free_so_that_every_rule_finds_them(scenes: list[Scene]) -> None:
    gendered = dict(terms("gender_words"))
    for scene in scenes:
        for text in captions(scene):
            assert {w for w in words(text) if w in gendered} == {w for w in text.lower().split() if w in gendered}


def test_crime_words_stand_where_they_are_planted(scenes: list[Scene]) -> None:
    crimes = [t for t, _ in terms("crime_words")]
    single = {t for t in crimes if " " not in t and "-" not in t}
    longer = [t for t in crimes if t not in single]
    assert set(world.CRIME_WORDS) <= single
    for scene in scenes:
        alt = alt_text(scene)
        assert words(alt) & single == ({scene.crime} if scene.crime else set())
        for text in (alt, *captions(scene)):
            assert not any(t in text.lower() for t in longer)
        assert not any(words(text) & single for text in captions(scene))


def test_no_text_uses_a_word_for_race_or_ethnicity(scenes: list[Scene]) -> None:
    listed = {t for t, _ in terms("ethnicity_terms")}
    for scene in scenes:
        for text in (alt_text(scene), *captions(scene)):
            assert not words(text) & listed


def test_the_tone_of_an_alt_text_is_the_planted_one_and_captions_have_none(scenes: list[Scene]) -> None:
    vader = SentimentIntensityAnalyzer()
    for scene in scenes:
        compound = vader.polarity_scores(alt_text(scene))["compound"]
        assert (compound > 0) - (compound < 0) == scene.tone
        for text in captions(scene):
            assert vader.polarity_scores(text)["compound"] == 0, text


def test_countries_stand_where_they_are_planted(scenes: list[Scene]) -> None:
    for scene in scenes:
        named = {c for c in world.COUNTRIES if c.lower() in words(alt_text(scene))}
        assert named == ({scene.country} if scene.country else set())
        assert not any(words(t) & {c.lower() for c in world.COUNTRIES} for t in captions(scene))


def test_every_object_and_the_keyword_are_named(scenes: list[Scene]) -> None:
    for scene in scenes:
        text = " ".join(captions(scene)).lower()
        assert all(o in text for o in scene.objects)
        assert (world.KEYWORD in words(text)) == scene.keyword


def test_captions_vary(scenes: list[Scene]) -> None:
    texts = [text for scene in scenes for text in captions(scene)]
    assert len(set(texts)) > 0.6 * len(texts)
