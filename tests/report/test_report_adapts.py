"""The report says what a lake lacks instead of failing, and never trusts what is in it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError
from counterbalance.report.build import render, write

if TYPE_CHECKING:
    from pathlib import Path
    from types import SimpleNamespace

EVIL = [
    "<script>alert(1)</script> a man",
    '"><img src=x onerror=alert(1)> a woman',
    "</svg><iframe src='http://evil.example'></iframe>",
    "{{ 7*7 }} {% raw %} a man",
    "]]> &lt;b&gt; <!-- a woman",
    "\x1b[31mred\x1b[0m \x00\x07 a man",
    "\u202egnp.exe\u2066 a woman",
    "=cmd|' /C calc'!A0",
]


def tags(text: str) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []

    class Parser(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append((tag, [n for n, _ in attrs]))

    Parser().feed(text)
    return found


@pytest.mark.thorough
def test_captions_alone(captions_only: cb.Lake) -> None:
    text = render(captions_only)
    for figure in ("categories", "people", "open-labels", "no-persons", "no-agreement", "hateful"):
        assert f'<figure id="{figure}">' not in text, figure
    assert "This lake has no pictures" in text
    assert re.search(r'<figure id="share-caption-gender">.*?<svg', text, flags=re.DOTALL)


@pytest.fixture
def captions_only(build: SimpleNamespace) -> cb.Lake:
    lake = cb.connect("memory://report-captions")
    ids = list(range(60))
    words = ["a man in a kitchen", "a woman in a kitchen", "a kitchen"]
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[words[i % 3] for i in ids]),
        }
    )
    return lake


def test_images_alone(build: SimpleNamespace) -> None:
    lake = cb.connect("memory://report-images")
    lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    text = render(lake)
    assert re.findall(r'<figure id="([^"]+)"', text) == ["splits"]
    assert '<section id="provenance">' in text


def test_no_lake_is_an_error_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        write(cb.connect(tmp_path / "none.lake"), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_hostile_texts_stay_text(build: SimpleNamespace) -> None:
    lake = cb.connect("memory://report-hostile")
    count = 24 * len(EVIL)
    ids = list(range(count))
    evil = [EVIL[i % len(EVIL)] for i in ids]
    lake.ingest(
        {
            "images": build.images(
                image_id=ids,
                key=[str(i) for i in ids],
                split=evil,
                source=evil,
                width=[10] * count,
                height=[10] * count,
            ),
            "captions": build.captions(caption_id=ids, image_id=ids, text=evil, origin=evil),
            "detections": build.detections(
                detection_id=ids,
                image_id=ids,
                category=evil,
                x=[1.0] * count,
                y=[1.0] * count,
                width=[5.0] * count,
                height=[5.0] * count,
            ),
            "labels": build.labels(
                label_id=ids + [count + i for i in ids],
                image_id=ids * 2,
                attribute=[EVIL[0]] * count + ["perceived_gender"] * count,
                value=evil * 2,
                annotator=evil + [EVIL[i // len(EVIL) % 2] for i in ids],
            ),
        }
    )
    text = render(lake)
    found = tags(text)
    assert not {t for t, _ in found} & {"script", "img", "iframe", "b"}
    assert not [n for _, names in found for n in names if n.startswith("on")]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "{{ 7*7 }}" in text
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
