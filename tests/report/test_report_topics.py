"""The report of a lake with topics shows the pictures behind each: stored, safe and small ones, blurred where asked."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.report import topics
from counterbalance.report.build import render
from counterbalance.report.renderer import FigureRenderer

IMAGES = 60
UNSAFE, BROKEN = 0, 2
VIEWS = {
    "sae_texts": (
        "item_id",
        "SELECT caption_id AS item_id, image_id, text, [struct_pack(feature := CAST(image_id % 2 AS INTEGER), "
        "activation := CAST(100 - image_id AS FLOAT))] AS features FROM captions",
    ),
    "sae_feature_topics": (
        "step, feature, cluster",
        "SELECT 1 AS step, 0 AS sae, f AS feature, concat('c', f) AS cluster, 0.0 AS cosine, 1.0 AS share "
        "FROM (SELECT unnest([0, 1]) AS f) AS t",
    ),
    "sae_topic_clusters": (
        "step, topic",
        "SELECT 1 AS step, 'ships <b>' AS topic, 'c0' AS cluster UNION ALL SELECT 1, 'trees', 'c1'",
    ),
}


def picture(number):
    """Noise in blocks, so that blurring takes its contrast; red says which topic."""
    noise = np.random.default_rng(number).integers(0, 256, (30, 40, 3), np.uint8)
    noise[..., 0] = 255 * (number % 2)
    return image_bytes(Image.fromarray(np.kron(noise, np.ones((8, 8, 1), np.uint8))))


@pytest.fixture(scope="module")
def lake(build):
    """Even images are of ships and men, odd ones of trees and women; low ids are most active."""
    made = cb.connect("memory://report-topics")
    ids = list(range(IMAGES))
    made.ingest(
        {
            "images": build.images(
                image_id=ids, key=[str(i) for i in ids], width=[320] * IMAGES, height=[240] * IMAGES,
                image=[b"no picture" if i == BROKEN else picture(i) for i in ids], sha256=["0" * 64] * IMAGES,
                nsfw=["NSFW" if i == UNSAFE else None for i in ids],
            ),
            "captions": build.captions(
                caption_id=list(range(2 * IMAGES)), image_id=sorted(ids * 2),
                text=[f"a {'woman' if i // 2 % 2 else 'man'} {i}" for i in range(2 * IMAGES)],
            ),
        }
    )  # fmt: skip
    for name, (key, query) in VIEWS.items():
        made.sql(f"CREATE MATERIALIZED VIEW {name} WITH (key = '{key}') AS {query}")
    made.refresh()
    return made


def shown(lake, *, blur=False):
    with lake.session() as session:
        (section,) = topics.sections(FigureRenderer(session), lake, blur=blur)
    return section.figures[0]


def pixels(picture):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(picture.uri.split(",")[1]))).convert("RGB")).astype(float)


def test_each_topic_has_its_most_active_pictures(lake):
    strips = {s.title: s.pictures for s in shown(lake).strips}
    assert {t: [p.image_id for p in own] for t, own in strips.items()} == {
        "ships <b>": [4, 6, 8, 10],  # 0 is not safe, 2 is broken
        "trees": [1, 3, 5, 7],
    }
    for title, own in strips.items():
        for found in own:
            red = pixels(found)[..., 0].mean()
            assert red > 200 if title == "trees" else red < 60
            assert (found.width, found.height) == (160, 120)


def test_they_are_blurred_where_asked(lake):
    clear, blurred = shown(lake), shown(lake, blur=True)
    for before, after in zip(clear.strips, blurred.strips, strict=True):
        for a, b in zip(before.pictures, after.pictures, strict=True):
            assert pixels(b)[..., 1].std() < 0.5 * pixels(a)[..., 1].std()
    assert "Blurred" in blurred.notes[-1]
    assert "Blurred" not in clear.notes[-1]


@pytest.mark.thorough
def test_the_page_has_them(lake):
    page = render(lake)
    assert page.count('<div class="strip">') == 2
    assert "<h4>ships &lt;b&gt;</h4>" in page
