"""The snippets for schedulers: each says a command that runs, in a form that its scheduler reads."""

from __future__ import annotations

import ast
import configparser
import datetime as dt
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from repeats import again

from counterbalance.__main__ import cli
from counterbalance.engine.schedule import next_time

FOLDER = Path(__file__).parents[2] / "examples" / "schedule"
PROGRAMS = ("airflow_dag.py", "dagster_schedule.py", "prefect_flow.py")
PLACE = "/data/coco.lake"


def lines_of_crontab():
    text = (FOLDER / "crontab").read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def unit(name):
    found = configparser.ConfigParser(interpolation=None, strict=True)
    found.optionxform = str
    found.read(FOLDER / name)
    return found


def command_of(name):
    """The literal ``COMMAND`` of a program."""
    for node in ast.parse((FOLDER / name).read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "COMMAND":
            return ast.literal_eval(node.value)
    raise AssertionError(name)


def commands():
    found = [shlex.split(line.split(None, 5)[5]) for line in lines_of_crontab()]
    found.append(shlex.split(unit("counterbalance-refresh.service")["Service"]["ExecStart"]))
    return found + [command_of(name) for name in PROGRAMS]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_command_parses(words):
    assert Path(words[0]).name == "counterbalance"
    name, found, rest = cli.resolve_command(cli.make_context("counterbalance", words[1:]), list(words[1:]))
    context = found.make_context(name, rest)
    assert context.params["lake"] == PLACE
    assert context.params.get("due") or name == "gc"


def test_a_wrong_command_would_not_parse():
    with pytest.raises(click.UsageError):
        test_command_parses(["counterbalance", "refresh", PLACE, "--duo"])


def told_apart():
    """Each command once, however its program is written; again what is the same."""
    seen, found = set(), []
    for words in commands():
        found += again((words,)) if tuple(words[1:]) in seen else [pytest.param(words)]
        seen.add(tuple(words[1:]))
    return found


@pytest.mark.parametrize("words", told_apart(), ids=" ".join)
def test_command_runs(words, disk_lake, build, tmp_path):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    disk_lake.add_column("images", "half", "width / 2.0", schedule="@daily")
    line = shlex.join(["counterbalance", *(disk_lake.uri if w == PLACE else w for w in words[1:])])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    refreshed = disk_lake.sql("SELECT target FROM meta.runs WHERE kind = 'refresh'").fetchall()
    assert refreshed == ([("images.half",)] if "refresh" in words else [])


@pytest.mark.parametrize("line", lines_of_crontab())
def test_crontab_times_are_cron_text(line):
    schedule = " ".join(line.split(None, 5)[:5])
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    assert start < next_time(schedule, start) <= start + dt.timedelta(days=7)


def test_units_have_what_they_need():
    service, timer = unit("counterbalance-refresh.service"), unit("counterbalance-refresh.timer")
    assert service["Service"]["Type"] == "oneshot"
    assert "75" in service["Service"]["SuccessExitStatus"].split()
    assert Path(shlex.split(service["Service"]["ExecStart"])[0]).is_absolute()
    assert timer["Timer"]["Persistent"] == "true"
    assert timer["Timer"]["OnCalendar"]
    assert timer["Install"]["WantedBy"] == "timers.target"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_takes_the_units(tmp_path):
    program = shlex.split(unit("counterbalance-refresh.service")["Service"]["ExecStart"])[0]
    for name in ("counterbalance-refresh.service", "counterbalance-refresh.timer"):
        (tmp_path / name).write_text((FOLDER / name).read_text().replace(program, "/bin/true"))
    units = sorted(map(str, tmp_path.iterdir()))
    done = subprocess.run(
        ["systemd-analyze", "verify", *units], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_compiles_and_treats_busy_as_no_failure(name):
    text = (FOLDER / name).read_text()
    compile(text, name, "exec")
    assert re.search(r"(skip_on_exit_code=|BUSY = )75\b", text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_runs_every_so_many_minutes(name):
    """The cron text in it is cron text."""
    found = re.findall(r'(?:schedule|cron_schedule|cron)="([^"]+)"', (FOLDER / name).read_text())
    assert len(found) == 1
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    assert next_time(found[0], start) - start <= dt.timedelta(hours=1)


def test_every_snippet_is_in_its_readme():
    text = (FOLDER / "README.md").read_text()
    names = {p.name for p in FOLDER.iterdir()} - {"README.md"}
    assert {n for n in names if n not in text and f"`{Path(n).suffix}`" not in text} == set()
