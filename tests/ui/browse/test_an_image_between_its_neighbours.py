"""The page of an image has its picture with boxes, what is said of it, and links to the images beside it in the grid."""

from __future__ import annotations

import re

import pytest


@pytest.fixture
def client(lake, serve):
    return serve(lake)


def links(text):
    return {
        name: href.replace("&amp;", "&")
        for name, href in re.findall(r'<a id="(before|after|back)"[^>]*href="([^"]*)"', text)
    }


@pytest.mark.parametrize(
    ("address", "image", "before", "after"),
    [("", 1, None, 2), ("", 3, 2, 4), ("", 6, 5, None), ("split=train", 2, 1, 6), ("split=val", 1, None, None)],
)
def test_neighbours(client, address, image, before, after):
    query = f"?{address}" if address else ""
    found = links(client.get(f"/lakes/demo/images/{image}{query}").text)
    wanted = {n: f"/lakes/demo/images/{i}{query}" for n, i in (("before", before), ("after", after)) if i}
    assert found == {"back": f"/lakes/demo/browse{query}#i{image}", **wanted}


def test_boxes(client):
    text = client.get("/lakes/demo/images/1").text
    assert 'viewBox="0 0 640 480"' in text
    assert re.findall(
        r'<rect class="box (c\d)".*? x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', text
    ) == [
        ("c1", "0.0", "0.0", "50.0", "90.0"),
        ("c0", "10.0", "20.0", "100.0", "80.0"),
    ]


def test_words_are_marked(client):
    text = client.get("/lakes/demo/images/1?words=HORSE").text
    assert "a man rides a <mark>horse</mark>" in text


@pytest.mark.parametrize("word", ["horse", "Horses", "a horse"])
def test_words_are_marked_without_a_filter(client, word):
    text = client.get(f"/lakes/demo/images/1?mark={word}").text
    assert "<mark>horse</mark>" in text or "<mark>a horse</mark>" in text
    assert "a man rides" in text
    links_to = f"mark={word.replace(' ', '+')}"
    grid = client.get(f"/lakes/demo/browse?mark={word}").text
    assert f'href="/lakes/demo/images/2?{links_to}"' in grid
    assert f'<input type="hidden" name="mark" value="{word}">' in grid


def test_what_is_known(client):
    text = client.get("/lakes/demo/images/4").text
    for told in ("two dogs", "a man and a woman at a table", "weather", "rain", "bob", "CC0", "val", "four"):
        assert (told in text) == (told != "two dogs"), told


@pytest.mark.parametrize("name", ["7", "0", "-1", "9223372036854775807"])
def test_there_is_no_such_image(client, name):
    answer = client.get(f"/lakes/demo/images/{name}")
    assert answer.status_code == 404
    assert "E1059" in answer.text
