"""The page of an audit says of every column what it is, and in what it is counted or measured."""

from __future__ import annotations

import collections
import importlib

import pytest

import counterbalance as cb

ADDED = ("suppressed", "reason", "n_suppressed", "params")
"""Columns that the engine adds."""


@pytest.fixture
def tools(project_root, monkeypatch):
    monkeypatch.syspath_prepend(str(project_root / "tools"))
    return importlib.import_module("docs_audits")


@pytest.fixture
def columns(tools, build, tmp_path):
    """Columns by audit: as the SQL names them, else as rows over a small lake have them."""
    ids = list(range(40))
    people, things = ("woman", "girl", "man", "boy"), ("umbrella", "bench", "laptop", "bicycle", "book")
    texts = [f"a {people[i % 4]} with a {things[i % 5]}" for i in ids]  # every word that an example asks for
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
            "detections": build.detections(detection_id=ids, image_id=ids, category=[things[i % 5] for i in ids]),
            "labels": build.labels(
                label_id=ids,
                image_id=ids,
                attribute=["perceived_gender"] * 40,
                value=["female", "male"] * 20,
                annotator=["first"] * 40,
            ),
        }
    )
    found = {}
    with lake.session() as session:
        for name, query in cb.audits().items():
            named = tools.docs_columns.of(query)
            if tools.docs_columns.takes_over(query):
                named += session.audit(name, **tools.ARGUMENTS.get(name, {})).to_arrow().schema.names
            found[name] = list(dict.fromkeys((*named, *ADDED)))
    return found


def test_every_column_of_every_audit_has_a_unit(tools, columns):
    units = {
        (name, column): tools.docs_units.of(cb.audits()[name], column, names)
        for name, names in columns.items()
        for column in names
    }
    assert len(units) > 800
    assert [column for column, unit in units.items() if not unit] == []


def test_every_column_of_every_audit_is_told_what_it_is(tools, columns):
    """In words of this audit, or in those that hold for its name everywhere, and not by how it is hidden alone."""
    audits = cb.audits()
    named = {(name, c): tools.docs_columns._named(audits[name], c) for name, names in columns.items() for c in names}
    assert [column for column, told in named.items() if not told] == []
    own = tools.docs_columns._OWN
    assert own.keys() <= audits.keys()
    assert [(name, c) for name, told in own.items() for c in told if c not in columns[name]] == []


@pytest.mark.parametrize(
    ("audit", "column", "told"),
    [
        ("weat", "n_a", "words of a"),
        ("compare_sentiment", "n_a", "n of the first dataset"),
        ("bias_transfer", "model", "the model's bias in the category"),
        ("contrast_balance", "difference", "largest count of the labels less the smallest"),
        ("win_rates", "wins", "judgements that it wins; small ones are hidden"),
    ],
)
def test_a_column_is_what_its_audit_says(tools, audit, column, told):
    assert tools.docs_columns.meaning(cb.audits()[audit], column).startswith(told)


def test_a_column_that_nobody_knows_has_none(tools):
    query = cb.audits()["demographics"]
    assert not tools.docs_units.of(query, "brightness", ("label", "brightness"))
    assert not tools.docs_units.of(query, "value", ("label", "value"))
    assert not tools.docs_units.of(query, "low", ("label", "low"))


def test_every_audit_that_is_told_of_is_there(tools):
    assert {audit for audit, _ in tools.docs_units._OWN} <= cb.audits().keys()


@pytest.mark.parametrize(
    ("audit", "column", "unit"),
    [
        ("cooccurrence", "low", "nats (natural logarithm)"),
        ("crime_words", "delta_low", "relative difference, from -1 (0.1: 10 % more)"),
        ("compare_crime_words", "base_count_a", "count"),
        ("min_size_study", "side_from", "px"),
        ("similarity_bias", "mean_label", "cosine, -1 to 1"),
        ("hate_content_rate", "high", "percent"),
    ],
)
def test_ends_and_parts_have_the_unit_of_what_they_are_of(tools, audit, column, unit):
    query = cb.audits()[audit]
    assert tools.docs_units.of(query, column, tools.docs_columns.of(query)) == unit


def test_the_page_shows_it_beside_the_column(tools):
    page = tools.audit(cb.audits()["demographics"], None, collections.defaultdict(str))
    assert "| column | unit | what it is |" in page
    assert "| `share` | share, 0 to 1 | count over n" in page
