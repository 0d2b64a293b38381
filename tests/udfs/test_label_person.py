"""label_person gives what the tower and the head give, row by row; folders that are not what they say are refused."""

from __future__ import annotations

import io
import json
import shutil
import struct

import numpy as np
import pytest
from function_calls import called
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.functions import function

torch = pytest.importorskip("torch")
open_clip = pytest.importorskip("open_clip")

from safetensors.torch import load_file, save_file  # noqa: E402

VISION = {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8}
MEAN, STD = [0.5, 0.4, 0.3], [0.2, 0.3, 0.25]
CLASSES = ["male", "female", "unclear"]
NAME = "perceived_gender"


def png(seed, size=(40, 56)):
    pixels = np.random.default_rng(seed).integers(0, 256, (4, 3, 3), np.uint8)
    return image_bytes(Image.fromarray(pixels).resize(size, Image.Resampling.NEAREST))


def direct(tower, head, pictures):
    """Logits by torch and open_clip alone."""
    transform = open_clip.image_transform(32, False, tuple(MEAN), tuple(STD), resize_mode="squash")
    with torch.inference_mode():
        return head(tower(torch.stack([transform(Image.open(io.BytesIO(p))) for p in pictures])))


def written(folder, **changes):
    """A checkpoint with random weights; returns the torch modules."""
    folder.mkdir()
    torch.manual_seed(3)
    text = {"context_length": 4, "vocab_size": 8, "width": 16, "heads": 2, "layers": 1}
    tower, head = open_clip.CLIP(16, VISION, text).visual.eval(), torch.nn.Linear(16, 3)
    head.weight.data *= 20
    head.bias.data -= direct(tower, head, [png(i) for i in range(40)]).mean(0)  # or one class is said of everything
    state = {f"tower.{k}": v.contiguous() for k, v in tower.state_dict().items()}
    save_file({**state, "head.weight": head.weight.data, "head.bias": head.bias.data}, folder / "model.safetensors")
    config = {
        "format": "counterbalance classifier 1",
        "attribute": NAME,
        "classes": CLASSES,
        "architecture": {"name": "tiny", "embed_dim": 16, "quick_gelu": False, "vision_cfg": VISION},
        "preprocessing": {
            "size": [32, 32], "mean": MEAN, "std": STD, "interpolation": "bicubic", "resize_mode": "squash", "fill_color": 0
        },
        **changes,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return tower, head


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints") / "gender"
    return folder, *written(folder)


@pytest.fixture
def folder(modules, tmp_path):
    """A copy to spoil."""
    return shutil.copytree(modules[0], tmp_path / "gender")


def labelled(folder, *pictures, attribute=NAME):
    return called("label_person", {"attribute": attribute, "checkpoint": str(folder)}, pictures)


def config(folder, **changes):
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def test_as_torch_and_open_clip_have_it(modules):
    folder, tower, head = modules
    sizes = [(40, 56), (10, 200), (333, 32), (32, 32), (5, 4), (64, 64), (100, 90), (31, 33)]
    pictures = [png(seed, size) for seed, size in enumerate(sizes)]
    wanted = direct(tower, head, pictures)
    result = labelled(folder, *pictures)
    assert result.errors == {}
    rows = result.values.to_pylist()
    np.testing.assert_allclose([r["logits"] for r in rows], wanted.numpy(), rtol=1e-5, atol=1e-5)
    assert [r["label"] for r in rows] == [CLASSES[i] for i in wanted.argmax(1)]
    np.testing.assert_allclose([r["score"] for r in rows], wanted.softmax(1).max(1).values.numpy(), rtol=1e-5)
    assert len({r["label"] for r in rows}) > 1


def test_company_does_not_matter(modules):
    pictures = [png(seed) for seed in range(70)]
    together = labelled(modules[0], *pictures).values.to_pylist()
    for i in (0, 63, 64, 69):
        alone = labelled(modules[0], pictures[i]).values[0].as_py()
        assert alone["label"] == together[i]["label"]
        assert alone["logits"] == pytest.approx(together[i]["logits"], abs=1e-5)


def test_missing_and_broken_pictures(modules):
    result = labelled(modules[0], None, b"nothing", png(1))
    assert result.values.to_pylist()[:2] == [None, None]
    assert result.values[2].is_valid
    assert list(result.errors) == [1]
    assert len(labelled(modules[0]).values) == 0


def test_in_a_query_and_as_a_column_that_is_sensitive(modules, build, tmp_path):
    lake = cb.connect(tmp_path / "own.lake")
    images = build.images(image_id=[1, 2, 3], key=list("abc"), image=[png(1), png(2), png(3)])
    boxes = {"x": [0.0, 5.0, 8.0], "y": [0.0, 9.0, 20.0], "width": [40.0, 20.0, 30.0], "height": [56.0, 30.0, 20.0]}
    lake.ingest({"images": images, "detections": build.detections(detection_id=[1, 2, 3], image_id=[1, 2, 3], **boxes)})
    call = f"label_person(crop(i.image, d.x, d.y, d.width, d.height), '{NAME}', '{modules[0]}')"
    sql = f"SELECT {call} AS found FROM detections AS d JOIN images AS i USING (image_id) ORDER BY image_id"
    crops = []
    for data, x, y, w, h in zip([png(1), png(2), png(3)], *boxes.values(), strict=True):
        crops.append(image_bytes(Image.open(io.BytesIO(data)).crop((x, y, min(40, x + w), y + h))))
    assert [r["label"] for (r,) in lake.sql(sql, sensitive="a test of labels")] == [
        r["label"] for r in labelled(modules[0], *crops).values.to_pylist()
    ]
    lake.add_column("images", "looks", f"label_person(image, '{NAME}', '{modules[0]}')")
    lake.refresh(executor="inline")
    assert "looks" not in lake.sql("SELECT * FROM images").columns
    stored = lake.sql("SELECT looks.label FROM images ORDER BY image_id", sensitive="a test of labels").fetchall()
    assert [label for (label,) in stored] == [
        r["label"] for r in labelled(modules[0], png(1), png(2), png(3)).values.to_pylist()
    ]


def test_another_attribute_is_another_question(modules):
    with pytest.raises(RequestError, match="tells 'perceived_gender', not 'perceived_age'") as caught:
        labelled(modules[0], png(1), attribute="perceived_age")
    assert caught.value.code == "E3558"


def test_no_folder(tmp_path):
    with pytest.raises(NotFoundError, match="no folder") as caught:
        labelled(tmp_path / "nowhere", png(1))
    assert caught.value.code == "E1155"
    assert "train classifier" in caught.value.hint


def test_other_weights_have_another_digest(modules, folder):
    label = function("label_person")
    constants = {"attribute": NAME, "checkpoint": str(folder)}
    before = label.digest(constants)
    assert before == label.digest({**constants, "checkpoint": str(modules[0])})
    (folder / "README.md").write_text("another card")
    assert label.digest(constants) == before
    state = load_file(folder / "model.safetensors")
    state["head.bias"][0] += 1
    save_file(state, folder / "model.safetensors")
    assert label.digest(constants) != before


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "something else"},
        {"classes": ["male"]},
        {"classes": ["male", "male", "female"]},
        {"classes": [1, 2, 3]},
        {"classes": None},
        {"attribute": None},
        {"architecture": None},
        {"architecture": {"embed_dim": 16, "vision_cfg": {**VISION, "layers": 10**9}}},
        {"architecture": {"embed_dim": 10**9, "vision_cfg": VISION}},
        {"architecture": {"embed_dim": 16, "vision_cfg": {**VISION, "width": -32}}},
        {"architecture": {"embed_dim": 16, "vision_cfg": {**VISION, "image_size": [10**7, 10**7]}}},
        {"architecture": {"embed_dim": 16, "vision_cfg": {"timm_model_name": "hf-hub:somebody/something"}}},
        {"architecture": {"embed_dim": 16, "vision_cfg": {"timm_model_name": "local-dir:/tmp/x"}}},
        {"preprocessing": None},
        {"preprocessing": {"size": [32, 32], "mean": MEAN, "std": [0, 0, 0]}},
        {"preprocessing": {"size": [32, 10**6], "mean": MEAN, "std": STD}},
        {"preprocessing": {"size": [32, 32], "mean": MEAN, "std": STD, "resize_mode": "random"}},
        {"preprocessing": {"size": "big", "mean": MEAN, "std": STD}},
    ],
    ids=str,
)
def test_configurations_that_cannot_be_used(folder, changes):
    config(folder, **changes)
    with pytest.raises(RequestError, match="cannot be used") as caught:
        labelled(folder, png(1))
    assert caught.value.code == "E3556"


