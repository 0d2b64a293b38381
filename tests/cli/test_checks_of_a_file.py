"""``check`` runs the checks of a file over a lake: all of them, told as rows, JUnit or SARIF, with an exit code for CI."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from counterbalance import connect
from counterbalance.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
CHECKS = """
[[check]]
name = "no wide image"
sql = "SELECT image_id, width FROM images WHERE width > $most"
parameters = { most = 5 }
fail_if = "width > 9"

[[check]]
name = "as expected <&>"
sql = "SELECT count(*) AS n FROM images"
fail_if = "n < 2"

[[check]]
name = "told only"
sql = "SELECT chr(7) || key AS key, NULL AS hidden FROM images"
fail_if = "coalesce(hidden, key LIKE '%a')"
level = "warning"

[[check]]
sql = "SELECT * FROM captions"
fail_if = "true"
"""
BROKEN = """
[[check]]
name = "broken"
sql = "SELECT nothing FROM images"
fail_if = "true"
"""


@pytest.fixture
def checked(disk_lake, build, tmp_path, capsysbinary):
    """Run checks; returns exit code, stdout and stderr."""
    disk_lake.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"], width=[8, 10])})

    def check(text, *options):
        (tmp_path / "counterbalance.toml").write_text(text)
        code = main(["check", str(disk_lake.location.path), str(tmp_path / "counterbalance.toml"), *options])
        out, err = capsysbinary.readouterr()
        return code, out.decode(), err.decode()

    return check


def test_rows_of_a_table(checked):
    code, out, err = checked(CHECKS)
    assert code == 4
    assert [re.split(r"\s{2,}", line)[1] for line in out.splitlines()[2:]] == ["failed", "passed", "warning", "empty"]
    assert "note: no wide image: 1 of 2 rows fail (width > 9)" in err
    assert re.search(r"^\s*2\s+10$", err, re.MULTILINE)
    assert "SELECT * FROM captions: true" in out


def test_a_warning_does_not_fail_and_an_empty_answer_does(checked):
    passing = CHECKS.replace("width > 9", "width > 99")
    code, out, _ = checked(passing)
    assert (code, out.splitlines()[-1].endswith("no rows: nothing was checked")) == (4, True)
    assert checked(passing + 'level = "warning"\n')[0] == 0


def test_a_condition_that_tells_nothing_of_any_row_fails(checked):
    check = '[[check]]\nname = "hidden"\nsql = "SELECT NULL::DOUBLE AS q FROM images"\nfail_if = "q < 0.05"\n'
    code, out, err = checked(check)
    assert (code, "the condition is NULL in every row: nothing was checked" in out) == (4, True)
    assert "coalesce(CONDITION, false)" in err


def test_what_cannot_run_is_told_and_the_rest_runs(checked):
    code, out, _ = checked(BROKEN + CHECKS, "--format", "jsonl")
    found = [json.loads(line) for line in out.splitlines()]
    assert json.loads(checked(BROKEN + CHECKS, "--format", "json")[1])[0]["state"] == found[0]["state"]
    assert code == 1
    assert [o["state"] for o in found] == ["error", "failed", "passed", "warning", "empty"]
    assert "no column 'nothing'" in found[0]["message"]
    assert found[1]["shown"] == [{"image_id": 2, "width": 10}]


def test_a_suffix_tells_the_format(checked, tmp_path):
    for name, begins in {
        "r.sarif": b'{\n  "$schema"',
        "r.json": b"[\n",
        "r.jsonl": b'{"name"',
        "r.txt": b"name ",
    }.items():
        checked(CHECKS, "-o", str(tmp_path / name))
        assert (tmp_path / name).read_bytes().lstrip().startswith(begins), name


def test_junit(checked, tmp_path):
    code, out, _ = checked(BROKEN + CHECKS, "-o", str(tmp_path / "r.xml"))
    assert (code, out) == (1, "")
    suite = ET.parse(tmp_path / "r.xml").getroot()[0]
    assert {k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "2",
        "errors": "1",
        "skipped": "0",
    }
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases["no wide image"] == ["failure"]
    assert cases["as expected <&>"] == []
    assert cases["SELECT * FROM captions: true"] == ["failure"]
    assert cases["told only"] == ["system-out"]
    assert suite[1].get("line") == "7"


def test_sarif(checked):
    code, out, _ = checked(CHECKS, "--format", "sarif")
    (run,) = json.loads(out)["runs"]
    assert code == 4
    assert [r["id"] for r in run["tool"]["driver"]["rules"]][:2] == ["no wide image", "as expected <&>"]
    assert [(r["ruleId"], r["level"]) for r in run["results"]] == [
        ("no wide image", "error"),
        ("told only", "warning"),
        ("SELECT * FROM captions: true", "error"),
    ]
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no checks"),
        ("[[check]", "is not TOML"),
        ("[[checks]]\nname = 'a'", "has a key 'checks'; did you mean 'check'"),
        ("check = 3", "has no checks"),
        ("[[check]]\nfail_if = 'true'", "either audit or sql"),
        ("[[check]]\nsql = 'SELECT 1'", "has fail_if"),
        ("[[check]]\nsql = 'SELECT 1'\nfail_iff = 'x'", "no 'fail_iff'; did you mean 'fail_if'"),
        ("[[check]]\nsql = 3\nfail_if = 'x'", "sql is a text"),
        ("[[check]]\nsql = 'SELECT 1'\nfail_if = 'x'\nlevel = 'fatal'", "level is error or warning"),
        ("[[check]]\nsql = 'SELECT 1'\nfail_if = 'x'\nparameters = 3", "parameters is a table"),
        (
            2 * "[[check]]\nname = 'a'\nsql = 'SELECT 1'\nfail_if = 'x'\n",
            "line 5: there are two checks of the name 'a'",
        ),
    ],
)
def test_a_file_that_is_wrong(checked, text, told):
    code, _, err = checked(text)
    assert code == 1
    assert "E3053" in err
    assert told in err


def test_a_pipe_or_a_large_file_is_refused(disk_lake, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "large.toml").write_text("#" * 2_000_000)
    for name, told in (("pipe.toml", "is no file"), ("large.toml", "has more than 1,000,000 bytes")):
        assert main(["check", str(disk_lake.location.path), str(tmp_path / name)]) == 1
        assert told in capsys.readouterr().err


def test_a_file_that_is_not_there(disk_lake, capsys):
    assert main(["check", str(disk_lake.location.path), "nowhere.toml"]) == 1
    assert "E1056" in capsys.readouterr().err


def test_closed_labels_stay_closed(checked):
    text = BROKEN.replace("nothing FROM images", "value FROM labels WHERE attribute = 'perceived_gender'")
    code, out, _ = checked(text, "--format", "jsonl")
    assert (code, json.loads(out)["state"]) == (4, "empty")


def test_the_example_passes_good_data_and_fails_bad(tmp_path, build, capsys):
    file, lake = ROOT / "examples" / "ci" / "counterbalance.toml", str(tmp_path / "s.lake")
    assert main(["sample", str(tmp_path / "annotations"), "--images", "40"]) == 0
    assert main(["ingest", lake, str(tmp_path / "annotations" / "annotations")]) == 0
    states = []
    for code in (0, 4):
        capsys.readouterr()
        assert main(["check", lake, str(file), "--format", "json"]) == code
        states.append([row["state"] for row in json.loads(capsys.readouterr().out)])
        connect(lake).ingest({"images": build.images(image_id=[10**9], key=["without"])})
    assert [s[0] for s in states] == ["passed", "failed"]
    assert [s[2] for s in states] == ["passed", "passed"]


def test_the_workflows_call_what_there_is():
    folder = ROOT / "examples" / "ci"
    helps = {}
    for name in ("github-actions.yml", "pre-commit-config.yaml"):
        for line in re.findall(r"cbal (.*?)(?:&&|\"|$)", (folder / name).read_text(), re.MULTILINE):
            name_of = shlex.split(line)[0]
            assert name_of in {"ingest", "check"}
            if name_of not in helps:
                command = [sys.executable, "-m", "counterbalance", name_of, "--help"]
                helps[name_of] = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            assert all(word in helps[name_of] for word in shlex.split(line) if word.startswith("--"))
