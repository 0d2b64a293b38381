"""Recipes run step by step, stop where something must be given, go on, and do nothing twice."""

from __future__ import annotations

import json
import sys

import pytest
from repeats import chosen

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine import functions
from counterbalance.engine.errors import CounterbalanceError, NotFoundError, RequestError
from counterbalance.engine.recipes import actions
from counterbalance.engine.recipes.model import StepError

RECIPE = """\
/*--- toml
answers = "Measures captions."
source = "a test"
params.rules = { type = "varchar", default = "vader", choices = ["vader", "nltk"], about = "which results" }
params.least = { type = "integer", about = "shortest text" }
params.scale = { type = "integer", default = 2, about = "by which lengths are multiplied" }
---*/

-- step score: the score of every caption
ALTER TABLE captions ADD COLUMN IF NOT EXISTS mood AS (vader(text, rules := $rules));
REFRESH captions.mood;

-- step long: long captions
CREATE MATERIALIZED VIEW IF NOT EXISTS long_ones WITH (key = 'caption_id') AS
SELECT caption_id, text, mood FROM captions WHERE length(text) >= 10;
REFRESH long_ones;

-- step sizes: their lengths
ALTER TABLE long_ones ADD COLUMN IF NOT EXISTS size AS (own_size(text, scale := $scale));
CREATE INDEX IF NOT EXISTS by_size ON long_ones USING btree (size);
REFRESH long_ones.size, by_size;

-- step count: how many
SELECT count(*) AS n, CAST(sum(size) AS BIGINT) AS size FROM long_ones;
SELECT label, count FROM demographics(min_count := 0);

-- step note: write it down
CALL own_note(rows := long_ones, text := 'it''s', least := $least);
"""
UDFS = """\
from __future__ import annotations
import pyarrow as pa, pyarrow.compute as pc
from counterbalance.engine.functions import Parameter, udf
from counterbalance.engine.recipes.actions import action

@udf(returns=pa.int64(), parameters=[Parameter("text", pa.string()), Parameter("scale", pa.int64(), 1, constant=True)], version="1")
def own_size(text, scale):
    "Length of a text, scaled."
    return pc.multiply(pc.utf8_length(text).cast(pa.int64()), scale)

@action
def own_note(lake, *, rows, text, least, sensitive=None):
    n = lake.sql(f"SELECT count(*) FROM {rows} WHERE size > $least", least=least).fetchall()[0][0]
    return f"{n} rows of {rows}, {text}, {sensitive}"
"""
STEPS = ["score", "long", "sizes", "count", "note"]
LONG = "SELECT caption_id, text, mood, size FROM long_ones ORDER BY 1"


@pytest.fixture
def own(tmp_path):
    """Runs the recipe on a lake; the file of functions is forgotten in the end."""
    (tmp_path / "small.sql").write_text(RECIPE)
    (tmp_path / "own.py").write_text(UDFS)
    before, modules = dict(functions.functions()), set(sys.modules)

    def run(lake, **options):
        more = {"udfs": str(tmp_path / "own.py"), "refresh": {"executor": "inline"}, **options}
        return lake.recipe(str(tmp_path / "small.sql"), **more)

    yield run
    functions._registry.clear()
    functions._registry.update(before)
    actions._own.pop("own_note", None)
    for name in set(sys.modules) - modules:
        if name.startswith("counterbalance_udfs_"):
            del sys.modules[name]


def states(report):
    return [(s.step, s.state) for s in report.steps]


