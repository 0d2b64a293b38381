"""A view declared ``WITH (key = …, errors = 'reason')`` tells what was skipped, and ``meta.errors`` has its rows."""

from __future__ import annotations

import json

import pytest

from counterbalance.__main__ import main
from counterbalance.engine.errors import NotFoundError

VIEW = """
CREATE MATERIALIZED VIEW IF NOT EXISTS left_out WITH (key = 'caption_id', errors = 'Reason') AS
SELECT caption_id, image_id, CASE WHEN text IS NULL THEN 'no text' WHEN length(text) > 20 THEN 'long' END AS reason
FROM captions
"""


def errors(lake, columns="table_name, column_name, key, code, message"):
    return lake.sql(f"SELECT {columns} FROM meta.errors ORDER BY key").fetchall()


def expected(lake):
    texts = lake.sql("SELECT caption_id, text FROM captions ORDER BY caption_id").fetchall()
    reasons = {str(key): "no text" if text is None else "long" for key, text in texts if text is None or len(text) > 20}
    return [("left_out", None, key, "skipped", why) for key, why in sorted(reasons.items())]


def test_rows_with_a_reason_are_errors_and_others_are_not(lake, build):
    wanted = expected(lake)
    assert {why for *_, why in wanted} == {"no text", "long"}
    lake.sql(VIEW)
    assert errors(lake) == [], "it was not computed yet"
    assert lake.refresh().mode == "rebuild"
    assert errors(lake) == wanted
    ids = errors(lake, "error_id, run_id")
    assert len({i for i, _ in ids}) == len(wanted)
    assert {(r,) for _, r in ids} == set(
        lake.sql("SELECT run_id FROM meta.runs WHERE target = 'left_out' AND mode = 'rebuild'").fetchall()
    )
    # nothing failed, and nothing is to be done again
    assert lake.refresh().mode == "no_op"
    assert lake.refresh(retry_errors=True).mode == "no_op"
    assert {r["state"] for r in lake.status().to_pylist()} == {"fresh"}
    assert errors(lake, "error_id, run_id") == ids
    # what gets a text is skipped no more
    lake.ingest({"captions": build.captions(caption_id=[int(wanted[0][2])], image_id=[1], text=["a dog"])})
    lake.refresh()
    assert errors(lake) == wanted[1:]
    assert len(errors(lake)) == len(wanted) - 1
    lake.sql("DROP MATERIALIZED VIEW left_out")
    assert errors(lake) == []


def test_they_stand_beside_functions_that_failed(lake, row_function):
    row_function("half_of", lambda text: 1 // (0 if text is not None and "dog" in text else 1))
    lake.add_column("captions", "half", "half_of(text)")
    lake.sql(VIEW)
    lake.refresh(executor="inline")
    kinds = {r[:2] for r in errors(lake)}
    assert kinds == {("captions", "half"), ("left_out", None)}
    assert lake.sql(
        "SELECT count(*) FROM meta.errors AS e JOIN captions AS c ON e.key = CAST(c.caption_id AS VARCHAR)"
    ).fetchall() == [(len(errors(lake)),)]


def test_keys_of_several_columns_are_written_as_those_of_failed_rows(lake):
    lake.sql(
        "CREATE MATERIALIZED VIEW two WITH (key = 'image_id, word', errors = 'why') AS "
        "SELECT DISTINCT image_id, 'a \"b\"' AS word, 'odd' AS why FROM captions WHERE image_id = 1"
    )
    lake.refresh()
    assert [json.loads(key) for (key,) in errors(lake, "key")] == [[1, 'a "b"']]
    assert errors(lake, "key") == [(json.dumps([1, 'a "b"']),)]


@pytest.mark.parametrize("column", ["reasn", "image_id"])
def test_the_column_must_be_a_text_of_the_view(lake, column):
    with pytest.raises(NotFoundError) as caught:
        lake.sql(VIEW.replace("Reason", column))
    assert caught.value.code == "E1047"
    assert "reason" in caught.value.hint


def test_a_view_that_took_its_place_and_was_not_computed_tells_nothing(lake):
    lake.sql(VIEW)
    lake.refresh()
    lake.sql(
        VIEW.replace("CREATE", "CREATE OR REPLACE")
        .replace("IF NOT EXISTS", "")
        .replace("reason", "why")
        .replace("Reason", "why")
    )
    assert errors(lake) == []
    lake.refresh()
    assert errors(lake, "message") == [(why,) for *_, why in expected(lake)]


def test_a_view_of_perceived_labels_tells_it_to_those_with_a_purpose(lake):
    with lake.session(sensitive="test of views") as session:
        session.sql(VIEW.replace("errors = 'Reason'", "errors = 'reason', sensitive = true")).fetchall()
    lake.refresh()
    assert errors(lake) == []
    with lake.session(sensitive="test of views") as session:
        assert len(session.sql("SELECT * FROM meta.errors").fetchall()) == len(expected(lake))


def test_the_command_lists_them(lake, capsys):
    lake.sql(VIEW)
    lake.refresh()
    for words in (["errors", lake.uri], ["errors", lake.uri, "left_out"]):
        assert main([*words, "--format", "json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert {(r["key"], r["message"]) for r in told} == {(key, why) for _, _, key, _, why in expected(lake)}
    assert main(["errors", lake.uri, "captions"]) == 1
    assert "views of what was skipped: left_out" in capsys.readouterr().err
