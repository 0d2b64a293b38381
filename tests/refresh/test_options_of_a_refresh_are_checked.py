"""What a refresh is asked for is checked before anything is looked at, fresh or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError

if TYPE_CHECKING:
    from pathlib import Path

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.progress import Progress


@cb.udf(returns=pa.int64(), parameters={"text": pa.string()}, version="1")
def options_broken(text: pa.Array) -> pa.Array:
    """Never works."""
    raise ValueError("no good")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ({"workers": 0}, "E3427", "workers must be a whole number of at least 1, not 0"),
        ({"workers": "x"}, "E3427", "workers must be a whole number of at least 1, not 'x'"),
        ({"batch_size": -1}, "E3427", "batch_size must be a whole number of at least 1"),
        ({"full": "yes"}, "E3427", "full must be true or false, not 'yes'"),
        ({"executor": "lokal"}, "E1013", "no executor 'lokal'; did you mean 'local'?"),
        ({"device": "gpu"}, "E3461", "no device 'gpu'"),
        ({"bogus": 1}, "E3158", "REFRESH has no option 'bogus'"),
        ({"ful": True}, "E3158", "did you mean 'full'?"),
    ],
)
def test_in_python(lake: Lake, options: dict[str, Any], code: str, said: str) -> None:
    for _ in range(2):
        with pytest.raises(CounterbalanceError) as error:
            lake.refresh(**options)
        assert (said in str(error.value), error.value.code) == (True, code)
        lake.refresh(executor="inline")


def test_one_file_of_functions_may_be_a_string(lake: Lake, tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text(
        "import pyarrow as pa\nimport counterbalance as cb\n\n"
        "@cb.udf(returns=pa.int64(), parameters={'t': pa.string()}, version='1')\n"
        "def options_one(t):\n    return pa.array([1] * len(t))\n"
    )
    assert lake.refresh(udfs=str(file)).mode == "no_op"


def test_a_failed_stage_fails_the_statement_and_keeps_the_others(lake: Lake) -> None:
    lake.add_column("captions", "bad", "options_broken(text)")
    lake.add_column("captions", "good", "length(text)")
    with pytest.raises(CounterbalanceError, match=r"1 of 2 stages of the refresh failed: captions\.bad: "):
        lake.sql("REFRESH")
    assert lake.sql("SELECT count(good) FROM captions").fetchall() == [(7,)]


def test_what_changed_nothing_says_so(lake: Lake) -> None:
    sql = "ALTER TABLE captions ADD COLUMN IF NOT EXISTS n AS (length(text))"
    assert lake.sql(sql).fetchall() == [("ADD COLUMN", "captions.n", True)]
    assert lake.sql(sql).fetchall() == [("ADD COLUMN", "captions.n", False)]


def test_a_plan_tells_what_is_kept(lake: Lake) -> None:
    lake.add_column("captions", "n", "length(text)")

    def stop(progress: Progress) -> None:
        if progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lake.refresh(executor="inline", batch_size=3, progress=stop)
    assert lake.refresh(dry_run=True).stages[0].reason == "never computed; 3 of them are computed already"
    assert lake.sql("SELECT state FROM meta.runs WHERE kind = 'refresh'").fetchall() == [("interrupted",)]
    assert lake.refresh(executor="inline").stages[0].rows == 5
