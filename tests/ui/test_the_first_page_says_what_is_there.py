"""The first page holds tables, what is declared and stale and what was read; findings and what is missing come after it."""

from __future__ import annotations

import pytest

HOSTILE = "<script>alert(1)</script>\u202e"


@pytest.fixture
def lake(empty_lake, build):
    n = 60
    texts = ["a man with a tie" if i % 2 else "a woman with an umbrella" for i in range(n)]
    empty_lake.ingest({
        "images": build.images(image_id=list(range(n)), key=[str(i) for i in range(n)], split=[HOSTILE] * n),
        "captions": build.captions(caption_id=list(range(n)), image_id=list(range(n)), text=texts),
        "detections": build.detections(
            detection_id=list(range(n)), image_id=list(range(n)), category=["tie" if i % 2 else "umbrella" for i in range(n)]
        ),
    })  # fmt: skip
    return empty_lake


def test_tables_and_their_rows(client, lake):
    page = client(lake).get("/lakes/demo").text
    assert "images</dt><dd>60</dd>" in page
    assert "No generated column, materialized view or index is declared in this lake." in page
    lake.sql("ALTER TABLE captions ADD COLUMN n AS (length(text))")
    page = client(lake).get("/lakes/demo").text
    assert "captions.n" in page
    assert "never computed" in page


def test_findings_and_what_is_missing_are_those_of_the_report_and_counted_once_a_version(
    client, lake, build, monkeypatch
):
    app = client(lake)
    found = app.get("/api/lakes/demo/findings").json()
    first = found["findings"][0]
    assert first["q"] < 0.001
    assert "umbrella" in str(found["findings"])
    assert any("counterbalance ingest" in command for missing in found["missing"] for command in missing["commands"])
    assert found["looked_at"] > len(found["findings"])
    rows = app.post("/api/lakes/demo/query", json={"sql": first["sql"]}).json()
    assert rows["rows"]
    for finding in found["findings"]:
        page = app.get(f"/lakes/demo{finding['page']}")
        assert page.status_code == 200
        assert finding["page"].startswith("/audits/")
        assert "/lakes/demo/browse?sql=" in page.text
    monkeypatch.setattr("counterbalance.ui.findings._found", lambda *_: {"findings": "counted again"})
    assert app.get("/api/lakes/demo/findings").json() == found
    lake.ingest({"images": build.images(image_id=[1000], key=["new"])})
    assert app.get("/api/lakes/demo/findings").json() == {"findings": "counted again"}


def test_several_lakes_are_chosen_by_name(client, lake, disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    app = client(lake, disk_lake)
    assert [row["name"] for row in app.get("/api/lakes").json()["lakes"]] == ["demo", "other"]
    assert '<option value="/lakes/other"' in app.get("/lakes/demo").text
    assert "images</dt><dd>1</dd>" in app.get("/lakes/other").text
    answer = app.get("/lakes/othr")
    assert answer.status_code == 404
    assert "E1060" in answer.text
    assert "no lake &#39;othr&#39;; did you mean &#39;other&#39;?" in answer.text


def test_browsers_find_its_icon(client, lake):
    page = client(lake).get("/lakes/demo").text
    icon = client(lake).get(page.partition('<link rel="icon" href="')[2].partition('"')[0])
    assert (icon.status_code, icon.headers["content-type"]) == (200, "image/svg+xml")


@pytest.mark.parametrize(
    "path", ["/nowhere", "/lakes", "/lakes/demo/nowhere", f"/{HOSTILE}", f"/static/{'x' * 5000}.js"]
)
def test_other_addresses_are_told_so(client, lake, path):
    answer = client(lake).get(path)
    assert answer.status_code == 404
    assert "E1061" in answer.text
    assert "<script>alert" not in answer.text


def test_a_fault_of_ours_tells_no_values(client, lake, monkeypatch):
    monkeypatch.setattr("counterbalance.report.overview.tables", lambda _: 1 / 0)
    app = client(lake)
    app._transport.raise_server_exceptions = False
    answer = app.get("/lakes/demo")
    assert answer.status_code == 500
    assert "ZeroDivisionError" in answer.text
    assert "division by zero" not in answer.text
