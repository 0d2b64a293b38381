"""Functions of your own: give this file with ``--udfs my_udfs.py``, or ``udfs="my_udfs.py"`` in Python.

cbal sql my.lake --udfs my_udfs.py "SELECT exclamations(text) FROM captions LIMIT 3"
cbal sql my.lake --udfs my_udfs.py "SELECT brightness(image) FROM images LIMIT 3"
cbal sql my.lake --udfs my_udfs.py "ALTER TABLE images ADD COLUMN look AS (brightness(image))"
cbal refresh my.lake --udfs my_udfs.py images.look
"""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.compute as pc

import counterbalance as cb


@cb.udf
def exclamations(text: str) -> int:
    """How many exclamation marks a text has: plain Python, row by row, with the types that its hints say."""
    return text.count("!")


@cb.udf(returns=pa.float64(), parameters={"text": pa.string()}, version="1")
def shouting(text: pa.Array) -> pa.Array:
    """Share of letters that are capitals: a plain function over Arrow arrays."""
    letters = pc.utf8_length(pc.replace_substring_regex(text, r"\P{L}", ""))
    capitals = pc.utf8_length(pc.replace_substring_regex(text, r"\P{Lu}", ""))
    return pc.divide(pc.cast(capitals, pa.float64()), pc.if_else(pc.equal(letters, 0), None, letters))


@cb.udf(
    returns=pa.struct([("mean", pa.float32()), ("width", pa.int32()), ("height", pa.int32())]),
    parameters={"image": pa.binary()},
    version="1",  # raise it when results change: columns made with another version are computed again
    batch_size=64,
    device="cpu",  # "auto" for a model that uses a GPU when there is one
)
class brightness:  # noqa: N801 - its name in SQL
    """Mean brightness in [0, 1] and size of a picture: a class, as a model would be."""

    def open(self, device: str) -> None:
        """Load weights here, once a worker; ``device`` is "cpu", "cuda:0" …."""
        self.device = device

    def __call__(self, image: pa.Array) -> cb.Partial:
        """A batch of pictures; rows that cannot be read fail alone, with their reason."""
        from PIL import Image

        values: list[dict[str, float] | None] = []
        errors: dict[int, str] = {}
        for row, data in enumerate(image.to_pylist()):
            if data is None:  # no picture is stored: NULL, and no error
                values.append(None)
                continue
            try:
                picture = Image.open(io.BytesIO(data)).convert("L")
            except OSError:
                values.append(None)
                errors[row] = "the picture cannot be read"
                continue
            histogram = picture.histogram()
            mean = sum(level * count for level, count in enumerate(histogram)) / (255 * sum(histogram))
            values.append({"mean": mean, "width": picture.width, "height": picture.height})
        returns = pa.struct([("mean", pa.float32()), ("width", pa.int32()), ("height", pa.int32())])
        return cb.Partial(pa.array(values, returns), errors)

    def close(self) -> None:
        """Let go of what ``open`` loaded."""
