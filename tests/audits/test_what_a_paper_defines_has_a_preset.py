"""Every audit and recipe whose source names one of the five papers takes ``preset``; the few that do not say why."""

from __future__ import annotations

import re

import pytest

from counterbalance.engine.recipes.files import recipes
from counterbalance.engine.sql import queries

PAPERS = re.compile(
    r"Smith et al\.|Hirota et al\.,? (Resampled|\(2024\)|\(2022, 2024\))|Le et al\.|Kabra et al\.|Girrbach et al\."
)
WITHOUT = {
    "artifact_shift": "our own",
    "attribute_confounding": "print no measure of it",
    "compare_intersections": "our own",
    "contrast_balance": "contrast sets as in",
    "intersections": "do not count how often they meet",
    "subject_alterations": "among errors alone",
}
"""By name: the words of the source that say why."""
NAMED = {n: q for n, q in {**queries.audits(), **recipes()}.items() if PAPERS.search(q.source or "")}


def test_the_papers_are_found():
    assert len(NAMED) > 50


@pytest.mark.parametrize("name", NAMED)
def test_it_has_a_preset_or_says_why_not(name):
    query = NAMED[name]
    presets = next((p.named for p in query.parameters if p.named), ())
    if name in WITHOUT:
        assert WITHOUT[name] in query.source
        assert not presets
    else:
        assert any(p.name in {"paper", "code"} for p in presets)


@pytest.mark.parametrize("name", [n for n, q in {**queries.queries(), **recipes()}.items() if any(p.named for p in q.parameters)])  # fmt: skip
def test_every_value_says_where_it_stands(name):
    query = {**queries.queries(), **recipes()}[name]
    told = [preset.source for p in query.parameters for preset in p.presets]
    told += [n.source for p in query.parameters for n in p.named if n.source]
    assert told
    place = r"[Ss]ection \d|supplement|limitations|^\d\.\d|\b[A-H]\b|[A-H]\.\d|Table \d|Fig\. \d|Eq\. \d|\.py|\.sh|\.ipynb|notebook|its (code|settings|run)|the code's"
    assert [source for source in told if not re.search(place, source)] == []


DIFFERENT = [
    (name, p)
    for name, query in {**queries.queries(), **recipes()}.items()
    for p in query.parameters
    for preset in p.presets
    if preset.name == "paper" and p.default not in {None, "NULL", preset.value}
]
"""Parameters whose default is another than the paper's value."""


@pytest.mark.parametrize(("name", "parameter"), DIFFERENT, ids=lambda v: getattr(v, "name", v))
def test_a_default_that_is_another_says_why(name, parameter):
    assert re.search(r"\b(defaults?|ours)\b", parameter.about)
