"""Progress goes to stderr, in the form that its reader wants."""

from __future__ import annotations

import itertools
import time

import pytest

from counterbalance.shell import progress
from counterbalance.shell.progress import BarReporter, LogReporter, NullReporter, StepDone, amount, reporter


@pytest.fixture
def environment(monkeypatch):
    def set_up(*, terminal, **variables):
        monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
        for name in ("CI", "TERM", "NO_COLOR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return set_up


@pytest.mark.parametrize(
    ("mode", "terminal", "variables", "kind"),
    [
        ("auto", True, {"TERM": "xterm"}, BarReporter),
        ("auto", False, {}, LogReporter),
        ("auto", True, {"CI": "true"}, LogReporter),
        ("auto", True, {"TERM": "dumb"}, LogReporter),
        ("always", False, {}, BarReporter),
        ("never", True, {}, NullReporter),
    ],
)
def test_choice(mode, terminal, variables, kind, environment):
    environment(terminal=terminal, **variables)
    assert type(reporter(mode)) is kind


def feed(report, total=1000, step=10, unit="rows"):
    with report:
        for done in range(step, total + 1, step):
            report(StepDone("reading", done, total, unit, done))


@pytest.fixture
def clock(monkeypatch):
    """Time that goes on by so many seconds at every look."""

    def run(step):
        times = itertools.count(0.0, step)
        monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))

    return run


def test_a_log_says_in_between_that_work_goes_on(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_EVERY_SECONDS", 0.2)
    with LogReporter() as report:
        report(StepDone("embedding", 0, 2500, "rows", 0))
        time.sleep(0.5)
        report(StepDone("embedding", 2500, 2500, "rows", 2500))
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert {line.split(" in ")[0] for line in lines} == {"embedding: 0% of 2,500 rows"}


def test_a_log_has_a_line_for_every_tenth(clock, capsys):
    clock(0.5)
    feed(LogReporter())
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) == 10
    assert lines[0].startswith("reading: 10% of 1,000 rows in ")
    assert lines[-1].startswith("reading: 100% of 1,000 rows in ")


def test_a_log_says_nothing_of_what_takes_no_second(clock, capsys):
    clock(0.005)
    feed(LogReporter())
    assert capsys.readouterr().err == ""


def test_a_log_has_at_most_a_line_a_second(clock, capsys):
    clock(0.03)
    feed(LogReporter())
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_a_log_without_a_total_has_a_line_for_every_half_minute(clock, capsys):
    clock(7.0)
    report = LogReporter()
    for done in range(12):
        report(StepDone("reading", done * 10**6, None, "bytes", done))
    lines = capsys.readouterr().err.splitlines()
    assert 2 <= len(lines) <= 3
    assert " MB, " in lines[0]


def test_a_log_says_how_long_it_will_take(monkeypatch, capsys):
    clock = iter([0.0, 0.0, 10.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    report = LogReporter()
    report(StepDone("reading", 0, 4_000_000, "bytes", 0))
    report(StepDone("reading", 1_000_000, 4_000_000, "bytes", 500))
    assert capsys.readouterr().err == "reading: 25% of 4.0 MB, 500 rows in 10 s (50/s), about 30 s left\n"


def test_every_stage_begins_anew(clock, capsys):
    clock(2.0)
    report = LogReporter()
    for stage in ("one", "two"):
        report(StepDone(stage, 0, 10, "rows", 0))
        report(StepDone(stage, 10, 10, "rows", 10))
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == ["one", "two"]


def test_a_log_says_once_that_a_stage_is_done(clock, capsys):
    clock(40)
    report = LogReporter()
    for done in (10, 20, 20, 20):
        report(StepDone("reading", done, 20, "rows", done))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("reading: 100% of 20 rows")


def test_a_bar_goes_to_stderr(capsys):
    feed(BarReporter(force=True))
    out, err = capsys.readouterr()
    assert out == ""
    assert "reading" in err
    assert "1,000 of 1,000 rows" in err


def test_nothing(capsys):
    feed(NullReporter())
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2_500_000, "2.5 MB"), (10**16, "10000.0 TB")]
)
def test_amount(number, text):
    assert amount(number, "bytes") == text
