"""An export describes itself in Croissant: ``mlcroissant`` finds it sound, and reads its rows by it."""

from __future__ import annotations

import hashlib
import io
import json
import logging

import mlcroissant
import pytest
from PIL import Image

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning")  # rdflib's own, within mlcroissant
SQL = "SELECT image_id, key, width, image, [key, 'x'] AS words FROM images"


@pytest.fixture
def described(disk_lake, build, tmp_path):
    """Export in a form; returns the folder and the description as ``mlcroissant`` understands it."""
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6)).save(buffer, "PNG")
    rows = build.images(
        image_id=[1, 2, 3],
        key=["a", "b", "c"],
        width=[8, 8, None],
        license=["CC BY", None, "CC0"],
        image=[buffer.getvalue()] * 3,
    )
    disk_lake.ingest({"images": rows})

    def export(to, sql=SQL, **options):
        folder = tmp_path / to
        disk_lake.export(sql, folder, to, **options)
        logging.getLogger("absl").setLevel("ERROR")
        return folder, mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))

    return export


@pytest.mark.parametrize("to", ["parquet", "hf", "webdataset"])
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


def test_files_are_told_with_their_digests(described):
    folder, _ = described("webdataset", shard_size=2)
    about = json.loads((folder / "croissant.json").read_text())
    files = {f["contentUrl"]: f["sha256"] for f in about["distribution"]}
    assert len(files) == 2
    for name, digest in files.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert "recordSet" not in about


def test_columns_of_any_name(described):
    _, found = described("parquet", """SELECT 1 AS "we'ird / name", 2 AS "we'ird * name" """)
    assert found.metadata.ctx.issues.errors == set()
    assert [sorted(r.values()) for r in found.records("rows")] == [[1, 2]]


def test_an_export_without_images_says_no_licence(described):
    _, found = described("parquet", "SELECT 1 AS n, 'a' AS text")
    assert found.metadata.license == ["not stated"]
    assert [r["rows/n"] for r in found.records("rows")] == [1]
