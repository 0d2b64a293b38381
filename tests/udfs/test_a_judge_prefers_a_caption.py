"""judge shows a picture with two captions to a model, and reads which it prefers from what the model replies."""

from __future__ import annotations

import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import function
from counterbalance.engine.recipes.files import recipes
from counterbalance.engine.sql import presets
from counterbalance.udfs.models.judge import PROMPT
from counterbalance.udfs.models.replies import verdict

PICTURE = image_bytes(Image.new("RGB", (40, 30), "red"))


def judged(url, images, first, second, prompt=PROMPT):
    opened = function("judge").open({"model": "some-vlm", "prompt": prompt, "endpoint": url})
    try:
        return opened([pa.array(images, pa.binary()), pa.array(first, pa.string()), pa.array(second, pa.string())])
    finally:
        opened.close()


def longer(_, question):
    """What a judge replies that likes long captions."""
    a, b = (len(question.partition(f"Model {m}: ")[2].partition("\n")[0].removesuffix("Model B: ")) for m in ("A", "B"))
    return "TIE" if a == b else "Model A" if a > b else "Model B"


def test_what_the_judge_prefers(serve):
    server = serve(longer)
    first = ["a long caption", "short", "same", None, "no picture"]
    second = ["short", "a long caption", "size", "nothing before", "at all"]
    found = judged(server.url, [PICTURE] * 4 + [None], first, second)
    assert found.errors == {}
    assert found.values.to_pylist() == [
        {"winner": "first", "reply": "Model A"},
        {"winner": "second", "reply": "Model B"},
        {"winner": "tie", "reply": "TIE"},
        None,
        None,
    ]
    assert {seen["max_tokens"] for seen in server.seen} == {16}


def test_the_prompt_of_the_paper_is_sent_as_it_is_printed(serve):
    server = serve(lambda *_: "TIE")
    compare = next(p for p in recipes()["judge_captions"].parameters if p.name == "compare")
    (paper,) = (preset.value for preset in compare.presets if preset.name == "paper")
    prompt = paper.removeprefix("'").removesuffix("'").replace("''", "'")
    judged(server.url, [PICTURE], ["a man {caption.b}"], ["a woman \\1"], prompt)
    asked = server.seen[0]["asked"]
    assert asked.startswith("You are judging two captions for a single person highlighted by a red frame")
    assert asked.endswith(
        "\n\nModel A: a man {caption.b}\n\nModel B: a woman \\1\n\nFinal answer (one of: Model A, Model B, TIE):"
    )
    order = ["1) Faithfulness", "2) No hallucinations", "3) Detail", "4) Linguistic", "Tie guidance", "Edge cases"]
    assert sorted(order, key=asked.index) == order
    assert presets.values([compare], "paper") == {"compare": paper}


def test_the_recipe_asks_by_default_what_the_function_does():
    compare = next(p for p in recipes()["judge_captions"].parameters if p.name == "compare")
    assert compare.default == f"'{PROMPT.replace(chr(39), chr(39) * 2)}'"


@pytest.mark.parametrize(
    ("reply", "winner"),
    [
        ("Model A", "first"),
        ("Model B", "second"),
        ("TIE", "tie"),
        ("model a.", "first"),
        ("**Model B**", "second"),
        ("Final answer: Model B", "second"),
        ("It is a tie.", "tie"),
        ("MODEL_A", "first"),
        ("A", "first"),
        ("(b)", "second"),
        ("Model A is better: Model A is exact", "first"),
        ("", None),
        ("C", None),
        ("Model C", None),
        ("A man stands there", None),
        ("Model A or Model B", None),
        ("Model A, or a tie", None),
        ("the necktie", None),
    ],
)
def test_replies(reply, winner):
    assert verdict(reply) == winner


def test_a_reply_that_prefers_nothing_is_an_error_of_its_row(serve):
    server = serve(lambda _, question: "TIE" if "good" in question.partition("Model A: ")[2] else "Both are bad")
    found = judged(server.url, [PICTURE] * 2, ["good", "x"], ["y", "y"])
    assert [row and row["winner"] for row in found.values.to_pylist()] == ["tie", None]
    assert found.errors == {1: "the reply names not one of Model A, Model B and TIE: 'Both are bad'"}


@pytest.mark.parametrize("prompt", ["Which is better?", "Model A: {caption.a}", "{first} or {second}?"])
def test_a_prompt_without_the_captions_is_refused(prompt):
    with pytest.raises(RequestError, match="shows no") as caught:
        function("judge").digest({"model": "some-vlm", "prompt": prompt, "endpoint": "http://localhost:1/v1"})
    assert caught.value.code == "E3051"
    with pytest.raises(RequestError):
        function("judge").open({"model": "some-vlm", "prompt": prompt, "endpoint": "http://localhost:1/v1"})
