"""Whatever the data says, a page shows it as text: no tag, no sign that turns what follows, no book."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest

EVIL = "<script>alert(1)</script>\N{RIGHT-TO-LEFT OVERRIDE}\x1b[31m\"'><img src=x onerror=alert(2)>{{7*7}}"


class Page(HTMLParser):
    """A page as a browser reads it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts, self.tags, self.names, self.leads = "", set(), set(), []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.names.update(name for name, _ in attrs)
        self.leads += [value for name, value in attrs if name in {"src", "href", "action"}]

    def handle_data(self, data: str) -> None:
        self.texts += data


@pytest.fixture
def client(build, empty_lake, serve):
    empty_lake.ingest(
        {
            "images": build.images(
                image_id=[1, 2],
                key=[EVIL, "k" * 1_000_000],
                uri=[EVIL, "javascript:alert(3)"],
                split=[EVIL, "plain"],
                license=[EVIL, None],
                source=[EVIL, "x" * 100_000],
                width=[100, 100],
                height=[100, 100],
            ),
            "captions": build.captions(
                caption_id=[1, 2, 3],
                image_id=[1, 2, 1],
                text=[EVIL, "b" * 1_000_000, EVIL],
                origin=["human", None, "human"],
            ),
            "detections": build.detections(
                detection_id=[1], image_id=[1], category=[EVIL], x=[-5.0], y=[1.0], width=[1e9], height=[5.0]
            ),
            "labels": build.labels(
                label_id=[1, 2],
                image_id=[1, 2],
                attribute=[EVIL, "a"],
                value=[EVIL, "b" * 50_000],
                annotator=[EVIL, "c"],
            ),
        }
    )
    return serve(empty_lake)


@pytest.mark.parametrize(
    "path", ["browse", "images/1", "images/2", "images/1?words=script%3E&split=" + "%3Cscript%3Ealert"]
)
def test_pages(client, path):
    answer = client.get(f"/lakes/demo/{path}")
    assert answer.status_code == 200
    assert len(answer.text) < 60_000
    page = Page(answer.text)
    assert not re.search(r"[\u202e\x1b]|49", page.texts)
    assert "<script>alert(1)</script>" in page.texts or "bbb" in page.texts
    assert "style" not in page.tags
    assert [name for name in page.names if name.startswith("on") or name == "style"] == []
    assert [p for p in page.leads if not p.startswith(("/", "#"))] == []


def test_what_is_chosen_is_sent_back_as_it_came(client):
    """A facet's value is the data's own, so that choosing it finds its images."""
    page = client.get("/lakes/demo/browse").text
    for name in ("split", "category", "label"):
        values = [html.unescape(v) for v in re.findall(rf'name="{name}" value="([^"]*)"', page)]
        value = next(v for v in values if "script" in v)
        found = client.get("/api/lakes/demo/images", params={name: value}).json()
        assert [i["image_id"] for i in found["images"]] == [1], (name, found)


def test_a_list_is_short(client):
    answer = client.get("/api/lakes/demo/images")
    assert len(answer.content) < 2_000
    assert "\\u202e" not in answer.text
    assert "\u202e" not in answer.text


def test_errors_are_texts(client):
    answer = client.get("/lakes/demo/browse", params={"sort": EVIL, "x": EVIL})
    assert answer.status_code == 400
    assert not re.search(r"<script>alert|<img src=x", answer.text)
