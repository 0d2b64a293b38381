"""A search over an index that is damaged or gone is an error of ours, which names the table and tells what to do."""

from __future__ import annotations

import shutil

import lance
import pyarrow as pa
import pytest

from counterbalance.__main__ import main
from counterbalance.engine.errors import SqlError, StorageError

SEARCH = "SELECT * FROM full_text_search(captions, 'text', 'woman'{where})"
WHERE = ("", ", where := 'image_id > 3'")


@pytest.fixture
def indexed(copied):
    lake = copied()
    lake.create_index("captions", "text", "fts", name="words")
    lake.refresh("captions")
    return lake


def files(lake):
    return [f for f in (lake.location.path / "captions.lance" / "_indices").rglob("*") if f.is_file()]


def cut(lake):
    for path in files(lake):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(
    "spoil", [cut, lambda lake: [shutil.rmtree(f.parent, ignore_errors=True) for f in files(lake)]]
)
def test_in_python(indexed, spoil, where):
    spoil(indexed)
    with pytest.raises(StorageError, match="cannot read table 'captions'") as caught:
        indexed.sql(SEARCH.format(where=where)).fetchall()
    assert caught.value.code == "E6001"
    assert "counterbalance verify" in caught.value.hint
    assert ".rs:" not in caught.value.message


def test_on_the_command_line(indexed, capsys):
    cut(indexed)
    assert main(["sql", indexed.uri, SEARCH.format(where="")]) == 1
    told = capsys.readouterr().err
    assert "error[E6001]: cannot read table 'captions'" in told
    assert "rust" not in told
    assert "counterbalance verify" in told


def test_an_index_that_a_condition_uses(copied, capsys):
    lake = copied()
    for folder in (lake.location.path / "captions.lance" / "_indices").iterdir():
        shutil.rmtree(folder)
    assert main(["sql", lake.uri, "SELECT * FROM captions WHERE text = 'a woman rides horse 1'"]) == 1
    told = capsys.readouterr().err
    assert "table 'captions' cannot be read" in told
    assert "rust" not in told


def test_a_damaged_vector_index(copied):
    lake = copied()
    numbers = pa.array([float(i % 7) for i in range(8 * 600)], pa.float32())
    rows = pa.table({"id": range(600), "v": pa.FixedSizeListArray.from_arrays(numbers, 8)})
    lake.lancedb().create_table("points", rows)
    lance.dataset(lake.location.table("points")).create_index("v", "IVF_FLAT", num_partitions=2)
    for path in (lake.location.path / "points.lance" / "_indices").rglob("*.idx"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(StorageError, match="cannot read table 'points'"):
        lake.sql("SELECT * FROM vector_search(points, 'v', [1, 2, 3, 4, 5, 6, 7, 8])").fetchall()


def test_a_condition_is_an_error_in_the_query(indexed):
    with pytest.raises(SqlError, match="cannot be applied") as caught:
        indexed.sql(SEARCH.format(where=", where := 'text > 3'")).fetchall()
    assert caught.value.code == "E3457"
