"""The state page shows what is declared and made of what, what failed and was refused, and what was done; it refreshes if allowed."""

from __future__ import annotations

import pytest

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def lake(empty_lake, build, row_function):
    row_function("x_picky", lambda text: 1 // 0 if "bad" in text else len(text))
    empty_lake.ingest({
        "images": build.images(image_id=[1, 2], key=["a", HOSTILE]),
        "captions": build.captions(caption_id=[1, 2, 3], image_id=[1, 2, 9], text=["good", "bad", "of no image"]),
    })  # fmt: skip
    empty_lake.sql("ALTER TABLE captions ADD COLUMN size AS (x_picky(text))")
    empty_lake.sql(
        "CREATE MATERIALIZED VIEW sizes WITH (key = 'image_id') AS SELECT image_id, max(size) AS m FROM captions GROUP BY 1"
    )
    return empty_lake


def refreshed(app, **body):
    answer = app.post("/api/lakes/demo/refresh", json=body)
    while answer.status_code == 200 and answer.json()["runs"]:
        answer = app.get("/api/lakes/demo/refresh")
    return answer


def test_what_is_made_of_what_is_drawn(client, lake):
    page = client(lake).get("/lakes/demo/state").text
    assert page.count('class="arrow"') == 3
    assert '<g class="node column stale"><title>captions.size: column, stale</title>' in page
    version = lake.sql("SELECT version FROM meta.tables WHERE name = 'captions'").fetchall()[0][0]
    assert f'<g class="node table fresh"><title>captions: table, version {version}, fresh</title>' in page
    assert f">table, version {version}</text>" in page


def test_which_recipe_declared_it_is_told(client, lake):
    lake.recipe("prepare", until="sentiment", refresh={"executor": "inline"})
    made = dict(lake.sql("SELECT DISTINCT target, recipe FROM meta.lineage").fetchall())
    own = {target for target, recipe in made.items() if recipe == "prepare"}
    assert own == {"prepared_words", "prepared_crime_words", "prepared_countries", "prepared_gender", "captions.vader"}
    assert {made["captions.size"], made["sizes"]} == {None}
    page = client(lake).get("/lakes/demo/state").text
    assert page.count("<td>prepare</td>") == len(own)
    assert "<title>prepared_gender: view of prepare, version " in page
    assert "<title>captions.vader: column of prepare, fresh</title>" in page


def test_it_only_reads_unless_it_is_allowed(client, lake):
    answer = refreshed(client(lake))
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "E3221")
    assert "Refresh what is stale" not in client(lake).get("/lakes/demo/state").text
    assert {row["state"] for row in lake.status().to_pylist()} == {"stale"}


def test_a_refresh_is_started_watched_and_reported(client, lake):
    app = client(lake, allow_refresh=True)
    assert refreshed(app, targets="captions.size").json()["error"]["code"] == "E3755"
    report = refreshed(app, targets=[]).json()
    assert report["report"]["mode"] == "rebuild"
    assert [stage["target"] for stage in report["report"]["stages"]] == ["captions.size", "sizes"]
    page = app.get("/lakes/demo/state").text
    assert "ZeroDivisionError" in page
    assert '<a href="/lakes/demo/images/2">' in page
    assert app.get("/api/lakes/demo/refresh").json() == report
    assert refreshed(app, targets=["nothing"]).json()["error"]["code"] == "E1034"


def test_what_was_refused_and_done_is_listed(client, lake):
    page = client(lake).get("/lakes/demo/state").text
    assert "unknown_image" in page
    assert "<td>declare</td><td>sizes</td>" in page


def test_the_log_of_reads_is_shown_for_a_purpose(client, lake, build):
    lake.ingest({"labels": build.labels(label_id=[1], image_id=[1], attribute=["perceived_gender"], value=["male"])})
    lake.sql("SELECT count(*) FROM labels", sensitive="an earlier reading of labels").fetchall()
    browser = client(lake, token=None)
    browser.get("/?token=a-token-of-tests")
    assert "an earlier reading" not in browser.get("/lakes/demo/state").text
    browser.post("/api/purpose", json={"purpose": HOSTILE + " looking at the log"})
    page = browser.get("/lakes/demo/state").text
    assert "an earlier reading of labels" in page
    assert HOSTILE not in page


def test_an_empty_lake_has_an_empty_state(client, empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    page = client(empty_lake).get("/lakes/demo/state").text
    assert "Nothing is declared in this lake" in page
    assert "<svg" not in page
