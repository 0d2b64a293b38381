"""Rows about perceived labels open no images in a default session, and do where a purpose is stated."""

from __future__ import annotations

from counterbalance.ui.audits import CLOSED

PAGE = "/lakes/demo/audits/demographics?groups=image_labels('perceived_gender')"


def test_there_are_no_links_without_a_purpose(browse):
    page = browse.get(PAGE).text
    assert CLOSED in page
    assert "/browse?" not in page
    assert ">30<" in page  # the counts are there
    assert browse.post("/api/purpose", json={"purpose": "to check the annotations"}).status_code == 200
    opened = browse.get(PAGE).text
    assert CLOSED not in opened
    assert opened.count("/browse?sql=") == 2


def test_the_api_gives_no_query_either(ask):
    asked = {"parameters": {"groups": "image_labels('perceived_gender')"}}
    found = ask.post("/api/lakes/demo/audits/demographics", json=asked).json()
    assert found["images"] == [None, None]


def test_what_is_suppressed_is_said(browse):
    page = browse.get("/lakes/demo/audits/crime_words?groups=image_labels('perceived_gender')").text
    assert '<td class="num soft" title="confidential">hidden</td>' in page
    assert "cells of this audit are suppressed" in page
