"""The page of an audit has an example with rows and their chart."""

from __future__ import annotations

import collections
import importlib
import xml.etree.ElementTree as ET

import pytest

import counterbalance as cb


@pytest.fixture
def pages(project_root, monkeypatch):
    monkeypatch.syspath_prepend(str(project_root / "tools"))
    return importlib.import_module("docs_audits")


def test_a_chart_has_a_mark_for_each_row_with_a_value(pages, build, tmp_path):
    ids = list(range(60))
    texts = ["a woman" if i < 25 else "a man" if i < 45 else "a dog" for i in ids]
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(
        {"images": build.images(image_id=ids), "captions": build.captions(caption_id=ids, image_id=ids, text=texts)}
    )
    with lake.session() as session:
        page = pages.audit(cb.audits()["demographics"], session, collections.defaultdict(str))
    before, drawn = page.split("````{raw} html\n")
    tree = ET.fromstring(drawn.partition("\n````")[0])
    shown = [t.text for t in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert {"female", "male", "unclear"} <= set(shown)
    assert "share, 95 % interval" in before
    assert "In every release since 0.2.0." in page


def test_every_audit_is_given_what_its_example_needs(pages):
    lacking = {
        name: {p.name for p in query.parameters if pages.describe.required(p)} - pages.ARGUMENTS.get(name, {}).keys()
        for name, query in cb.audits().items()
    }
    assert {name: lacks for name, lacks in lacking.items() if lacks} == {}
    assert {*pages.ARGUMENTS, *pages.BEFORE} <= cb.audits().keys()


@pytest.mark.slow
def test_the_answers_of_a_sheet_are_made_up_by_the_commands_that_are_shown(pages, build, tmp_path):
    ids = list(range(400))
    scenes = ["beach", "kitchen", "office", "park", "street", "workshop"]
    lake = cb.connect(tmp_path / "sample.lake")
    own = build.labels(
        label_id=ids,
        image_id=ids,
        attribute=["scene"] * 400,
        value=[scenes[i // 7 % 6] for i in ids],
        annotator=["first"] * 400,
    )
    lake.ingest({"images": build.images(image_id=ids), "labels": own})
    with cb.connect(pages.prepare(tmp_path)).session() as session:
        page = pages.audit(cb.audits()["label_validation"], session, collections.defaultdict(str))
    told = page.partition("## Example")[2]
    assert "What people or models would say of it is made up." in told
    assert "> answers.csv\n$ cbal ingest asked.lake answers.csv\n$ cbal audit asked.lake label_validation" in told
    assert "| agreement | a1@made-up | model | 214 |" in told
    assert "<svg" in told


def test_captions_that_stand_for_those_of_a_model_are_told(pages, build, tmp_path):
    ids = list(range(60))
    texts = ["a woman" if i % 3 else "a man" for i in ids]
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(
        {"images": build.images(image_id=ids), "captions": build.captions(caption_id=ids, image_id=ids, text=texts)}
    )
    with lake.session() as session:
        page = pages.audit(cb.audits()["ratio"], session, collections.defaultdict(str))
    assert "Captions by people, of pictures as they are, stand in the place" in page
    assert "| 2.0 |" in page
    assert "<svg" in page
