"""An export describes itself in Croissant: ``mlcroissant`` finds it sound, and reads its rows by it."""

from __future__ import annotations

import hashlib
import json
import logging

import mlcroissant
import pytest
from image_files import image_bytes
from PIL import Image

from counterbalance.__main__ import main

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning")  # rdflib's own, within mlcroissant
SQL = "SELECT image_id, key, width, image, [key, 'x'] AS words FROM images"


@pytest.fixture
def described(disk_lake, build, tmp_path):
    """Export in a form; returns the folder and the description as ``mlcroissant`` understands it."""
    rows = build.images(
        image_id=[1, 2, 3],
        key=["a", "b", "c"],
        width=[8, 8, None],
        license=["CC BY", None, "CC0"],
        image=[image_bytes(Image.new("RGB", (8, 6)))] * 3,
    )
    disk_lake.ingest({"images": rows})

    def export(to, sql=SQL, **options):
        folder = tmp_path / to
        disk_lake.export(sql, folder, to, **options)
        logging.getLogger("absl").setLevel("ERROR")
        return folder, mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))

    return export


@pytest.mark.parametrize("to", ["parquet", "hf", "webdataset", "imagefolder", "coco"])
def test_it_is_sound(described, to):
    _, found = described(to)
    issues = found.metadata.ctx.issues
    assert (issues.errors, issues.warnings) == (set(), set())
    assert found.metadata.license == ["CC BY", "CC0", "not stated"]
    assert "never who a person is" in found.metadata.description


@pytest.mark.parametrize("to", ["parquet", "hf"])
def test_rows_are_read_by_it(described, to):
    _, found = described(to, shard_size=2)
    rows = sorted(found.records("rows"), key=lambda r: r["rows/image_id"])
    assert [r["rows/key"] for r in rows] == [b"a", b"b", b"c"]
    assert rows[0]["rows/image"].size == (8, 6)
    assert [str(w, "utf-8") if isinstance(w, bytes) else w for w in rows[0]["rows/words"]] == ["a", "x"]


@pytest.mark.parametrize("shard_size", [None, 2])
def test_metadata_of_pictures_is_read_by_it(described, shard_size):
    _, found = described("imagefolder", shard_size=shard_size)
    rows = sorted(found.records("rows"), key=lambda r: r["rows/image_id"])
    assert [r["rows/file_name"] for r in rows] == [b"a.png", b"b.png", b"c.png"]
    assert [r["rows/width"] for r in rows[:2]] == [8, 8]


def test_documents_of_coco_are_read_by_it(described):
    folder, found = described("coco", "SELECT image_id, image, key AS text FROM images")
    assert sorted(r["images/id"] for r in found.records("images")) == [1, 2, 3]
    texts = [(r["captions/image_id"], r["captions/caption"]) for r in found.records("captions")]
    assert sorted(texts) == [(1, b"a"), (2, b"b"), (3, b"c")]
    about = json.loads((folder / "croissant.json").read_text())
    sets = {s["includes"] for s in about["distribution"] if s["@type"] == "cr:FileSet"}
    assert sets == {"images/all/*.png", "annotations/captions_*.json"}


def test_splits_of_coco_with_documents_of_other_kinds_are_all_read(disk_lake, build, tmp_path):
    picture, splits = image_bytes(Image.new("RGB", (8, 6))), ["a", "a", "b[1]", "c", "c"]
    disk_lake.ingest(
        {
            "images": build.images(image_id=[1, 2, 3, 4, 5], key=list("vwxyz"), split=splits, image=[picture] * 5),
            "captions": build.captions(caption_id=[1, 2], image_id=[1, 4], text=["a cat", "a dog"]),
            "detections": build.detections(
                detection_id=[1, 2],
                image_id=[3, 4],
                category=["dog"] * 2,
                **{side: [1.0, 1.0] for side in ("x", "y", "width", "height")},
            ),
        }
    )
    disk_lake.export("images", tmp_path / "coco", "coco")
    assert sorted(f.name for f in (tmp_path / "coco" / "annotations").iterdir()) == [
        *("captions_a.json", "captions_c.json", "instances_b[1].json", "instances_c.json"),
    ]
    found = mlcroissant.Dataset(jsonld=str(tmp_path / "coco" / "croissant.json"))
    assert (found.metadata.ctx.issues.errors, found.metadata.ctx.issues.warnings) == (set(), set())
    assert sorted(r["images/id"] for r in found.records("images")) == [1, 2, 3, 4, 5]
    assert sorted(r["instances/id"] for r in found.records("instances")) == [1, 2]


