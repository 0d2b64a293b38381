"""The SQL page's API runs queries as the shell does, and no statement that changes the lake."""

from __future__ import annotations

import io
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from counterbalance.ui.answers import ARROW

LARGE = 2**62 + 1


@pytest.fixture
def lake(disk_lake, build):
    disk_lake.ingest({
        "images": build.images(image_id=[1, LARGE], key=["a", "b"]),
        "captions": build.captions(caption_id=[1, 2], image_id=[1, LARGE], text=["a man", "<script>alert(1)</script>"]),
        "labels": build.labels(
            label_id=[1, 2], image_id=[1, 1], attribute=["perceived_gender", "mood"], value=["male", "calm"]
        ),
    })  # fmt: skip
    return disk_lake


@pytest.fixture
def post(client, lake):
    app = client(lake)
    return lambda path, body, **more: app.post(f"/api/lakes/demo/{path}", json=body, **more)


def test_rows_come_as_json_with_whole_numbers_exact(post):
    body = post("query", {"sql": "SELECT image_id, text FROM captions ORDER BY ALL"}).json()
    assert body["columns"] == [{"name": "image_id", "type": "int64"}, {"name": "text", "type": "string"}]
    assert body["rows"] == [[1, "a man"], [str(LARGE), "<script>alert(1)</script>"]]
    assert body["notes"] == []
    assert body["seconds"] >= 0


def test_rows_come_as_arrow_where_that_is_asked_for(post):
    answer = post("query", {"sql": "SELECT image_id FROM images ORDER BY 1"}, headers={"Accept": ARROW})
    assert pa.ipc.open_stream(answer.content).read_all().to_pydict() == {"image_id": [1, LARGE]}


def test_rows_come_as_files(post):
    query = {"sql": "SELECT image_id FROM images ORDER BY 1"}
    answer = post("query", {**query, "format": "csv"})
    assert answer.text.split() == ["image_id", "1", str(LARGE)]
    assert answer.headers["content-disposition"] == 'attachment; filename="rows.csv"'
    parquet = post("query", {**query, "format": "parquet"}).content
    assert pq.read_table(io.BytesIO(parquet)).to_pydict() == {"image_id": [1, LARGE]}
    for other in ("../x", [], {}, 1, ""):
        assert post("query", {**query, "format": other}).json()["error"]["code"] == "E3753"


def test_values_are_given_apart(post):
    query = {"sql": "SELECT count(*) AS n FROM captions WHERE text = $t", "params": {"t": "a man"}}
    assert post("query", query).json()["rows"] == [[1]]


def test_long_results_are_cut_and_say_so(post):
    body = post("query", {"sql": "SELECT unnest(range(100)) AS n", "rows": 3}).json()
    assert body["rows"] == [[0], [1], [2]]
    assert body["notes"] == ["stopped after 3 rows"]


def test_numbers_are_numbers_where_that_is_exact(post):
    sql = "SELECT sum(n) AS a, CAST(7 AS HUGEINT) AS b, CAST('12345678901234567.89' AS DECIMAL(20, 2)) AS c, 0.5 AS d FROM (SELECT 9007199254740993 AS n)"
    assert post("query", {"sql": sql}).json()["rows"] == [["9007199254740993", 7, "12345678901234567.89", 0.5]]


def test_dates_of_far_away_years_are_texts(post):
    rows = post(
        "query", {"sql": "SELECT DATE '290309-01-01' AS d, TIMESTAMP '44000-01-01' AS t, DATE '2026-01-02' AS e"}
    ).json()
    assert all(value.startswith("<value out of range: ") for value in rows["rows"][0][:2])
    assert rows["rows"][0][2] == "2026-01-02"


