"""A lake of three sources with two edits each, one of them a picture of another image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from image_files import image_bytes
from PIL import Image

if TYPE_CHECKING:
    from counterbalance.engine.lake import Lake

HOSTILE = "<img src=x onerror=alert(1)>"


def _picture(red: int) -> bytes:
    return image_bytes(Image.new("RGB", (64, 48), (red, 0, 0)), "JPEG", comment=b"<script>secret()</script>")


@pytest.fixture
def lake(empty_lake: Lake, build: Any) -> Lake:
    """Views: edits, numbers (its edits have no label), closed."""
    empty_lake.ingest({
        "images": build.images(image_id=[1, 2, 3], image=[_picture(50 * i) for i in (1, 2, 3)]),
        "captions": build.captions(caption_id=[1], image_id=[1], text=[HOSTILE]),
    })  # fmt: skip
    select = (
        f"SELECT 10 * s.image_id + l.n AS edit_id, s.image_id, l.label, concat(l.label, '{HOSTILE}') AS prompt, "
        "CAST(l.n AS DOUBLE) / 10 AS p_real, list_first([o.image]) AS edited FROM images AS s "
        "CROSS JOIN (VALUES ('female', 0), ('male', 1)) AS l(label, n) JOIN images AS o ON o.image_id = s.image_id % 3 + 1"
    )
    empty_lake.create_materialized_view("edits", select, "edit_id")
    numbers = "SELECT edit_id, image_id, list_first([edited]) AS image FROM edits"
    empty_lake.create_materialized_view("numbers", numbers, "edit_id")
    closed = "SELECT edit_id, image_id, label, list_first([edited]) AS image FROM edits"
    empty_lake.create_materialized_view("closed", closed, "edit_id", sensitive=True)
    empty_lake.refresh()
    return empty_lake
