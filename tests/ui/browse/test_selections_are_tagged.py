"""A selection gets a tag, a label by --annotator; none of people, none for a purpose, and nothing is written without a name."""

from __future__ import annotations

import pytest

TAGS = "/api/lakes/demo/tags"
LABELS = "SELECT image_id, attribute, value, annotator FROM labels WHERE attribute LIKE 'tag/%' ORDER BY ALL"


@pytest.fixture
def lake(empty_lake, build):
    """Four images, two of them with dogs, and a closed label."""
    texts = ["a dog", "a cat", "two dogs and a dog", "a man"]
    empty_lake.ingest({
        "images": build.images(image_id=[0, 1, 2, 3]),
        "captions": build.captions(caption_id=[0, 1, 2, 3], image_id=[0, 1, 2, 3], text=texts),
        "labels": build.labels(label_id=[1], image_id=[3], attribute=["perceived_gender"], value=["male"]),
    })  # fmt: skip
    return empty_lake


@pytest.mark.parametrize("address", ["words=dog", "sql=SELECT image_id FROM captions WHERE text LIKE '%25dog%25'"])
def test_a_selection_is_tagged(client, lake, address):
    app = client(lake, annotator="ann")
    answer = app.post(f"{TAGS}?{address}", json={"tag": "with dog"})
    assert answer.json() == {"tag": "with dog", "value": "yes", "annotator": "ann", "images": 2}
    assert lake.sql(LABELS).fetchall() == [(i, "tag/with dog", "yes", "ann") for i in (0, 2)]
    assert [i["image_id"] for i in app.get("/api/lakes/demo/images?label=tag/with dog:yes").json()["images"]] == [0, 2]


def test_it_is_taken_back_and_beside_others(client, lake):
    app = client(lake, annotator="ann")
    app.post(f"{TAGS}?words=cat", json={"tag": "a"})
    app.post(f"{TAGS}?words=cat", json={"tag": "b"})
    app.post(f"{TAGS}?words=cat", json={"tag": "a", "value": "no"})
    assert lake.sql(LABELS).fetchall() == [(1, "tag/a", "no", "ann"), (1, "tag/b", "yes", "ann")]


def test_nothing_is_written_without_a_name(client, lake):
    answer = client(lake).post(f"{TAGS}?words=dog", json={"tag": "a"})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "E3225"
    assert "Tag these images" not in client(lake).get("/lakes/demo/browse").text
    assert lake.sql(LABELS).fetchall() == []


@pytest.mark.parametrize(
    "body",
    [{}, [], {"tag": ""}, {"tag": 1}, {"tag": " a"}, {"tag": "a\nb"}, {"tag": "a" * 61}, {"tag": "a:b"},
     {"tag": "a", "value": "maybe"}, {"tag": "a", "value": []}, {"tag": "a", "value": {}}, {"tag": "woman"}, {"tag": "Perceived gender"},
     {"tag": "black woman"}, {"tag": "Old People"}, {"tag": "muslim"}, {"tag": "young-man"}],
)  # fmt: skip
def test_what_is_no_tag_is_refused(client, lake, body):
    answer = client(lake, annotator="ann").post(TAGS, json=body)
    assert answer.json()["error"]["code"] == "E3776"
    assert lake.sql(LABELS).fetchall() == []


def test_too_many_are_refused(client, lake, monkeypatch):
    monkeypatch.setattr("counterbalance.ui.tags.MOST", 3)
    assert client(lake, annotator="ann").post(TAGS, json={"tag": "a"}).json()["error"]["code"] == "E3777"


def test_no_tag_tells_what_was_selected_for_a_purpose(client, lake):
    browser = client(lake, token=None, annotator="ann")
    browser.get("/?token=a-token-of-tests", follow_redirects=True)
    browser.post("/api/purpose", json={"purpose": "a test"})
    sql = "SELECT image_id FROM labels WHERE attribute = 'perceived_gender' AND value = 'male'"
    answer = browser.post(TAGS, params={"sql": sql}, json={"tag": "a"})
    assert answer.json()["error"]["code"] == "E3226"
    browser.post("/api/purpose", json={"purpose": ""})
    assert browser.post(TAGS, params={"sql": sql}, json={"tag": "a"}).json()["images"] == 0
    assert lake.sql(LABELS).fetchall() == []