@pytest.mark.parametrize("format_", [None, "csv"])
def test_too_large_answers_are_refused(post, monkeypatch, format_):
    monkeypatch.setattr("counterbalance.ui.sql._MOST_BYTES", 1 << 20)
    monkeypatch.setattr("counterbalance.ui.sql._MOST_FILE", 1 << 20)
    query = {"sql": "SELECT repeat('x', 10000) AS t FROM range(1000)", "rows": 1000}
    answer = post("query", query | ({} if format_ is None else {"format": format_}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "E5010")


def test_queries_end_with_the_server(client, lake):
    app = client(lake)
    app.app.stop()
    answer = app.post("/api/lakes/demo/query", json={"sql": "SELECT 1"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "E3757")


@pytest.mark.parametrize("purpose", ["x" * 501, "two\nlines of a purpose", "a purpose that is \u202e turned"])
def test_a_purpose_is_one_line(client, lake, purpose):
    browser = client(lake, token=None)
    browser.get("/?token=a-token-of-tests")
    assert browser.post("/api/purpose", json={"purpose": purpose}).json()["error"]["code"] == "E3740"


def test_each_reading_of_closed_labels_is_logged(client, lake):
    browser = client(lake, token=None)
    browser.get("/?token=a-token-of-tests")
    browser.post("/api/purpose", json={"purpose": "looking twice at the same"})
    for _ in range(2):
        assert browser.get("/lakes/demo/browse?sql=SELECT+image_id+FROM+labels+WHERE+value='male'").status_code == 200
    log = [row for row in lake.accesses(sensitive="tests of the log").to_pylist() if "'male'" in row["sql"]]
    assert len(log) >= 2


def test_errors_have_their_place(post):
    answer = post("query", {"sql": "SELECT\n  nothing FROM captions"})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], error["line"], error["column"]) == ("E3103", 2, 3)


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("ALTER TABLE captions ADD COLUMN n AS (length(text))", "E3220"),
        ("CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS SELECT image_id FROM images", "E3220"),
        ("DROP MATERIALIZED VIEW v", "E3220"),
        ("REFRESH", "E3220"),
        ("COPY captions TO 'x.csv'", "E3202"),
        ("CALL tag('x')", "E3202"),
        ("SELECT 1; SELECT 2", "E3201"),
        ("SELECT * FROM read_csv('/etc/passwd')", "E3202"),
        ("ATTACH 'x.db'", "E3202"),
        ("SET memory_limit = '1TB'", "E3202"),
    ],
)
def test_nothing_else_is_run(post, lake, sql, code):
    answer = post("query", {"sql": sql})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, code)
    assert len(lake.status()) == 0


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"sql": 1},
        {"sql": "SELECT 1", "rows": -1},
        {"sql": "SELECT 1", "rows": "x"},
        {"sql": "SELECT 1", "params": [1]},
    ],
)
def test_other_bodies_are_refused(post, body):
    answer = post("query", body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "E3754"


def test_labels_of_people_are_closed_until_a_purpose_is_stated(client, lake):
    browser = client(lake, token=None)
    browser.get("/?token=a-token-of-tests")
    query = {"sql": "SELECT value FROM labels ORDER BY 1"}
    body = browser.post("/api/lakes/demo/query", json=query).json()
    assert body["rows"] == [["calm"]]
    assert "male" not in str(body)
    assert browser.post("/api/purpose", json={"purpose": "x"}).json()["error"]["code"] == "E3304"
    assert browser.post("/api/purpose", json={"purpose": 1}).json()["error"]["code"] == "E3740"
    browser.post("/api/purpose", json={"purpose": "tests of the page"})
    assert browser.post("/api/lakes/demo/query", json=query).json()["rows"] == [["calm"], ["male"]]
    other = client(lake, token=None)
    assert other.get("/?token=a-token-of-tests").status_code == 303
    assert other.post("/api/lakes/demo/query", json=query).json()["rows"] == [["calm"]]
    browser.post("/api/purpose", json={"purpose": ""})
    assert browser.post("/api/lakes/demo/query", json=query).json()["rows"] == [["calm"]]
    log = lake.accesses(sensitive="tests of the log").to_pylist()
    assert "tests of the page" in {row["purpose"] for row in log}


def test_a_query_is_stopped_by_its_name(client, lake):
    app, answers = client(lake), []
    slow = {
        "sql": "SELECT count(*) FROM range(100000000) a, range(1000000) b WHERE a.range % 7 = b.range % 5",
        "id": "mine",
    }
    thread = threading.Thread(target=lambda: answers.append(app.post("/api/lakes/demo/query", json=slow)))
    thread.start()
    while thread.is_alive():
        app.post("/api/stop", json={"id": "mine"})
        thread.join(0.2)
    assert answers[0].status_code >= 400
    assert app.post("/api/stop", json={"id": "mine"}).json() == {"stopped": False}


def test_words_are_completed_as_in_the_shell(post):
    offers = post("complete", {"sql": "SELECT * FROM capt", "at": 18}).json()["offers"]
    assert {"text": "captions", "from": 14, "kind": "table"} in offers
    assert post("complete", {"sql": "SELECT 1", "at": "x"}).status_code == 400
