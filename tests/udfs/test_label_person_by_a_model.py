"""label_person with a multimodal model says what ask does with the questions about a label, as the label's name."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from function_calls import called
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError, RequestError, SensitiveError
from counterbalance.engine.functions import function
from counterbalance.udfs.prompts import label_options, label_prompt
from counterbalance.udfs.wordlists import wordlist

pytest.importorskip("torch")
pytest.importorskip("transformers")

NAMES = {"perceived_gender": 4, "perceived_race_ethnicity": 8}


@pytest.fixture(scope="module")
def model(tmp_path_factory, tiny_asker):
    return str(tiny_asker(tmp_path_factory.mktemp("models") / "asker"))


def picture(seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (28, 28, 3), np.uint8)
    return image_bytes(Image.fromarray(pixels))


def constants(model, attribute="perceived_gender"):
    return {"attribute": attribute, "checkpoint": model, "labeller": "model"}


@pytest.mark.parametrize("attribute", NAMES)
def test_it_says_what_ask_says(model, attribute):
    pictures = [*(picture(i) for i in range(24)), None, b"no picture"]
    found = called("label_person", constants(model, attribute), pictures)
    asked = function("ask").open({"model": model, "seed": 0, "endpoint": ""})
    n, name = len(pictures), pa.array([attribute])
    options = pa.repeat(label_options(name)[0], n)
    wanted = asked([pa.array(pictures, pa.binary()), pa.repeat(label_prompt(name)[0], n), options])
    asked.close()
    labels = {r["term"]: r["label"] for r in wordlist("label_options").to_pylist() if r["class"] == attribute}
    assert found.errors == wanted.errors
    assert list(found.errors) == [25]
    rows = found.values.to_pylist()
    assert [r and r["label"] for r in rows] == [w and labels[w["answer"]] for w in wanted.values.to_pylist()]
    assert {r["label"] for r in rows[:24]} == set(labels.values()) - {None}
    assert len(set(labels.values())) == NAMES[attribute]
    assert all(r["score"] is None and r["logits"] is None for r in rows[:24])


def test_its_column_is_as_closed_as_that_of_a_classifier(model, build, tmp_path):
    lake = cb.connect(tmp_path / "own.lake")
    lake.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"], image=[picture(1), picture(2)])})
    call = f"label_person(image, 'perceived_gender', '{model}', labeller := 'model')"
    with pytest.raises(SensitiveError):
        lake.sql(f"SELECT {call} FROM images").fetchall()
    lake.add_column("images", "looks", call)
    lake.refresh("images.looks", executor="inline")
    assert "looks" not in lake.sql("SELECT * FROM images").columns
    stored = lake.sql("SELECT looks.label FROM images ORDER BY image_id", sensitive="a test of labels").fetchall()
    wanted = called("label_person", constants(model), [picture(1), picture(2)]).values.to_pylist()
    assert [label for (label,) in stored] == [row["label"] for row in wanted]


def test_the_digest_is_that_of_the_model(model, tmp_path):
    label = function("label_person")
    assert label.digest(constants(model)) == function("ask").digest({"model": model, "seed": 0, "endpoint": ""})
    with pytest.raises(NotFoundError) as caught:
        label.digest(constants(str(tmp_path / "nowhere")))
    assert caught.value.code in {"E1102", "E1103"}


@pytest.mark.parametrize(("name", "value"), [("labeller", "modell"), ("attribute", "perceived_age")])
def test_what_cannot_be_asked_is_refused(model, name, value):
    given = {**constants(model), name: value}
    for tried in (function("label_person").digest, lambda c: function("label_person").open(c)):
        with pytest.raises(RequestError, match=value) as caught:
            tried(given)
        assert caught.value.code == "E3051"
