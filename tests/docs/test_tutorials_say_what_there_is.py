"""What tutorials show and do not run: their commands parse, and what they repeat of examples is what stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from counterbalance.__main__ import cli

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


def fenced(page: Path, kind: str) -> str:
    """The blocks of one kind, one after the other; ``""`` are those that are not run."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return "".join(body for name, body in found if name == kind)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_that_are_not_run_parse(page):
    for line in fenced(page, "").replace("\\\n", " ").splitlines():
        if not line.startswith("cbal "):
            continue
        words = shlex.split(line.partition(" > ")[0], comments=True)[1:]
        name, command, rest = cli.resolve_command(cli.make_context("cbal", list(words)), list(words))
        command.make_context(name, rest)


def test_a_wrong_one_would_not():
    name, command, rest = cli.resolve_command(cli.make_context("cbal", ["refresh"]), ["refresh", "a.lake", "--duo"])
    with pytest.raises(Exception, match="--duo"):
        command.make_context(name, rest)


def test_what_is_repeated_is_that_of_the_examples():
    tutorials, examples = ROOT / "docs" / "tutorials", ROOT / "examples"
    shown = yaml.safe_load(fenced(tutorials / "ci.md", "yaml"))
    assert shown == yaml.safe_load((examples / "ci" / "github-actions.yml").read_text(encoding="utf-8"))
    (line,) = re.findall(r"^\*/15 .*$", fenced(tutorials / "schedule.md", ""), re.MULTILINE)
    assert line in (examples / "schedule" / "crontab").read_text(encoding="utf-8")
