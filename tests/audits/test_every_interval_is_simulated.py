"""Every audit whose rows have an interval is named in bench/coverage.py, with a section of docs/coverage.md that simulates it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import counterbalance as cb
from counterbalance.engine.sql.queries import queries

ROOT = Path(__file__).parents[2]
ENDS = re.compile(r"\b\w*_?(?:low|high)\b")


def sql_of(name):
    """Return the SQL of an audit or view, and of all views that it reads."""
    found, waiting = {}, [name]
    while waiting:
        query = queries()[waiting.pop()]
        found[query.name] = body_of(query.name)
        waiting += [w for w in set(re.findall(r"\w+", found[query.name])) & set(queries()) if w not in found]
    return "\n".join(found.values())


def body_of(name):
    (file,) = [*ROOT.glob(f"queries/*/{name}.sql")]
    return file.read_text(encoding="utf-8").partition("---*/")[2]


WITH_INTERVALS = sorted(name for name in cb.audits() if ENDS.search(sql_of(name)))


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("coverage_bench", ROOT / "bench" / "coverage.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page():
    """Rows of the page's tables, by the title of their section; '' is what stands before the first."""
    parts = re.split(r"^## (.+)$", (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    texts = {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}
    return {title: [line for line in text.splitlines() if line.startswith("| ")] for title, text in texts.items()}


def test_audits_with_intervals_are_found():
    assert {"demographics", "ieat", "compare_demographics", "retrieval_bias", "topic_pmi"} <= set(WITH_INTERVALS)


@pytest.mark.parametrize("name", WITH_INTERVALS)
def test_its_intervals_are_simulated(bench, page, name):
    for interval, title in bench.AUDITS[name].items():
        assert f"| `{name}` | {interval} | [{title}](#{bench.anchor(title)}) |" in page[""]
        assert len(page[title]) > 1  # rows beside the head of the table


def test_the_page_has_the_sections_of_the_program(bench, page):
    assert [title for title in page if title] == list(bench.SECTIONS)
    for title, section in bench.SECTIONS.items():
        assert page[title][0] == f"| {section.columns} |"


def test_no_audit_is_named_that_is_not_there(bench):
    assert set(bench.AUDITS) <= set(cb.audits())
    assert set(bench.WILSON) <= set(bench.AUDITS)
    assert {title for of in bench.AUDITS.values() for title in of.values()} <= set(bench.SECTIONS)
