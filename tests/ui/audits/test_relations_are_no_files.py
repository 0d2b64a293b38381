"""A page reads no files: a relation of an audit is a table, a view or a query; one that is more than a name runs apart."""

from __future__ import annotations

import pytest

from counterbalance.engine.sql import queries
from counterbalance.ui.audits import _is_own_sql


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize(("audit", "name"), [("demographics", "groups"), ("crime_words", "terms")])
def test_a_file_is_refused_whether_it_is_there_or_not(ask, tmp_path, there, audit, name):
    file = tmp_path / "private.csv"
    if there:
        file.write_text("secret head,other\n1,2\n", encoding="utf-8")
    app = ask
    answer = app.post(f"/api/lakes/demo/audits/{audit}", json={"parameters": {name: str(file)}})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "E3756")
    page = app.get(f"/lakes/demo/audits/{audit}", params={name: str(file)})
    assert "E3756" in page.text
    assert "secret head" not in page.text + answer.text


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("caption_gender", False),
        (" main.caption_gender ", False),
        ("(/*x*/SELECT 1 AS image_id)", True),
        ("(TABLE captions)", True),
        ("image_labels('mood')", True),
        ("labels_and_others(images, (\nSELECT 1))", True),
    ],
)
def test_what_is_more_than_a_name_runs_apart(text, apart):
    assert _is_own_sql(queries.audit("demographics"), {"groups": text}) is apart
