"""``--fail-if``: the exit code is 4 where a row meets a condition, or none is there; the rows are written all the same."""

from __future__ import annotations

import json

import pytest

from counterbalance.__main__ import main

ROWS = "SELECT * FROM (VALUES ('a', 0.1), ('b', 0.3), ('c', NULL)) AS t(label, high)"


@pytest.fixture
def asked(lake_path, capsys):
    """Ask the lake; returns exit code, rows of stdout and stderr."""

    def ask(query, *options):
        code = main(["sql", lake_path, query, "--format", "jsonl", *options])
        out, err = capsys.readouterr()
        return code, [json.loads(line) for line in out.splitlines()], err

    return ask


@pytest.fixture
def lake_path(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    return str(disk_lake.location.path)


def test_a_row_meets_it(asked):
    code, rows, err = asked(ROWS, "--fail-if", "high > 0.2")
    assert (code, len(rows)) == (4, 3)
    assert err.splitlines() == [
        "note: --fail-if: the condition is NULL in 1 of 3 rows, which do not fail",
        "label  high",
        "-----  ----",
        "b       0.3",
        "note: 1 of 3 rows fail (high > 0.2)",
    ]


def test_a_column_of_any_name(asked):
    code, rows, _ = asked("SELECT false AS meets, 1 AS result", "--fail-if", "result = 1 AND NOT meets")
    assert (code, rows) == (4, [{"meets": False, "result": 1}])


def test_none_does(asked):
    code, rows, err = asked(f"{ROWS} WHERE high IS NOT NULL", "--fail-if", "high > 0.5")
    assert (code, len(rows), err) == (0, 2, "")


def test_no_rows_pass_nothing(asked, lake_path, capsys):
    code, rows, err = asked(f"{ROWS} WHERE label = 'd'", "--fail-if", "high > 0.5")
    assert (code, rows) == (4, [])
    assert "note: --fail-if: no rows: nothing was checked, which fails" in err
    assert main(["audit", lake_path, "demographics", "--fail-if", "n > 1000"]) == 4
    assert "needs captions" in capsys.readouterr().err
    assert asked(f"SELECT count(*) AS n FROM ({ROWS}) WHERE label = 'd'", "--fail-if", "n > 0")[0] == 0


def test_a_condition_that_is_null_everywhere_passes_nothing(asked):
    code, rows, err = asked(f"{ROWS} WHERE high IS NULL", "--fail-if", "high > 0.5")
    assert (code, len(rows)) == (4, 1)
    assert "note: --fail-if: the condition is NULL in every row: nothing was checked, which fails" in err
    assert asked(f"{ROWS} WHERE high IS NULL", "--fail-if", "coalesce(high > 0.5, false)")[0] == 0


def test_many_do(asked):
    code, rows, err = asked("SELECT range AS n FROM range(100)", "--fail-if", "n >= 50 -- half")
    assert (code, len(rows)) == (4, 100)
    assert err.splitlines()[-1] == "note: 50 of 100 rows fail (n >= 50 -- half), 20 shown"
    assert len(err.splitlines()) == 23


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("hihg > 0.2", "hihg"),
        ("high >", "syntax"),
        ("", "cast"),
        ("label", "BOOL"),
        ("read_text('/etc/passwd') <> ''", "read_text"),
    ],
)
def test_what_is_no_condition(asked, condition, told):
    code, rows, err = asked(ROWS, "--fail-if", condition)
    assert (code, rows) == (1, [])
    assert "E3150" in err
    assert told in err
    assert "columns: label, high" in err


def test_it_looks_at_all_rows_of_one_query(asked):
    assert asked(ROWS, "--fail-if", "high > 0.2", "--max-rows", "1")[0] == 2
    assert asked(ROWS, "--fail-if", "high > 0.2", "--expand")[0] == 2


def test_an_audit(lake_path, disk_lake, build, capsys):
    labels = build.labels(
        label_id=range(30), image_id=[1] * 30, attribute=["scene"] * 30, value=["in"] * 10 + ["out"] * 20
    )
    disk_lake.ingest({"labels": labels})
    call = ["audit", lake_path, "demographics", "groups=image_labels('scene')", "--min-count", "0"]
    assert main([*call, "--fail-if", "n > 1000"]) == 0
    assert main([*call, "--fail-if", "n < 1000"]) == 4
    assert "rows fail (n < 1000)" in capsys.readouterr().err


def test_a_comparison(lake_path, disk_lake, build, capsys):
    labels = build.labels(
        label_id=range(30), image_id=[1] * 30, attribute=["scene"] * 30, value=["in"] * 10 + ["out"] * 20
    )
    disk_lake.ingest({"labels": labels})
    call = ["compare", lake_path, lake_path, "--attribute", "scene", "--min-count", "0"]
    assert main([*call, "--fail-if", "abs(difference) > 0.1"]) == 0
    assert "is no condition" not in capsys.readouterr().err
