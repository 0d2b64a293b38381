"""A dry run of a recipe, and a measure of an index, tell no size of a closed view and give its rows to no function."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.__main__ import main

PURPOSE = "a test of estimates"
RECIPE = """\
/*--- toml
answers = "Adds a column."
---*/

-- step one: a column
ALTER TABLE {table} ADD COLUMN IF NOT EXISTS mood AS (est_seen({column}));
REFRESH {table}.mood;
"""


@pytest.fixture
def seen(row_function):
    given = []
    row_function("est_seen", lambda text: given.append(text) or len(text))
    return given


@pytest.fixture
def lake(tmp_path, build, seen):
    """Of c there are four."""
    ids = list(range(64))
    values = ["a"] * 40 + ["b"] * 20 + ["c"] * 4
    lake = cb.connect(tmp_path / "a.lake")
    labels = build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 64, value=values)
    captions = build.captions(caption_id=ids, image_id=ids, text=["a dog"] * 64)
    lake.ingest({"images": build.images(image_id=ids), "labels": labels, "captions": captions})
    query = """
        SELECT image_id, label, CAST([1, image_id] AS FLOAT[2]) AS v
        FROM image_labels('perceived_gender') WHERE label = 'c'
    """
    lake.create_materialized_view("pc", query, "image_id", purpose=PURPOSE)
    lake.refresh(executor="inline")
    return lake


@pytest.fixture
def dry(lake, tmp_path):
    """``dry(table, column, …)`` is the step of a recipe that adds a column."""

    def planned(table, column, **options):
        path = tmp_path / f"of_{table}.sql"
        path.write_text(RECIPE.format(table=table, column=column))
        (step,) = lake.recipe(str(path), dry_run=True, **options).steps
        return step

    return planned


def test_rows_of_a_closed_view(lake, dry, seen):
    step = dry("pc", "label", measure=True)
    assert (step.rows, step.rows_per_second, step.seconds, seen) == (None, None, None, [])
    assert dry("pc", "label", sensitive=PURPOSE).rows == 4
    assert (PURPOSE, "dry run of recipe of_pc") in {
        (r["purpose"], r["sql"]) for r in lake.accesses(sensitive=PURPOSE).to_pylist()
    }
    assert dry("captions", "text", measure=True).rows == 64
    assert seen


def test_the_speed_of_a_closed_run(lake, dry):
    lake.add_column("pc", "mood", "est_seen(label)", purpose=PURPOSE)
    lake.refresh(executor="inline")
    assert dry("captions", "text").rows_per_second is None
    assert dry("captions", "text", sensitive=PURPOSE).basis.startswith("pc.mood")


def test_columns_that_are_closed_are_not_tried(lake, dry, seen):
    lake.add_column("captions", "shade", "upper(text)", sensitive=True)
    lake.refresh(executor="inline")
    assert dry("captions", "shade", measure=True).rows_per_second is None
    assert seen == []


def test_the_recall_of_an_index(lake, capsys):
    lake.create_index("pc", "v", "ivf_flat", name="by_v")
    lake.refresh(executor="inline")
    assert main(["index", lake.uri, "by_v", "--recall"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "E3308" in told.err
    assert "4" not in told.err.replace("E3308", "")
