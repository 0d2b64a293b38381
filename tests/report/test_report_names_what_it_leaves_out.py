"""A report shows what there is, findings first; what is missing is named once, with the command that would add it."""

from __future__ import annotations

import html
import re

import pytest

import counterbalance as cb
from counterbalance.engine.session import Session
from counterbalance.report import absent
from counterbalance.report.build import render
from counterbalance.report.figures import Figure, Section


@pytest.fixture(scope="module")
def captions_only(build):
    lake = cb.connect("memory://report-absent")
    ids = list(range(90))
    words = ["a man in a kitchen with a dog", "a woman in a bus", "a bus"]
    images = build.images(image_id=ids, key=[str(i) for i in ids])
    lake.ingest(
        {"images": images, "captions": build.captions(caption_id=ids, image_id=ids, text=[words[i % 3] for i in ids])}
    )
    return lake


@pytest.fixture(scope="module")
def asked():
    """The audits that the page asked for."""
    return []


@pytest.fixture(scope="module")
def page(captions_only, asked):
    audit = Session.audit

    def listed(self, name, **params):
        asked.append(name)
        return audit(self, name, **params)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "audit", listed)
        return render(captions_only)


def left_out(text):
    section = text.split('<section id="absent">')[1].split("</section>", maxsplit=1)[0]
    lines = re.findall(r"<li>(.*?)</li>", section, flags=re.DOTALL)
    return {html.unescape(line).partition(": ")[0]: html.unescape(line).partition(": ")[2] for line in lines}


def test_one_line_for_what_one_command_adds(captions_only, page):
    lines = left_out(page)
    with_boxes = lines["With detections"]
    assert "What is seen; People an image; " in with_boxes
    assert f"<code>counterbalance ingest {captions_only.uri} boxes.csv</code>" in with_boxes
    assert "Hateful content, as a classifier sees it" in lines["With labels"]
    assert lines["With the recipe caption_clusters"].startswith("Kinds of scenes. <code>counterbalance recipe ")
    people = "With labels of perceived gender, race or ethnicity (counterbalance ingest LAKE labels.csv)"
    assert lines[people] == "Persons by perceived label; Agreement of annotators."


def test_findings_come_first_and_nothing_is_an_empty_box(page):
    assert page.index('id="glance"') < page.index("How to read this") < page.index('id="tables"')
    assert page.index('id="absent"') < page.index('id="provenance"')
    assert all("<svg" in body for body in re.findall(r"<figure id=.*?</figure>", page, flags=re.DOTALL))
    assert "Not shown" not in page
    chapters = re.findall(r'<section id="(\w+)"', page)
    assert re.findall(r'<li><a href="#(\w+)">', page.split("</nav>")[0]) == chapters


def test_nothing_is_asked_of_what_is_empty(page, asked):
    assert page
    assert "demographics" in asked
    assert not {"hate_content_rate"} & {*asked}


def test_a_reason_stands_once():
    figures = [
        Figure("a", "A", "", gap="Too few."),
        Figure("b", "B", "", gap="Too few."),
        Figure("c", "C", "", "<svg/>"),
    ]
    sections = [Section("one", "One", "", figures), Section("two", "Two", "", figures[:1])]
    assert absent.found(sections, "x.lake", has_captions=False) == [absent.Absent("Too few", ["A", "B", "A"], [])]
    assert [(s.name, [f.name for f in s.figures]) for s in absent.shown(sections)] == [("one", ["c"])]
