"""A purge leaves no byte of a removed image: not in rows, views, indexes, results, messages, dictionaries nor old versions."""

from __future__ import annotations

import random
import re

import lance
import numpy as np
import pyarrow as pa
import pytest

from counterbalance.engine.catalog import meta
from counterbalance.engine.executors import spool as spools
from counterbalance.engine.ingest_types import Reject

IMAGES, GONE = 1_000, 50
MARK = re.compile(rb"mk[0-9a-f]{24}|[0-9a-f]{64}")


class Marked:
    """Words by image that nothing else holds: one a place where something of an image is kept."""

    def __init__(self):
        draw = random.Random(3)
        self.gone = sorted(draw.sample(range(IMAGES), GONE))
        kinds = ("key", "uri", "text", "earlier", "value", "closed", "category", "picture", "spool", "annotator")
        self.of = {kind: [f"mk{draw.getrandbits(96):024x}" for _ in range(IMAGES)] for kind in kinds}
        self.sha = [f"{draw.getrandbits(256):064x}" for _ in range(IMAGES)]

    def all_of(self, images):
        return {self.of[kind][i] for kind in self.of for i in images} | {self.sha[i] for i in images}


def found(lake, markers):
    """The markers in the bytes of any file, and in any value of any version of any table; with where they are."""
    folder, left = lake.location.path, set()

    def look(data, where):
        left.update((m, where) for m in {w.decode() for w in MARK.findall(data.lower())} & markers)

    for file in (f for f in folder.rglob("*") if f.is_file()):
        look(file.read_bytes(), str(file.relative_to(folder)))
    for table in (t for t in folder.rglob("*.lance") if t.is_dir()):
        for version in lance.dataset(table).versions():
            rows = lance.dataset(table, version=version["version"]).scanner(blob_handling="all_binary").to_table()
            look(repr(rows.to_pylist()).encode(), f"{table.name} {version['version']}")
    return left


@pytest.fixture
def marked():
    return Marked()


@pytest.fixture
def filled(disk_lake, build, marked):
    ids, of = list(range(IMAGES)), marked.of
    noise = random.Random(4)
    rare = set(marked.gone)
    images = build.images(
        image_id=ids,
        key=of["key"],
        uri=[f"https://example.org/{u}.jpg" for u in of["uri"]],
        split=["train" if i % 2 else "val" for i in ids],
        sha256=marked.sha,
        image=[p.encode() + noise.randbytes(2_000) for p in of["picture"]],
    )
    captions = {"caption_id": ids, "image_id": ids}
    disk_lake.ingest({"images": images, "captions": build.captions(**captions, text=[f"{t} a" for t in of["earlier"]])})
    disk_lake.ingest(
        {
            "captions": build.captions(**captions, text=[f"{t} horse {i}" for i, t in enumerate(of["text"])]),
            "detections": build.detections(
                detection_id=ids, image_id=ids, category=[of["category"][i] if i in rare else "person" for i in ids]
            ),
            "labels": build.labels(
                label_id=[*ids, *(i + IMAGES for i in ids)],
                image_id=ids * 2,
                attribute=["scene"] * IMAGES + ["perceived_gender"] * IMAGES,
                value=[of["value"][i] if i in rare else "out" for i in ids]
                + [of["closed"][i] if i in rare else "woman" for i in ids],
                annotator=[of["annotator"][i] if i in rare else "ann" for i in ids] * 2,
            ),
        }
    )
    disk_lake.add_column("captions", "shout", "upper(text)")
    for kind in ("btree", "bitmap", "fts"):
        disk_lake.create_index("captions", "text", kind, name=f"by_{kind}")
    disk_lake.create_index("images", "uri", "btree", name="by_uri")
    disk_lake.create_materialized_view("texts", "SELECT caption_id, text FROM captions", "caption_id")
    disk_lake.create_index("texts", "text", "bitmap", name="words")
    disk_lake.create_materialized_view(
        "by_split",
        "SELECT split, string_agg(text, ' ' ORDER BY text) AS t FROM captions JOIN images USING (image_id) GROUP BY 1",
        "split",
    )
    disk_lake.create_materialized_view("firsts", "SELECT split, t[:9] AS head, length(t) AS n FROM by_split", "split")
    disk_lake.refresh()
    disk_lake.refresh("captions.shout", full=True)
    meta.record_rejects(
        disk_lake.location,
        "run",
        [
            ("labels", Reject("l.csv", f"line {i}", "unknown_image", f"no image '{of['key'][i]}' in the lake"))
            for i in ids
        ],
    )
    return disk_lake


def spooled(lake, marked):
    """Results of a column that wait to be published."""
    lake.add_column("captions", "whisper", "lower(text)")
    fingerprint = next(s.fingerprint for s in lake.refresh(dry_run=True).stages if s.target == "captions.whisper")
    writer = spools.fresh(lake.location, "captions.whisper", fingerprint).writer("f0-0")
    rows = lake.location.path / "captions.lance"
    ids = lance.dataset(rows).scanner(columns=["caption_id"], with_row_id=True).to_table()
    values = [marked.of["spool"][i] for i in ids["caption_id"].to_pylist()]
    columns = {
        "row_id": ids["_rowid"].cast(pa.int64()),
        "stamp": pa.array(np.ones(len(ids), np.int64)),
        "value": values,
    }
    nulls = pa.nulls(len(ids), pa.string())
    table = pa.table({**columns, "key": nulls, "code": nulls, "message": nulls}, schema=spools.schema(pa.string()))
    writer.append(table.combine_chunks().to_batches()[0])
    writer.close()


def test_nothing_is_left_of_fifty_images_of_a_thousand(filled, marked, record_property):
    spooled(filled, marked)
    before = {m for m, _ in found(filled, marked.all_of(marked.gone))}
    assert before == marked.all_of(marked.gone)
    record_property("markers", len(before))
    stays = sorted(set(range(IMAGES)) - set(marked.gone))
    keys = [marked.of["key"][i] for i in marked.gone]
    report = filled.delete(ids=keys, apply=True, purge=True)
    assert (report.images, report.unknown, report.complete, report.held) == (GONE, 0, True, ())
    assert report.rows["captions"] == GONE
    assert report.rows["labels"] == GONE  # of the open ones
    assert found(filled, marked.all_of(marked.gone)) == set()
    left = {m for m, _ in found(filled, {marked.of[k][i] for k in ("text", "spool", "picture") for i in stays})}
    assert len(left) == 3 * len(stays)
    assert filled.sql("SELECT count(*), count(shout) FROM captions").fetchall() == [(IMAGES - GONE,) * 2]
    assert filled.sql("SELECT value, count(*) FROM labels GROUP BY 1").fetchall() == [("out", IMAGES - GONE)]
    one = marked.of["text"][stays[5]]
    assert filled.sql("SELECT count(*) FROM texts WHERE text LIKE $t", t=f"{one}%").fetchall() == [(1,)]
    assert [(s.target, s.mode) for s in filled.refresh().stages if s.kind != "column" and s.mode != "no_op"] == []


@pytest.mark.thorough
def test_without_a_purge_nobody_sees_them_and_old_versions_hold_them(filled, marked):
    report = filled.delete(ids=marked.gone, apply=True)
    assert report.complete is None
    assert set(report.views) == {"texts", "by_split", "firsts"}
    assert filled.sql("SELECT count(*) FROM texts").fetchall() == [(IMAGES - GONE,)]
    assert found(filled, {marked.of["text"][i] for i in marked.gone})
    again = filled.delete(purge=True, apply=True)
    assert (again.images, again.complete) == (0, True)
    assert found(filled, marked.all_of(marked.gone)) == set()
