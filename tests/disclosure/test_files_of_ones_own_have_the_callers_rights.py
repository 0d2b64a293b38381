"""An audit or view that is loaded from a file reads what its caller may read, whatever its cells say: they are its author's word."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError, SensitiveError
from counterbalance.engine.sql import queries

HEADER = '/*--- toml\nanswers = "Mine."\n{}---*/\n'
CELLS = '[[cells]]\ncount = "n"\nwithin = ["who"]\n'
ROWS = "SELECT concat(image_id, '=', value) AS who, 100 AS n FROM labels WHERE attribute LIKE 'perceived%'"
GIVEN = '[params.groups]\nrelation = ["image_id", "label"]\n'


@pytest.fixture(autouse=True)
def afresh():
    yield
    queries.queries.cache_clear()
    queries.sql_functions.cache_clear()


@pytest.fixture
def lake(build, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids = list(range(1, 41))
    lake = cb.connect(tmp_path / "a.lake")
    values = [("planted-secret-a", "planted-secret-b")[i % 2] for i in ids]
    labels = build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 40, value=values)
    lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    return lake


def told(run):
    try:
        return repr(run().fetchall())
    except CounterbalanceError as error:
        return f"{error} {error.hint} {error.__context__}"


def test_an_audit_that_declares_what_is_not_so(lake, tmp_path):
    (tmp_path / "sly.sql").write_text(HEADER.format(CELLS) + ROWS)
    assert "planted" not in told(lambda: lake.audit("./sly.sql"))
    assert "planted" in told(lambda: lake.audit("./sly.sql", sensitive="a test of files"))


@pytest.mark.parametrize("isolated", [False, True])
def test_an_audit_that_is_given_what_is_closed(lake, tmp_path, isolated):
    sql = "SELECT concat(image_id, '=', label) AS who, 100 AS n FROM groups"
    (tmp_path / "sly.sql").write_text(HEADER.format(GIVEN + CELLS) + sql)
    queries.load("sly.sql")
    with lake.session(isolated=isolated) as session:
        assert "planted" not in told(lambda: session.audit("sly", groups="image_labels('perceived_gender')"))


def test_a_view_that_cuts_cells_to_measure(lake, tmp_path):
    (tmp_path / "q" / "views").mkdir(parents=True)
    cut = "SELECT image_id, CASE WHEN image_id = 7 THEN 'me' ELSE 'rest' END AS label FROM images"
    (tmp_path / "q" / "views" / "mine.sql").write_text(HEADER.format("") + cut)
    assert queries.load("q") == ["mine"]
    for others in ("mine", "mine()", "clear_labels(mine)"):
        with pytest.raises(SensitiveError) as caught:
            lake.audit("intersections", groups="image_labels('perceived_gender')", others=others).fetchall()
        assert caught.value.code == "E3306"


def test_a_view_that_shows_what_it_is_given(lake, tmp_path):
    (tmp_path / "q" / "views").mkdir(parents=True)
    (tmp_path / "q" / "views" / "mine.sql").write_text(
        HEADER.format("") + "SELECT image_id, value AS label FROM labels"
    )
    queries.load("q")
    assert "planted" not in told(lambda: lake.audit("demographics", groups="mine"))
