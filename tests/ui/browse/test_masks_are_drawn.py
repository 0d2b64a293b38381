"""The page of an image draws the masks of its boxes over the picture, and what is no mask leaves the rest as it is."""

from __future__ import annotations

import re

import numpy as np
import pytest

from counterbalance.udfs import masks

SHAPE = np.array([[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0]], bool)
PATH = "M1 1h2v1h-2zM1 2h1v1h-1z"
GOOD = [masks.encode(SHAPE), '{"size":[3,4],"counts":[4,2,1,1,4]}']
BAD = ["no mask", '{"size":[30,4],"counts":[120]}', "[1]", "<script>alert(1)</script>", "x" * 200_000]


@pytest.fixture
def page(empty_lake, build, serve):
    """Asks for the page of an image of 4 by 3 pixels, whose boxes have these masks."""

    def of(*texts, width=4, height=3):
        ids = list(range(len(texts)))
        empty_lake.ingest({
            "images": build.images(image_id=[1], width=[width], height=[height]),
            "detections": build.detections(
                detection_id=ids, image_id=[1] * len(ids), category=["dog"] * len(ids), x=[0.0] * len(ids), y=[0.0] * len(ids),
                width=[4.0] * len(ids), height=[3.0] * len(ids), mask=list(texts),
            ),
        })  # fmt: skip
        answer = serve(empty_lake).get("/lakes/demo/images/1")
        assert answer.status_code == 200
        return answer.text

    return of


def drawn(text):
    return re.findall(r'<path class="mask c0" data-category="0" d="([^"]*)"><title>dog</title>', text)


def test_run_lengths(page):
    text = page(*GOOD, None)
    assert drawn(text) == [PATH, PATH]
    assert 'aria-label="3 boxes, 2 masks"' in text
    assert "cannot be drawn" not in text


def test_polygons(page):
    text = page("[[1, 1, 2, 1, 2, 2, 1, 2]]")
    assert drawn(text) == ["M1 1h2v1h-2zM1 2h2v1h-2z"]


def test_what_is_no_mask(page):
    text = page(GOOD[0], *BAD)
    assert drawn(text) == [PATH]
    assert f"{len(BAD)} masks cannot be drawn" in text
    assert "<script>alert" not in text


def test_a_large_mask_is_drawn_coarsely(page):
    whole = np.zeros((2000, 1000), bool)
    whole[:, 500:] = True
    (path,) = drawn(page(masks.encode(whole), width=1000, height=2000))
    assert path.startswith("M504 0h")
    assert path.count("M") <= 240


def test_too_many_pixels_are_not_drawn(page):
    assert drawn(page('{"size":[100000,100000],"counts":[10000000000]}', width=100_000, height=100_000)) == []
