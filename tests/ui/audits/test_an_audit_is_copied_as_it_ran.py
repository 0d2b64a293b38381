"""What is copied from the page of an audit gives the same rows elsewhere."""

from __future__ import annotations

import shlex

import pytest

from counterbalance.__main__ import main
from counterbalance.engine.sql import queries
from counterbalance.report import pins
from counterbalance.ui import audits

GIVEN = {"groups": "image_labels('scene')", "min_count": "2", "population": "labelled", "smoothing": "0.5"}


@pytest.fixture
def copied(counted_lake):
    return audits.copies(counted_lake.uri, queries.audit("cooccurrence"), GIVEN, None)


@pytest.fixture
def rows(counted_lake):
    return counted_lake.audit("cooccurrence", **GIVEN).to_arrow()


def test_as_sql(counted_lake, copied, rows):
    assert counted_lake.sql(copied["SQL"]).to_arrow().equals(rows)
    assert "min_count := 2" in copied["SQL"]


def test_as_python(copied, rows):
    names: dict[str, object] = {}
    exec(copied["Python"], names)
    assert names["rows"].equals(rows)


def test_as_a_command(copied, rows, capsys):
    words = shlex.split(copied["CLI"])
    assert words[0] == "counterbalance"
    assert main([*words[1:], "--format", "jsonl"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == rows.num_rows


def test_as_a_pin_of_a_report(counted_lake, rows):
    pin = audits.pinned(queries.audit("cooccurrence"), GIVEN)
    assert [query.name for _, query in pins.audits([pin])] == ["cooccurrence"]
    assert counted_lake.sql(f"SELECT * FROM {pin}").to_arrow().equals(rows)


def test_a_purpose_goes_with_it(counted_lake):
    found = audits.copies("memory://x", queries.audit("demographics"), {}, "to see it's right")
    assert found["Python"].endswith("""'demographics', sensitive="to see it's right").to_arrow()""")
    assert shlex.split(found["CLI"])[-2:] == ["--sensitive", "to see it's right"]


def test_a_page_has_all_of_them(ask):
    page = ask.get("/lakes/demo/audits/cooccurrence", params=GIVEN).text
    for name in ("SQL", "Python", "CLI"):
        assert f'data-copy="copy-{name}"' in page
    assert 'data-call="cooccurrence(groups := image_labels(&#39;scene&#39;), min_count := 2' in page
    assert "SELECT * FROM cooccurrence(groups := image_labels(&#39;scene&#39;), min_count := 2" in page
