"""ask and caption_person show pictures to a model behind an OpenAI-compatible endpoint (a stub over HTTP)."""

from __future__ import annotations

import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.errors import FunctionError, RequestError
from counterbalance.engine.functions import function


def encoded(colour):
    return image_bytes(Image.new("RGB", (40, 30), colour))


def by_colour(pixels, question):
    """The letter of the option that names the colour of a picture."""
    red, _, blue = pixels[0, 0]
    colour = "red" if red > blue else "blue"
    return next(line[0] for line in question.splitlines() if line[1:] == f". {colour}")


def asked(url, images, model="some-vlm"):
    opened = function("ask").open({"model": model, "seed": 0, "endpoint": url})
    prompts, options = ["What colour is it?"] * len(images), [["red", "blue", "green"]] * len(images)
    try:
        return opened([pa.array(images, pa.binary()), pa.array(prompts), pa.array(options)])
    finally:
        opened.close()


def test_pictures_and_questions_are_sent_and_answers_read(serve):
    server = serve(by_colour)
    result = asked(server.url, [encoded("red"), None, encoded("blue"), encoded("red")])
    assert result.errors == {}
    assert [row and row["answer"] for row in result.values.to_pylist()] == ["red", None, "blue", "red"]
    assert {(seen["model"], seen["temperature"], seen["max_tokens"]) for seen in server.seen} == {("some-vlm", 0.0, 16)}


def test_a_refusal_of_one_picture_is_an_error_of_its_row(serve):
    server = serve(lambda pixels, question: 400 if pixels[0, 0, 2] else by_colour(pixels, question))
    result = asked(server.url, [encoded("red"), encoded("blue"), b"no picture"])
    assert [row and row["answer"] for row in result.values.to_pylist()] == ["red", None, None]
    assert sorted(result.errors) == [1, 2]
    assert "answers 400" in result.errors[1]


def test_a_refusal_of_all_that_is_asked_ends_the_work(serve):
    with pytest.raises(FunctionError) as error:
        asked(serve(lambda *_: 401).url, [encoded("red")])
    assert error.value.code == "E8322"


def test_a_person_is_described_in_a_red_frame(serve):
    server = serve(lambda *_: " A person in a field. ")
    opened = function("caption_person").open({"model": "vlm", "prompt": "Who?", "endpoint": server.url})
    try:
        result = opened([pa.array([encoded("white")]), *(pa.array([v]) for v in (5.0, 5.0, 20.0, 20.0))])
    finally:
        opened.close()
    assert result.values.to_pylist() == ["A person in a field."]
    seen = server.seen[0]
    assert seen["asked"] == "Who?"
    assert ((seen["pixels"] == (255, 0, 0)).all(2)).any()


def test_an_address_that_is_none_is_refused():
    with pytest.raises(RequestError) as error:
        function("ask").open({"model": "vlm", "seed": 0, "endpoint": "localhost"})
    assert error.value.code == "E3721"


def test_the_fingerprint_is_of_the_name_and_the_address_without_secrets():
    digest = function("ask").digest
    one = digest({"model": "vlm", "endpoint": "https://me:secret@example.org/v1"})
    assert one != digest({"model": "other", "endpoint": "https://example.org/v1"})
    assert one == digest({"model": "vlm", "endpoint": "https://example.org/v1"})
    assert "secret" not in one
