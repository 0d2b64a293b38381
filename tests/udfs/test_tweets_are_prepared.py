"""Texts are prepared for pysentimiento's models as that library does; expectations are what its release 0.7.3 gives."""

from __future__ import annotations

import pytest

from counterbalance.udfs.models.sentiment import prepared

pytest.importorskip("emoji")

ENGLISH = {
    "": "",
    "   ": "",
    "@perezjotaeme should change this": "@USER should change this",
    "a @b-c @averyveryverylongname": "a @USER-c @USERngname",
    "mail jane@example.com now": "mail jane@HTTPURL now",
    "this is very good http://bit.ly/sarasa": "this is very good HTTPURL",
    "http://bit.ly/sarasa first": "http://HTTPURL first",
    "see www.shop.co.uk/new, please": "see HTTPURL, please",
    "nooooo!!!!": "nooo!!!",
    "hahahhahaha can't believe it ahahahahahah": "haha can't believe it haha",
    "#CatVideo of the #1stDay": "hashtag cat video of the hashtag 1st day",
    "#NYCMarathon a#b #1": "hashtag nycmarathon a#b #1",
    "“quoted” «text» …": '"quoted" "text"',
    "5 € for ~20 cm²": "5 $ for 20 cm²",
    "🤣": "emoji rolling on the floor laughing emoji",
    "I ♥ you": "I  emoji red heart emoji  you",
    "shoes | blue | 10": "shoes  emoji  blue  emoji  10",
}
SPANISH = {
    "@perezjotaeme debería": "@usuario debería",
    "bueno https://t.co/LvRc5JJxvJ": "bueno url",
    "jajajajaajjjajaajajaja no lo puedo creer": "jaja no lo puedo creer",
    "🤣": "emoji cara revolviéndose de la risa emoji",
    "esto es #UnaGenialidad": "esto es hashtag una genialidad",
}


@pytest.mark.parametrize(("text", "expected"), ENGLISH.items())
def test_english(text, expected):
    assert prepared(text) == expected


@pytest.mark.parametrize(("text", "expected"), SPANISH.items())
def test_spanish(text, expected):
    assert prepared(text, "es") == expected
