"""``gc`` gives back what nobody needs, tells before it does, and spares tags, readers and unfinished work."""

from __future__ import annotations

import datetime as dt
import os
import random
import time
from pathlib import Path

import copies
import pytest

import counterbalance as cb
from counterbalance.engine.catalog import definitions, runs, snapshot
from counterbalance.engine.errors import BusyError, NotFoundError, RequestError, StorageError
from counterbalance.engine.executors import spool as spools
from counterbalance.engine.refresh.gc import DEFAULT_AGE, gc
from counterbalance.engine.store import digests, lock, tables

NOW = dt.timedelta(0)
ROWS = 300


@pytest.fixture
def filled(kept, disk_lake, build):
    """Captions that do not compress: each holds 32 random hex digits."""

    def fill(lake):
        draw = random.Random(1)
        ids = list(range(ROWS))
        lake.ingest(
            {
                "images": build.images(image_id=ids, key=[str(i) for i in ids]),
                "captions": build.captions(
                    caption_id=ids, image_id=ids, text=[f"{draw.getrandbits(128):032x}" for _ in ids]
                ),
            }
        )

    return copies.filled(kept, disk_lake, fill)


def text_of(lake, caption):
    return lake.sql("SELECT text FROM captions WHERE caption_id = $id", id=caption).fetchall()[0][0]


def files_with(lake, marker):
    folder = lake.location.path
    return sorted(
        str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and marker.encode() in p.read_bytes()
    )


def count(lake, **settings):
    return lake.sql("SELECT count(*) FROM captions", **settings).fetchall()[0][0]


def delete(lake, where):
    tables.delete(lake.location, "captions", where)


def states(lake):
    """Every file of the lake but locks, with its size."""
    return {str(p): p.stat().st_size for p in lake.location.path.rglob("*") if p.is_file() and "lock" not in p.name}


def test_a_dry_run_tells_and_removes_nothing(filled):
    delete(filled, "caption_id < 10")
    before = states(filled)
    report = gc(filled.location, older_than=NOW)
    assert not report.applied
    assert [f.name for f in report.findings if not f.name.startswith("meta/")] == ["captions"]
    assert "10 deleted rows" in next(f.what for f in report.findings if f.name == "captions")
    assert report.bytes > 0
    assert states(filled) == before


def test_deleted_rows_leave_every_byte(filled):
    filled.create_index("captions", "text", "fts", name="words")
    filled.create_index("captions", "text", "btree", name="sorted_words")
    filled.add_column("captions", "shout", "upper(text)")
    filled.refresh()
    gone, stays = text_of(filled, 7), text_of(filled, 8)
    delete(filled, "caption_id = 7")
    assert files_with(filled, gone)
    assert files_with(filled, gone.upper())
    gc(filled.location, older_than=NOW, apply=True)
    assert files_with(filled, gone) == []
    assert files_with(filled, gone.upper()) == []
    assert files_with(filled, stays) != []
    assert count(filled) == ROWS - 1


def test_what_it_says_is_what_it_frees(filled):
    filled.add_column("captions", "shout", "upper(text)")
    filled.refresh()
    filled.refresh("captions.shout", full=True)
    told = {f.name: f.bytes for f in gc(filled.location, older_than=NOW).findings}
    folder = filled.location.path / "captions.lance"

    def size():
        return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and p.name != digests.NAME)

    before = size()
    done = {f.name: f.bytes for f in gc(filled.location, older_than=NOW, apply=True).findings}
    assert done["captions"] == before - size() > 0
    assert told["captions"] == done["captions"]


def test_a_second_time_there_is_nothing(filled):
    delete(filled, "caption_id < 10")
    assert gc(filled.location, older_than=NOW, apply=True).findings
    assert gc(filled.location, older_than=NOW).findings == ()
    before = states(filled)
    assert gc(filled.location, older_than=NOW, apply=True).findings == ()
    assert states(filled) == before


