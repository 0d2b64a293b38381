"""Rows of a figure open examples of the images that they count: chosen by a hash, safe and small ones, and none of closed rows."""

from __future__ import annotations

import base64
import hashlib
import io
import re

import numpy as np
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.sql import queries
from counterbalance.report import examples
from counterbalance.report.build import render
from counterbalance.report.renderer import FigureRenderer

IDS = list(range(1, 61))
EACH = 3


def hashed(image):
    return hashlib.md5(f"0:{image}".encode()).hexdigest()


MEN = sorted((i for i in IDS if i % 2 == 0), key=hashed)
UNSAFE, BROKEN = MEN[0], MEN[1]
"""The first ones that would be taken."""


def picture(number):
    noise = np.random.default_rng(number).integers(0, 256, (30, 40, 3), np.uint8)
    return image_bytes(Image.fromarray(np.kron(noise, np.ones((8, 8, 1), np.uint8))))


@pytest.fixture(scope="module")
def lake(build):
    """Even images are of men; all have a perceived label, too."""
    made = cb.connect("memory://report-examples")
    whose = ["man" if i % 2 == 0 else "woman" for i in IDS]
    made.ingest(
        {
            "images": build.images(
                image_id=IDS,
                key=[str(i) for i in IDS],
                width=[320] * 60,
                height=[240] * 60,
                image=[b"no picture" if i == BROKEN else picture(i) for i in IDS],
                sha256=["0" * 64] * 60,
                nsfw=["NSFW" if i == UNSAFE else None for i in IDS],
            ),
            "captions": build.captions(
                caption_id=IDS, image_id=IDS, text=[f'a {w} "<b>" {i}' for w, i in zip(whose, IDS, strict=True)]
            ),
            "labels": build.labels(
                label_id=IDS,
                image_id=IDS,
                attribute=["perceived_gender"] * 60,
                value=["male" if w == "man" else "female" for w in whose],
                annotator=["ann"] * 60,
            ),
        }
    )
    return made


@pytest.fixture(scope="module")
def page(lake):
    return render(lake, examples=EACH)


def figure(page, name):
    found = re.search(rf'<figure id="{name}">(.*?)</figure>', page, flags=re.DOTALL)
    assert found is not None
    return found[1]


def opened(body):
    """Ids of the pictures of each row, by its title."""
    rows = re.findall(r"<details><summary>([^<]*)</summary>\s*<ul>(.*?)</ul>", body, flags=re.DOTALL)
    return {title: [int(i) for i in re.findall(r'alt="Picture (\d+):', strip)] for title, strip in rows}


def test_those_of_a_row_come_first_by_a_hash_of_their_id_and_are_safe_and_readable(page):
    found = opened(figure(page, "share-caption-gender"))
    assert found["male"] == MEN[2 : 2 + EACH]
    assert found["female"] == sorted((i for i in IDS if i % 2), key=hashed)[:EACH]


def test_how_they_were_chosen_is_said_below(page):
    assert "md5 of seed and id" in figure(page, "share-caption-gender")


def test_they_are_small_and_captions_are_escaped(page):
    body = figure(page, "share-caption-gender")
    for data in re.findall(r'src="data:image/jpeg;base64,([^"]+)"', body):
        assert max(Image.open(io.BytesIO(base64.b64decode(data))).size) == 160
    assert "a man &#34;&lt;b&gt;&#34;" in body
    assert "<b>" not in body


def test_rows_of_perceived_labels_have_none(page):
    assert "examples" not in figure(page, "share-perceived-gender")


def test_a_page_has_none_unless_asked(lake):
    with lake.session() as session:
        assert FigureRenderer(session).examples is None


def test_there_is_an_end_to_them_which_is_said(lake):
    with lake.session() as session:
        few = examples.Examples(lake, session, EACH, blur=True, room=1)
        rows = session.audit("demographics").to_arrow()
        strips, notes = few.of(queries.audit("demographics"), rows, rows["label"].to_pylist())
    assert [len(s.pictures) for s in strips] == [1]
    assert "Blurred" in notes[0]
    assert "No further examples" in notes[1]


def test_why_a_row_has_none_is_said(lake, monkeypatch):
    wrong = "SELECT CAST(text AS BIGINT) AS image_id FROM captions"
    monkeypatch.setattr(examples.behind, "links", lambda _, audit, rows: ([wrong] * rows.num_rows, False))
    with lake.session() as session:
        rows = session.audit("demographics").to_arrow()
        strips, notes = examples.Examples(lake, session, EACH).of(
            queries.audit("demographics"), rows, ["female", "male"]
        )
    assert strips == []
    assert [note.partition(":")[0] for note in notes] == ["No examples of female", "No examples of male"]
