"""Pictures that are not stored are read from their folder, by refresh, query, report and export; no other file is."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.engine.store import pictures
from counterbalance.report.build import write

RED, SIZE = (200, 30, 30), (8, 6)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pictures").mkdir()
    for i in range(5):
        Image.new("RGB", SIZE, (200, 30, 30 * i)).save(tmp_path / "pictures" / f"{i}.png")
    return tmp_path / "pictures"


@pytest.fixture
def lake(tmp_path, folder):
    made = cb.connect(tmp_path / "a.lake")
    made.ingest(folder)
    return made


@pytest.fixture
def state(tmp_path, monkeypatch):
    """Nothing is remembered from here on."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "counterbalance" / "picture-folders"


def test_a_refresh_reads_them(lake, folder):
    assert lake.sql("SELECT count(*) FROM images WHERE sha256 IS NULL").fetchall() == [(5,)]
    lake.sql("ALTER TABLE images ADD COLUMN size AS (octet_length(image))")
    (stage,) = lake.refresh().stages
    assert (stage.rows, stage.errors, stage.message) == (5, 0, "")
    found = dict(lake.sql("SELECT key, size FROM images").fetchall())
    assert found == {f"{i}.png": (folder / f"{i}.png").stat().st_size for i in range(5)}


def test_a_query_reads_them(lake, folder):
    found = lake.sql("SELECT key, octet_length(image) FROM images WHERE width = 8").fetchall()
    assert dict(found) == {f"{i}.png": (folder / f"{i}.png").stat().st_size for i in range(5)}


def test_a_query_shows_them(lake, folder):
    found = lake.sql("SELECT key, image FROM images ORDER BY key LIMIT 3")
    assert found.fetchall() == [(f"{i}.png", (folder / f"{i}.png").read_bytes()) for i in range(3)]
    assert [p.size for p in found.images()] == [SIZE] * 3


def test_the_report_shows_them(lake, tmp_path):
    page = tmp_path / "report.html"
    write(lake, page)
    assert page.read_text().count("data:image/jpeg") >= 5


def test_an_export_copies_them(lake, folder, tmp_path):
    lake.export("images", str(tmp_path / "out"), to="imagefolder")
    copied = sorted((tmp_path / "out").rglob("*.png"))
    assert [p.read_bytes() for p in copied] == [(folder / f"{i}.png").read_bytes() for i in range(5)]


def test_one_that_is_gone_changed_or_none_is_an_error_of_its_row(lake, folder):
    (folder / "0.png").unlink()
    Image.new("RGB", (9, 9)).save(folder / "1.png")
    (folder / "2.png").write_text("no picture")
    (folder / "3.png").unlink()
    os.mkfifo(folder / "3.png")
    lake.sql("ALTER TABLE images ADD COLUMN size AS (coalesce(octet_length(image), -1))")
    (stage,) = lake.refresh().stages
    assert stage.errors == 4
    assert dict(lake.sql("SELECT key, size FROM images WHERE size IS NOT NULL").fetchall()).keys() == {"4.png"}
    codes = dict(lake.sql("SELECT code, count(*) FROM meta.errors GROUP BY code").fetchall())
    assert codes == {"missing_picture": 2, "changed_picture": 1, "not_an_image": 1}


def test_a_view_that_keeps_one_that_is_gone_is_not_made(lake, folder):
    (folder / "0.png").unlink()
    lake.sql("CREATE MATERIALIZED VIEW kept WITH (key = 'image_id') AS SELECT image_id, image FROM images")
    (stage,) = lake.refresh().stages
    assert (stage.mode, stage.code, stage.rows) == ("failed", "E6046", 0)
    assert stage.message.startswith("a picture cannot be read: ")


def test_a_digest_that_is_known_is_compared(tmp_path, folder):
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(folder)
    lake.ingest(
        {
            "images": pa.table(
                {
                    "image_id": lake.sql("SELECT image_id FROM images").to_arrow()["image_id"],
                    "sha256": ["0" * 64] * 4 + [None],
                }
            )
        }
    )
    lake.sql("ALTER TABLE images ADD COLUMN size AS (octet_length(image))")
    (stage,) = lake.refresh().stages
    assert stage.errors == 4
    assert lake.sql("SELECT DISTINCT code FROM meta.errors").fetchall() == [("changed_picture",)]


def test_a_folder_that_nobody_named_is_not_read(lake, state):
    lake.sql("ALTER TABLE images ADD COLUMN size AS (octet_length(image))")
    (stage,) = lake.refresh().stages
    assert lake.sql("SELECT count(size) FROM images").fetchall() == [(0,)]
    assert "5 of 5 rows have no picture: ingest once more with --images FOLDER, or name" in stage.message
    assert lake.sql("SELECT count(octet_length(image)) FROM images").fetchall() == [(0,)]
    assert not state.exists()


def test_a_variable_names_folders(lake, state, folder, monkeypatch):
    monkeypatch.setenv(pictures.VARIABLE, f"/nowhere{os.pathsep}{folder}")
    assert lake.sql("SELECT count(octet_length(image)) FROM images").fetchall() == [(5,)]


def test_what_a_list_calls_a_url_is_no_way_to_other_files(tmp_path, folder, state, monkeypatch):
    secret = tmp_path / "secret.png"
    Image.new("RGB", SIZE).save(secret)
    (folder / "link.png").symlink_to(secret)
    monkeypatch.setenv(pictures.VARIABLE, str(folder))
    urls = [str(secret), f"file://{secret}", f"{folder}/../secret.png", f"{folder}/link.png", "http://127.0.0.1/a.png"]
    urls += [f"{folder}2/a.png", "secret.png", f"{folder}", f"{folder}/0.png", f"file://{folder}/1.png"]
    lake = cb.connect(tmp_path / "b.lake")
    lake.ingest({"images": pa.table({"image_id": range(len(urls)), "key": urls, "uri": urls})})
    found = lake.sql("SELECT uri FROM images WHERE octet_length(image) IS NOT NULL ORDER BY image_id").fetchall()
    assert found == [(f"{folder}/0.png",), (f"file://{folder}/1.png",)]


def test_a_picture_or_pattern_that_is_named_names_no_folder(tmp_path, folder, state):
    lake = cb.connect(tmp_path / "c.lake")
    lake.ingest(folder / "0.png")
    lake.ingest(str(folder / "*.png"))
    assert not state.exists()


def test_a_folder_in_memory_is_none_of_another_process(tmp_path, folder, state):
    import fsspec

    fsspec.filesystem("memory").pipe(f"{folder}/0.png", (folder / "0.png").read_bytes())
    assert cb.connect(tmp_path / "c.lake").ingest(f"memory://{folder}").written == 1
    assert not state.exists()


def test_a_dry_run_remembers_nothing(tmp_path, folder, state):
    cb.connect(tmp_path / "c.lake").ingest(folder, dry_run=True)
    assert not state.exists()


def test_a_home_that_cannot_be_written_is_told(tmp_path, folder, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    report = cb.connect(tmp_path / "c.lake").ingest(folder)
    assert any(f"set {pictures.VARIABLE}={folder}" in n for n in report.notes)


def test_stored_ones_are_not_read_again(tmp_path, folder):
    lake = cb.connect(tmp_path / "d.lake")
    lake.ingest(folder, store_images=True)
    for path in folder.iterdir():
        path.unlink()
    assert lake.sql("SELECT count(octet_length(image)) FROM images").fetchall() == [(5,)]
