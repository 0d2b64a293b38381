"""A source that turns out wrong midway, or a disk that is full: one clear error, and the lake is as it was."""

from __future__ import annotations

import subprocess

import lance
import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError, RequestError, SourceError
from counterbalance.engine.ingest_types import Chunk, Reject, Source
from counterbalance.engine.write.ingest import ingest


def broken(build, error=None, first=100):
    """Two good chunks with a refusal, then the end of a file that is not there."""

    def chunks():
        for number in range(2):
            ids = [first + number * 2, first + 1 + number * 2]
            yield Chunk(
                {
                    "images": build.images(image_id=[*ids, 1], key=["new", "new", "changed"], split=["fresh"] * 3),
                    "captions": build.captions(caption_id=ids, image_id=ids, text=["t", "u"]),
                    "labels": build.labels(label_id=ids, image_id=ids, attribute=["sex", "scene"], value=["f", "sea"]),
                },
                [Reject("broken.json", f"item {number}", "bad_item", "refused")],
                rows_read=5,
            )
        raise error or SourceError("broken.json ends within a string at byte 977", code="E4001")

    return Source("broken.json", chunks())


def files(lake):
    return sorted(str(p.relative_to(lake.location.path)) for p in lake.location.path.rglob("*"))


def test_a_new_lake_is_not_made(disk_lake, build):
    with pytest.raises(SourceError, match="ends within a string at byte 977"):
        ingest(disk_lake.location, broken(build), "test")
    assert not disk_lake.location.path.exists()
    with pytest.raises(NotFoundError, match="no lake"):
        disk_lake.sql("SELECT 1")


def test_a_new_lake_is_not_made_by_refusals_alone(disk_lake, build):
    def chunks():
        yield Chunk({}, [Reject("broken.json", "item 0", "bad_item", "refused")], rows_read=1)
        raise SourceError("broken.json is cut short")

    with pytest.raises(SourceError):
        ingest(disk_lake.location, Source("broken.json", chunks()), "test")
    assert not disk_lake.location.path.exists()


def test_a_new_lake_in_memory_is_not_made(empty_lake, build):
    with pytest.raises(SourceError):
        ingest(empty_lake.location, broken(build), "test")
    with pytest.raises(NotFoundError, match="no lake"):
        empty_lake.sql("SELECT 1")
    assert empty_lake.ingest({"images": build.images(image_id=[1])}).written == 1


def content(lake):
    names = ("images", "captions", "labels")
    return {n: lake.sql(f"SELECT * FROM {n} ORDER BY 1", sensitive="a test").fetchall() for n in names}


def test_a_lake_is_as_before(disk_lake, build):
    first = {
        "images": build.images(image_id=[1, 2], key=["a", "b"], split=["s", "t"]),
        "captions": build.captions(caption_id=[1], image_id=[1], text=["x"]),
    }
    disk_lake.ingest(first)
    before = content(disk_lake)
    with disk_lake.session() as session:
        with pytest.raises(SourceError):
            ingest(disk_lake.location, broken(build), "test")
        assert session.sql("SELECT key FROM images ORDER BY 1").fetchall() == [("a",), ("b",)]
    assert content(disk_lake) == before
    assert disk_lake.sql("SELECT split, count(*) FROM images GROUP BY ALL ORDER BY ALL").fetchall() == [
        ("s", 1),
        ("t", 1),
    ]
    assert not disk_lake.ingest(first).changed
    assert [r[0] for r in disk_lake.sql("SELECT state FROM meta.runs ORDER BY at").fetchall()] == [
        "finished",
        "rolled_back",
        "finished",
    ]


def test_what_others_wrote_meanwhile_stays(disk_lake, build):
    """Going back touches the tables that this ingest wrote, and no other tool's."""
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})

    def chunks():
        yield Chunk({"images": build.images(image_id=[2])}, rows_read=1)
        lance.write_dataset(pa.table({"image_id": [1], "scene": ["sea"]}), disk_lake.location.table("scenes"))
        raise SourceError("broken")

    with pytest.raises(SourceError):
        ingest(disk_lake.location, Source("broken", chunks()), "test")
    assert disk_lake.sql("SELECT key, scene FROM images JOIN scenes USING (image_id)").fetchall() == [("a", "sea")]