def test_files_are_told_with_their_digests(described):
    folder, _ = described("webdataset", shard_size=2)
    about = json.loads((folder / "croissant.json").read_text())
    files = {f["contentUrl"]: f["sha256"] for f in about["distribution"]}
    assert len(files) == 2
    for name, digest in files.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert "recordSet" not in about


def test_a_lake_describes_its_open_tables(disk_lake, build, tmp_path, capsys):
    disk_lake.ingest({"images": build.images(image_id=[1], license=["CC0"])})
    disk_lake.create_materialized_view(
        "who", "SELECT image_id, label FROM image_labels('perceived_gender')", "image_id", purpose="a test"
    )
    disk_lake.create_materialized_view("sizes", "SELECT image_id, width FROM images", "image_id")
    disk_lake.refresh()
    assert main(["tables", disk_lake.uri, "--croissant"]) == 0
    (tmp_path / "about.json").write_text(capsys.readouterr().out)
    found = mlcroissant.Dataset(jsonld=str(tmp_path / "about.json")).metadata
    assert (found.ctx.issues.errors, found.ctx.issues.warnings) == (set(), set())
    assert found.license == ["CC0"]
    records = {r.name: [f.name for f in r.fields] for r in found.record_sets}
    assert records["sizes"] == ["image_id", "width"]
    assert {"images", "captions", "detections", "labels"} <= records.keys() >= {"sizes"}
    assert "who" not in records
    assert "image" not in records["images"]


def test_files_of_closed_tables_are_told_where_they_lie(disk_lake, build, capsys):
    body = "SELECT image_id, label FROM image_labels('perceived_gender')"
    labels = {"label_id": [1], "image_id": [1], "attribute": ["perceived_gender"], "value": ["a"], "annotator": ["z"]}
    disk_lake.ingest({"images": build.images(image_id=[1]), "labels": build.labels(**labels)})
    disk_lake.create_materialized_view("who", body, "image_id", purpose="a test")
    disk_lake.refresh()
    assert main(["tables", disk_lake.uri, "--croissant", "--sensitive", "a test"]) == 0
    files = {f["name"]: f["includes"] for f in json.loads(capsys.readouterr().out)["distribution"]}
    assert files["who-files"] == "sensitive/tables/who.lance/data/*.lance"
    assert files["images-files"] == "images.lance/data/*.lance"


def test_columns_of_any_name(described):
    _, found = described("parquet", """SELECT 1 AS "we'ird / name", 2 AS "we'ird * name" """)
    assert found.metadata.ctx.issues.errors == set()
    assert [sorted(r.values()) for r in found.records("rows")] == [[1, 2]]


def test_an_export_without_images_says_no_licence(described):
    _, found = described("parquet", "SELECT 1 AS n, 'a' AS text")
    assert found.metadata.license == ["not stated"]
    assert [r["rows/n"] for r in found.records("rows")] == [1]


def test_names_of_files_may_have_blanks(described):
    folder, found = described("coco", "SELECT image_id, image, key AS text, 'hold out' AS split FROM images")
    assert (folder / "annotations" / "captions_hold out.json").is_file()
    assert found.metadata.ctx.issues.errors == set()
    assert [r["captions/image_id"] for r in found.records("captions")] == [1, 2, 3]