def test_a_run_stops_where_a_value_is_needed_and_goes_on(lake, own):
    report = own(lake)
    assert report.state == "stopped"
    assert states(report) == [*((s, "done") for s in STEPS[:4]), ("note", "stopped")]
    assert report.steps[-1].message == "small needs 'least' here: shortest text"
    assert report.steps[0].notes == ["this will stop at step note, which needs --param least=… (shortest text)"]
    assert "--param least=" in report.steps[-1].hint
    texts = [t for (t,) in lake.sql("SELECT text FROM captions").fetchall() if t is not None and len(t) >= 10]
    assert report.results["count"].to_pylist() == [{"n": len(texts), "size": 2 * sum(map(len, texts))}]
    assert (
        report.results["count_2"].to_pylist()
        == lake.sql("SELECT label, count FROM demographics(min_count := 0)").to_arrow().to_pylist()
    )
    again = own(lake, least=40, sensitive="a purpose")
    assert again.state == "done"
    assert [s for s in states(again) if s[1] == "unchanged"] == [(s, "unchanged") for s in STEPS[:3]]
    longer = sum(2 * len(t) > 40 for t in texts)
    assert again.steps[-1].message == f"{longer} rows of long_ones, it's, a purpose"


@pytest.mark.cases(1)
@pytest.mark.parametrize("step", chosen(STEPS[:4], "score", "sizes"))
def test_a_run_that_ended_early_goes_on(lake, own, build, step):
    part = own(lake, until=step)
    assert [s.step for s in part.steps] == STEPS[: STEPS.index(step) + 1]
    whole = own(lake, least=3)
    assert [s for s, state in states(whole) if state == "unchanged"] == [
        s.step for s in part.steps if s.step in STEPS[:3]
    ]
    other = cb.connect(f"{lake.uri}-whole")
    other.ingest(
        {name: lake.sql(f"SELECT * FROM {name}").to_arrow().select(["image_id", "key"]) for name in ["images"]}
    )
    rows = lake.sql("SELECT caption_id, image_id, text, origin, similarity FROM captions").to_arrow()
    other.ingest({"captions": rows})
    own(other, least=3)
    assert lake.sql(LONG).fetchall() == other.sql(LONG).fetchall()


def test_new_rows_are_all_that_a_second_run_computes(lake, own, build):
    own(lake, least=1)
    lake.ingest({"captions": build.captions(caption_id=[99], image_id=[2], text=["a wonderful picture of a cat"])})
    again = own(lake, least=1)
    assert [(s.step, s.rows) for s in again.steps][:3] == [("score", 1), ("long", 1), ("sizes", None)]


def test_a_declaration_that_differs_is_named(lake, own):
    own(lake)
    before = lake.status().to_pylist()
    with pytest.raises(
        StepError, match=r"step score of small: captions\.mood is there with another expression"
    ) as caught:
        own(lake, rules="nltk")
    assert (caught.value.code, caught.value.step) == ("E3174", "score")
    assert lake.status().to_pylist() == before


