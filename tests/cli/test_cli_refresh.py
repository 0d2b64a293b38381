"""``refresh`` on the command line: what it prints, and with which code it ends."""

from __future__ import annotations

import json

import copies
import pytest

from counterbalance.__main__ import main
from counterbalance.engine.store import lock

UDFS = '''
import pyarrow as pa
import counterbalance as cb
from counterbalance.engine.functions import Partial

@cb.udf(returns=pa.int32(), parameters={"text": pa.string()}, version="1", name="cli_picky")
def cli_picky(text):
    """Fails for what holds a 7."""
    return Partial(pa.array([len(t) for t in text.to_pylist()], pa.int32()),
                   {i: "it has a seven" for i, t in enumerate(text.to_pylist()) if "7" in t})

@cb.udf(returns=pa.int32(), parameters={"text": pa.string()}, version="1", name="cli_broken")
def cli_broken(text):
    """Never works."""
    raise OSError("libmodel.so is missing")
'''


@pytest.fixture
def filled(kept, disk_lake, build):
    def fill(lake):
        ids = list(range(20))
        lake.ingest(
            {
                "images": build.images(image_id=ids, key=[str(i) for i in ids]),
                "captions": build.captions(caption_id=ids, image_id=ids, text=[f"text {i}" for i in ids]),
            }
        )

    return copies.filled(kept, disk_lake, fill)


@pytest.fixture(scope="module")
def udfs(tmp_path_factory):
    """One file for all: a process knows a function from one file."""
    path = tmp_path_factory.mktemp("udfs") / "my_udfs.py"
    path.write_text(UDFS)
    return str(path)


def sql(lake, text, *words):
    assert main(["sql", lake.uri, text, *words]) == 0


def cells(text):
    return [line.split() for line in text.splitlines()]


def test_a_table_of_stages(filled, capsys):
    sql(filled, "ALTER TABLE captions ADD COLUMN shout AS (upper(text))")
    sql(
        filled,
        "CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS SELECT image_id, max(shout) AS m FROM captions GROUP BY ALL",
    )
    capsys.readouterr()
    assert main(["refresh", filled.uri]) == 0
    out, err = capsys.readouterr()
    lines = cells(out)
    assert lines[0] == ["target", "mode", "rows", "errors", "took", "message"]
    assert lines[2][:4] == ["captions.shout", "rebuild", "20", "0"]
    assert lines[3][:4] == ["v", "rebuild", "20", "0"]
    assert "20 added, 0 changed, 0 removed" in out
    assert err == ""
    assert main(["refresh", filled.uri, "captions.shout"]) == 0
    assert [line[:3] for line in cells(capsys.readouterr().out)[2:]] == [["captions.shout", "no_op", "0"]]


def test_a_dry_run_says_why(filled, capsys):
    sql(filled, "ALTER TABLE captions ADD COLUMN shout AS (upper(text))")
    capsys.readouterr()
    for _ in range(2):
        assert main(["refresh", filled.uri, "--dry-run"]) == 0
        assert cells(capsys.readouterr().out)[2] == ["captions.shout", "rebuild", "20", "never", "computed"]
    main(["refresh", filled.uri])
    capsys.readouterr()
    assert main(["refresh", filled.uri, "--dry-run"]) == 0
    assert cells(capsys.readouterr().out)[2] == ["captions.shout", "no_op", "0", "fresh"]
    assert main(["refresh", filled.uri, "--dry-run", "--full"]) == 0
    assert cells(capsys.readouterr().out)[2] == ["captions.shout", "rebuild", "20", "asked", "for"]