def test_what_is_young_stays(filled):
    delete(filled, "caption_id < 10")
    before = int(tables.open_table(filled.location, "captions").version) - 1
    gc(filled.location, older_than=DEFAULT_AGE, apply=True)
    assert tables.open_table(filled.location, "captions", before).count_rows() == ROWS


def test_a_tag_is_spared(filled):
    filled.tag("paper")
    delete(filled, "caption_id < 100")
    gc(filled.location, older_than=NOW, apply=True)
    assert (count(filled, at="paper"), count(filled)) == (ROWS, ROWS - 100)


def test_without_a_tag_the_past_is_gone(filled):
    moment = dt.datetime.now(dt.UTC).isoformat()
    delete(filled, "caption_id < 100")
    gc(filled.location, older_than=NOW, apply=True)
    with pytest.raises(StorageError, match="has no version"):
        count(filled, at=moment)


def test_a_reader_goes_on_reading(filled):
    with filled.session() as reader:
        delete(filled, "caption_id < 100")
        gc(filled.location, older_than=NOW, apply=True)
        assert reader.sql("SELECT count(text) FROM captions").fetchall() == [(ROWS,)]
        assert reader.sql("SELECT min(caption_id), max(caption_id) FROM captions").fetchall() == [(0, ROWS - 1)]
    assert [f.name for f in gc(filled.location, older_than=NOW, apply=True).findings if f.name == "captions"] == [
        "captions"
    ]
    assert len(tables.open_table(filled.location, "captions").versions()) == 1


def test_order_of_rows_and_definitions_survive(filled):
    for number in range(6):
        filled.add_column("captions", f"c{number}", f"length(text) + {number}")
        filled.drop_column("captions", f"c{number}")
    filled.add_column("captions", "c3", "length(text) * 2")
    before = filled.sql("SELECT run_id, target, details FROM meta.runs").fetchall()
    gc(filled.location, older_than=NOW, apply=True)
    assert filled.sql("SELECT run_id, target, details FROM meta.runs").fetchall()[: len(before)] == before
    declared = definitions.load(filled.location).by_target
    assert {t: d.sql for t, d in declared.items()} == {"captions.c3": "length(text) * 2"}


def test_refreshing_after_it_does_nothing(filled):
    filled.add_column("captions", "shout", "upper(text)")
    filled.create_materialized_view("by_length", "SELECT caption_id, length(shout) AS n FROM captions", "caption_id")
    filled.create_index("captions", "text", "btree", name="words")
    delete(filled, "caption_id < 10")
    filled.refresh()
    gc(filled.location, older_than=NOW, apply=True)
    report = filled.refresh()
    assert [(s.target, s.mode) for s in report.stages if s.mode != "no_op"] == []


def test_versions_that_it_wrote_again_and_removed_make_nothing_stale(filled):
    """Of the table that a view reads, and of the view's own, whose rows an update replaced."""
    filled.create_materialized_view("lengths", "SELECT caption_id, length(text) AS n FROM captions", "caption_id")
    filled.refresh()
    rows = filled.sql("SELECT caption_id, image_id, text FROM captions LIMIT 5").to_arrow()
    filled.ingest({"captions": rows.set_column(2, "text", [["another text"] * 5])})
    filled.refresh()
    stored = [tables.open_table(filled.location, name) for name in ("captions", "lengths")]
    assert all(sum(f.num_deletions for f in dataset.get_fragments()) for dataset in stored)
    gc(filled.location, older_than=NOW, apply=True)
    assert all(len(tables.open_table(filled.location, n).versions()) == 1 for n in ("captions", "lengths"))
    assert {s.target: s.mode for s in filled.refresh().stages}["lengths"] == "no_op"


def spool(lake, target, fingerprint):
    found = spools.fresh(lake.location, target, fingerprint)
    writer = found.writer("f0-0")
    rows = {"row_id": [1], "stamp": [1], "value": ["x"], "key": [None], "code": [None], "message": [None]}
    import pyarrow as pa

    writer.append(pa.RecordBatch.from_pydict(rows, schema=spools.schema(pa.string())))
    writer.close()
    return found


