"""A view with image_id, x and y is a map: its points by number, classes of colours, and what is drawn around in Browse."""

from __future__ import annotations

import json

import numpy as np
import pytest

API = "/api/lakes/demo/map"
N = 400


@pytest.fixture
def lake(empty_lake, build):
    """Images on a grid of twenty by twenty, every fifth of them without a mood."""
    empty_lake.ingest({
        "images": build.images(image_id=list(range(N)), width=[100 + i for i in range(N)], split=["train"] * N),
        "captions": build.captions(caption_id=[1], image_id=[1], text=["a man"]),
        "labels": build.labels(label_id=[1], image_id=[1], attribute=["perceived_gender"], value=["male"]),
    })  # fmt: skip
    empty_lake.sql(
        "CREATE MATERIALIZED VIEW places WITH (key = 'image_id') AS SELECT image_id, image_id % 20 AS x, image_id // 20 AS y, "
        "CASE WHEN image_id % 5 > 0 THEN concat('mood ', image_id % 12) END AS mood FROM images"
    )
    empty_lake.refresh("places")
    return empty_lake


def read(answer):
    """Return head, ids, places and classes."""
    assert answer.status_code == 200, answer.text
    data = answer.content
    length = int.from_bytes(data[:4], "little")
    head, at = json.loads(data[4 : 4 + length]), 4 + length
    n = head["count"]
    ids = np.frombuffer(data, "<i8", n, at)
    places = np.frombuffer(data, "<f4", 2 * n, at + 8 * n).reshape(-1, 2)
    return head, ids, places, np.frombuffer(data, np.uint8, n, at + 16 * n)


def test_points_are_those_of_the_view(client, lake):
    head, ids, places, _ = read(client(lake).get(API, params={"view": "places"}))
    assert ids.tolist() == list(range(N))
    assert places.tolist() == [[i % 20, i // 20] for i in range(N)]
    assert head["classes"] == [{"text": "images", "count": N, "rest": True}]
    assert head["notes"] == []


def test_classes_are_the_most_frequent_texts(client, lake):
    head, ids, _, classes = read(client(lake).get(API, params={"view": "places", "colour": "mood"}))
    own = [c["text"] for c in head["classes"]]
    assert len(own) == 9
    assert head["classes"][8]["rest"]
    assert sum(c["count"] for c in head["classes"]) == N
    for i, kind in zip(ids, classes, strict=True):
        mood = f"mood {i % 12}" if i % 5 else None
        assert own[kind] == mood if mood in own else kind == 8


def test_numbers_are_parts_of_equal_size(client, lake):
    head, _, _, classes = read(client(lake).get(API, params={"view": "places", "colour": "images.width"}))
    assert head["ordered"]
    assert [c["count"] for c in head["classes"]] == [50] * 8
    assert classes.tolist() == sorted(classes.tolist())


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("column", "classes"),
    [
        ("image_id % 3", {"0": 134, "1": 133, "2": 133}),
        (
            "CASE image_id % 4 WHEN 0 THEN 'inf'::DOUBLE WHEN 1 THEN 'nan'::DOUBLE WHEN 2 THEN 5 END",
            {"5": 100, "": 300},
        ),
        ("image_id % 2 = 0", {"true": 200, "false": 200}),
        ("if(image_id = 1, repeat('long ', 20000), 'a')", {"a": 399, "long long ": 1}),
        ("CAST(image_id % 2 AS DECIMAL(9, 2)) / 2", {"0": 200, "0.5": 200}),
    ],
)
def test_any_column_has_classes(client, lake, column, classes):
    lake.sql(
        "CREATE MATERIALIZED VIEW more WITH (key = 'image_id') AS "
        f"SELECT image_id, CASE image_id WHEN 7 THEN 1e300 ELSE 1e14 END AS x, 2 AS y, {column} AS kind FROM images"
    )
    lake.refresh("more")
    head, ids, _, _ = read(client(lake).get(API, params={"view": "more", "colour": "kind"}))
    assert 7 not in ids, "no place that can be drawn"
    told = {"" if c["rest"] else c["text"][:10]: c["count"] for c in head["classes"] if c["count"]}
    assert list(told) == list(classes)
    assert sum(told.values()) == N - 1
    assert all(n - told[text] in {0, 1} for text, n in classes.items())


def test_rows_by_text_are_no_map(client, lake):
    lake.sql(
        "CREATE MATERIALIZED VIEW odd WITH (key = 'image_id') AS SELECT concat('i', image_id) AS image_id, 1 AS x, 2 AS y FROM images"
    )
    lake.refresh("odd")
    assert client(lake).get(API, params={"view": "odd"}).json()["error"]["code"] == "E1063"


@pytest.mark.parametrize(
    ("asked", "code"),
    [({"view": "plces"}, "E1063"), ({"view": "detections"}, "E1063"), ({"view": "places", "colour": "mod"}, "E3761")],
)
def test_what_is_not_there_is_told(client, lake, asked, code):
    answer = client(lake).get(API, params=asked)
    assert answer.json()["error"]["code"] == code


def test_a_view_of_perceived_labels_needs_a_purpose(client, lake):
    lake.sql(
        "CREATE MATERIALIZED VIEW seen WITH (key = 'image_id') AS SELECT image_id, 1 AS x, 2 AS y, value FROM labels "
        "WHERE attribute = 'perceived_gender'",
        sensitive="a test",
    )
    lake.refresh("seen")
    answer = client(lake).get(API, params={"view": "seen"})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "E3308"


def test_a_lake_without_one_says_how_to_make_it(client, empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1])})
    assert "embed_image(image)" in client(empty_lake).get("/lakes/demo/map").text
    page = client(empty_lake).get("/lakes/demo/map", params={"view": "places"})
    assert "No view places" in page.text


