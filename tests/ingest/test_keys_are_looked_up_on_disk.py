"""Keys of a large table are looked up in an index on disk, which says what reading all of them would say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.schema import KEY_INDEX
from counterbalance.engine.write import stored_keys
from counterbalance.engine.write.key_index import ABSENT
from counterbalance.engine.write.stored_keys import StoredKeys


@pytest.fixture
def large(monkeypatch):
    """Tables are large from 100 rows on, and looking up a key takes as long as reading four."""
    monkeypatch.setattr(stored_keys, "_LARGE", 100)
    monkeypatch.setattr(stored_keys, "_SHARE", 4)


@pytest.fixture
def lake(tmp_path, large):
    return cb.connect(tmp_path / "l.lake")


def images(ids, **columns):
    ids = np.array(ids, np.int64)
    return {"images": pa.table({"image_id": ids, "key": pa.array(ids).cast(pa.string()), **columns})}


def captions(ids, texts):
    ids = np.array(ids, np.int64)
    return {"captions": pa.table({"caption_id": ids, "image_id": ids, "text": texts})}


def dataset(lake, table="images"):
    return lake.lancedb().open_table(table).to_lance()


def segments(lake):
    return stored_keys._segments(dataset(lake))[1]


def row_ids(lake):
    rows = dataset(lake).scanner(columns=["image_id"], with_row_id=True).to_table()
    return dict(zip(rows["image_id"].to_pylist(), rows["_rowid"].to_pylist(), strict=True))


def test_a_small_table_has_none(lake):
    lake.ingest(images(range(99)))
    assert segments(lake) == []


def test_segments_grow_as_in_a_merge_tree(lake):
    seen = []
    for low, high in ((0, 1000), (1000, 1100), (1100, 1110), (1110, 1111), (1111, 1112), (1112, 1114), (1114, 2114)):
        lake.ingest(images(range(low, high)))
        seen.append(segments(lake))
    assert seen == [
        [1000],
        [1000, 100],
        [1000, 100, 10],
        [1000, 100, 10, 1],
        [1000, 100, 10, 2],
        [1000, 100, 10, 4],
        [2114],
    ]


def test_few_keys_are_not_read(lake, monkeypatch):
    lake.ingest(images(range(1000)))
    lake.ingest(images(range(2000, 2100)))
    expected = row_ids(lake)
    keys = StoredKeys(lake.location, "images", "image_id")
    monkeypatch.setattr(keys._read, "add_rows", None)
    wanted = np.array([5, 1500, 2099, -7, 999, 5])
    assert keys.find(wanted).tolist() == [expected.get(k, ABSENT) for k in wanted.tolist()]


def test_many_keys_are_read_at_last(lake):
    lake.ingest(images(range(1000)))
    expected = row_ids(lake)
    keys = StoredKeys(lake.location, "images", "image_id")
    for low in range(0, 2000, 100):
        wanted = np.arange(low, low + 100)
        assert keys.find(wanted).tolist() == [expected.get(k, ABSENT) for k in wanted.tolist()]
    assert keys._dataset is None


def test_extreme_keys(lake):
    extreme = [2**63 - 1, -(2**63), -(2**63) + 1, -1]
    lake.ingest(images([*extreme, *range(200)]))
    assert sum(segments(lake)) == 204
    expected = row_ids(lake)
    wanted = [*extreme, 2**63 - 2, 7, 200]
    keys = StoredKeys(lake.location, "images", "image_id")
    assert keys.find(np.array(wanted)).tolist() == [expected.get(k, ABSENT) for k in wanted]
    assert keys.find(np.array([-(2**63)])).tolist() == [expected[-(2**63)]]


def test_as_a_lake_without(tmp_path, lake, monkeypatch):
    """New, changed, equal, unknown and deleted ones, in many small ingests."""
    steps, rng = [], np.random.default_rng(5)
    for number in range(6):
        ids = rng.choice(400, 60 if number else 250, replace=False)
        steps += [images(ids), captions(rng.choice(450, 50, replace=False), [f"t{i % 3}" for i in range(50)])]

    def played(lake):
        told = []
        for number, step in enumerate(steps):
            report = lake.ingest(step)
            told.append((report.by_table, report.rejected))
            if number == 7:
                lake.delete(where="image_id % 20 = 3", apply=True)
        rows = lake.sql(
            "SELECT image_id, caption_id, text FROM images LEFT JOIN captions USING (image_id) ORDER BY ALL"
        )
        return told, rows.to_arrow()

    found = played(lake)
    assert sum(segments(lake)) > 200
    monkeypatch.setattr(stored_keys, "_LARGE", 1 << 40)
    plain = cb.connect(tmp_path / "plain.lake")
    assert played(plain) == found
    assert segments(plain) == []


def test_what_another_run_left_unindexed_is_found(lake):
    lake.ingest(images(range(1000)))
    plain = dataset(lake)
    dataset(lake).drop_index(KEY_INDEX)
    lake.ingest(images(range(1000, 1500)))
    assert segments(lake) == [1500]
    assert plain.count_rows() == 1000
    again = lake.ingest(images([3, 1200, 9999]))
    assert (again.unchanged, again.written) == (2, 1)


def test_a_damaged_index_is_made_anew(lake):
    lake.ingest(images(range(1000)))
    lake.ingest(images(range(1000, 1100)))
    folder = lake.location.path / "images.lance" / "_indices"
    for path in folder.rglob("*.lance"):
        path.write_bytes(b"x" * 100)
    fresh = cb.connect(lake.location.path)
    report = fresh.ingest(images([5, 3000], width=pa.array([640, 480], pa.int32())))
    assert (report.updated, report.written) == (1, 1)
    assert segments(fresh) == [1101]
    rows = fresh.sql("SELECT width FROM images WHERE image_id IN (5, 6, 3000) ORDER BY image_id")
    assert rows.to_arrow()["width"].to_pylist() == [640, None, 480]


def test_what_another_tool_wrote_is_not_looked_up(lake):
    """LanceDB's own Lance is older, passes over the index, and moves rows that the index then loses."""
    lake.ingest(images(range(200)))
    lake.lancedb().open_table("images").update(where="image_id = 5", values={"width": 77})
    query = "SELECT image_id, width FROM images WHERE image_id IN (5, 6) ORDER BY 1"
    fresh = cb.connect(lake.location.path)
    assert fresh.sql(query).fetchall() == [(5, 77), (6, None)]
    dry = fresh.ingest(images([5, 6, 900]), dry_run=True)
    assert (dry.written, dry.unchanged) == (1, 2)
    again = fresh.ingest(images([5, 6, 900]))
    assert (again.written, again.unchanged) == (1, 2)
    assert segments(fresh) == [201]
    assert fresh.sql(query).fetchall() == [(5, 77), (6, None)]
    assert fresh.sql("SELECT count(*), count(DISTINCT image_id) FROM images").fetchall() == [(201, 201)]


