"""The same arguments give the same bytes; another seed gives another sample."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from counterbalance.sample import generate

if TYPE_CHECKING:
    from pathlib import Path


def digests(folder: Path) -> dict[str, str]:
    return {
        str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest()
        for f in sorted(folder.rglob("*"))
        if f.is_file()
    }


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "first"
    generate(folder, images=30, seed=3)
    return folder


def test_equal_arguments_give_equal_bytes(first: Path, tmp_path: Path) -> None:
    generate(tmp_path / "elsewhere" / "again", images=30, seed=3)
    assert digests(tmp_path / "elsewhere" / "again") == digests(first)


def test_replacing_a_sample_gives_equal_bytes(first: Path, tmp_path: Path) -> None:
    generate(tmp_path, images=45, seed=1)
    generate(tmp_path, images=30, seed=3)
    assert digests(tmp_path) == digests(first)


def test_another_seed_gives_other_pictures_and_texts(first: Path, tmp_path: Path) -> None:
    generate(tmp_path, images=30, seed=4)
    mine, other = digests(first), digests(tmp_path)
    assert mine.keys() == other.keys()
    same = {name for name in mine if mine[name] == other[name]}
    assert same <= {"shards/00000_stats.json"}


def test_the_layout_is_complete(first: Path) -> None:
    names = set(digests(first))
    assert {f"images/{i:06d}.jpg" for i in range(1, 31)} <= names
    assert names - {f"images/{i:06d}.jpg" for i in range(1, 31)} == {
        "README.txt",
        "alt_text/captions_sample.json",
        "annotations/captions_sample.json",
        "annotations/instances_sample.json",
        "labels.csv",
        "planted.json",
        "shards/00000.parquet",
        "shards/00000.tar",
        "shards/00000_stats.json",
    }


def test_progress_is_told_picture_by_picture(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    generate(tmp_path, images=3, seed=0, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