def test_results_that_nothing_goes_on_with_go(filled):
    filled.add_column("captions", "shout", "upper(text)")
    fingerprint = filled.refresh(dry_run=True).stages[0].fingerprint
    wanted = spool(filled, "captions.shout", fingerprint)
    other = spool(filled, "captions.shout", "0123456789abcdef")
    dropped = spool(filled, "captions.whisper", fingerprint)
    report = gc(filled.location, apply=True)
    assert {f.name for f in report.findings if f.kind == "spool"} == {
        s.folder.removeprefix("refresh/") for s in (other, dropped)
    }
    assert [bool(s.files()) for s in (wanted, other, dropped)] == [True, False, False]


def test_results_of_long_ago_go_too(filled):
    filled.add_column("captions", "shout", "upper(text)")
    wanted = spool(filled, "captions.shout", filled.refresh(dry_run=True).stages[0].fingerprint)
    long_ago = time.time() - 8 * 86_400
    for file in (filled.location.path / wanted.folder).iterdir():
        os.utime(file, (long_ago, long_ago))
    gc(filled.location, apply=True)
    assert wanted.files() == []


def test_results_whose_function_is_missing_here_stay(filled, tmp_path):
    filled.add_column("captions", "shout", "upper(text)")
    declared = definitions.load(filled.location).by_target["captions.shout"]
    definitions.declare(
        filled.location,
        type(declared)(**{f: getattr(declared, f) for f in declared.__slots__} | {"sql": "not_here(text)"}),
    )
    kept = spool(filled, "captions.shout", "0123456789abcdef")
    gc(filled.location, apply=True)
    assert kept.files()


def test_the_table_of_a_dropped_view_goes(filled):
    filled.create_materialized_view("lengths", "SELECT caption_id, length(text) AS n FROM captions", "caption_id")
    filled.refresh()
    there = definitions.load(filled.location).by_target["lengths"]
    definitions.drop(filled.location, there)
    assert [f.name for f in gc(filled.location).findings if f.kind == "view"] == []
    report = gc(filled.location, older_than=NOW, apply=True)
    assert [f.name for f in report.findings if f.kind == "view"] == ["lengths"]
    assert not (filled.location.path / "lengths.lance").exists()


def test_tables_of_other_tools_stay(filled):
    import pyarrow as pa

    theirs = filled.lancedb().create_table("theirs", pa.table({"a": [1, 2]}))
    theirs.add(pa.table({"a": [3]}))
    gc(filled.location, older_than=NOW, apply=True)
    assert filled.sql("SELECT sum(a) FROM theirs").fetchall() == [(6,)]


def test_a_table_made_under_the_name_of_a_dropped_view_stays(filled):
    import pyarrow as pa

    filled.create_materialized_view("lengths", "SELECT caption_id, length(text) AS n FROM captions", "caption_id")
    filled.refresh()
    filled.drop_materialized_view("lengths")
    filled.lancedb().create_table("lengths", pa.table({"a": [1, 2]}), mode="overwrite")
    gc(filled.location, older_than=NOW, apply=True)
    assert filled.sql("SELECT sum(a) FROM lengths").fetchall() == [(3,)]


def test_it_does_not_work_beside_a_refresh_or_a_writer(filled):
    delete(filled, "caption_id < 10")
    for name in (lock.REFRESH, lock.NAME):
        with lock.writer_lock(filled.location, "test", name=name), pytest.raises(BusyError):
            gc(filled.location, older_than=NOW, apply=True, wait=0.1)


def test_files_of_writes_that_failed_go(filled):
    orphan = filled.location.path / "captions.lance" / "data" / "0123456789abcdef.lance"
    orphan.write_bytes(b"x" * 5_000)
    report = gc(filled.location, older_than=NOW, apply=True)
    assert not orphan.exists()
    assert next(f.bytes for f in report.findings if f.name == "captions") >= 5_000
    assert count(filled) == ROWS


