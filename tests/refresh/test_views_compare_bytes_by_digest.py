"""A view may repeat the bytes of its source in many rows: they are stored right, and change where the source changes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.images import sha256

COPIES = 7
SELECT = f"""
WITH numbers AS (SELECT unnest(range(0, {COPIES})) AS number),
sources AS (SELECT image_id, list_first([image]) AS image FROM images)
SELECT CAST(s.image_id * 100 + n.number AS BIGINT) AS edit_id, s.image_id, n.number, s.image
FROM sources AS s CROSS JOIN numbers AS n
"""


def picture(number: int, size: int = 3_000) -> bytes:
    return bytes((number * 7 + i * i) % 251 for i in range(size))


def images(found: dict[int, bytes | None]) -> dict[str, pa.Table]:
    ids = sorted(found)
    return {
        "images": pa.table(
            {
                "image_id": pa.array(ids, pa.int64()),
                "key": [str(i) for i in ids],
                "sha256": [None if found[i] is None else sha256(found[i]) for i in ids],
                "image": pa.array([found[i] for i in ids], pa.binary()),
            }
        )
    }


def stored(lake) -> dict[int, bytes | None]:
    import lance

    rows = lance.dataset(f"{lake.uri}/requests.lance").to_table().to_pylist()
    assert len({row["edit_id"] for row in rows}) == len(rows)
    assert all(row["edit_id"] == row["image_id"] * 100 + row["number"] for row in rows)
    return {row["edit_id"]: row["image"] for row in rows}


def wanted(found: dict[int, bytes | None]) -> dict[int, bytes | None]:
    return {image * 100 + number: data for image, data in found.items() for number in range(COPIES)}


@pytest.fixture
def held(disk_lake):
    disk_lake.ingest(images(FIRST))
    disk_lake.create_materialized_view("requests", SELECT, "edit_id")
    disk_lake.refresh("requests")
    return disk_lake


FIRST = {1: picture(1), 2: picture(2), 3: None, 4: b"", 5: picture(1)}


def test_the_first_time(held):
    assert stored(held) == wanted(FIRST)


def test_changes_of_sources(held):
    changed = {2: picture(9), 3: picture(3), 6: picture(6), 7: None}
    held.ingest(images(changed))
    (stage,) = held.refresh("requests").stages
    assert stored(held) == wanted(FIRST | changed)
    assert (stage.mode, stage.updated, stage.written, stage.deleted) == ("incremental", 2 * COPIES, 2 * COPIES, 0)
    (stage,) = held.refresh("requests").stages
    assert stage.mode == "no_op"


def test_more_bytes_than_are_written_at_once(held, monkeypatch):
    from counterbalance.engine.refresh import views

    monkeypatch.setattr(views, "_AT_ONCE", 10_000)
    changed = {image: picture(image + 50) for image in FIRST}
    held.ingest(images(changed))
    (stage,) = held.refresh("requests").stages
    assert stored(held) == wanted(changed)
    assert stage.updated == len(changed) * COPIES
