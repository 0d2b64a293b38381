"""The reference has a page for all that is public."""

from __future__ import annotations

import importlib
import re
import tomllib

import pytest
from command_line import commands, options

import counterbalance as cb
from counterbalance.engine import lists
from counterbalance.engine.catalog import system
from counterbalance.engine.recipes.files import recipes
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.search.index_kinds import KINDS
from counterbalance.engine.sql.queries import queries, sql_functions
from counterbalance.engine.sql.statements import COLUMN_OPTIONS, FORMS, REFRESH_OPTIONS, VIEW_OPTIONS

CODE = re.compile(r"\bE\d{4}\b")


@pytest.fixture(scope="module")
def tools(project_root):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(project_root / "tools"))
        yield importlib.import_module("docs_pages")


@pytest.fixture(scope="module")
def pages(tools):
    pytest.importorskip("sphinx", reason="pip install counterbalance[docs]")
    return tools.pages()


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


def test_every_relation_list_and_column_is_on_a_page(pages):
    in_from = {row["name"] for row in system.callables() if row["kind"] == "table function"}
    assert in_from == set(re.findall(r"^## (\S+)$", pages["reference/functions/in-from.md"], re.MULTILINE))
    tables = pages["reference/tables.md"]
    assert {name for name in system.DOCS if f"`meta.{name}`" not in tables} == set()
    for name, table in BASE_TABLES.items():
        part = tables.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert [c.name for c in table.columns if f"| `{c.name}` |" not in part] == []
    assert [name for name in lists.names() if f"`lists.{name}`" not in pages["reference/lists.md"]] == []


def test_every_statement_option_kind_of_index_and_variable_is_on_a_page(pages, project_root):
    statements = pages["reference/statements.md"]
    assert all(form in statements for form in FORMS.values())
    options = {*COLUMN_OPTIONS, *VIEW_OPTIONS, *REFRESH_OPTIONS, *(o.name for k in KINDS.values() for o in k.options)}
    assert [name for name in options if f"| `{name}` |" not in statements] == []
    assert [name for name in KINDS if f"**USING {name}**" not in statements] == []
    read = set()
    for path in (
        p for folder in ("counterbalance", "engine", "ingest", "udfs") for p in (project_root / folder).rglob("*.py")
    ):
        read |= set(re.findall(r"\bCOUNTERBALANCE_[A-Z_]+\b", path.read_text(encoding="utf-8")))
    told = set(re.findall(r"`(COUNTERBALANCE_\w+)`", pages["reference/commands.md"]))
    assert read - {"COUNTERBALANCE_COMPLETE"} == told  # click's own, for completion


def test_a_recipe_tells_its_parameters_and_steps(pages):
    for name, recipe in recipes().items():
        page = pages[f"reference/recipes/{name}.md"]
        assert [p.name for p in recipe.parameters if f"`{p.name}`" not in page] == []
        assert [step.name for step in recipe.steps if step.name not in page] == []


def test_every_address_of_the_api_is_on_its_page(pages, tools):
    for path, item in tools.http()["paths"].items():
        for method in item.keys() & {"get", "post", "put", "patch", "delete"}:
            assert f"## {method.upper()} {path}".replace("_", "\\_") in pages["reference/http.md"]
