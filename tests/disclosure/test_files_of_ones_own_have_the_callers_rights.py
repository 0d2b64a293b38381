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


ROWS_GIVEN = "(SELECT image_id, CASE WHEN image_id = 7 THEN 'me' ELSE 'rest' END AS label FROM images)"
CROSSED = "SELECT label, count FROM intersections(groups := image_labels('perceived_gender'), others := {})"


@pytest.fixture
def views(tmp_path):
    """Load views of one's own, by name: what they take, and their SQL."""

    def load(**own):
        folder = tmp_path / "q" / "views"
        folder.mkdir(parents=True)
        for name, (takes, sql) in own.items():
            (folder / f"{name}.sql").write_text(HEADER.format(takes) + sql)
        assert sorted(queries.load("q")) == sorted(own)

    return load


def test_a_view_that_hands_on_rows_it_is_given(lake, views, tmp_path):
    taking = GIVEN.replace("groups", "r")
    outer = "SELECT * FROM inner_view(r := {})"
    (tmp_path / "sly.sql").write_text(HEADER.format(taking + '[[cells]]\ncount = "count"\n') + CROSSED.format("r"))
    views(inner_view=(taking, CROSSED.format("r")), outer_view=(taking, outer.format("r")))
    for call in ("inner_view", "outer_view"):
        with pytest.raises(SensitiveError) as caught:
            lake.sql(f"FROM {call}(r := {ROWS_GIVEN})").fetchall()
        assert caught.value.code == "E3306"
        assert lake.sql(f"FROM {call}(r := caption_gender)").fetchall() == []  # there are no captions
    with pytest.raises(SensitiveError) as caught:
        lake.audit("./sly.sql", r=ROWS_GIVEN).fetchall()
    assert caught.value.code == "E3306"
    with pytest.raises(SensitiveError):
        lake.sql(f"WITH mine AS {ROWS_GIVEN} FROM inner_view(r := mine)").fetchall()


def test_a_view_with_rows_in_its_own_text(lake, views):
    views(cutting=("", f"WITH mine AS {ROWS_GIVEN} {CROSSED.format('mine')}"), plain=("", CROSSED.format(ROWS_GIVEN)))
    for call in ("cutting", "plain"):
        with pytest.raises(CounterbalanceError) as caught:
            lake.sql(f"FROM {call}").fetchall()
        assert caught.value.code in {"E3306", "E1001"}  # a body's own expression is no table to a call in it


def test_a_view_whose_default_is_rows(lake, views):
    views(cutting=(GIVEN.replace("groups", "r") + f'default = "{ROWS_GIVEN}"\n', CROSSED.format("r")))
    with pytest.raises(SensitiveError) as caught:
        lake.sql("FROM cutting").fetchall()
    assert caught.value.code == "E3306"
    assert lake.sql("FROM cutting(r := caption_gender)").fetchall() == []


@pytest.mark.parametrize("number", ["$side", "31.5"])
def test_a_view_that_moves_a_number(lake, views, number):
    takes = '[params.side]\ntype = "double"\n' if number == "$side" else ""
    sql = f"SELECT label, count FROM demographics(groups := image_labels('perceived_gender', min_side := {number}))"
    views(sided=(takes, sql))
    with pytest.raises(SensitiveError) as caught:
        lake.sql("FROM sided(41.5)" if takes else "FROM sided").fetchall()
    assert caught.value.code == "E3320"
