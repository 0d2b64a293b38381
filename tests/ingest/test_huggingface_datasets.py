"""Datasets of Hugging Face, on disk and in memory, become images, captions, labels and boxes, whichever way they come."""

from __future__ import annotations

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import counterbalance as cb

FEATURES = datasets.Features(
    {
        "image": datasets.Image(),
        "label": datasets.ClassLabel(names=["cat", "dog"]),
        "caption": datasets.Value("string"),
        "question": datasets.Value("string"),
        "tokens": datasets.List(datasets.Value("string")),
        "objects": datasets.List(
            {
                "bbox": datasets.List(datasets.Value("float32"), length=4),
                "category": datasets.ClassLabel(names=["person", "bicycle"]),
                "area": datasets.Value("float32"),
            }
        ),
    }
)
WANTED = [(f"a picture {i}", ("cat", "dog")[i % 2], "bicycle", 20 + i, True) for i in range(5)]


@pytest.fixture(autouse=True)
def _quiet():
    datasets.disable_progress_bars()


def made():
    rows = {
        "image": [Image.new("RGB", (20 + i, 10), (i, 0, 0)) for i in range(5)],
        "label": [i % 2 for i in range(5)],
        "caption": [f"a picture {i}" for i in range(5)],
        "question": ["which?"] * 5,
        "tokens": [["a"]] * 5,
        "objects": [[{"bbox": [1, 2, 3, 4], "category": 1, "area": 9.5}]] * 5,
    }
    return datasets.Dataset.from_dict(rows, features=FEATURES)


def rows_of(lake):
    return lake.sql("""
        SELECT text, l.value, category, i.width, sha256 IS NOT NULL
        FROM images i JOIN captions USING (image_id) JOIN labels l USING (image_id) JOIN detections d USING (image_id)
        WHERE attribute = 'label' ORDER BY text""").fetchall()


def as_folder(dataset, tmp_path):
    dataset.save_to_disk(tmp_path / "saved")
    return str(tmp_path / "saved")


def as_splits(dataset, tmp_path):
    parts = {"train": dataset.select(range(3)), "test": dataset.select(range(3, 5))}
    datasets.DatasetDict(parts).save_to_disk(tmp_path / "saved")
    return str(tmp_path / "saved")


def as_parquet(dataset, tmp_path):
    (tmp_path / "data").mkdir()
    dataset.to_parquet(tmp_path / "data" / "train-00000-of-00001.parquet")
    return str(tmp_path / "data")


