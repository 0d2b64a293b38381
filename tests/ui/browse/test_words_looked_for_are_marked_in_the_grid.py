"""A tile of the grid shows a caption with the words that are looked for, or that an audit's row is about, and marks them."""

from __future__ import annotations

import pytest

LONG = "a picture from the archive of the town that shows, beside much else, a dog <b>and</b> a hotdog"
TEXTS = [(1, "two cats"), (1, LONG), (2, "a dog"), (3, "two men loot shops"), (4, None)]


@pytest.fixture
def client(serve, build, empty_lake):
    ids = [*range(1, 6)]
    captions = build.captions(
        caption_id=[*range(len(TEXTS))], image_id=[i for i, _ in TEXTS], text=[text for _, text in TEXTS]
    )
    empty_lake.ingest({"images": build.images(image_id=ids), "captions": captions})
    return serve(empty_lake)


def tiles(client, asked):
    return {i["image_id"]: i for i in client.get(f"/api/lakes/demo/images?{asked}").json()["images"]}


def words(tile):
    return [part["text"] for part in tile["parts"] if part["marked"]]


def test_the_first_caption_with_a_word_is_shown_from_shortly_before_it(client):
    shown = tiles(client, "words=dog")
    assert shown[1]["caption"] == "… shows, beside much else, a dog <b>and</b> a hotdog"
    assert [words(tile) for tile in shown.values()] == [["dog"], ["dog"]]


def test_words_of_a_row_are_marked_as_their_lemmas_stand(client):
    shown = tiles(client, "mark=looting shop&mark=cat")
    assert {i: words(tile) for i, tile in shown.items()} == {1: ["cats"], 2: [], 3: ["loot", "shops"], 4: [], 5: []}
    assert [tile["caption"] for tile in shown.values()] == ["two cats", "a dog", "two men loot shops", "", ""]


def test_without_words_the_first_caption_is_shown(client):
    assert [tile["parts"] for tile in tiles(client, "").values()][:2] == [
        [{"text": "two cats", "marked": False}],
        [{"text": "a dog", "marked": False}],
    ]


def test_words_that_name_people_are_marked_where_they_do(serve, build, empty_lake):
    said = ["A man in a man-made lake", "a woman and a boy"]
    captions = build.captions(caption_id=[1, 2], image_id=[1, 2], text=said)
    empty_lake.ingest({"images": build.images(image_id=[1, 2]), "captions": captions})
    found = serve(empty_lake)
    for asked, marked in {"male": [["man"], ["boy"]], "female": [[], ["woman"]]}.items():
        assert [words(tile) for tile in tiles(found, f"gendered={asked}").values()] == marked
    longer = tiles(found, "mark=woman and a boy&gendered=female")[2]
    assert words(longer) == ["woman and a boy"]
    both = found.get("/lakes/demo/images/2?gendered=female&gendered=male").text
    assert "<bdi>a <mark>woman</mark> and a <mark>boy</mark></bdi>" in both


def test_the_page_marks_them_and_captions_stay_text(client):
    page = client.get("/lakes/demo/browse?words=dog").text
    assert "<bdi>… shows, beside much else, a <mark>dog</mark> &lt;b&gt;and&lt;/b&gt; a hotdog</bdi>" in page
    assert "<bdi>image 5</bdi>" in client.get("/lakes/demo/browse").text
