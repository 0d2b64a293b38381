"""The commands of README and docs run, in order, in an empty folder, without a network, and print what is shown there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import typed
import yaml

ROOT = Path(__file__).parents[2]
README, TOUR = (
    ("README.md", "docs/lake.md", "docs/statistics.md"),
    ("docs/tour.md", "docs/safety.md", "docs/models.md", "docs/contrast-sets.md", "docs/association.md"),
)
"""Files whose commands go on with one lake."""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_commands_of_spark_print_what_is_shown(tmp_path):
    typed.check(("docs/spark.md",), tmp_path, [])


def test_what_programs_ask_of_the_pages_is_answered(tmp_path):
    """Of a server on this machine, so that the network may be asked."""
    pytest.importorskip("uvicorn", reason="pip install counterbalance[ui]")
    typed.check(("docs/ui.md",), tmp_path, [], least=3)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("files", [README, TOUR], ids=["readme", "docs"])
def test_every_command_prints_what_is_shown(files, tmp_path, without_network, record_property):
    count = typed.check(files, tmp_path, without_network)
    if without_network:
        record_property("commands", count)


def test_the_addresses_of_the_api_in_the_docs_are_those_that_it_describes():
    text = (ROOT / "docs" / "ui.md").read_text()
    paths = yaml.safe_load((ROOT / "counterbalance" / "ui" / "openapi.yaml").read_text())["paths"]
    told = set()
    for method, path in re.findall(r"^\| `(GET|POST) (/[^`?]+)", text, re.MULTILINE):
        told.add((method.lower(), re.sub(r"\b(?:[A-Z]+_)?[A-Z]+\b", "{}", path)))
    described = {
        (method, re.sub(r"{\w+}", "{}", path))
        for path, item in paths.items()
        for method in item.keys() & {"get", "post"}
    }
    assert told - described == set()
    assert {path for _, path in described} - {path for _, path in told} == set()


def test_every_audit_function_and_format_is_in_the_docs():
    import counterbalance as cb

    text = "\n".join(file.read_text() for file in sorted((ROOT / "docs").glob("*.md")))
    shipped = [n for n, f in cb.functions().items() if f.call.__module__.startswith("counterbalance.udfs.")]
    assert len(shipped) > 10
    for name in (*cb.audits(), *shipped, *cb.formats()):
        assert f"`{name}`" in text, name


def test_readme_is_one_screen_and_its_links_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 130
    for file in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "tutorials").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)", file.read_text()):
            assert not target or (file.parent / target).exists(), (file.name, target)
