"""The demo finds what was planted, tells it, and can be run again."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import counterbalance as cb
from counterbalance import demo
from counterbalance.sample import generate

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def told() -> io.StringIO:
    return io.StringIO()


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, told: io.StringIO) -> demo.Demo:
    return demo.run(tmp_path_factory.mktemp("demo") / "in here", told)


def test_every_value_is_exactly_the_one_counted_in_the_sample(done: demo.Demo) -> None:
    counted = [r for r in done.recovered if r.quantity.sample is not None]
    assert len(counted) >= 20
    assert [r for r in counted if not r.exact] == []


def test_every_interval_holds_the_population(done: demo.Demo) -> None:
    judged = [r for r in done.recovered if r.held is not None]
    assert len(judged) >= 20
    assert [r for r in judged if not r.held] == []


def test_every_audit_that_needs_nothing_more_is_run(done: demo.Demo) -> None:
    run = {r.quantity.audit for r in done.recovered} | done.others.keys()
    with_defaults = {n for n, audit in cb.audits().items() if all(p.default is not None for p in audit.parameters)}
    assert with_defaults - {"proposal_recall"} <= run  # that one needs the weights of a model
    for outcome in done.others.values():
        assert re.fullmatch(r"\d+ rows", outcome)


def test_it_tells_planted_and_recovered_values_side_by_side(done: demo.Demo, told: io.StringIO) -> None:
    text = told.getvalue()
    lines = text[text.index("  planted ") : text.index("Done in")].splitlines()
    assert max(map(len, lines)) <= 110
    for r in done.recovered:
        line = next(line for line in lines if line.startswith(f"    {r.quantity.name} "))
        assert f"{r.quantity.population:.3f}" in line
        assert f"{r.value:.3f}" in line


def test_a_terminal_that_knows_ascii_only_is_told_all_the_same(done: demo.Demo) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    demo._Teller(out).say(demo._table(list(done.recovered)))
    text = raw.getvalue().decode("ascii")
    assert "= *" in text
    assert "?" not in text


def test_the_commands_to_type_next_work(done: demo.Demo, told: io.StringIO) -> None:
    text = told.getvalue()
    lines = [line.strip().partition("   # ")[0] for line in text[text.index("What to type next") :].splitlines()]
    commands = [shlex.split(line) for line in lines if line.startswith("counterbalance ")]
    assert len(commands) == 4
    runnable = [c for c in commands if str(done.directory) in c[2] and (len(c) > 3)]
    assert len(runnable) == 2
    for command in runnable:
        result = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr


def test_the_report_is_there(done: demo.Demo) -> None:
    assert done.report == done.directory / "report.html"
    page = done.report.read_text(encoding="utf-8")
    assert "At a glance" in page
    assert re.search(r"violet: \+\d+ %", page)


def test_taking_the_same_sample_in_again_changes_nothing(done: demo.Demo) -> None:
    def versions() -> dict[str, int]:
        return {t: v for t, v in done.lake.session().versions.items() if t != "sensitive/labels"}

    before = versions()
    generate(done.directory / "sample", images=demo.IMAGES)
    demo.ingest(done.lake, done.directory / "sample")
    assert versions() == before


def test_a_wrong_audit_would_be_noticed(done: demo.Demo) -> None:
    """The comparison is not a tautology: another gender's rows, or another number, fail it."""
    from dataclasses import replace

    for r in done.recovered:
        if r.value is not None and r.quantity.sample is not None:
            assert not replace(r, value=r.value * 1.01 + 0.001).exact
    for r in done.recovered:
        if r.low is not None and r.high is not None:
            assert not replace(r, low=r.high, high=r.high + 1).held or r.high == r.quantity.population


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1])
def test_other_samples_are_recovered_too(tmp_path: Path, seed: int) -> None:
    """The demo above is one sample; this is another."""
    planted = generate(tmp_path / "sample", images=500, seed=seed)
    lake = cb.connect(tmp_path / "sample.lake")
    demo.ingest(lake, tmp_path / "sample")
    with lake.session() as session:
        found = demo.recover(session, planted)
    shown = [r for r in found if r.value is not None]
    assert len(shown) >= len(found) - 3
    assert [r for r in shown if r.exact is False] == []
    held = [r.held for r in shown if r.held is not None]
    assert sum(held) >= 0.85 * len(held)