@pytest.mark.slow
def test_what_is_drawn_around_opens_in_browse(browser, served, lake):
    address = served(lake)
    browser("Emulation.setDeviceMetricsOverride", width=1000, height=1200, deviceScaleFactor=1, mobile=False)
    browser("Page.navigate", url=f"{address}/?token=secret")
    browser.until("location.pathname === '/lakes/demo' && document.readyState === 'complete'")
    browser("Page.navigate", url=f"{address}/lakes/demo/map?colour=mood")
    browser.until("/^[0-9]|cannot|E[0-9]/.test(document.getElementById('counted')?.textContent)")
    assert browser.js("counted.textContent") == f"{N} images"
    browser.click("lasso")
    left, top, wide, tall = browser.js(
        "{ const r = document.getElementById('map').getBoundingClientRect(); [r.left, r.top, r.width, r.height] }"
    )
    around = [(0.4, 0.4), (0.6, 0.4), (0.6, 0.6), (0.5, 0.65), (0.4, 0.6)]
    for kind, (x, y) in [
        ("mousePressed", around[0]),
        *(("mouseMoved", p) for p in around),
        ("mouseReleased", around[-1]),
    ]:
        browser(
            "Input.dispatchMouseEvent",
            type=kind,
            x=left + x * wide,
            y=top + y * tall,
            button="left",
            buttons=1,
            clickCount=1,
        )
    browser.until("/selected/.test(counted.textContent)")
    selected = int(browser.js("counted.textContent").split()[0])
    assert 10 < selected < 100
    drawn = browser.js("selected.href")
    browser("Page.reload")
    browser.until(
        "document.readyState === 'complete' && /selected/.test(document.getElementById('counted')?.textContent)"
    )
    assert (int(browser.js("counted.textContent").split()[0]), browser.js("selected.href")) == (selected, drawn)
    for name, bound in zip(("left", "right", "low", "high"), (0, 19, 0, 4), strict=True):
        browser.js(f"document.getElementById('bounds').elements.{name}.value = '{bound}'")
    browser.js("document.getElementById('bounds').requestSubmit()")
    assert browser.js("counted.textContent").startswith("100 of")
    browser.js("window.byNumbers = selected.href")
    assert browser.js("new URL(byNumbers).searchParams.get('sql')").endswith(
        "x BETWEEN 0e0 AND 19e0 AND y BETWEEN 0e0 AND 4e0"
    )
    browser.js(f"location.assign({drawn!r})")
    browser.until("location.pathname === '/lakes/demo/browse' && document.readyState === 'complete'")
    assert browser.js("counted.textContent").startswith(f"{selected} images")