def test_a_step_that_fails_leaves_the_others_done(lake, own, row_function):
    row_function("own_size", lambda text, **_: 1 // 0, parameters={"text": cb.functions()["vader"].parameters[0].type})
    with pytest.raises(StepError, match="step sizes of small") as caught:
        own(lake, udfs=())
    assert "the same command goes on" in caught.value.hint
    assert lake.sql("SELECT count(*) FROM long_ones").fetchall() == [(6,)]
    functions._registry.pop("own_size")
    assert own(lake, least=1).state == "done"


@pytest.mark.parametrize(
    ("options", "kind", "told"),
    [
        ({"until": "sises"}, NotFoundError, "no step 'sises'.*did you mean 'sizes'"),
        ({"lest": 3}, RequestError, "did you mean 'least'"),
        ({"rules": "other"}, RequestError, "cannot be 'other'"),
        ({"refresh": {"executer": "inline"}}, RequestError, "executer"),
    ],
)
def test_what_is_asked_for_wrongly_changes_nothing(lake, own, options, kind, told):
    with pytest.raises(kind, match=told):
        own(lake, **options)
    assert lake.status().num_rows == 0


@pytest.mark.parametrize(
    ("statement", "code", "told"),
    [
        ("ALTER TABLE captions ADD COLUMN x AS (length(text))", "E3228", "could not be run twice: add IF NOT EXISTS"),
        ("CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS SELECT image_id FROM images", "E3228", "IF NOT EXISTS"),
        ("CREATE INDEX i ON captions (image_id)", "E3228", "IF NOT EXISTS"),
        ("DROP INDEX i", "E3228", "add IF EXISTS"),
        ("INSERT INTO captions VALUES (1)", "E3202", "refused"),
        ("ALTER TABLE captions ADD", "E3155", "expected"),
    ],
)
def test_statements_that_no_recipe_may_hold(lake, tmp_path, statement, code, told):
    path = tmp_path / "odd.sql"
    path.write_text(f'/*--- toml\nanswers = "Odd."\n---*/\n-- step fine: x\nSELECT 1;\n-- step odd: x\n{statement};\n')
    with pytest.raises(CounterbalanceError, match=told) as caught:
        lake.recipe(str(path))
    assert caught.value.code == code


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("call", "code", "told"),
    [
        ("own_not(rows := long_ones)", "E1161", "no action 'own_not'; did you mean 'own_note'"),
        ("own_note(rows := long_ones)", "E3136", "missing a required argument: 'text'"),
        (
            "own_note(rows := long_ones, text := 'a', least := 'b')",
            "E3105",
            "step call of calls: Could not convert string 'b'",
        ),
    ],
)
def test_calls_that_cannot_be_made(lake, own, tmp_path, call, code, told):
    own(lake)
    path = tmp_path / "calls.sql"
    path.write_text(f'/*--- toml\nanswers = "Calls."\n---*/\n-- step call: it\nCALL {call};\n')
    with pytest.raises(StepError, match=told) as caught:
        lake.recipe(str(path), udfs=str(tmp_path / "own.py"))
    assert caught.value.code == code


def test_what_happens_is_told_as_it_happens(lake, own):
    told = []
    own(lake, tell=lambda report: told.append((report.step, report.state)))
    assert told[:4] == [("score", "planned"), ("score", "done"), ("long", "planned"), ("long", "done")]


def command(lake_path, tmp_path, *words):
    given = ["--udfs", str(tmp_path / "own.py"), "--executor", "inline", "--progress", "never"]
    return main(["recipe", str(lake_path), str(tmp_path / "small.sql"), *given, *words])


def test_the_command(disk_lake, lake, own, tmp_path, capsys):
    for name in ("images", "captions"):
        keep = "image_id, key" if name == "images" else "caption_id, image_id, text"
        disk_lake.ingest({name: lake.sql(f"SELECT {keep} FROM {name}").to_arrow()})
    path = tmp_path / "test.lake"
    assert command(path, tmp_path, "--json") == 3
    caught = capsys.readouterr()
    assert caught.err.startswith("note: this will stop at step note, which needs --param least=…")
    told = json.loads(caught.out)
    assert (told["state"], told["steps"][-1]["state"]) == ("stopped", "stopped")
    assert told["steps"][3]["results"][0] == [{"n": 6, "size": 270}]
    assert command(path, tmp_path, "-p", "least=4", "--out", str(tmp_path / "out")) == 0
    caught = capsys.readouterr()
    assert caught.out == ""
    assert "captions.mood fresh" in caught.err
    assert (tmp_path / "out" / "count.csv").read_text().startswith("n,size\n6,270")
    assert (tmp_path / "out" / "count_2.csv").exists()
    assert command(path, tmp_path, "-p", "leest=4") == 1
    assert "did you mean 'least'" in capsys.readouterr().err
    assert main(["recipe", str(path)]) == 2


def test_the_list(capsys):
    assert main(["recipe", "--list"]) == 0
    text = capsys.readouterr().out
    assert "laion400m: The person-centric pipeline" in text
    assert "\n  detect → " in text
    assert main(["recipe", "--list", "laion400m"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("laion400m: The person-centric pipeline")
    assert "\n    detect: find people in every picture" in text
    assert main(["recipe", "--list", "--json"]) == 0
    assert "laion400m" in {r["name"] for r in json.loads(capsys.readouterr().out)}
