"""detect_faces: the boxes that OpenCV's detector finds with a tiny network of YuNet's form, which takes white squares for faces."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import RequestError
from counterbalance.udfs.models.face_boxes import detect_faces

cv2 = pytest.importorskip("cv2")
onnx = pytest.importorskip("onnx")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """At every stride the mean of a square is its score; only that of 32 sees anything, and its boxes are the squares."""
    from onnx import TensorProto, helper, numpy_helper

    nodes, held, outputs = [], [], []

    def hold(name, values):
        held.append(numpy_helper.from_array(values, name))
        return name

    for stride in (8, 16, 32):
        mean = f"mean_{stride}"
        nodes.append(
            helper.make_node("AveragePool", ["input"], [mean], kernel_shape=[stride] * 2, strides=[stride] * 2)
        )
        for name, channels in (("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10)):
            out = f"{name}_{stride}"
            factor = 1 / 765 if channels == 1 and stride == 32 else 0
            half = [0.5, 0.5, 0, 0] if name == "bbox" else [0] * channels  # the middle of a square
            weight = hold(f"{out}_w", np.full((channels, 3, 1, 1), factor, np.float32))
            bias = hold(f"{out}_b", np.array(half, np.float32))
            shape = hold(f"{out}_s", np.array([1, channels, -1], np.int64))
            nodes += [
                helper.make_node("Conv", [mean, weight, bias], [f"{out}_c"], kernel_shape=[1, 1]),
                helper.make_node("Reshape", [f"{out}_c", shape], [f"{out}_r"]),
                helper.make_node("Transpose", [f"{out}_r"], [out], perm=[0, 2, 1]),
            ]
            outputs.append(helper.make_tensor_value_info(out, TensorProto.FLOAT, [1, f"n_{stride}", channels]))
    shown = helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, "height", "width"])
    graph = helper.make_graph(nodes, "tiny", [shown], outputs, held)
    path = tmp_path_factory.mktemp("yunet") / "tiny.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8), path)
    return str(path)


def png(width, height, *squares, scale=1):
    pixels = np.zeros((height, width, 3), np.uint8)
    for x, y in squares:
        pixels[y : y + 32, x : x + 32] = 255
    return image_bytes(Image.fromarray(pixels).resize((width * scale, height * scale), Image.Resampling.NEAREST))


def boxes(model, pictures, **options):
    function = detect_faces(**{"model": model, "score": 0.7, "iou": 0.3, "size": 640, **options})
    function.open("cpu")
    done = function(pa.array(pictures, pa.binary()))
    function.close()
    return done


def test_faces_are_found_where_they_are(tiny):
    done = boxes(tiny, [png(160, 100, (64, 32), (128, 0)), None, png(64, 64), b"no picture", png(50, 40, (32, 0))])
    first, null, nothing, broken, cut = done.values.to_pylist()
    assert [(b["category"], b["x"], b["y"], b["width"], b["height"], b["mask"]) for b in first] == [
        ("face", 64, 32, 32, 32, None), ("face", 128, 0, 32, 32, None),
    ]  # fmt: skip
    assert [b["score"] for b in first] == pytest.approx([1, 1])
    assert (null, nothing, broken) == (None, [], None)
    assert list(done.errors) == [3]
    assert cut == []  # half of the square is outside of the picture


def test_large_pictures_are_scaled_and_boxes_are_of_the_picture_as_stored(tiny):
    (found,) = boxes(tiny, [png(160, 96, (64, 32), scale=4)], size=160).values.to_pylist()
    assert [(b["x"], b["y"], b["width"], b["height"]) for b in found] == [(256, 128, 128, 128)]


@pytest.mark.thorough
def test_a_column_feeds_genswap(disk_lake, build, tiny):
    """Faces that were found are those that are exchanged."""
    ids = [1, 2, 3, 4]
    images = build.images(image_id=ids, key=list("abcd"), image=[png(96, 96, (32, 32)) for _ in ids])
    texts = build.captions(caption_id=ids, image_id=ids, text=["a man", "a man", "a woman", "a woman"])
    disk_lake.ingest({"images": images, "captions": texts})
    disk_lake.add_column("images", "faces", f"detect_faces(image, model := '{tiny}')")
    disk_lake.refresh(executor="inline")
    faces = "(SELECT image_id AS detection_id, image_id, f.x, f.y, f.width, f.height FROM (SELECT image_id, unnest(faces) AS f FROM images) AS i)"
    disk_lake.recipe("genswap", {"faces": faces}, refresh={"executor": "inline"})
    assert disk_lake.sql("SELECT count(*), min(x), max(width) FROM genswap_set").fetchall() == [(8, 32, 32)]


def test_what_it_refuses(tiny, tmp_path):
    assert "detect_faces" in cb.functions()
    for wrong in ({"score": 1.5}, {"iou": -0.1}, {"size": 8}):
        with pytest.raises(RequestError, match="out of range") as raised:
            boxes(tiny, [], **wrong)
        assert raised.value.code == "E3051"
    (tmp_path / "other.onnx").write_bytes(b"no network")
    with pytest.raises(RequestError, match="cannot be loaded") as raised:
        boxes(str(tmp_path / "other.onnx"), [])
    assert raised.value.code == "E3546"
