"""Functions of bench_contrast.py: an edit that costs as good as nothing, and vectors of pictures."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
from PIL import Image, ImageDraw

from counterbalance.engine.functions import Parameter, udf

_NUMBERS = [Parameter(name, pa.float64()) for name in ("x", "y", "width", "height")]


@udf(
    returns=pa.binary(),
    parameters=[Parameter("image", pa.binary()), *_NUMBERS, Parameter("instruction", pa.string()), Parameter("seed", pa.int64())],
    version="1",
)  # fmt: skip
def bench_edit(image, x, y, width, height, instruction, seed):
    """Paint the box in a colour of the instruction, half a millisecond; diffusion takes a second or more on a GPU."""
    found = []
    rows = zip(*(c.to_pylist() for c in (image, x, y, width, height, instruction, seed)), strict=True)
    for data, left, top, wide, high, text, noise in rows:
        picture = Image.open(io.BytesIO(data)).convert("RGB")
        shade = noise % 200
        ImageDraw.Draw(picture).rectangle(
            [left, top, left + wide, top + high],
            (255, shade, 0) if text.endswith(("woman", "feminine")) else (0, shade, 255),
        )
        buffer = io.BytesIO()
        picture.save(buffer, "PNG")
        found.append(buffer.getvalue())
    return pa.array(found, pa.binary())


@udf(returns=pa.list_(pa.float32(), 64), parameters=[Parameter("image", pa.binary())], version="1")
def bench_vector(image):
    """A picture as 64 numbers of its own."""
    rows = []
    for data in image.to_pylist():
        small = Image.open(io.BytesIO(data)).convert("RGB").resize((5, 5))
        rows.append(np.resize(np.asarray(small, np.float32).ravel() - 128, 64))
    flat = pa.array(np.concatenate(rows) if rows else np.empty(0, np.float32))
    return pa.FixedSizeListArray.from_arrays(flat, 64)


@udf(returns=pa.float32(), parameters=[Parameter("image", pa.binary())], version="1")
def bench_safety(image):
    """Nothing is flagged."""
    return pa.array([None if data is None else 0.0 for data in image.to_pylist()], pa.float32())