def test_json(filled, capsys):
    sql(filled, "ALTER TABLE captions ADD COLUMN shout AS (upper(text))")
    capsys.readouterr()
    assert main(["refresh", filled.uri, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (stage,) = report["stages"]
    assert (report["mode"], stage["target"], stage["rows"], stage["errors"]) == ("rebuild", "captions.shout", 20, 0)
    assert stage["versions_out"]["captions"] > 0


def test_nothing_declared(filled, capsys):
    assert main(["refresh", filled.uri]) == 0
    assert capsys.readouterr().out == "nothing is declared\n"


def test_nothing_due_is_silent_for_cron(filled, capsys):
    sql(filled, "ALTER TABLE captions ADD COLUMN shout AS (upper(text)) WITH (schedule = '@yearly')")
    assert main(["refresh", filled.uri, "--due"]) == 0
    assert "captions.shout" in capsys.readouterr().out
    assert main(["refresh", filled.uri, "--due"]) == 0
    assert capsys.readouterr() == ("", "")


def test_failed_rows_and_trying_them_again(filled, udfs, capsys):
    sql(filled, "ALTER TABLE captions ADD COLUMN n AS (cli_picky(text))", "--udfs", udfs)
    capsys.readouterr()
    assert main(["refresh", filled.uri, "--udfs", udfs]) == 0
    assert cells(capsys.readouterr().out)[2][:4] == ["captions.n", "rebuild", "20", "2"]
    assert main(["errors", filled.uri, "captions.n", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(r["key"], r["message"], r["attempts"]) for r in found] == [
        ("7", "it has a seven", 1),
        ("17", "it has a seven", 1),
    ]
    assert main(["refresh", filled.uri, "--udfs", udfs, "--retry-errors"]) == 0
    assert cells(capsys.readouterr().out)[2][:4] == ["captions.n", "incremental", "2", "2"]
    main(["errors", filled.uri, "CAPTIONS.N", "--json"])
    assert [r["attempts"] for r in json.loads(capsys.readouterr().out)] == [2, 2]


def test_a_stage_that_fails_is_told_once_and_does_not_stop_the_others(filled, udfs, capsys):
    sql(filled, "ALTER TABLE captions ADD COLUMN a AS (cli_broken(text))", "--udfs", udfs)
    sql(filled, "ALTER TABLE captions ADD COLUMN b AS (upper(text))")
    sql(filled, "ALTER TABLE captions ADD COLUMN c AS (a + 1)", "--udfs", udfs)
    capsys.readouterr()
    assert main(["refresh", filled.uri, "--udfs", udfs]) == 1
    out, err = capsys.readouterr()
    modes = {line[0]: line[1] for line in cells(out)[2:]}
    assert modes == {"captions.a": "failed", "captions.b": "rebuild", "captions.c": "skipped"}
    assert (out + err).count("libmodel.so is missing") == 1
    assert err.startswith("error[E8")
    assert "\nhint: " in err
    assert main(["status", filled.uri, "--udfs", udfs, "--check"]) == 3


def test_a_failure_in_json_is_in_the_report(filled, udfs, capsys):
    sql(filled, "ALTER TABLE captions ADD COLUMN a AS (cli_broken(text))", "--udfs", udfs)
    capsys.readouterr()
    assert main(["refresh", filled.uri, "--udfs", udfs, "--json"]) == 1
    out, err = capsys.readouterr()
    (stage,) = json.loads(out)["stages"]
    assert "libmodel.so is missing" in stage["message"]
    assert stage["code"].startswith("E8")
    assert err == ""


def test_without_the_file_of_functions(filled, udfs, spawn_cli, capsys):
    sql(filled, "ALTER TABLE captions ADD COLUMN n AS (cli_picky(text))", "--udfs", udfs)
    done = spawn_cli("refresh", filled.uri)
    assert done.returncode == 1
    assert "error[E1046]: captions.n calls cli_picky(), which is not declared here" in done.stderr
    assert "--udfs FILE" in done.stderr
    done = spawn_cli("status", filled.uri, "--json")
    assert [r["state"] for r in json.loads(done.stdout)] == ["unknown"]
    assert main(["status", filled.uri, "--udfs", udfs]) == 0
    capsys.readouterr()


def test_functions_of_a_file_in_queries_and_in_workers(filled, udfs, spawn_cli):
    done = spawn_cli("sql", filled.uri, "SELECT cli_picky('four') AS n", "--udfs", udfs, "--csv")
    assert (done.returncode, done.stdout) == (0, "n\n4\n")
    sql(filled, "ALTER TABLE captions ADD COLUMN n AS (cli_picky(text))", "--udfs", udfs)
    done = spawn_cli("sql", filled.uri, "REFRESH ALL WITH (workers = 2)", "--udfs", udfs, "--json")
    assert done.returncode == 0, done.stderr
    assert [(r["target"], r["rows"], r["errors"]) for r in json.loads(done.stdout)] == [("captions.n", 20, 2)]


def test_another_refresh(filled, capsys):
    sql(filled, "ALTER TABLE captions ADD COLUMN shout AS (upper(text))")
    capsys.readouterr()
    with lock.writer_lock(filled.location, "refresh", name=lock.REFRESH):
        assert main(["refresh", filled.uri]) == 75
        assert main(["refresh", filled.uri, "--due", "--json"]) == 75
        assert main(["refresh", filled.uri, "--dry-run"]) == 0
    err = capsys.readouterr().err
    assert err.count("E7001") == 2
    assert "process" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["captions.nope"], "error[E1034]: nothing declared is named 'captions.nope'"),
        (["--executor", "nope"], "error[E1013]: no executor 'nope'"),
        (["--device", "tpu"], "error[E3461]: no device 'tpu'"),
        (["--udfs", "nope.py"], "error[E1031]: no file of functions at nope.py"),
    ],
)
def test_what_is_not_there(filled, words, message, capsys):
    sql(filled, "ALTER TABLE captions ADD COLUMN shout AS (upper(text))")
    capsys.readouterr()
    assert main(["refresh", filled.uri, *words]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--workers", "0"], ["--batch-size", "0"], ["--batch-size", "x"], ["--nope"]])
def test_usage(filled, words, capsys):
    assert main(["refresh", filled.uri, *words]) == 2
    assert "error[E2000]" in capsys.readouterr().err


def test_no_lake(tmp_path, capsys):
    for words in (["refresh"], ["status"], ["gc"], ["schedule"], ["index"]):
        assert main([*words, str(tmp_path / "none.lake")]) == 1
        assert "no lake at" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
