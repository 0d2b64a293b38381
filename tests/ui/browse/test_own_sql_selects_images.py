"""Somebody's own query selects images and their order; it only reads, runs in another process, and stays one query."""

from __future__ import annotations

import pytest

import counterbalance as cb

WHERE = "/api/lakes/demo/images"


@pytest.fixture(scope="module")
def lake(build, tmp_path_factory):
    made = cb.connect(tmp_path_factory.mktemp("own") / "own.lake")
    made.ingest({"images": build.images(image_id=[1, 2, 3, 4], split=["a", "a", "b", None])})
    return made


@pytest.fixture
def client(lake, serve):
    return serve(lake)


@pytest.mark.parametrize(
    ("sql", "more", "ids"),
    [
        ("SELECT image_id FROM images ORDER BY image_id DESC", {}, [4, 3, 2, 1]),
        ("SELECT image_id FROM images ORDER BY image_id DESC;", {"split": "a"}, [2, 1]),
        ("SELECT split, image_id FROM images WHERE split = 'b' -- mine", {}, [3]),
        ("WITH m AS (SELECT unnest([3, 9, 1, 3]) AS image_id) FROM m", {}, [3, 1]),
        ("SELECT image_id FROM images ORDER BY image_id DESC", {"sort": "random", "split": "b"}, [3]),
    ],
)
def test_order_and_images(client, sql, more, ids):
    answer = client.get(WHERE, params={"sql": sql, **more})
    assert [i["image_id"] for i in answer.json()["images"]] == ids, answer.text


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT 1 AS one", "E3746"),
        ("DROP TABLE images", "E3202"),
        ("SELECT image_id FROM images) AS a) AS b) AS c; DROP TABLE images --", None),
        ("SELECT image_id FROM images; SELECT 1", None),
        ("COPY images TO '/tmp/x.csv'", None),
        ("SELECT image_id FROM read_csv('/etc/passwd')", None),
        ("SELEC", "E3102"),
    ],
)
def test_what_is_refused(client, sql, code):
    answer = client.get(WHERE, params={"sql": sql})
    assert answer.status_code in {400, 403}, answer.text
    assert code in {None, answer.json()["error"]["code"]}, answer.text


@pytest.mark.parametrize(
    ("asked", "code", "status"),
    [
        ({"sql": "SELECT imag_id FROM images"}, "E3103", 400),
        ({"sql": "SELECT image_id FROM nowhere"}, "E1001", 404),
        ({"at": "yesterday"}, "E1", 404),
    ],
)
def test_the_form_stays_where_something_is_wrong(client, asked, code, status):
    answer = client.get("/lakes/demo/browse", params={"split": "a", **asked})
    assert answer.status_code == status
    assert f"<code>{code}" in answer.text
    assert next(iter(asked.values())) in answer.text.partition('id="filters"')[2]
    assert 'value="a" checked' in answer.text
    assert "No image is like that" not in answer.text.partition('<div class="results" hidden>')[0]
