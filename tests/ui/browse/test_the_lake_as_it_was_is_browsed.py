"""With a tag or a moment in the address the grid, its filters and an image are those of then; what is closed or gone stays so."""

from __future__ import annotations

import pytest

LIST = "/api/lakes/demo/images"


@pytest.fixture
def lake(pictured, picture, build):
    made = pictured(picture(1), picture(2), split=["val", "train"])
    made.ingest({
        "captions": build.captions(caption_id=[1, 2], image_id=[1, 2], text=["a dog", "a cat"]),
        "labels": build.labels(label_id=[1], image_id=[2], attribute=["perceived_gender"], value=["female"]),
    })  # fmt: skip
    made.tag("v1")
    made.ingest({
        "images": build.images(image_id=[3], split=["val"]),
        "captions": build.captions(caption_id=[1, 3], image_id=[1, 3], text=["a horse", "a dog"]),
    })  # fmt: skip
    return made


@pytest.mark.parametrize(
    ("address", "ids"),
    [
        ("", [1, 2, 3]),
        ("at=v1", [1, 2]),
        ("at=2999-01-01", [1, 2, 3]),
        ("words=dog", [3]),
        ("words=dog&at=v1", [1]),
        ("split=val&at=v1", [1]),
        ("at=v1&sql=SELECT image_id FROM images ORDER BY image_id DESC", [2, 1]),
    ],
)
def test_images_are_those_of_then(serve, lake, address, ids):
    answer = serve(lake).get(f"{LIST}?{address}").json()
    assert [i["image_id"] for i in answer["images"]] == ids
    assert answer["total"] == len(ids)


def test_addresses_lead_on_in_the_past(serve, lake):
    client = serve(lake)
    page = client.get("/lakes/demo/browse?at=v1").text
    assert "The lake as it was at v1" in page
    assert 'name="at" value="v1"' in page
    assert '<option value="v1"></option>' in page
    assert 'href="/lakes/demo/images/1?at=v1"' in page
    image = client.get("/lakes/demo/images/1?at=v1").text
    assert "a dog" in image
    assert "a horse" not in image
    assert 'href="/lakes/demo/images/2?at=v1"' in image
    assert client.get("/lakes/demo/images/3?at=v1").status_code == 404
    assert "as it was" not in client.get("/lakes/demo/browse").text


def test_a_moment_that_is_none_is_told(serve, lake):
    answer = serve(lake).get(f"{LIST}?at=v2")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "E1007")


def test_closed_labels_are_closed_in_the_past(serve, visit, lake):
    assert "female" not in serve(lake).get("/lakes/demo/images/2?at=v1").text
    browser = visit(lake)
    browser.post("/api/purpose", json={"purpose": "to test what a purpose opens"})
    for client in (serve(lake), browser):
        answer = client.get(f"{LIST}?at=v1&label=perceived_gender:female")
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "E3745")
    assert "female" in browser.get("/lakes/demo/images/2?at=v1").text


def test_columns_are_those_of_then(visit, lake):
    lake.sql("ALTER TABLE captions ADD COLUMN size AS (length(text))")
    lake.refresh()
    browser = visit(lake)
    for _ in range(2):
        assert browser.get(f"{LIST}?least.captions.size=6").json()["total"] == 1
        answer = browser.get(f"{LIST}?least.captions.size=6&at=v1")
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "E3744")
        browser.post("/api/purpose", json={"purpose": "to test what a purpose opens"})


def test_pictures_are_those_of_now(serve, lake):
    client = serve(lake)
    assert client.get(f"{LIST}/1/picture?at=v1").status_code == 200
    lake.delete(ids=[1], apply=True)
    assert client.get(f"{LIST}/1/picture?at=v1").status_code == 404
