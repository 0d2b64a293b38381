"""What cannot be declared is refused with one clear error, and nothing has changed: no definition, no table version, no run."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.catalog import ddl, definitions, planning, snapshot
from counterbalance.engine.catalog.ddl import declaration
from counterbalance.engine.errors import BusyError, CounterbalanceError, NotFoundError
from counterbalance.engine.sql.statements import AddColumn, CreateIndex, CreateView, read
from counterbalance.engine.store import tables

DO = {AddColumn: ddl.add_column, CreateView: ddl.create_view, CreateIndex: ddl.create_index}
ADD = "ALTER TABLE captions ADD COLUMN c AS ({})"
VIEW = "CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS {}"
REFUSED = {
    "ALTER TABLE captons ADD COLUMN c AS (1)": "no table 'captons'; did you mean 'captions'?",
    "ALTER TABLE caption_gender ADD COLUMN c AS (1)": "no table 'caption_gender'",
    "ALTER TABLE captions ADD COLUMN text AS (1)": "captions has a column 'text' already",
    "ALTER TABLE captions ADD COLUMN mood AS (1)": "captions has a generated column 'mood' already",
    "ALTER TABLE captions ADD COLUMN c__v AS (1)": "hidden columns of the engine",
    "ALTER TABLE captions ADD COLUMN c__code AS (1)": "hidden columns of the engine",
    'ALTER TABLE captions ADD COLUMN "select" AS (1)': "'select' is a word of SQL",
    'ALTER TABLE captions ADD COLUMN "a b" AS (1)': "'a b' is no name for a column",
    "ALTER TABLE captions ADD COLUMN _rowid AS (1)": "'_rowid' is no name for a column",
    "ALTER TABLE captions ADD COLUMN c AS (1) WITH (schedule = '@dayly')": "did you mean '@daily'?",
    ADD.format("c + 1"): "captions.c would read itself",
    ADD.format("txt"): "no column 'txt'; did you mean 'text'?",
    ADD.format("images.width"): "no table 'images' here",
    ADD.format("vadr(text)"): "no function 'vadr'; did you mean 'vader'?",
    ADD.format("vader()"): "vader() needs 'text'",
    ADD.format("text + 1"): "No function matches",
    "ALTER TABLE captions ADD COLUMN c INTEGER AS ([1, 2])": "no INTEGER[] can become 'INTEGER'",
    "ALTER TABLE captions ADD COLUMN c INTEGER AS ([text])": "no VARCHAR[] can become 'INTEGER'",
    ADD.format("vader(text, 'x')"): "no rules 'x' for VADER",
    ADD.format("vader([text])"): "does not fit vader()",
    ADD.format("random()"): "changes from call to call",
    ADD.format("now()"): "changes from call to call",
    ADD.format("count(*)"): "aggregate",
    ADD.format("sum(similarity) OVER ()"): "cannot stand in a generated column",
    ADD.format("(SELECT 1)"): "a subquery cannot stand",
    ADD.format("$x"): "a parameter cannot stand",
    ADD.format("INTERVAL 1 DAY"): "cannot be stored",
    VIEW.format("SELECT image_id FROM imges"): "no table 'imges'; did you mean 'images'?",
    VIEW.format("SELECT imag_id FROM images"): "no column 'imag_id'; did you mean 'image_id'?",
    VIEW.format("SELECT image_id FROM captions"): "the key is not unique: 2 rows have image_id = 1",
    VIEW.format("SELECT NULL::BIGINT AS image_id"): "the key is NULL in a row",
    VIEW.format("SELECT width FROM images"): "the query has no column 'image_id' for the key",
    VIEW.format("SELECT [image_id] AS image_id FROM images"): "cannot be a key",
    VIEW.format("SELECT image_id, count(*) FROM captions GROUP BY 1"): "'count_star()' is no name",
    VIEW.format("SELECT image_id, width AS Image_Id FROM images"): "two columns are called 'image_id'",
    VIEW.format("SELECT * FROM images JOIN captions ON true"): "two columns are called 'image_id'",
    VIEW.format("SELECT image_id, width AS w__v FROM images"): "hidden columns of the engine",
    VIEW.format("SELECT image_id, INTERVAL 1 DAY AS d FROM images"): "cannot be stored",
    VIEW.format("SELECT image_id, random() AS r FROM images"): "random() changes from call to call",
    VIEW.format("SELECT image_id FROM images WHERE now() > TIMESTAMP '2020-01-01'"): "changes from call to call",
    VIEW.format("SELECT image_id FROM images USING SAMPLE 10%"): "a sample without a seed",
    VIEW.format("SELECT image_id FROM images TABLESAMPLE 10%"): "a sample without a seed",
    VIEW.format("SELECT $x AS image_id"): "a view has no parameters, such as $x",
    VIEW.format("SELECT run_id AS image_id FROM meta.runs"): "meta.runs cannot be read by a view",
    VIEW.format("SELECT image_id FROM other.images"): "no table 'other.images'",
    VIEW.format("DESCRIBE images"): "a view is a SELECT",
    VIEW.format("SELECT image_id FROM v"): "no table 'v'",
    "CREATE MATERIALIZED VIEW v WITH (key = 'width, width') AS SELECT width FROM images": "a key names a column once",
    "CREATE MATERIALIZED VIEW captions WITH (key = 'a') AS SELECT 1 AS a": "'captions' is a base table already",
    "CREATE MATERIALIZED VIEW detections WITH (key = 'a') AS SELECT 1 AS a": "'detections' is a base table already",
    "CREATE MATERIALIZED VIEW caption_gender WITH (key = 'a') AS SELECT 1 AS a": "'caption_gender' is a shipped query already",
    "CREATE MATERIALIZED VIEW top_k WITH (key = 'a') AS SELECT 1 AS a": "'top_k' is a table function already",
    "CREATE MATERIALIZED VIEW unnest WITH (key = 'a') AS SELECT 1 AS a": "'unnest' is a table function already",
    "CREATE MATERIALIZED VIEW vader WITH (key = 'a') AS SELECT 1 AS a": "'vader' is a function already",
    "CREATE MATERIALIZED VIEW meta WITH (key = 'a') AS SELECT 1 AS a": "'meta' is a word of the engine already",
    "CREATE MATERIALIZED VIEW per_image WITH (key = 'a') AS SELECT 1 AS a": "'per_image' is a materialized view already",
    "CREATE MATERIALIZED VIEW by_text WITH (key = 'a') AS SELECT 1 AS a": "'by_text' is an index already",
    'CREATE MATERIALIZED VIEW "V" WITH (key = \'a\') AS SELECT 1 AS a': "'V' is no name for a view",
    "CREATE MATERIALIZED VIEW IF NOT EXISTS per_image WITH (key = 'n') AS SELECT 1 AS n": "with another query or key",
    "CREATE INDEX ON captons (text)": "no table 'captons'",
    "CREATE INDEX ON captions (txt)": "no column 'txt' to index; did you mean 'text'?",
    "CREATE INDEX ON captions (text, origin)": "an index is on one column",
    "CREATE INDEX ON captions USING btre (text)": "btre",
    "CREATE INDEX ON captions USING ivf_rq (text)": "ivf_rq takes no string",
    "CREATE INDEX ON captions USING btree (text) WITH (metric = 'l2')": "btree has no option 'metric'",
    "CREATE INDEX ON images (image)": "no column 'image' to index",
    "CREATE INDEX captions ON captions (text)": "'captions' is a base table already",
    "CREATE INDEX by_text ON captions (text)": "'by_text' is an index already",
    "CREATE INDEX IF NOT EXISTS by_text ON captions (origin)": "is there with another column, kind or options",
}  # fmt: skip


@pytest.fixture(scope="module")
def declared(tmp_path_factory, build):
    lake = cb.connect(tmp_path_factory.mktemp("refusals") / "test.lake")
    lake.ingest(
        {
            "images": build.images(image_id=[1, 2], key=["a", "b"], width=[640, 320]),
            "captions": build.captions(caption_id=[11, 12, 13], image_id=[1, 1, 2], text=["a man", "a horse", "a dog"]),
        }
    )
    for text in (
        "ALTER TABLE captions ADD COLUMN mood AS (vader(text))",
        "CREATE MATERIALIZED VIEW per_image WITH (key = 'image_id') AS SELECT image_id, count(*) AS n FROM captions GROUP BY 1",
        "CREATE INDEX by_text ON captions (text)",
    ):
        statement = read(text)
        DO[type(statement)](lake.location, statement)
    return lake


def state(lake):
    names = [*snapshot.known_tables(lake.location), "meta/definitions", "meta/runs"]
    return {n: tables.latest_version(lake.location, n) for n in names}, definitions.load(lake.location)


@pytest.mark.parametrize("text", REFUSED)
def test_refused_and_nothing_changed(declared, text):
    before = state(declared)
    statement = read(text)
    with pytest.raises(CounterbalanceError) as caught:
        DO[type(statement)](declared.location, statement)
    assert REFUSED[text] in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 300
    assert state(declared) == before


@pytest.mark.parametrize(
    "statement",
    [
        AddColumn("captions", "c", None, "1", options={"shedule": "@daily"}),
        AddColumn("captions", "c", None, "1", options={"schedule": 1}),
        AddColumn("captions", "c", None, "1 +"),
        AddColumn("captions", "c", "NO TYPE", "1"),
        CreateView("v", "SELECT 1 AS a", ("a",), {"sensitive": "yes"}),
        CreateView("v", "SELECT 1 AS", ("a",)),
        CreateView("v", "DROP TABLE captions", ("a",)),
        CreateIndex("i", "captions", None, ("text",), {"shedule": "@daily"}),
    ],
)
def test_statements_made_in_python_are_checked_too(declared, statement):
    before = state(declared)
    with pytest.raises(CounterbalanceError):
        DO[type(statement)](declared.location, statement)
    assert state(declared) == before


def test_another_query_for_a_view_can_be_made_way_for(declared):
    statement = read("CREATE MATERIALIZED VIEW IF NOT EXISTS per_image WITH (key = 'n') AS SELECT 1 AS n")
    with pytest.raises(CounterbalanceError) as caught:
        ddl.create_view(declared.location, statement)
    assert caught.value.code == "E3174"
    assert caught.value.hint.endswith("DROP MATERIALIZED VIEW per_image")


def test_table_of_another_tool_has_no_key_that_is_known(declared):
    tables.append(declared.location, "of_others", pa.table({"a": [1]}))
    with pytest.raises(CounterbalanceError, match="of_others was made by another tool") as caught:
        ddl.add_column(declared.location, read("ALTER TABLE of_others ADD COLUMN c AS (a)"))
    assert "CREATE MATERIALIZED VIEW" in caught.value.hint
    assert ddl.create_view(
        declared.location, read("CREATE MATERIALIZED VIEW own WITH (key = 'a') AS FROM of_others")
    ).reads == (("of_others", "a"),)


def test_no_lake(tmp_path):
    lake = cb.connect(tmp_path / "none.lake")
    with pytest.raises(NotFoundError, match="no lake at"):
        ddl.add_column(lake.location, read("ALTER TABLE captions ADD COLUMN c AS (1)"))
    assert not (tmp_path / "none.lake").exists()


def test_who_comes_second_has_to_check_again(lake):
    first = planning.Catalog(lake.location)
    ddl.add_column(lake.location, read("ALTER TABLE captions ADD COLUMN c AS (1)"))
    with pytest.raises(BusyError) as caught, declaration.journaled(first, "captions.d", "declared"):
        pytest.fail("it was let in")
    assert caught.value.retryable
