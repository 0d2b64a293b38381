"""The form of an audit: a field a parameter, by its type, and relations that there are."""

from __future__ import annotations

import re

import pytest


def field(page: str, name: str) -> str:
    return page.partition(f'<label for="p-{name}">')[2].partition("</div>")[0]


def test_choices_numbers_and_sliders(ask):
    page = ask.get("/lakes/demo/audits/bias_transfer").text
    assert '<option value="">fisher (default)</option>' in field(page, "interval")
    assert (
        '<input type="range" data-of="p-degree" aria-label="degree" min="1" max="3" step="1" value="1" hidden>' in page
    )
    assert 'type="number" id="p-min_count" name="min_count" value="" placeholder="10" step="1" min="0"' in page
    assert "required" in field(page, "model_bias")
    assert "<table>" not in page  # model_bias is to be given first


def test_relations_are_completed_from_what_there_is(ask):
    page = ask.get("/lakes/demo/audits/cooccurrence").text
    number = re.search(r'list="offer-(\d+)"', field(page, "groups")).group(1)
    offered = page.partition(f'<datalist id="offer-{number}">')[2].partition("</datalist>")[0]
    assert '"caption_gender"' in offered
    assert "image_labels(&#39;perceived_gender&#39;)" in offered
    assert "image_labels(&#39;scene&#39;)" in offered
    concepts = page.partition('<datalist id="offer-1">')[2].partition("</datalist>")[0]
    assert "label_concepts(&#39;scene&#39;)" in concepts
    assert "perceived" not in concepts  # which a default session does not read


@pytest.mark.parametrize(
    ("asked", "code"), [("min_count=ten", "E3114"), ("populaton=all", "E3111"), ("min_count=-1", "E3134")]
)
def test_what_is_wrong_stands_above_a_form_that_keeps_it(ask, asked, code):
    answer = ask.get(f"/lakes/demo/audits/cooccurrence?groups=image_labels('scene')&{asked}")
    assert answer.status_code == 400
    assert answer.text.index(f"<code>{code}</code>") < answer.text.index('<form method="get"')
    assert 'value="image_labels(&#39;scene&#39;)"' in field(answer.text, "groups")
    name, _, value = asked.partition("=")
    if name == "min_count":
        assert f'value="{value}"' in field(answer.text, name)


def test_hostile_text_is_text(ask):
    page = ask.get("/lakes/demo/audits/demographics?groups=<script>alert(1)</script>").text
    assert "<script>alert" not in page
    assert "style=" not in page


def test_an_unknown_audit_is_not_found(ask):
    assert ask.get("/lakes/demo/audits/nothing").status_code == 404
    assert ask.get("/lakes/demo/audits/setup.sql").status_code == 404


def test_no_rows_are_explained(ask):
    page = ask.get("/lakes/demo/audits/cooccurrence?min_count=100").text
    assert "cooccurrence() finds nothing to count in what it reads, or fewer than 100, which are left out" in page
    assert "<table>" not in page
