"""The datasheet of an export: versions, SQL, functions with models and digests, licences, what is sensitive, what is synthetic."""

from __future__ import annotations

import json
import os
import re
import tarfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from image_files import image_bytes
from PIL import Image, PngImagePlugin

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError, SensitiveError
from counterbalance.engine.functions import Parameter
from counterbalance.export import origins

DIGEST = "5eed" * 16
XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description '
    'xmlns:e="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" e:DigitalSourceType='
    '"http://cv.iptc.org/newscodes/digitalsourcetype/compositeWithTrainedAlgorithmicMedia"/></rdf:RDF></x:xmpmeta>'
)


def picture(colour, *, said=False):
    info = PngImagePlugin.PngInfo()
    if said:
        info.add_itxt("XML:com.adobe.xmp", XMP)
    return image_bytes(Image.new("RGB", (12, 9), colour), pnginfo=info)


@cb.udf(
    returns=pa.binary(),
    parameters=[Parameter("image", pa.binary()), Parameter("model", pa.string(), "a/model", constant=True)],
    version="7",
    weights=lambda model: DIGEST,
)
def datasheet_edit(image, model):
    """Another picture, which says what it is."""
    return pa.array([picture((0, 99, 0), said=True)] * len(image), pa.binary())


@pytest.fixture(scope="module")
def lake():
    lake = cb.connect(f"memory://datasheet-{os.getpid()}")
    images = pa.table(
        {
            "image_id": [1, 2, 3],
            "key": ["1", "2", "3"],
            "license": ["CC BY", "CC | `BY`\n# x", None],
            "source": ["coco", "coco", "web"],
            "image": pa.array([picture((i, 0, 0)) for i in range(3)], pa.binary()),
        }
    )
    labels = pa.table(
        {
            "label_id": [1, 2],
            "image_id": [1, 2],
            "attribute": ["perceived_gender"] * 2,
            "value": ["female", "male"],
            "annotator": ["m"] * 2,
        }
    )
    lake.ingest({"images": images, "labels": labels})
    requests = "SELECT 10 * image_id AS edit_id, image_id, list_first([image]) AS image FROM images WHERE image_id < 3"
    lake.create_materialized_view("requests", requests, "edit_id")
    lake.add_column("requests", "edited", "datasheet_edit(image)")
    chosen = (
        "SELECT edit_id, image_id, list_first([edited]) AS image FROM requests UNION ALL "
        "SELECT image_id, image_id, list_first([image]) FROM images"
    )
    lake.create_materialized_view("augmented", chosen, "edit_id")
    people = "SELECT image_id, value AS label FROM labels WHERE attribute = 'perceived_gender'"
    lake.create_materialized_view("people", people, "image_id", purpose="a test of exports", sensitive=True)
    lake.refresh()
    return lake


@pytest.fixture
def generative(monkeypatch):
    """The function of this file counts as one that makes pictures."""
    monkeypatch.setattr(origins, "GENERATIVE", frozenset({"datasheet_edit"}))


def section(text, title):
    parts = dict(part.split("\n", 1) for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:])
    return parts[title]


def sheet(lake, folder, what, to="webdataset", **options):
    lake.export(what, folder, to, **options)
    return (folder / "DATASHEET.md").read_text(encoding="utf-8")


def test_it_tells_the_way_from_the_source_to_the_rows(lake, tmp_path):
    text = sheet(lake, tmp_path / "out", "augmented")
    with lake.session() as session:
        versions = session.versions
    told = section(text, "Provenance")
    for name, rows in (("images", 3), ("requests", 2), ("augmented", 5)):
        assert f"| `{name}` | {versions[name]} | {rows} |" in told
    assert "SELECT * FROM augmented" in told
    filters = section(text, "Preprocessing and filters")
    assert "View `augmented`, keyed by `edit_id`" in filters
    assert "WHERE image_id < 3" in filters
    assert "Column `requests.edited`" in filters
    models = section(text, "Models and functions")
    assert f'| `datasheet_edit` | `7` | `model = "a/model"` | `{DIGEST}` | `requests.edited` |' in models


