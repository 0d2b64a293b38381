"""Perceived labels are on no page of a browser without a purpose, and no image is found by them, whatever the lake holds."""

from __future__ import annotations

import pytest

from counterbalance.engine.catalog import access


@pytest.fixture
def closed(lake, build):
    labels = {
        "attribute": ["perceived_gender", "perceived_gender"],
        "value": ["female", "male"],
        "annotator": ["zoe"] * 2,
    }
    lake.ingest({"labels": build.labels(label_id=[91, 92], image_id=[1, 2], **labels)})
    return lake


PAGES = ["browse", "browse?category=person", "images/1", "images/2"]


@pytest.mark.parametrize("path", PAGES)
def test_pages_without_a_purpose(closed, serve, path):
    answer = serve(closed).get(f"/lakes/demo/{path}")
    assert answer.status_code == 200
    assert "female" not in answer.text
    assert "zoe" not in answer.text
    assert 'value="perceived' not in answer.text


@pytest.mark.parametrize(
    "label", ["perceived_gender:female", "Perceived Gender:female", "gender:x", "perceived_gender"]
)
def test_no_image_is_found_by_them(closed, lake, serve, empty_lake, build, label):
    empty_lake.ingest({"images": build.images(image_id=[1])})
    answers = [serve(one).get("/api/lakes/demo/images", params={"label": label}) for one in (closed, empty_lake)]
    assert [a.status_code for a in answers] == [400, 400]
    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["error"]["code"] == "E3745"


def test_own_sql_does_not_find_them_either(closed, serve):
    text = "SELECT image_id FROM labels WHERE attribute = 'perceived_gender'"
    answer = serve(closed).get("/api/lakes/demo/images", params={"sql": text})
    assert not answer.json().get("images")


def test_with_a_purpose_an_image_shows_its_own_and_the_grid_none(closed, visit):
    client = visit(closed)
    assert client.post("/api/purpose", json={"purpose": "to test"}).status_code == 200
    assert "female" in client.get("/lakes/demo/images/1").text
    assert 'value="perceived' not in client.get("/lakes/demo/browse").text
    assert client.get("/api/lakes/demo/images?label=perceived_gender:female").status_code == 400
    client.post("/api/purpose", json={"purpose": ""})
    assert "female" not in client.get("/lakes/demo/images/1").text


def test_the_access_log_has_what_shows_them_and_not_every_page(closed, visit):
    """A page that shows nothing closed writes no line, so that what was read can be found among them."""
    client = visit(closed)
    assert client.post("/api/purpose", json={"purpose": "to test"}).status_code == 200
    before = len(access.read(closed.location))
    for path in ("browse", "browse?category=person", "audits", "compare"):
        assert client.get(f"/lakes/demo/{path}").status_code == 200
    assert client.get("/api/lakes/demo/images?category=person").status_code == 200
    assert len(access.read(closed.location)) == before
    assert "female" in client.get("/lakes/demo/images/1").text
    lines = access.read(closed.location).slice(before)
    assert {"labels" in text for text in lines["sql"].to_pylist()} == {True}


def test_hints_name_what_a_browser_has_and_data_stay_as_they_are(closed, serve, build):
    """An option of the command line is of no help here, and in a caption it is a text like others."""
    closed.ingest({"captions": build.captions(caption_id=[77], image_id=[1], text=['say --sensitive "why"'])})
    pages = serve(closed)
    refused = pages.get(
        "/lakes/demo/browse",
        params={
            "sql": "SELECT image_id FROM demographics(groups := person_units('perceived_gender', min_side := 3.5))"
        },
    )
    assert refused.status_code == 403
    assert "the button at the top" in refused.text
    assert "--sensitive" not in refused.text
    assert "--sensitive &#34;why&#34;" in pages.get("/lakes/demo/images/1").text