def test_an_ingest_that_writes_nothing_trusts_it_no_more(lake):
    lake.ingest(images(range(200)))
    lake.lancedb().open_table("images").update(where="image_id = 5", values={"width": 77})
    for _ in range(2):
        again = lake.ingest(images([5]))
        assert (again.written, again.unchanged) == (0, 1)
        assert lake.sql("SELECT width FROM images WHERE image_id = 5").fetchall() == [(77,)]


def test_an_index_that_was_declared_is_passed_over_too(lake, monkeypatch):
    monkeypatch.setattr(stored_keys, "_LARGE", 1 << 40)
    lake.ingest(images(range(200)))
    lake.create_index("images", "image_id", "btree", name="mine")
    lake.refresh(executor="inline")
    lake.lancedb().open_table("images").update(where="image_id = 5", values={"width": 77})
    assert lake.sql("SELECT width FROM images WHERE image_id = 5").fetchall() == [(77,)]
    assert lake.sql("SELECT count(*) FROM images WHERE image_id = 5").fetchall() == [(1,)]


def test_a_dry_run_writes_nothing(lake):
    lake.ingest(images(range(1000)))
    before = dataset(lake).version
    report = lake.ingest(images([5, 3000]), dry_run=True)
    assert (report.written, report.unchanged, dataset(lake).version) == (1, 1, before)


def test_ranges_do_not_go_by_it(lake):
    lake.ingest(images(range(1000)))

    def first(query):
        return lake.sql(query).to_arrow().column(0).to_pylist()

    assert first("SELECT count(*) FROM images WHERE image_id >= 10 AND image_id < 990") == [980]
    assert first("SELECT key FROM images WHERE image_id IN (7, 8) ORDER BY 1") == ["7", "8"]
    assert first("SELECT min(key) FROM images WHERE image_id > 997 OR image_id = 3") == ["3"]
