"""Pictures are made as many at once as memory holds: more after each full batch, half of what did not fit, each the same."""

from __future__ import annotations

import io

import numpy as np
import pytest
from function_calls import called
from PIL import Image

from counterbalance.udfs.models import diffusion_model
from counterbalance.udfs.models.running import Budget

torch = pytest.importorskip("torch")
diffusers = pytest.importorskip("diffusers")

ROWS = 11


@pytest.fixture(scope="module")
def checkpoint(tiny_diffusion):
    return tiny_diffusion("StableDiffusionPipeline")


def made(folder):
    constants = {"model": str(folder), "width": 64, "height": 64}
    result = called("generate", constants, ["a man"] * ROWS, [7.5] * ROWS, [1] * ROWS, range(ROWS))
    assert result.errors == {}
    return [np.asarray(Image.open(io.BytesIO(data))).astype(int) for data in result.values.to_pylist()]


def test_batches_grow_until_memory_ends_and_pictures_stay_the_same(checkpoint, monkeypatch):
    wanted, tried = made(checkpoint), []
    plain = diffusers.StableDiffusionPipeline.__call__

    def ends_at_four(pipeline, **call):
        tried.append(len(call["prompt"]))
        if tried[-1] > 3:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return plain(pipeline, **call)

    monkeypatch.setattr(diffusers.StableDiffusionPipeline, "__call__", ends_at_four)
    monkeypatch.setattr(diffusion_model, "Budget", lambda size, *, grows: Budget(64 * 64, grows=True))
    found = made(checkpoint)
    assert tried == [1, 2, 4, 2, 2, 2, 2]
    for one, other in zip(found, wanted, strict=True):
        assert np.abs(one - other).max() <= 1


def test_a_row_that_never_fits_is_an_error():
    def nothing_fits(rows):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(torch.cuda.OutOfMemoryError):
        list(Budget(40, grows=True).each([10] * 4, nothing_fits))


def test_a_device_that_must_not_grow_does_not():
    assert [len(rows) for rows, _ in Budget(20, grows=False).each([10] * 5, len)] == [2, 2, 1]