def test_an_interrupted_ingest_stays_unseen_after_it(disk_lake, build):
    """Half of a source was kept for a later run; that another source fails does not show it."""
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    with pytest.raises(KeyboardInterrupt):
        ingest(disk_lake.location, broken(build, KeyboardInterrupt()), "test")
    assert disk_lake.sql("SELECT image_id, key FROM images").fetchall() == [(1, "a")]
    other = Source("other.json", broken(build, first=500).chunks)
    with pytest.raises(SourceError):
        ingest(disk_lake.location, other, "test")
    assert disk_lake.sql("SELECT image_id, key FROM images").fetchall() == [(1, "a")]
    assert disk_lake.sql("SELECT state, target FROM meta.runs ORDER BY at DESC LIMIT 1").fetchall() == [
        ("running", "broken.json")
    ]


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ({"image_id": ["one"]}, SourceError),
        ({"image_id": [2**70]}, Exception),
        ({"image_id": [1], "width": [2**40]}, SourceError),
        ({"key": ["no id"]}, RequestError),
        ({"image_id": [1], "colour": ["red"]}, RequestError),
        ({"image_id": [1], "key": [{"a": 1}]}, SourceError),
    ],
)
def test_rows_of_other_types_are_refused_as_a_whole(disk_lake, build, rows, error):
    if any(v == [2**70] for v in rows.values()):
        rows = {"image_id": pa.array([10**30], pa.decimal128(38, 0))}
        error = SourceError
    good = Chunk({"images": build.images(image_id=[5, 6])}, rows_read=2)
    bad = Chunk({"images": pa.table(rows)}, rows_read=1)
    with pytest.raises(error) as caught:
        ingest(disk_lake.location, Source("rows", iter([good, bad])), "test")
    assert "images" in str(caught.value)
    assert not disk_lake.location.path.exists()


def test_text_that_is_no_utf8_never_reaches_a_table(disk_lake, build):
    """Lance would take it, and then nobody could read the column again."""
    raw = pa.array([b"good", b"\xff\xfe bad"], pa.binary())
    forged = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    rows = pa.table({"image_id": [1, 2], "key": forged})
    with pytest.raises(SourceError, match=r"(?i)utf"):
        disk_lake.ingest({"images": rows})
    assert not disk_lake.location.path.exists()


def test_strict_keeps_what_is_good(disk_lake, build):
    source = {"images": build.images(image_id=[1]), "captions": build.captions(caption_id=[1, 2], image_id=[1, 5])}
    with pytest.raises(SourceError, match="1 items"):
        disk_lake.ingest(source, strict=True)
    assert disk_lake.sql("SELECT caption_id FROM captions").fetchall() == [(1,)]


def test_files_that_may_not_grow(disk_lake, build, spawn):
    disk_lake.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"])})
    out, errors = spawn("ingest_until_full", disk_lake.uri, 100_000, 1000, 20_000).communicate()
    assert out.startswith("StorageError E6003 1 cannot write table 'images'"), out + errors
    assert disk_lake.sql("SELECT image_id, key FROM images ORDER BY 1").fetchall() == [(1, "a"), (2, "b")]
    out, errors = spawn("ingest_until_full", disk_lake.uri, 0, 1000, 20_000).communicate()
    assert out == "20000\n", errors
    assert disk_lake.sql("SELECT count(*) FROM images").fetchall() == [(20_002,)]


def test_changed_rows_that_do_not_fit(disk_lake, build, spawn):
    ids = list(range(5000))
    disk_lake.ingest({"images": build.images(image_id=ids, key=["old"] * 5000)})
    out, errors = spawn("ingest_until_full", disk_lake.uri, 100_000, 0, 5000).communicate()
    assert out.startswith("StorageError E6003 1 cannot write table 'images'"), out + errors
    assert disk_lake.sql("SELECT DISTINCT key FROM images").fetchall() == [("old",)]


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("no mount command")
    if done.returncode:
        pytest.skip("a file system in memory cannot be mounted here: " + done.stderr.decode().strip())
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(small_disk, build, spawn):
    lake = cb.connect(small_disk / "a.lake")
    lake.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"])})
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(1_500_000))
    out, errors = spawn("ingest_until_full", lake.uri, 0, 1000, 20_000).communicate()
    assert out.startswith("StorageError E6003 1 cannot write table"), out + errors
    assert lake.sql("SELECT image_id, key FROM images ORDER BY 1").fetchall() == [(1, "a"), (2, "b")]
    ballast.unlink()
    assert lake.ingest({"images": build.images(image_id=[3], key=["c"])}).written == 1
    assert lake.sql("SELECT count(*) FROM images").fetchall() == [(3,)]
