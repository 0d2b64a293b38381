"""A sample never touches files of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from counterbalance.engine.errors import RequestError
from counterbalance.sample import generate

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(RequestError, match="is not empty and holds no sample") as caught:
        generate(tmp_path, images=2)
    assert caught.value.code == "E3071"
    assert [f.name for f in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RequestError, match="is a file, not a folder"):
        generate(tmp_path / "file", images=2)


def test_replacing_keeps_what_others_put_beside_it(tmp_path: Path) -> None:
    generate(tmp_path, images=5)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "images" / "cat.png").write_bytes(b"mine")
    generate(tmp_path, images=2)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert sorted(f.name for f in (tmp_path / "images").iterdir()) == ["000001.jpg", "000002.jpg", "cat.png"]


@pytest.mark.parametrize("images", [0, -1, 1_000_000])
def test_a_number_of_images_that_cannot_be_is_refused(tmp_path: Path, images: int) -> None:
    with pytest.raises(RequestError, match="1 to 999,999 images") as caught:
        generate(tmp_path / "new", images=images)
    assert caught.value.code == "E3070"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("images", [1, 2, 3, 7])
def test_tiny_samples_work(tmp_path: Path, images: int) -> None:
    planted = generate(tmp_path, images=images, seed=5)
    assert planted.images == images
    assert len(list((tmp_path / "images").iterdir())) == images