@pytest.mark.parametrize(
    "changes",
    [
        {"architecture": {"embed_dim": 16, "vision_cfg": {**VISION, "layers": 3}}},
        {"architecture": {"embed_dim": 16, "vision_cfg": {**VISION, "surprise": 1}}},
        {"architecture": {"embed_dim": 16, "vision_cfg": {**VISION, "head_width": 0}}},
        {"architecture": {"embed_dim": 16, "vision_cfg": {"timm_model_name": "no_such_model_at_all"}}},
        {"classes": ["male", "female"]},
    ],
    ids=str,
)
def test_weights_of_something_else(folder, changes):
    config(folder, **changes)
    with pytest.raises(RequestError, match="does not hold the weights") as caught:
        labelled(folder, png(1))
    assert caught.value.code == "E3556"


def header(text):
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04\x95",  # the beginning of a pickle
        struct.pack("<Q", 1 << 60) + b"{}",
        header(b"not json"),
        header(b'{"head.weight": {"dtype": "F32", "shape": [1099511627776], "data_offsets": [0, 4398046511104]}}'),
        header(b'{"head.weight": {"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]}}') + bytes(4),
    ],
    ids=["empty", "pickle", "long", "text", "huge", "before"],
)
def test_weights_that_are_hostile(folder, data):
    (folder / "model.safetensors").write_bytes(data)
    with pytest.raises(RequestError, match="does not hold the weights"):
        labelled(folder, png(1))


def test_a_pickle_is_never_read(folder):
    """A checkpoint of torch in the place of the weights, or beside them, does nothing."""
    (folder / "model.safetensors").unlink()
    torch.save({"head.weight": torch.zeros(3, 16)}, folder / "model.pt")
    with pytest.raises(RequestError, match=r"model.safetensors is missing"):
        labelled(folder, png(1))
    torch.save({"head.weight": torch.zeros(3, 16)}, folder / "model.safetensors")
    with pytest.raises(RequestError, match="does not hold the weights"):
        labelled(folder, png(1))


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "null"], ids=["empty", "list", "cut", "deep", "null"])
def test_configurations_that_are_no_json_objects(folder, text):
    (folder / "config.json").write_text(text)
    with pytest.raises(RequestError, match="cannot be used"):
        labelled(folder, png(1))
