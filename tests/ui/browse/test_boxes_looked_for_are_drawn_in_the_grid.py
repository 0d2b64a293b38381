"""A tile of the grid draws the boxes of the categories that are looked for, or that an audit's row is about, and no others."""

from __future__ import annotations

import pytest


@pytest.fixture
def made(build, empty_lake, picture):
    boxes = [
        (1, "dog", 10.0, 700.0),
        (1, "cat", 50.0, 20.0),
        (2, "dog", 0.0, 40.0),
        (2, "dog", 790.0, 40.0),
        (3, None, 1.0, 1.0),
        (2, "cat", -10.0, 30.0),
        (2, "cat", 900.0, 30.0),
    ]
    columns = dict(zip(("image_id", "category", "x", "width"), zip(*boxes, strict=True), strict=True))
    same = {"y": [30.0] * 7, "height": [60.0] * 7, "detection_id": [*range(7)]}
    images = build.images(image_id=[1, 2, 3], width=[800, 800, None], height=[600, 600, None], image=[picture()] * 3)
    empty_lake.ingest(
        {"images": images, "detections": build.detections(**{n: [*c] for n, c in columns.items()}, **same)}
    )
    return empty_lake


@pytest.mark.parametrize("asked", ["box=dog", "category=dog"])
def test_of_one_category(serve, made, asked):
    client = serve(made)
    tiles = {i["image_id"]: i["boxes"] for i in client.get(f"/api/lakes/demo/images?{asked}").json()["images"]}
    assert [(b["x"], b["width"]) for b in tiles[1]] == [(10, 700)]
    assert [(b["x"], b["width"]) for b in tiles[2]] == [(0, 40), (790, 10)]  # as far as it lies in the picture
    assert not tiles.get(3)
    page = client.get(f"/lakes/demo/browse?{asked}").text
    assert page.count("<rect") == 3
    assert '<svg viewBox="0 0 800 600" aria-hidden="true">' in page


def test_a_box_is_drawn_as_far_as_it_lies_in_the_picture(serve, made):
    tiles = {i["image_id"]: i["boxes"] for i in serve(made).get("/api/lakes/demo/images?box=cat").json()["images"]}
    assert [(b["x"], b["width"]) for b in tiles[2]] == [(0, 20)]


def test_it_leaves_out_no_image_and_without_it_none_is_drawn(serve, made):
    client = serve(made)
    assert client.get("/api/lakes/demo/images?box=dog").json()["total"] == 3
    assert [i["boxes"] for i in client.get("/api/lakes/demo/images").json()["images"]] == [[], [], []]


@pytest.mark.slow
def test_on_the_picture_in_a_browser(browser, served, made):
    browser("Page.navigate", url=f"{served(made)}/lakes/demo/browse?box=dog&token=secret")
    browser.until("document.querySelectorAll('#grid rect').length === 3")
    at = "(n, s) => document.querySelector(`#i1 ${s}`).getBoundingClientRect()[n]"
    inside = f"(({at})('left', 'rect') - ({at})('left', 'img')) / ({at})('width', 'img')"
    assert abs(browser.js(inside) - 10 / 800) < 0.02
    down = f"(({at})('top', 'rect') - ({at})('top', 'img')) / ({at})('height', 'img')"
    assert abs(browser.js(down) - 30 / 600) < 0.02
