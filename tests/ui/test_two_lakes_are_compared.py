"""The page compares two lakes, or two versions of one, as ``cbal compare`` does, and lists the pictures that came and went."""

from __future__ import annotations

import json

import pytest

import counterbalance as cb
from counterbalance.__main__ import main

HOSTILE = "<script>alert(1)</script>"


def rows(build, ids, text):
    return {
        "images": build.images(image_id=ids, key=[f"{HOSTILE}{i}" for i in ids]),
        "captions": build.captions(caption_id=ids, image_id=ids, text=[text(i) for i in ids]),
    }


@pytest.fixture
def lake(disk_lake, build):
    disk_lake.ingest(rows(build, list(range(40)), lambda i: "a man" if i % 2 else "a woman"))
    disk_lake.tag("before")
    disk_lake.ingest(rows(build, list(range(100, 140)), lambda _: "a man"))
    return disk_lake


def test_two_versions_of_a_lake(client, lake, capsys):
    page = client(lake).get("/lakes/demo/compare?with=demo&at=before").text
    assert "40 pictures came" in page
    assert "0 pictures went" in page
    assert HOSTILE not in page
    assert '<a href="/lakes/demo/images/100">' in page
    back = client(lake).get("/lakes/demo/compare?with=demo&with_at=before").text
    assert "40 pictures went" in back
    assert '<a href="/lakes/demo/images/100"><img' in back
    assert HOSTILE not in back
    assert main(["compare", f"{lake.uri}@before", lake.uri, "--json"]) == 0
    first = next(r for r in json.loads(capsys.readouterr().out) if r["measure"] == "demographics")
    assert f"<td>{first['count_b']}</td>" in page
    assert first["difference"] == pytest.approx(first["value_a"] - first["value_b"])
    assert "difference: the first less the second" in page
    assert "Shares of labels" in page
    assert 'aria-label="All rows"' in page


def test_two_lakes(client, lake, empty_lake, build):
    """Ids are each lake's own: by their keys, five pictures of one are in the other, too."""
    told = rows(build, list(range(1000, 1040)), lambda _: "a woman")
    keys = [f"{HOSTILE}{i - 1000}" if i < 1005 else f"of {i}" for i in range(1000, 1040)]
    empty_lake.ingest(told | {"images": build.images(image_id=list(range(1000, 1040)), key=keys)})
    page = client(lake, empty_lake).get("/lakes/demo/compare?with=other").text
    assert "one picture where they have the same key." in page
    assert "35 pictures of other only" in page
    assert "75 pictures of demo only" in page
    assert '<a href="/lakes/other/images/1005">' in page
    assert '<a href="/lakes/demo/images/5">' in page
    assert "pictures came" not in page
    assert HOSTILE not in page


def test_pictures_of_two_lakes_are_told_apart_by_their_bytes(client, empty_lake, build, tmp_path):
    empty_lake.ingest({"images": build.images(image_id=[1, 2], key=["z", "c"], sha256=["1" * 64, "4" * 64])})
    third = cb.connect(tmp_path / "third.lake")
    third.ingest({"images": build.images(image_id=[1, 2, 3], key=["a", "b", "c"], sha256=[c * 64 for c in "123"])})
    page = client(empty_lake, third).get("/lakes/demo/compare?with=other").text
    assert "one picture where they have the same bytes." in page
    assert "1 picture of demo only" in page
    assert "2 pictures of other only" in page


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("with=demo&at=never", "E1007"),
        ("with=demo&with_at=never", "E1007"),
        ("with=demo&groups=nothing_there", "E1001"),
        ("with=demo&groups=(SELECT image_id, 'a' AS label FROM images)", "E3778"),
        ("with=demo&groups=caption_gender)%20UNION%20SELECT%201%3B%20DROP%20TABLE%20images", "E3"),
    ],
)
def test_what_cannot_be_compared_is_told_above_the_form(client, lake, query, code):
    answer = client(lake).get(f"/lakes/demo/compare?{query}")
    assert answer.status_code in {400, 403, 404}
    assert f"<code>{code}" in answer.text
    assert "<form" in answer.text


@pytest.mark.parametrize("side", ["at", "with_at"])
def test_a_version_is_no_path(client, lake, build, tmp_path, side):
    """What stands after the at sign of a lake's address on a command line can lead elsewhere; here it is a tag or a moment."""
    other = cb.connect(tmp_path / "private.lake")
    other.ingest({"images": build.images(image_id=[777001], key=["a private key"])})
    for path in ("/../private.lake", f"/../../../../../..{other.uri}", "x/../../private.lake", other.uri):
        answer = client(lake).get("/lakes/demo/compare", params={"with": "demo", side: path})
        assert answer.status_code == 404
        assert "E1007" in answer.text
        assert "private key" not in answer.text


def test_a_lake_that_is_not_served(client, lake):
    answer = client(lake).get("/lakes/demo/compare?with=/etc")
    assert answer.status_code == 404
    assert "E1062" in answer.text


def test_without_a_second_lake_nothing_is_counted(client, lake):
    page = client(lake).get("/lakes/demo/compare").text
    assert '<option value="before"></option>' in page
    assert "All rows" not in page
