"""A data file that is cut, grown or gone is an error as soon as its table is opened, also by a query that does not read it."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import StorageError


def _cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def _grow(path):
    path.write_bytes(path.read_bytes() + b"\0")


@pytest.mark.parametrize("harm", [_cut, _grow, lambda path: path.unlink()], ids=["cut", "grown", "gone"])
def test_a_file_of_another_size(harm, copied):
    lake = copied()
    harm(min((lake.location.path / "captions.lance" / "data").glob("*.lance")))
    with pytest.raises(
        StorageError, match=r"'captions' .* is damaged: data/\w+\.lance of version \d+ is gone or cut"
    ) as caught:
        lake.sql("SELECT 1 FROM captions LIMIT 0").fetchall()
    assert (caught.value.code, "counterbalance verify" in caught.value.hint) == ("E6018", True)


def test_a_lost_list_of_deletions(copied):
    lake = copied()
    for path in (lake.location.path / "captions.lance" / "_deletions").iterdir():
        path.unlink()
    with pytest.raises(StorageError, match="_deletions/"):
        lake.sql("SELECT 1 FROM captions LIMIT 0").fetchall()
