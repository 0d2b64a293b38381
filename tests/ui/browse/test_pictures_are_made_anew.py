"""A picture that leaves the server is made of decoded pixels, in one of four sizes, and says for how long it is good."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

WHERE = "/api/lakes/demo/images/1/picture"


def opened(answer):
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/jpeg")
    return Image.open(io.BytesIO(answer.content))


@pytest.mark.parametrize(
    ("side", "size"), [(160, (160, 120)), (320, (320, 240)), (640, (640, 480)), (1280, (800, 600))]
)
def test_size(serve, pictured, picture, side, size):
    client = serve(pictured(picture()))
    for _ in range(2):  # made, and kept
        assert opened(client.get(WHERE, params={"side": side})).size == size


def test_nothing_but_pixels(serve, pictured, picture):
    data = picture(kind="JPEG", comment=b"<script>secret()</script>")
    assert b"secret" in data
    assert b"secret" not in serve(pictured(data)).get(WHERE).content


def test_an_answer_is_good_for_its_browser_alone(serve, pictured, picture):
    client = serve(pictured(picture()))
    first = client.get(WHERE)
    assert first.headers["cache-control"] == "private, no-cache"
    again = client.get(WHERE, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_heads_are_blurred(serve, pictured, picture, build):
    lake = pictured(picture())
    box = {"x": [200.0], "y": [0.0], "width": [200.0], "height": [600.0]}
    lake.ingest({"detections": build.detections(detection_id=[1], image_id=[1], category=["person"], **box)})
    client = serve(lake)
    plain, blurred = (
        np.asarray(opened(client.get(WHERE, params={"side": "1280", "blur": b}))).astype(float) for b in ("0", "1")
    )
    assert blurred[20:180, 220:380].std() < plain[20:180, 220:380].std() / 3
    assert blurred[:, 500:].std() == pytest.approx(plain[:, 500:].std(), rel=0.05)


@pytest.mark.parametrize("data", [None, b"GIF89a, or so", b"<svg xmlns='http://www.w3.org/2000/svg'/>"])
def test_no_picture(serve, pictured, data):
    client = serve(pictured(data))
    for _ in range(2):
        answer = client.get(WHERE)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "E1058")


def test_unsafe_ones_are_shown_to_those_who_ask(serve, pictured, picture):
    client = serve(pictured(picture(), nsfw=["NSFW"]))
    assert client.get(WHERE).status_code == 404
    assert client.get(WHERE, params={"unsafe": "1"}).status_code == 200
    assert client.get(WHERE).status_code == 404
