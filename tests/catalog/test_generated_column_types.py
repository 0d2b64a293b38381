"""Functions get and return whatever Arrow can say: structs, lists, vectors, bytes; pictures come in as bytes."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from repeats import again

from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.engine.lake import Lake

_POINT = pa.struct([("x", pa.float32()), ("tags", pa.list_(pa.string()))])
_RESULTS: dict[str, tuple[pa.DataType, Callable[[str], Any]]] = {
    "integer": (pa.int32(), len),
    "real": (pa.float64(), lambda text: len(text) / 3),
    "string": (pa.string(), str.upper),
    "boolean": (pa.bool_(), lambda text: "a" in text),
    "bytes": (pa.binary(), str.encode),
    "list": (pa.list_(pa.int64()), lambda text: [len(w) for w in text.split()]),
    "vector": (pa.list_(pa.float32(), 3), lambda text: [len(text), 0.5, -1.0]),
    "struct": (_POINT, lambda text: {"x": float(len(text)), "tags": text.split()[:2] or None}),
    "structs": (pa.list_(_POINT), lambda text: [{"x": float(len(w)), "tags": None} for w in text.split()]),
    "date": (pa.date32(), lambda text: dt.date(2020, 1, 1 + len(text))),
    "moment": (pa.timestamp("us", tz="UTC"), lambda text: dt.datetime(2020, 1, 1 + len(text), tzinfo=dt.UTC)),
}


def _stored(lake: Lake, name: str) -> dict[int, Any]:
    dataset = tables.open_table(lake.location, "captions")
    assert dataset is not None
    rows = dataset.to_table(columns=["caption_id", name])
    return dict(zip(rows["caption_id"].to_pylist(), rows[name].to_pylist(), strict=True))


_ON_DISK = ("string", "bytes", "vector", "structs")
"""Types that are stored on a disk by default, and the others in memory: of one width, of any, of a fixed number of items, and nested."""


_PLACES = [(kind, "disk" if kind in _ON_DISK else "lake") for kind in _RESULTS]


@pytest.mark.parametrize(
    ("kind", "place"),
    [*_PLACES, *again(*(p for p in itertools.product(_RESULTS, ("lake", "disk")) if p not in _PLACES))],
)
def test_results_and_inputs(
    lake: Lake, disk_lake: Lake, row_function: Callable[..., Any], kind: str, place: str
) -> None:
    """A result is stored, read by the next column, recomputed where the row changed, and NULL where it is."""
    if place == "disk":
        captions = tables.open_table(lake.location, "captions")
        assert captions is not None
        disk_lake.ingest({"images": pa.table({"image_id": range(1, 7), "key": list("abcdef")})})
        disk_lake.ingest({"captions": captions.to_table(columns=["caption_id", "image_id", "text"])})
        lake = disk_lake
    returns, of = _RESULTS[kind]
    row_function("t_make", lambda text: of(text) if text else None, returns=returns)
    row_function("t_read", repr, parameters={"value": returns}, returns=pa.string())
    lake.add_column("captions", "made", "t_make(text)")
    lake.add_column("captions", "told", "t_read(made)")
    assert lake.refresh(executor="inline").mode == "rebuild"
    texts = _stored(lake, "text")
    expected = pa.array([of(t) if t else None for t in texts.values()], returns).to_pylist()
    assert list(_stored(lake, "made").values()) == expected
    assert list(_stored(lake, "told").values()) == [repr(v) for v in expected]
    lake.ingest({"captions": pa.table({"caption_id": [12, 30], "image_id": [1, 2], "text": ["short", "a new one"]})})
    assert [s.rows for s in lake.refresh(executor="inline").stages] == [2, 2]
    for key, text in _stored(lake, "text").items():
        wanted = pa.array([of(text) if text else None], returns)[0].as_py()
        assert _stored(lake, "made")[key] == wanted
    assert {s.mode for s in lake.refresh(executor="inline").stages} == {"no_op"}


def test_pictures(disk_lake: Lake, row_function: Callable[..., Any]) -> None:
    """Blobs reach a function as bytes, small and large ones, NULL too."""
    pictures = [b"small", None, b"x" * 300_000, b""]
    disk_lake.ingest(
        {"images": pa.table({"image_id": [1, 2, 3, 4], "key": list("abcd"), "image": pa.array(pictures, pa.binary())})}
    )
    row_function("t_picture", lambda image: -1 if image is None else len(image), parameters={"image": pa.binary()})
    disk_lake.add_column("images", "size", "t_picture(image)")
    disk_lake.refresh(executor="inline")
    found = disk_lake.sql("SELECT size FROM images ORDER BY image_id").fetchall()
    assert found[:3] == [(5,), (-1,), (300_000,)]
    disk_lake.ingest({"images": pa.table({"image_id": [2], "width": [7], "image": pa.array([b"now"], pa.binary())})})
    disk_lake.refresh(executor="inline")
    assert disk_lake.sql("SELECT size FROM images ORDER BY image_id").fetchall()[:3] == [(5,), (3,), (300_000,)]


def test_a_struct_is_unnested_by_a_view(lake: Lake, row_function: Callable[..., Any]) -> None:
    kind = pa.list_(pa.struct([("word", pa.string()), ("at", pa.int32())]))
    of = lambda text: [{"word": w, "at": i} for i, w in enumerate(text.split())] if text else []  # noqa: E731
    row_function("t_words", of, returns=kind)
    lake.add_column("captions", "words", "t_words(text)")
    select = "SELECT caption_id, w.at AS place, w.word AS word FROM captions, UNNEST(words) AS u(w)"
    lake.create_materialized_view("words", select, ["caption_id", "place"])
    assert lake.refresh(executor="inline").mode == "rebuild"
    rows = lake.sql("SELECT caption_id, place, word FROM words ORDER BY ALL").fetchall()
    texts = lake.sql("SELECT caption_id, text FROM captions ORDER BY 1").fetchall()
    assert rows == [(key, i, w) for key, text in texts for i, w in enumerate((text or "").split())]


def test_running_out_of_memory(lake: Lake, row_function: Callable[..., Any]) -> None:
    """Batches are halved, and every row is right in the end."""
    sizes: list[int] = []

    def hungry(text: pa.Array) -> pa.Array:
        sizes.append(len(text))
        if len(text) > 2:
            raise MemoryError("too many")
        return pa.compute.utf8_length(text)

    from counterbalance.engine.functions import udf

    udf(returns=pa.int32(), parameters={"text": pa.string()}, version="1", name="t_hungry", batch_size=8)(hungry)
    lake.add_column("captions", "size", "t_hungry(text)")
    stage = lake.refresh(executor="inline").stages[0]
    assert (stage.rows, stage.errors) == (8, 0)
    assert "out of memory" in stage.message
    assert lake.sql("SELECT count(*) FROM captions WHERE size IS DISTINCT FROM length(text)").fetchall() == [(0,)]
    assert lake.sql("SELECT count(*) FROM meta.errors").fetchall() == [(0,)]
    assert sizes[0] == 8
    assert max(sizes[2:]) <= 4
