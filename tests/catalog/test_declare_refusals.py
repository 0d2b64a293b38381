"""What cannot be declared is refused with one clear error, and nothing has changed: no definition, no table version, no run."""

from __future__ import annotations

import pyarrow as pa
import pytest
from declaring import declare

import counterbalance as cb
from counterbalance.engine.catalog import ddl, definitions, planning, snapshot
from counterbalance.engine.catalog.ddl import declaration
from counterbalance.engine.errors import BusyError, CounterbalanceError, NotFoundError
from counterbalance.engine.sql.statements import AddColumn, CreateIndex, CreateView, read
from counterbalance.engine.store import tables

ADD = "ALTER TABLE captions ADD COLUMN c AS ({})"
VIEW = "CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS {}"
REFUSED = {
    "ALTER TABLE captons ADD COLUMN c AS (1)": ("E1001", "no table 'captons'; did you mean 'captions'?"),
    "ALTER TABLE caption_gender ADD COLUMN c AS (1)": ("E1001", "no table 'caption_gender'"),
    "ALTER TABLE captions ADD COLUMN text AS (1)": ("E3171", "captions has a column 'text' already"),
    "ALTER TABLE captions ADD COLUMN mood AS (1)": ("E3171", "captions has a generated column 'mood' already"),
    "ALTER TABLE captions ADD COLUMN c__v AS (1)": ("E3170", "hidden columns of the engine"),
    "ALTER TABLE captions ADD COLUMN c__code AS (1)": ("E3170", "hidden columns of the engine"),
    'ALTER TABLE captions ADD COLUMN "select" AS (1)': ("E3170", "'select' is a word of SQL"),
    'ALTER TABLE captions ADD COLUMN "a b" AS (1)': ("E3170", "'a b' is not a name for a column"),
    "ALTER TABLE captions ADD COLUMN _rowid AS (1)": ("E3170", "'_rowid' is not a name for a column"),
    "ALTER TABLE captions ADD COLUMN c AS (1) WITH (schedule = '@dayly')": ("E3080", "did you mean '@daily'?"),
    ADD.format("c + 1"): ("E3173", "captions.c would read itself"),
    ADD.format("txt"): ("E1033", "no column 'txt'; did you mean 'text'?"),
    ADD.format("images.width"): ("E1032", "no table 'images' here"),
    ADD.format("vadr(text)"): ("E1003", "no function 'vadr'; did you mean 'vader'?"),
    ADD.format("vader()"): ("E3116", "vader() needs 'text'"),
    ADD.format("text + 1"): ("E3144", "No function matches"),
    "ALTER TABLE captions ADD COLUMN c INTEGER AS ([1, 2])": ("E3144", "no INTEGER[] can become 'INTEGER'"),
    "ALTER TABLE captions ADD COLUMN c INTEGER AS ([text])": ("E3144", "no VARCHAR[] can become 'INTEGER'"),
    ADD.format("vader(text, 'x')"): ("E3051", "no rules 'x' for VADER"),
    ADD.format("vader([text])"): ("E3144", "does not fit vader()"),
    ADD.format("random()"): ("E3141", "changes from call to call"),
    ADD.format("now()"): ("E3141", "changes from call to call"),
    ADD.format("count(*)"): ("E3141", "aggregate"),
    ADD.format("sum(similarity) OVER ()"): ("E3141", "cannot be part of a generated column"),
    ADD.format("(SELECT 1)"): ("E3141", "a subquery cannot be part"),
    ADD.format("$x"): ("E3141", "a parameter cannot be part"),
    ADD.format("INTERVAL 1 DAY"): ("E3145", "cannot be stored"),
    VIEW.format("SELECT image_id FROM imges"): ("E1001", "no table 'imges'; did you mean 'images'?"),
    VIEW.format("SELECT imag_id FROM images"): ("E3103", "no column 'imag_id'; did you mean 'image_id'?"),
    VIEW.format("SELECT image_id FROM captions"): ("E3177", "the key is not unique: 2 rows have image_id = 1"),
    VIEW.format("SELECT NULL::BIGINT AS image_id"): ("E3177", "the key is NULL in a row"),
    VIEW.format("SELECT width FROM images"): ("E1042", "the query has no column 'image_id' for the key"),
    VIEW.format("SELECT [image_id] AS image_id FROM images"): ("E3176", "cannot be a key"),
    VIEW.format("SELECT image_id, count(*) FROM captions GROUP BY 1"): ("E3170", "'count_star()' is not a name"),
    VIEW.format("SELECT image_id, width AS Image_Id FROM images"): ("E3175", "two columns are called 'image_id'"),
    VIEW.format("SELECT * FROM images JOIN captions ON true"): ("E3175", "two columns are called 'image_id'"),
    VIEW.format("SELECT image_id, width AS w__v FROM images"): ("E3170", "hidden columns of the engine"),
    VIEW.format("SELECT image_id, INTERVAL 1 DAY AS d FROM images"): ("E3145", "cannot be stored"),
    VIEW.format("SELECT image_id, random() AS r FROM images"): ("E3214", "random() changes from call to call"),
    VIEW.format("SELECT image_id FROM images WHERE now() > TIMESTAMP '2020-01-01'"): ("E3214", "changes from call to call"),
    VIEW.format("SELECT image_id FROM images USING SAMPLE 10%"): ("E3214", "a sample without a seed"),
    VIEW.format("SELECT image_id FROM images TABLESAMPLE 10%"): ("E3214", "a sample without a seed"),
    VIEW.format("SELECT $x AS image_id"): ("E3213", "a view has no parameters, such as $x"),
    VIEW.format("SELECT run_id AS image_id FROM meta.runs"): ("E3211", "meta.runs cannot be read by a view"),
    VIEW.format("SELECT image_id FROM other.images"): ("E1001", "no table 'other.images'"),
    VIEW.format("DESCRIBE images"): ("E3213", "a view is a SELECT"),
    VIEW.format("SELECT image_id FROM v"): ("E1001", "no table 'v'"),
    "CREATE MATERIALIZED VIEW v WITH (key = 'width, width') AS SELECT width FROM images": ("E3176", "a key names a column once"),
    "CREATE MATERIALIZED VIEW captions WITH (key = 'a') AS SELECT 1 AS a": ("E3171", "'captions' is a base table already"),
    "CREATE MATERIALIZED VIEW detections WITH (key = 'a') AS SELECT 1 AS a": ("E3171", "'detections' is a base table already"),
    "CREATE MATERIALIZED VIEW caption_gender WITH (key = 'a') AS SELECT 1 AS a": ("E3171", "'caption_gender' is a shipped query already"),
    "CREATE MATERIALIZED VIEW top_k WITH (key = 'a') AS SELECT 1 AS a": ("E3171", "'top_k' is a table function already"),
    "CREATE MATERIALIZED VIEW unnest WITH (key = 'a') AS SELECT 1 AS a": ("E3171", "'unnest' is a table function already"),
    "CREATE MATERIALIZED VIEW vader WITH (key = 'a') AS SELECT 1 AS a": ("E3171", "'vader' is a function already"),
    "CREATE MATERIALIZED VIEW meta WITH (key = 'a') AS SELECT 1 AS a": ("E3171", "'meta' is a word of the engine already"),
    "CREATE MATERIALIZED VIEW per_image WITH (key = 'a') AS SELECT 1 AS a": ("E3171", "'per_image' is a materialized view already"),
    "CREATE MATERIALIZED VIEW by_text WITH (key = 'a') AS SELECT 1 AS a": ("E3171", "'by_text' is an index already"),
    'CREATE MATERIALIZED VIEW "V" WITH (key = \'a\') AS SELECT 1 AS a': ("E3170", "'V' is not a name for a view"),
    "CREATE MATERIALIZED VIEW IF NOT EXISTS per_image WITH (key = 'n') AS SELECT 1 AS n": ("E3174", "with another query or key"),
    "CREATE INDEX ON captons (text)": ("E1001", "no table 'captons'"),
    "CREATE INDEX ON captions (txt)": ("E3413", "no column 'txt' to index; did you mean 'text'?"),
    "CREATE INDEX ON captions (text, origin)": ("E3178", "an index is on one column"),
    "CREATE INDEX ON captions USING btre (text)": ("E3410", "btre"),
    "CREATE INDEX ON captions USING ivf_rq (text)": ("E3414", "ivf_rq takes no string"),
    "CREATE INDEX ON captions USING btree (text) WITH (metric = 'l2')": ("E3411", "btree has no option 'metric'"),
    "CREATE INDEX ON images (image)": ("E3413", "no column 'image' to index"),
    "CREATE INDEX captions ON captions (text)": ("E3171", "'captions' is a base table already"),
    "CREATE INDEX by_text ON captions (text)": ("E3171", "'by_text' is an index already"),
    "CREATE INDEX IF NOT EXISTS by_text ON captions (origin)": ("E3174", "is there with another column, kind or options"),
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
        declare(lake, text)
    return lake


def state(lake):
    names = [*snapshot.known_tables(lake.location), "meta/definitions", "meta/runs"]
    return {n: tables.latest_version(lake.location, n) for n in names}, definitions.load(lake.location)


@pytest.mark.parametrize("text", REFUSED)
def test_refused_and_nothing_changed(declared, text):
    before = state(declared)
    with pytest.raises(CounterbalanceError) as caught:
        declare(declared, text)
    code, message = REFUSED[text]
    assert message in caught.value.message
    assert caught.value.code == code
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
        declare(declared, statement)
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
