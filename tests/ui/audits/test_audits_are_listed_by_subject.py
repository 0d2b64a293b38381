"""All audits are listed under their subjects, with what a lake lacks for them."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

import counterbalance as cb
from counterbalance.ui.app import create


@pytest.fixture(scope="module")
def bare(build):
    lake = cb.connect("memory://bare-of-captions")
    lake.ingest({"images": build.images(image_id=[1])})
    app = create({"bare": lake}, token="secret", hosts=["127.0.0.1:8010"])
    return TestClient(app, base_url="http://127.0.0.1:8010", headers={"Authorization": "Bearer secret"})


def test_every_audit_has_a_link_under_its_subject(ask):
    page = ask.get("/lakes/demo/audits").text
    assert page.index("<h2>Who is in the pictures</h2>") < page.index("<h2>What goes with whom</h2>")
    for name in cb.audits():
        assert f'href="/lakes/demo/audits/{name}"' in page
    assert page.count("Cannot be counted here") == 2  # lic and ratio
    assert page.count("Cannot be counted here: the lake has no captions of origin generated.") == 2


def test_what_a_lake_lacks_is_said(bare):
    page = bare.get("/lakes/bare/audits").text
    of_sentiment = page.partition('/audits/sentiment"')[2].partition("</li>")[0]
    assert "Cannot be counted here: the lake has no captions." in of_sentiment
    found = {a["name"]: a for a in bare.get("/api/lakes/bare/audits").json()["audits"]}
    assert found["sentiment"]["empty"] == ["captions"]
    assert found["sentiment"]["subject"] == "what goes with whom"
    assert found["self_similarity"]["given"] == ["images"]


def test_the_page_of_one_says_so_too(bare):
    page = bare.get("/lakes/bare/audits/sentiment").text
    assert "sentiment() needs captions; the lake holds 1 image," in page
    assert 'id="p-groups"' in page
