"""``history --access`` lists who read sensitive labels and why, and fails when the log was changed."""

from __future__ import annotations

import json

import lance
import pytest

from counterbalance.__main__ import main
from counterbalance.engine.catalog import access


@pytest.fixture
def read(disk_lake, build):
    """A lake of which one session read labels twice: four lines, a begin and an end each."""
    disk_lake.ingest(
        {
            "images": build.images(image_id=[1]),
            "labels": build.labels(label_id=[1], image_id=[1], attribute=["race"], value=["secret"]),
        }
    )
    with disk_lake.session(sensitive="audit of label quality") as session:
        for _ in range(2):
            session.sql("SELECT value FROM labels").fetchall()
    return disk_lake


def listed(lake, capsys):
    code = main(["history", lake.uri, "--access", "--sensitive", "yearly review", "--format", "json"])
    written = capsys.readouterr()
    return code, json.loads(written.out), written.err


def test_it_is_listed(read, capsys):
    code, lines, said = listed(read, capsys)
    assert (code, said) == (0, "")
    assert [(n["line"], n["rows"], n["whole"]) for n in lines] == [
        (0, None, True),
        (1, 1, True),
        (2, None, True),
        (3, 1, True),
    ]
    assert {(n["purpose"], n["sql"]) for n in lines} == {("audit of label quality", "SELECT value FROM labels")}
    assert "secret" not in json.dumps(lines)


@pytest.mark.parametrize("purpose", [(), ("--sensitive", "x")])
def test_it_needs_a_purpose(read, capsys, purpose):
    assert main(["history", read.uri, "--access", *purpose]) == 1
    written = capsys.readouterr()
    assert (written.out, "state a purpose" in written.err or "--sensitive" in written.err) == ("", True)


def test_reading_it_is_a_line_of_it(read, capsys):
    listed(read, capsys)
    _, lines, _ = listed(read, capsys)
    assert [(n["purpose"], n["sql"], n["columns"], n["rows"]) for n in lines[4:]] == [
        ("yearly review", "the access log", ["meta.access"], 4)
    ]


def test_a_changed_line_shows(read, capsys):
    lance.dataset(read.location.table(access.STORED)).update({"purpose": "'nothing'"}, where="rows = 1")
    code, lines, said = listed(read, capsys)
    assert code == 1
    assert lines[0]["whole"]
    assert not any(n["whole"] for n in lines if n["purpose"] == "nothing")
    assert "E3312" in said


def test_missing_lines_show(read, capsys):
    lance.dataset(read.location.table(access.STORED)).delete("true")
    code, lines, said = listed(read, capsys)
    assert (code, lines) == (1, [])
    assert "line 0, 1, 2, 3" in said


def test_a_lake_whose_labels_nobody_read(lake):
    assert lake.accesses(sensitive="yearly review").num_rows == 0
