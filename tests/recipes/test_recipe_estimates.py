"""What a dry run of a recipe tells: rows times a measured rate, and nothing is changed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.__main__ import main
from counterbalance.engine.catalog import meta
from counterbalance.engine.catalog.planning import Catalog
from counterbalance.engine.recipes.model import StepError
from counterbalance.engine.recipes.rates import Rates

RECIPE = """\
/*--- toml
answers = "Measures captions."
source = "a test"
params.scale = { type = "integer", about = "needed in the end" }
---*/

-- step one: a column of captions
ALTER TABLE captions ADD COLUMN IF NOT EXISTS one AS (est_size(text));
REFRESH captions.one;

-- step view: a view
CREATE MATERIALIZED VIEW IF NOT EXISTS est_view WITH (key = 'caption_id') AS SELECT caption_id, text, one FROM captions;
REFRESH est_view;

-- step two: the same function over the view
ALTER TABLE est_view ADD COLUMN IF NOT EXISTS two AS (est_size(text) + 1);
REFRESH est_view.two;

-- step ask: how many
SELECT count(*) AS n FROM est_view;

-- step last: needs a value
SELECT $scale AS scale;
"""


@pytest.fixture
def sized(row_function):
    return row_function("est_size", lambda text: None if text is None else len(text))


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.sql"
    path.write_text(RECIPE)
    return str(path)


def dry(lake, small, **options):
    before = (lake.status(), meta.read(lake.location, "runs").num_rows)
    report = lake.recipe(small, dry_run=True, **options)
    assert (lake.status(), meta.read(lake.location, "runs").num_rows) == before
    assert report.state == "planned"
    return {s.step: s for s in report.steps}


def told_by_runs(lake, target):
    rows = [r for r in meta.read(lake.location, "runs").to_pylist() if r["target"] == target and r["rows_read"]]
    row = rows[-1]
    return row["rows_read"] / row["seconds"]


def test_nothing_is_known_of_functions_that_never_ran(lake, sized, small):
    found = dry(lake, small)
    assert (found["one"].message, found["one"].rows) == ("make captions.one", 8)
    assert (found["one"].rows_per_second, found["one"].seconds) == (None, None)
    assert (found["view"].message, found["view"].rows) == ("make est_view", None)
    assert (found["two"].message, found["two"].rows) == ("make est_view.two", None)
    assert found["ask"].message == "ask"
    assert found["last"].message == "small needs 'scale' here: needed in the end"
    assert sized.taken() == []


def test_a_function_is_tried_when_asked_for(lake, sized, small):
    found = dry(lake, small, measure=True)["one"]
    assert len(sized.taken()) == 8, (
        "one caption has no text; the first one is tried twice, since a first call takes longer"
    )
    assert found.basis == "measured on 7 rows"
    assert found.seconds == pytest.approx(8 / found.rows_per_second)


def test_runs_of_the_column_itself_tell(lake, sized, small, build):
    lake.recipe(small, refresh={"executor": "inline"}, until="two")
    sized.taken()
    lake.ingest({"captions": build.captions(caption_id=[98, 99], image_id=[2, 2], text=["a dog", "a cat"])})
    found = dry(lake, small, measure=True)
    rate = told_by_runs(lake, "captions.one")
    assert (found["one"].message, found["one"].rows) == ("refresh captions.one", 2)
    assert found["one"].rows_per_second == pytest.approx(rate)
    assert found["one"].seconds == pytest.approx(2 / rate)
    assert found["one"].basis.startswith("captions.one, run of ")
    assert sized.taken() == []
    later = [(found[s].message, found[s].rows) for s in ("view", "two")]
    assert later == [("refresh est_view, est_view.two", 0), ("", None)], "what one step refreshes no other one lists"


def test_runs_of_the_same_function_elsewhere_tell(lake, sized, small):
    lake.recipe(small, refresh={"executor": "inline"}, until="view")
    found = dry(lake, small)
    assert (found["one"].message, found["one"].rows) == ("", None)
    rate = told_by_runs(lake, "captions.one")
    assert (found["two"].rows, found["two"].rows_per_second) == (8, pytest.approx(rate))
    assert found["two"].basis.startswith("captions.one")


def test_what_a_step_that_failed_left_is_listed_once(lake, small, row_function):
    row_function("est_size", len)
    lake.recipe(small, refresh={"executor": "inline"}, until="view")
    row_function("est_size", lambda _: 1 // 0)
    with pytest.raises(StepError, match="step two of small"):
        lake.recipe(small, refresh={"executor": "inline"})
    found = dry(lake, small)
    assert " ".join(s.message for s in found.values()).count("est_view.two") == 1


def test_another_function_tells_nothing(lake, sized, row_function):
    row_function("est_other", len)
    lake.add_column("captions", "one", "est_size(text)")
    lake.refresh(executor="inline")
    rates = Rates(Catalog(lake.location))
    assert rates.of("captions", "est_size(text) * 2", "captions.two") is not None
    assert rates.of("captions", "est_other(text)", "captions.two") is None
    assert rates.of("captions", "est_size(text) + est_other(text)", "captions.two") is None
    assert rates.of("captions", "length(text)", "captions.two") is None


def test_a_declaration_that_differs_is_told_too(lake, sized, small):
    lake.add_column("captions", "one", "length(text)", type="BIGINT")
    with pytest.raises(StepError, match=r"step one of small: captions\.one is there with another expression"):
        dry(lake, small)


def test_the_command_prints_a_table(disk_lake, build, sized, small, tmp_path, capsys):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    texts = [f"text {i}" for i in range(3)]
    ids = list(range(3))
    disk_lake.ingest({"captions": build.captions(caption_id=ids, image_id=[1] * 3, text=texts)})
    assert main(["recipe", str(tmp_path / "test.lake"), small, "--dry-run", "--measure"]) == 0
    caught = capsys.readouterr()
    lines = caught.out.splitlines()
    assert lines[0].split() == ["step", "does", "rows", "rows/s", "time", "measured"]
    assert lines[2].startswith("one")
    assert "measured on 3 rows" in lines[2]
    assert "where the speed is known" in caught.err


def test_a_function_is_not_tried_on_nothing(lake, row_function, small, tmp_path):
    row_function("est_bytes", len, parameters={"image": pa.binary()})
    path = tmp_path / "pictures.sql"
    path.write_text(
        '/*--- toml\nanswers = "Sizes."\n---*/\n-- step size: bytes\n'
        "ALTER TABLE images ADD COLUMN IF NOT EXISTS size AS (est_bytes(image));\nREFRESH images.size;\n"
    )
    found = dry(lake, str(path), measure=True)["size"]
    assert (found.rows, found.rows_per_second) == (6, None)  # no pictures are stored here: nothing to try it on