def test_licences_are_counted_and_stay_words(lake, tmp_path):
    told = section(sheet(lake, tmp_path / "out", "images"), "Sources and licences of images")
    rows = [line for line in told.splitlines() if line.startswith("| `")]
    assert sorted(rows) == [
        "| `coco` | `CC BY` | 1 |",
        "| `coco` | `CC ¦ 'BY' # x` | 1 |",
        "| `web` | `not stated` | 1 |",
    ]


def test_rows_without_images_have_no_licences(lake, tmp_path):
    text = sheet(lake, tmp_path / "out", "SELECT count(*) AS n FROM captions", "parquet")
    assert "cannot be told" in section(text, "Sources and licences of images")


def test_synthetic_pictures_are_marked_row_by_row(lake, tmp_path, generative):
    text = sheet(lake, tmp_path / "tar", "augmented")
    assert "made or edited by `datasheet_edit`" in section(text, "Models and functions")
    with tarfile.open(tmp_path / "tar/shard-00000.tar") as tar:
        said = {n: json.load(tar.extractfile(n))["synthetic"] for n in tar.getnames() if n.endswith(".json")}
        stored = tar.extractfile("10.png").read()
    assert said == {"1.json": False, "2.json": False, "3.json": False, "10.json": True, "20.json": True}
    assert stored == picture((0, 99, 0), said=True)
    sheet(lake, tmp_path / "hf", "augmented", "hf")
    rows = pq.read_table(tmp_path / "hf/data/train-00000.parquet", columns=["edit_id", "synthetic"]).to_pylist()
    assert {r["edit_id"]: r["synthetic"] for r in rows} == {1: False, 2: False, 3: False, 10: True, 20: True}


def test_the_views_own_word_wins(lake, tmp_path, generative):
    sheet(lake, tmp_path / "out", "SELECT edit_id, image, edit_id = 1 AS synthetic FROM augmented", "parquet")
    rows = pq.read_table(tmp_path / "out/part-00000.parquet", columns=["edit_id", "synthetic"]).to_pylist()
    assert {r["edit_id"] for r in rows if r["synthetic"]} == {1}


def test_real_pictures_have_no_such_column(lake, tmp_path, generative):
    sheet(lake, tmp_path / "out", "images", "parquet")
    assert "synthetic" not in pq.read_schema(tmp_path / "out/part-00000.parquet").names


def test_perceived_labels_need_a_purpose_and_are_named(lake, tmp_path):
    sql = "SELECT i.image_id, i.image, p.label FROM images i JOIN people p USING (image_id)"
    with pytest.raises(SensitiveError):
        lake.export(sql, tmp_path / "out", "webdataset")
    assert not (tmp_path / "out").exists()
    told = section(sheet(lake, tmp_path / "out", sql, sensitive="training a fair model"), "Perceived labels")
    assert "- `people`" in told
    assert "`training a fair model`" in told
    with lake.session(sensitive="a look at the log") as session:
        assert "training a fair model" in {r[0] for r in session.sql("SELECT DISTINCT purpose FROM meta.access")}
    plain = section(sheet(lake, tmp_path / "plain", "images"), "Perceived labels")
    assert "No column that the lake keeps as sensitive was read." in plain


def test_labels_that_need_a_purpose_do_not_slip_out(lake, tmp_path):
    done = lake.export("labels", tmp_path / "out", "parquet")
    stored = pq.read_table(tmp_path / "out/part-00000.parquet")
    assert (stored.num_rows, stored.column_names[:2]) == (0, ["label_id", "image_id"])
    assert any("perceived_gender are not shown" in note for note in done.notes)


def test_an_older_state_is_exported_as_it_was(lake, tmp_path):
    other = cb.connect(tmp_path / "at.lake")
    other.ingest({"images": pa.table({"image_id": [1], "key": ["1"]})})
    other.tag("before")
    other.ingest({"images": pa.table({"image_id": [2], "key": ["2"]})})
    text = sheet(other, tmp_path / "out", "SELECT image_id FROM images", "parquet", at="before")
    assert pq.read_table(tmp_path / "out/part-00000.parquet").to_pylist() == [{"image_id": 1}]
    assert "as of `before`" in section(text, "Maintenance")
    with pytest.raises(CounterbalanceError):
        other.export("images", tmp_path / "no", "parquet", at="never")
