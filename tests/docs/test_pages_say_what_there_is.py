"""What pages show and no test runs: commands parse, SQL names what there is, and what is repeated of examples stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml
from sqlglot import exp

from counterbalance.__main__ import cli
from counterbalance.engine.errors import SqlError
from counterbalance.engine.sql import arguments, parse, queries, statements
from counterbalance.engine.sql.call_syntax import arguments_of, call_name, callable_names

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
OF_DUCKDB = {"generate_series", "read_parquet", "unnest"}


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


def check_sql(text):
    """Raise where a statement does not parse, or calls what is not there, or with an argument that is not there."""
    statement = statements.read(text)
    body = (
        text
        if statement is None
        else getattr(statement, "select", None) or f"SELECT {getattr(statement, 'expression', '1')}"
    )
    known = queries.queries()
    for call in parse.parse(body).tree.find_all(exp.Func):
        name, is_relation = call_name(call), isinstance(call.parent, exp.Table)
        if name in known:
            arguments.bind(name, [p.name for p in known[name].parameters], arguments_of(call))
        elif is_relation and name not in {*parse.TABLE_FUNCTIONS, *callable_names(), *OF_DUCKDB}:
            raise SqlError(f"no relation {name}", code="E1001")


SQL = [(page, i, text) for page in PAGES for i, text in enumerate(fenced(page, "sql").split(";")) if text.strip()]


def test_there_is_sql():
    assert len(SQL) >= 7


@pytest.mark.parametrize("text", [pytest.param(t, id=f"{page.stem}-{i}") for page, i, t in SQL])
def test_sql_that_is_not_run_names_what_there_is(text):
    check_sql(text)


@pytest.mark.parametrize(
    "text", ["FROM demographics(group := caption_gender)", "FROM nothing_there(1)", "SELEC 1", "FROM a JOIN"]
)
def test_wrong_sql_would_not(text):
    with pytest.raises(SqlError):
        check_sql(text)


def test_what_is_repeated_is_that_of_the_examples():
    tutorials, examples = ROOT / "docs" / "tutorials", ROOT / "examples"
    shown = yaml.safe_load(fenced(tutorials / "ci.md", "yaml"))
    assert shown == yaml.safe_load((examples / "ci" / "github-actions.yml").read_text(encoding="utf-8"))
    (line,) = re.findall(r"^\*/15 .*$", fenced(tutorials / "schedule.md", ""), re.MULTILINE)
    assert line in (examples / "schedule" / "crontab").read_text(encoding="utf-8")