def test_no_lake(tmp_path):
    with pytest.raises(NotFoundError, match="no lake"):
        gc(cb.connect(tmp_path / "none.lake").location)
    assert list(Path(tmp_path).iterdir()) == []


def test_an_age_is_not_negative(filled):
    with pytest.raises(RequestError, match="must not be negative"):
        gc(filled.location, older_than=dt.timedelta(days=-1))


def test_a_lake_in_memory(lake):
    tables.delete(lake.location, "captions", "caption_id = 11")
    assert gc(lake.location, older_than=NOW, apply=True).findings
    assert count(lake) == 7
    assert gc(lake.location, older_than=NOW).findings == ()


@pytest.mark.thorough
def test_a_lake_in_an_object_store(s3_lake, build):
    ids = list(range(20))
    s3_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[f"text {i}" for i in ids]),
        }
    )
    with s3_lake.session() as reader:
        tables.delete(s3_lake.location, "captions", "caption_id < 5")
        gc(s3_lake.location, older_than=NOW, apply=True)
        assert reader.sql("SELECT count(text) FROM captions").fetchall() == [(20,)]
    gc(s3_lake.location, older_than=NOW, apply=True)
    assert gc(s3_lake.location, older_than=NOW).findings == ()
    assert count(s3_lake) == 15


def test_pictures_leave_with_their_rows(disk_lake, build):
    """In the data file, in a packed file beside it, and in one of their own; and the rest can be read."""
    draw = random.Random(2)
    pictures = [draw.randbytes(n) for n in (1_000, 100_000, 5_000_000, 1_000, 100_000, 5_000_000)]
    ids = list(range(6))
    disk_lake.ingest({"images": build.images(image_id=ids, key=[str(i) for i in ids], image=pictures)})
    tables.delete(disk_lake.location, "images", "image_id < 3")
    whole = disk_lake.location.path / "images.lance"

    def holding():
        files = [p.read_bytes() for p in whole.rglob("*") if p.is_file()]
        return [any(picture[:200] in file for file in files) for picture in pictures]

    def size():
        return sum(p.stat().st_size for p in whole.rglob("*") if p.is_file())

    assert holding() == [True] * 6
    before = size()
    told = {f.name: f.bytes for f in gc(disk_lake.location, older_than=NOW).findings}
    done = {f.name: f.bytes for f in gc(disk_lake.location, older_than=NOW, apply=True).findings}
    assert holding() == [False] * 3 + [True] * 3
    assert done["images"] == pytest.approx(before - size(), rel=0.01)
    assert told["images"] == pytest.approx(done["images"], rel=0.1)
    rows = tables.open_table(disk_lake.location, "images").scanner(columns=["image"], blob_handling="all_binary")
    assert rows.to_table()["image"].to_pylist() == pictures[3:]


def begun(lake, kind):
    """A run that was killed after it had begun to write."""
    seen = snapshot.take(lake.location)
    runs.Run(lake.location, kind, "captions").open(seen.versions, seen.coded)


def test_what_an_unfinished_ingest_started_from_stays(filled):
    begun(filled, "ingest")
    delete(filled, "caption_id < 10")
    report = gc(filled.location, older_than=NOW, apply=True)
    assert any("an ingest waits to be completed" in note for note in report.notes)
    assert count(filled) == ROWS  # readers are still on the versions before it


def test_after_a_refresh_that_was_killed(filled):
    filled.add_column("captions", "shout", "upper(text)")
    kept = spool(filled, "captions.shout", filled.refresh(dry_run=True).stages[0].fingerprint)
    begun(filled, "refresh")
    delete(filled, "caption_id < 10")
    report = gc(filled.location, apply=True)
    assert report.notes == ()
    assert kept.files()
    assert snapshot.take(filled.location).unfinished is None
    assert count(filled) == ROWS - 10
