"""Pictures are asked for by the number of an image and one of four sizes; all else is refused."""

from __future__ import annotations

import pytest

NAMES = [
    "..%2f..%2fetc%2fpasswd",
    "1%2f..%2f2",
    "%00",
    "1e0",
    "0x1",
    "1.0",
    "9223372036854775808",
    "\N{ARABIC-INDIC DIGIT ONE}",
    "1 OR 1=1",
    "1)",
]


@pytest.mark.parametrize("name", NAMES)
def test_other_names(serve, pictured, picture, name):
    answer = serve(pictured(picture())).get(f"/api/lakes/demo/images/{name}/picture")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] in {"E1061", "E1057"}


@pytest.mark.parametrize(
    "side", ["0", "1", "321", "100000", "-160", "160.0", "", "\N{ARABIC-INDIC DIGIT THREE}20", "320;"]
)
def test_other_sizes(serve, pictured, picture, side):
    answer = serve(pictured(picture())).get("/api/lakes/demo/images/1/picture", params={"side": side})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "E3743")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods(serve, pictured, picture, method):
    client = serve(pictured(picture()))
    answer = client.request(method, "/api/lakes/demo/images/1/picture", headers={"Content-Type": "application/json"})
    assert answer.status_code == 405