WAYS = {
    "save_to_disk": as_folder,
    "save_to_disk of splits": as_splits,
    "parquet": as_parquet,
    "in memory": lambda dataset, _: dataset,
    "in memory by split": lambda dataset, _: datasets.DatasetDict({"train": dataset}),
    "streamed": lambda dataset, _: dataset.to_iterable_dataset(),
    "shuffled": lambda dataset, _: dataset.shuffle(seed=2),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_same_rows(tmp_path, way):
    lake = cb.connect(tmp_path / "a.lake")
    source = WAYS[way](made(), tmp_path)
    report = lake.ingest(source)
    assert (report.format if not isinstance(source, str) else "huggingface") == "huggingface"
    assert rows_of(lake) == WANTED
    assert any("labels from label" in n for n in report.notes)
    assert any(n.startswith("left out: question; --keep question") for n in report.notes)
    assert "left out: tokens, of lists or objects; --keep tokens stores them as JSON" in report.notes
    assert "left out: objects.area; the format huggingface cannot keep it" in report.notes
    again = lake.ingest(source)
    assert (again.changed, again.rejected) == (0, 0)


def test_another_copy_is_the_same_images(tmp_path):
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(made())
    assert lake.ingest(as_splits(made(), tmp_path)).by_table["images"].written == 0
    assert lake.sql("SELECT split, count(*) FROM images GROUP BY split ORDER BY split").fetchall() == [
        ("test", 2),
        ("train", 3),
    ]


def test_a_column_is_kept_as_labels(tmp_path):
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(made(), keep=["question"])
    assert lake.sql("SELECT value, count(*) FROM labels WHERE attribute = 'question' GROUP BY 1").fetchall() == [
        ("which?", 5)
    ]


def flat(rows, **columns):
    features = {"image": datasets.Image(), "caption": datasets.Value("string")}
    features |= {name: datasets.Value("string") for name in columns}
    pictures = [Image.new("RGB", (9, 9), (n, 0, 0)) for n, _ in rows]
    return datasets.Dataset.from_dict(
        {"image": pictures, "caption": [c for _, c in rows], **columns}, features=datasets.Features(features)
    )


ROWS = [(0, "a"), (0, "b"), (1, "c"), (0, "a"), (1, "d")]


@pytest.mark.parametrize("columns", [{}, {"image_id": ["x", "x", "y", "x", "y"]}])
def test_rows_of_one_picture_are_one_image_with_all_captions(tmp_path, columns):
    lake = cb.connect(tmp_path / "a.lake")
    report = lake.ingest(flat(ROWS, **columns))
    assert (report.by_table["images"].written, report.by_table["captions"].written, report.rejected) == (2, 4, 0)
    assert any(n.startswith("3 rows are of pictures that came before") for n in report.notes)
    said = "SELECT list(text ORDER BY text) FROM captions GROUP BY image_id ORDER BY 1"
    assert lake.sql(said).fetchall() == [(["a", "b"],), (["c", "d"],)]
    assert lake.ingest(flat(ROWS, **columns).shuffle(seed=3)).changed == 0
    assert lake.ingest(flat(ROWS[:1], **{n: v[:1] for n, v in columns.items()})).changed == 0
    assert lake.sql(said).fetchall() == [(["a", "b"],), (["c", "d"],)]


def test_another_dataset_of_the_same_pictures_adds_its_captions(tmp_path):
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(flat(ROWS))
    report = lake.ingest(flat([(0, "another")]))
    assert (report.by_table["images"].written, report.by_table["captions"].written) == (0, 1)
    assert lake.sql("SELECT count(*) FROM captions").fetchall() == [(5,)]


def test_a_key_of_two_pictures_is_refused(tmp_path):
    lake = cb.connect(tmp_path / "a.lake")
    report = lake.ingest(flat([(0, "a"), (1, "b")], key=["x", "x"]))
    assert (report.by_table["images"].written, report.rejected) == (1, 1)
    assert lake.sql("SELECT code FROM meta.errors").fetchall() == [("duplicate_key",)]


@pytest.mark.parametrize("column", ["captions", "sentences", "numbered", "raw"])
def test_several_captions_of_a_row(tmp_path, column):
    lake = cb.connect(tmp_path / "a.lake")
    columns = {
        "captions": {"captions": [["one", "two"]]},
        "sentences": {"sentences": [["one", "two"]]},
        "numbered": {"caption_0": ["one"], "caption_1": ["two"], "caption_2": pa.array([None], pa.string())},
        "raw": {"sentences": [[{"raw": "one", "tokens": ["one"]}, {"raw": "two", "tokens": ["two"]}]]},
    }[column]
    table = pa.table({"image": [{"bytes": png(tmp_path).read_bytes(), "path": None}], **columns})
    pq.write_table(table, tmp_path / "a.parquet")
    lake.ingest(tmp_path / "a.parquet")
    assert lake.sql("SELECT text FROM captions ORDER BY text").fetchall() == [("one",), ("two",)]


def png(tmp_path):
    path = tmp_path / "a.png"
    Image.new("RGB", (8, 6), "navy").save(path)
    return path


def test_the_parquet_of_img2dataset(tmp_path):
    table = {
        "key": ["000000", "000001"],
        "jpg": [png(tmp_path).read_bytes(), None],
        "caption": ["a sea", "a sky"],
        "url": ["http://x/a.png", "http://x/b.png"],
        "status": ["success", "failed_to_download"],
        "pwatermark": [0.25, 0.5],
        "original_width": [80, 90],
        "width": [8, 9],
    }
    pq.write_table(pa.table(table), tmp_path / "00000.parquet")
    lake = cb.connect(tmp_path / "a.lake")
    report = lake.ingest(tmp_path / "00000.parquet", keep=["pwatermark"])
    assert lake.sql("SELECT key, uri, width, sha256 IS NOT NULL FROM images").fetchall() == [
        ("000000", "http://x/a.png", 8, True)
    ]
    assert lake.sql("SELECT attribute, value FROM labels").fetchall() == [("pwatermark", "0.25")]
    assert report.rejected == 1
    assert "left out: status, original_width; --keep status stores one as labels" in report.notes
    assert lake.sql("SELECT code, position FROM meta.errors").fetchall() == [("missing_image", "row 2")]


def test_without_storing_only_the_rows_are_kept(tmp_path):
    lake = cb.connect(tmp_path / "a.lake")
    source = as_parquet(made(), tmp_path)
    report = lake.ingest(source, store_images=False)
    assert any(note.startswith("pictures inside of files are seen while they are read") for note in report.notes)
    rows = lake.sql("SELECT uri, sha256 IS NOT NULL FROM images WHERE width = 20").fetchall()
    assert rows == [(f"{source}/train-00000-of-00001.parquet#1", True)]
    assert lake.sql("SELECT count(*) FROM images WHERE octet_length(image) IS NOT NULL").fetchall() == [(0,)]


def test_a_limit_counts_rows_of_all_files(tmp_path):
    lake = cb.connect(tmp_path / "a.lake")
    assert lake.ingest(as_splits(made(), tmp_path), limit=4).rows_read == 4


def test_captions_that_are_objects(tmp_path):
    """Of languages each value is one; what has no text that is known is told."""
    pictures = [Image.new("RGB", (8 + i, 6)) for i in range(2)]
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(datasets.Dataset.from_dict({"image": pictures, "caption": [{"en": "a man", "pt-BR": "um homem"}] * 2}))
    assert lake.sql("SELECT DISTINCT text FROM captions ORDER BY text").fetchall() == [("a man",), ("um homem",)]
    other = datasets.Dataset.from_dict({"image": pictures, "caption": [{"words": "a man", "id": 3}] * 2})
    report = cb.connect(tmp_path / "b.lake").ingest(other)
    assert "captions" not in report.by_table
    told = "left out: captions that are objects of id, words: none is raw, text, caption, or a language"
    assert told in report.notes


@pytest.mark.parametrize("folder", ["relative", "absolute"])
def test_pictures_that_are_only_named(tmp_path, monkeypatch, folder):
    """A dataset in memory names files by whole paths, however their folder is named; without one, it is said what to do."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pics" / "sub").mkdir(parents=True)
    for i in range(2):
        Image.new("RGB", (8 + i, 6)).save(tmp_path / "pics" / "sub" / f"{i}.png")
    names = [str(tmp_path / "pics" / "sub" / f"{i}.png") for i in range(2)]
    dataset = datasets.Dataset.from_dict({"image": names}).cast_column("image", datasets.Image())
    lake = cb.connect(tmp_path / "a.lake")
    report = lake.ingest(dataset)
    assert (report.reasons, report.by_table) == ({"bad_name": 2}, {})
    assert report.notes[-1].startswith("nothing was read: only the path /")
    assert "images=" in report.notes[-1]
    assert lake.ingest(dataset, images="pics" if folder == "relative" else str(tmp_path / "pics")).written == 2
