"""The report counts captions as captions, and words that mark a group are those that go with it."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import pytest

import counterbalance as cb
from counterbalance.report.build import render

if TYPE_CHECKING:
    from types import SimpleNamespace

TEXTS = ["man horse"] * 60 + ["man violin"] * 12 + ["woman horse"] * 20 + ["woman violin"] * 40
"""Men with a horse, women with a violin; and 12 men with a violin, so that the word is in enough of their images."""
LONG = " ".join(["very"] * 50)


@pytest.fixture(scope="module")
def text(build: SimpleNamespace) -> str:
    lake = cb.connect("memory://report-words")
    texts = [*TEXTS, LONG, None, None]
    ids = list(range(len(texts)))
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
        }
    )
    return render(lake)


def figure(text: str, name: str) -> str:
    found = re.search(rf'<figure id="{name}">(.*?)</figure>', text, flags=re.DOTALL)
    assert found is not None
    return html.unescape(found[1])


def test_captions_are_counted_as_captions(text: str) -> None:
    shown = figure(text, "caption-length")
    assert re.findall(r"<th>(.*?)</th>", shown) == ["value", "captions"]
    assert re.findall(r"<td>(.*?)</td>", shown) == ["0 to 3", str(len(TEXTS)), "40 or more", "1"]


def test_a_word_that_a_group_lacks_does_not_mark_it(text: str) -> None:
    shown = figure(text, "keywords")
    labels = re.findall(r'<g class="label".*?</g>', shown)[0]
    assert re.findall(r"<text[^>]*>(.*?)</text>", labels) == ["female: violin", "male: horse"]
    glance = html.unescape(text[text.index('<section id="glance">') : text.index('<section id="tables">')])
    (finding,) = re.findall(r'<a href="#keywords">.*?<span>(.*?)</span>', glance)
    odds = "log-odds against the other groups"
    assert finding.startswith((f"female: violin: {odds} 2", f"male: horse: {odds} 2"))
