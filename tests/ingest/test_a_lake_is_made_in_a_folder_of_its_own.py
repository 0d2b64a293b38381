"""No lake is made among files of somebody's: of two folders, the wrong one was named first."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import RequestError


def test_a_folder_of_other_things_is_refused(build, tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(b"x")
    with pytest.raises(RequestError, match=r"pictures is no lake, and holds other things: 'a.png'") as caught:
        cb.connect(tmp_path / "pictures").ingest({"images": build.images(image_id=[1])})
    assert caught.value.code == "E3085"
    assert [p.name for p in (tmp_path / "pictures").iterdir()] == ["a.png"]


def test_an_empty_folder_and_one_that_was_begun_are_not(build, tmp_path):
    (tmp_path / "new").mkdir()
    lake = cb.connect(tmp_path / "new")
    assert lake.ingest({"images": build.images(image_id=[1])}).written == 1
    (tmp_path / "new" / "notes.txt").write_text("mine")
    assert lake.ingest({"images": build.images(image_id=[2])}).written == 1
    (tmp_path / "begun" / "images.lance").mkdir(parents=True)
    assert cb.connect(tmp_path / "begun").ingest({"images": build.images(image_id=[1])}).written == 1
