"""A model on a GPU tells its rows a second and its share of the device's peak; operations are those of its products."""

from __future__ import annotations

import re
import time

import pyarrow as pa
import pytest
from image_files import image_bytes

from counterbalance.engine.functions import function
from counterbalance.udfs.models.meter import Meter

torch = pytest.importorskip("torch")
LINE = re.compile(r"(.*): ([\d,]+) rows/s, ([\d,.]+) TFLOP/s, (\d+) % of the peak of NVIDIA L4(.*)\n")


@pytest.fixture
def gpu(monkeypatch):
    """The CPU passes for a GPU; what it computes is real."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda _: None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA L4")


def ran(meter, rows, layer, *, size=None, seconds=0.01):
    with meter.batch(rows, size):
        layer(torch.ones(size or rows, layer.in_features))
        time.sleep(seconds)


def test_a_line_on_stderr(gpu, capsys):
    meter, layer = Meter("fits", "cuda:0"), torch.nn.Linear(100, 200)
    for seconds in (0.2, 0.01, 0.01):  # the first warms up, and is not counted
        ran(meter, 64, layer, seconds=seconds)
    meter.close()
    name, rate, _, share, more = LINE.fullmatch(capsys.readouterr().err).groups()
    assert (name, meter.rows, meter.operations, share, more) == ("fits", 128, 2 * 100 * 200, "0", "")
    assert 1_000 < float(rate.replace(",", "")) < 6_400


def test_a_single_batch_is_told_with_its_warm_up(gpu, capsys):
    meter, layer = Meter("fits", "cuda:0"), torch.nn.Linear(100, 200)
    ran(meter, 64, layer)
    meter.close()
    assert LINE.fullmatch(capsys.readouterr().err)[5] == ", warm-up included"
    assert meter.operations == 2 * 100 * 200


def test_longer_rows_are_more_work(gpu, capsys):
    meter, layer = Meter("reads", "cuda:0"), torch.nn.Linear(10, 30)
    for tokens in (8, 40, 60):  # 4 texts a batch, short ones first
        ran(meter, 4, layer, size=tokens)
    assert meter.operations == pytest.approx(2 * 10 * 30 * (40 + 60) / 8)


def test_a_batch_that_fails_counts_for_nothing(gpu, capsys):
    meter = Meter("fits", "cuda:0")
    with pytest.raises(MemoryError), meter.batch(64):
        raise MemoryError
    meter.close()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("name", "told"), [("embed_text", "texts"), ("embed_image", "pictures")])
def test_both_sides_of_clip(gpu, capsys, tiny_clip, sample_picture, name, told):
    model = str(tiny_clip())
    opened = function(name).open({"model": model, "drop": None}, "cpu")
    clip = opened._instance.loaded
    clip._seen.device = clip._read.device = "cuda:0"
    opened([pa.array(["a dog", "a cat"]) if name == "embed_text" else pa.array([sample_picture], pa.binary())])
    opened.close()
    assert LINE.fullmatch(capsys.readouterr().err)[1] == f"{model}, {told}"


@pytest.fixture
def sample_picture():

    from PIL import Image

    return image_bytes(Image.new("RGB", (40, 32), "red"))
