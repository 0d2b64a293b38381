"""A refresh on an object store does what it does on a disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace

    from counterbalance.engine.lake import Lake


@pytest.mark.thorough
def test_columns_views_and_resuming(s3_lake: Lake, build: SimpleNamespace, row_function: Callable[..., Any]) -> None:
    def size(text: str) -> int:
        if text == "stop":
            raise KeyboardInterrupt
        return 10 // len(text)

    function = row_function("s3_size", size, batch_size=2, partial=False)
    texts = ["one", "", "three", "four", "five", "stop", "seven"]
    s3_lake.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"])})
    captions = build.captions(caption_id=list(range(7)), image_id=[1, 2] * 3 + [1], text=texts)
    s3_lake.ingest({"captions": captions})
    s3_lake.add_column("captions", "size", "s3_size(text)")
    s3_lake.create_materialized_view(
        "v", "SELECT image_id, sum(size)::BIGINT AS s FROM captions GROUP BY 1", "image_id"
    )
    s3_lake.add_column("v", "more", "s + 1")
    with pytest.raises(KeyboardInterrupt):
        s3_lake.refresh(executor="inline")
    function.taken()
    s3_lake.ingest({"captions": build.captions(caption_id=[5], image_id=[2], text=["seventeen"])})
    found = {s.target: s.mode for s in s3_lake.refresh(executor="inline").stages}
    assert found == {"captions.size": "rebuild", "v": "rebuild", "v.more": "rebuild"}
    assert set(function.taken()) == {"five", "seventeen", "seven"}
    assert s3_lake.sql("SELECT size FROM captions ORDER BY caption_id").fetchall() == [
        (3,),
        (None,),
        (2,),
        (2,),
        (2,),
        (1,),
        (2,),
    ]
    assert s3_lake.sql("SELECT image_id, s, more FROM v ORDER BY 1").fetchall() == [(1, 9, 10), (2, 3, 4)]
    assert s3_lake.sql("SELECT key, code FROM meta.errors").fetchall() == [("1", "ZeroDivisionError")]
    assert {s.mode for s in s3_lake.refresh(executor="inline").stages} == {"no_op"}
    assert {s.mode for s in s3_lake.refresh(executor="inline", retry_errors=True).stages} == {"incremental", "no_op"}
    assert s3_lake.sql("SELECT key, attempts FROM meta.errors").fetchall() == [("1", 2)]
