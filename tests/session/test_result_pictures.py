"""Pictures of a result: decoded with the checks of ingest, one after the other, and told of in text."""

from __future__ import annotations

import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

from counterbalance.engine import images
from counterbalance.engine.errors import RequestError
from counterbalance.engine.result import Result
from counterbalance.shell.arrow_values import display


def picture(width: int, kind: str = "PNG") -> bytes:
    return image_bytes(Image.new("RGBA" if kind == "PNG" else "RGB", (width, 4), "red"), kind)


def result(**columns: object) -> Result:
    table = pa.table(columns)
    return Result(lambda: iter(table.to_batches(max_chunksize=1)), lambda: table.schema, "SELECT 1")


def test_each_is_decoded_when_it_is_asked_for() -> None:
    rows = result(key=["a", "b", "c"], image=[picture(3), None, b"no picture"])
    found = rows.images()
    first = next(found)
    assert first is not None
    assert (first.size, first.mode, first.getpixel((0, 0))) == ((3, 4), "RGB", (255, 0, 0))
    assert next(found) is None
    with pytest.raises(RequestError, match="image of row 3: begins with") as error:
        next(found)
    assert error.value.code == "E3055"


def test_what_is_too_large_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_PIXELS", 11)
    with pytest.raises(RequestError, match="3 x 4 pixels; at most 11"):
        next(result(image=[picture(3)]).images())


def test_the_column_is_named_where_there_are_several() -> None:
    rows = result(one=[picture(3)], other=[picture(5)])
    assert [p.size for p in rows.images("other") if p is not None] == [(5, 4)]
    for asked in (None, "key"):
        with pytest.raises(RequestError, match="bytes in one, other") as error:
            next(rows.images(asked))
        assert error.value.code == "E3054"


def test_a_result_without_bytes_has_none() -> None:
    with pytest.raises(RequestError, match="no column of bytes"):
        next(result(key=["a"]).images())


def test_in_text_they_are_told_of() -> None:
    values = [picture(640, "JPEG"), None, b"abc"]
    assert display(pa.array(values)) == ["[image 640x4 JPEG]", None, "<3 bytes>"]
    assert "[image 640x4 JPEG]" in repr(result(image=values))
