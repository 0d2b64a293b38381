"""The reference has a page for all that is public, and pages of docs name nothing that is gone."""

from __future__ import annotations

import importlib
import re
import tomllib
from itertools import pairwise

import pytest

import counterbalance as cb
from counterbalance.__main__ import COMMANDS, cli
from counterbalance.engine.recipes.files import recipes
from counterbalance.engine.sql.queries import queries, sql_functions

CODE = re.compile(r"\bE\d{4}\b")
SPAN = re.compile(r"`([^`\n]+)`")
SOURCES = ("counterbalance", "engine", "ingest", "udfs", "queries", "examples", "tests", "bench")


@pytest.fixture(scope="module")
def tools(project_root):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(project_root / "tools"))
        yield importlib.import_module("docs_pages")


@pytest.fixture(scope="module")
def pages(tools):
    pytest.importorskip("sphinx", reason="pip install counterbalance[docs]")
    return tools.pages()


@pytest.fixture(scope="module")
def docs(project_root):
    """The text of README and of each page of docs and tutorials, by name."""
    folder = project_root / "docs"
    pages = [project_root / "README.md", *sorted(folder.glob("*.md")), *sorted((folder / "tutorials").glob("*.md"))]
    return {path.name: path.read_text(encoding="utf-8") for path in pages}


@pytest.fixture(scope="module")
def words(project_root):
    """Every word of the code, and of the names of its files."""
    found = set()
    for folder in SOURCES:
        for path in (project_root / folder).rglob("*"):
            if path.suffix in {".py", ".sql", ".j2", ".yaml", ".json", ".csv", ".js"}:
                found |= {path.stem, *re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    return found


def commands():
    """Commands by name, those within others as ``train classifier``."""
    import click

    found = {}
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        found[name] = command
        if isinstance(command, click.Group):
            found |= {
                f"{name} {inner}": command.get_command(context, inner) for inner in command.list_commands(context)
            }
    return found


def options(command):
    return {opt for p in command.params for opt in (*p.opts, *p.secondary_opts)} | {"--help"}


def test_every_query_recipe_and_command_has_a_page_that_a_list_leads_to(pages):
    for name, query in queries().items():
        page = pages[f"reference/{query.kind}s/{name}.md"]
        assert f"# {name}\n" in page
        assert all(f"`{p.name}`" in page for p in query.parameters)
        assert f"]({name}.md)" in pages[f"reference/{query.kind}s/index.md"]
    for name in recipes():
        assert f"# {name}\n" in pages[f"reference/recipes/{name}.md"]
        assert f"]({name}.md)" in pages["reference/recipes/index.md"]
    for name, command in commands().items():
        page = pages[f"reference/commands/{name.split()[0]}.md"]
        assert f"# cbal {name}\n" in page
        for option in (o for o in options(command) if o.startswith("-")):
            assert option in page, (name, option)


def test_every_function_format_error_and_table_is_on_a_page(pages, project_root):
    entries = tomllib.loads((project_root / "pyproject.toml").read_text())["project"]["entry-points"]
    told = {name: set(re.findall(r"^## (\S+)$", text, re.MULTILINE)) for name, text in pages.items()}
    functions = set().union(*(found for name, found in told.items() if "/functions/" in name))
    assert {*entries["counterbalance.udfs"], *sql_functions()} <= functions
    for group, page in (("formats", "formats"), ("exports", "exports"), ("actions", "actions")):
        assert entries[f"counterbalance.{group}"].keys() <= told[f"reference/{page}.md"]
    assert {*cb.__all__} - {"__version__"} <= told["reference/python.md"]
    assert {"images", "captions", "detections", "labels", "meta"} <= told["reference/tables.md"]
    codes = set(CODE.findall((project_root / "docs" / "errors.md").read_text()))
    assert codes <= set(CODE.findall("".join(t for n, t in pages.items() if n.startswith("reference/errors/"))))


def test_every_address_of_the_api_is_on_its_page(pages, tools):
    for path, item in tools.http()["paths"].items():
        for method in item.keys() & {"get", "post", "put", "patch", "delete"}:
            assert f"## {method.upper()} {path}".replace("_", "\\_") in pages["reference/http.md"]


def test_pages_name_no_error_that_is_gone(docs, tools):
    known = tools.error_codes()
    named = {(page, code) for page, text in docs.items() for code in CODE.findall(text)}
    assert {(page, code) for page, code in named if code not in known} == set()


def called(text):
    """Yield the words of every line that calls a command: in blocks, and between backticks."""
    lines = re.findall(r"^\$ (?:cbal|counterbalance) (.+)$", text, re.MULTILINE)
    lines += re.findall(r"`(?:cbal|counterbalance) ([^`\n]+)`", text)
    for line in lines:
        yield re.sub(r"'[^']*'|\"[^\"]*\"?", "TEXT", re.split(r"\s(?:[;|&]|\d?>)", line)[0]).split()


def test_pages_call_no_command_audit_recipe_format_or_option_that_is_gone(docs):
    known = commands()
    for page, text in docs.items():
        for given in called(text):
            name = next((w for w in given if not w.startswith("-")), None)
            if name is None or not name.isalpha() or name.isupper():
                continue
            assert name in COMMANDS, (page, given)
            command = known.get(" ".join(given[:2])) or known[name]
            for word in (w.split("=")[0].rstrip(".,") for w in given if w.startswith("--") and len(w) > 2):
                assert word in options(command), (page, given)
            positional = [w for w in given[1:] if not w.startswith("-")]
            if name in {"audit", "recipe"} and len(positional) > 1 and positional[0].endswith((".lake", "LAKE")):
                names = cb.audits() if name == "audit" else recipes()
                asked = positional[1].rstrip("`,.")
                assert asked in names or asked.isupper() or asked.endswith((".sql", "…")), (page, given)
            for option, value in pairwise(given):
                if (name, option) == ("ingest", "--format"):
                    assert value in cb.formats() or value.isupper(), (page, given)


def test_pages_name_nothing_that_no_code_knows(docs, words):
    gone = set()
    for page, text in docs.items():
        plain = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        for span in SPAN.findall(plain):
            name = re.match(r"([a-z]\w*_\w+)(?:\(.*)?$", span)
            if name and name[1] not in words:
                gone.add((page, name[1]))
    assert gone == set()
