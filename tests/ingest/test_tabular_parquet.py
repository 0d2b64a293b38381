"""Parquet is read in pieces of bounded size, and damage inside a file is an error, never a wrong value."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from counterbalance.engine.errors import SourceError
from counterbalance.ingest import batches, parquet
from counterbalance.ingest.files import expand
from counterbalance.ingest.rows import Rows, Sieve


def read(path, **columns):
    return list(parquet.read(expand(str(path))[0], columns))


def test_rows_are_numbered_across_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "CHUNK_ROWS", 500)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": range(1000), "t": [str(i) for i in range(1000)]}), path, row_group_size=300)
    parts = read(path, text="t", number="n")
    assert [p.table.num_rows for p in parts] == [600, 400]
    assert np.concatenate([p.numbers for p in parts]).tolist() == list(range(1, 1001))
    assert pa.concat_tables([p.table for p in parts])["text"].to_pylist() == [str(i) for i in range(1000)]
    assert sum(p.bytes_read for p in parts) == path.stat().st_size


@pytest.mark.parametrize("coded", [False, True])
def test_a_small_file_of_huge_equal_texts_is_read_in_bounded_pieces(tmp_path, monkeypatch, coded):
    monkeypatch.setattr(parquet, "DECODED", 4 << 20)
    monkeypatch.setattr(batches, "CHUNK_BYTES", 1 << 20)
    path = tmp_path / "a.parquet"
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(4000, np.int32)), pa.array(["x" * 100_000]))
    long = long if coded else long.dictionary_decode()
    pq.write_table(pa.table({"t": long}), path)  # 400 MB of text
    assert path.stat().st_size < 200_000
    parts = parquet.read(expand(str(path))[0], {"t": "t"})
    sizes, before = [], pa.total_allocated_bytes()
    for part in parts:
        assert pa.total_allocated_bytes() - before < 40 << 20
        sizes.append(part.table.num_rows)
        assert part.table.nbytes < 2 << 20
    assert sum(sizes) == 4000


def test_a_text_that_is_too_long_is_refused_and_its_neighbours_are_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "MAX_TEXT", 10)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"t": ["a", "b" * 11, None, "c"]}), path)
    (part,) = read(path, t="t")
    assert part.table["t"].to_pylist() == ["a", None, "c"]
    assert part.numbers.tolist() == [1, 3, 4]
    assert [(r.number, r.code) for r in part.refused] == [(2, "too_long")]


def test_every_flipped_bit_under_a_checksum_is_seen(tmp_path):
    path = tmp_path / "a.parquet"
    rng = random.Random(0)
    table = pa.table({"t": ["".join(rng.choices("abcdefgh", k=40)) for _ in range(2000)]})
    pq.write_table(table, path, write_page_checksum=True, compression="none", use_dictionary=False)
    data = path.read_bytes()
    for _ in range(20):
        at = rng.randrange(200, len(data) - 2000)
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
        with pytest.raises(SourceError, match="damaged Parquet") as caught:
            read(path, t="t")
        assert caught.value.code == "E4012"


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_an_error(tmp_path, keep):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"t": [str(i) for i in range(5000)]}), path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * keep)])
    with pytest.raises(SourceError, match="damaged Parquet"):
        parquet.schema(expand(str(path))[0])


def test_text_that_is_forged_is_refused_by_row(tmp_path):
    path = tmp_path / "a.parquet"
    forged = pa.Array.from_buffers(pa.string(), 3, pa.array([b"a", b"\xff\xfe", b"c"]).buffers())
    pq.write_table(pa.table({"t": forged}), path)
    (part,) = read(path, t="t")
    sieve = Sieve(part)
    text = sieve.text("t")
    assert text.to_pylist() == ["a", None, "c"]
    assert sieve.keep.tolist() == [True, False, True]
    assert [(r.position, r.code) for r in sieve.rejects] == [("row 2", "bad_utf8")]


def test_forged_text_behind_a_stored_dictionary_type_is_an_error(tmp_path):
    path = tmp_path / "a.parquet"
    forged = pa.Array.from_buffers(pa.string(), 3, pa.array([b"a", b"\xff\xfe", b"c"]).buffers())
    pq.write_table(pa.table({"t": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), forged)}), path)
    with pytest.raises(SourceError, match="UTF8"):  # Arrow itself checks these, and whole
        read(path, t="t")


@pytest.mark.parametrize(
    ("array", "texts"),
    [
        (pa.array([1, None, -3]), ["1", None, "-3"]),
        (pa.array([1.0, float("nan"), 2.5]), ["1", None, "2.5"]),
        (pa.array([1e20, float("inf"), None]), ["1e+20", "inf", None]),
        (pa.array([True, False, None]), ["true", "false", None]),
        (pa.array(["a", " ", ""], pa.large_string()), ["a", None, None]),
        (pa.array([b"a", None, b"\xc3\xa9"], pa.large_binary()), ["a", None, "é"]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        (pa.array([7, 8, 7]).dictionary_encode(), ["7", "8", "7"]),
        (pa.nulls(3), [None] * 3),
        (pa.array([b"abc", b"\xff\xff\xff", None], pa.binary(3)), ["abc", None, None]),
        (pa.array([1.5, 2, None], pa.float16()), ["1.5", "2", None]),
        (pa.array([[1.5, 2], None, []]), ["[1.5,2.0]", None, "[]"]),
        (pa.array([{"a": 1}, None, {"a": None}]), ['{"a":1}', None, '{"a":null}']),
    ],
)
def test_any_column_becomes_text(tmp_path, array, texts):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"t": array}), path)
    (part,) = read(path, t="t")
    assert Sieve(part).text("t").to_pylist() == texts


@pytest.mark.parametrize(
    ("array", "numbers", "bad"),
    [
        (pa.array([1, None, -3]), [1, None, -3], [False] * 3),
        (pa.array([1.5, float("nan"), float("inf")]), [1.5, None, None], [False, False, True]),
        (pa.array(["1e3", " 2 ", ""]), [1000, 2, None], [False] * 3),
        (pa.array(["x", "nan", "-.5"]), [None, None, -0.5], [True, False, False]),
        (pa.array(["1_0", "0x10", "1e999"]), [None, None, None], [True, True, True]),
        (pa.array([2**63 - 1, 2**53, 0], pa.uint64()), [float(2**63), float(2**53), 0], [False] * 3),
    ],
)
def test_any_column_becomes_numbers(tmp_path, array, numbers, bad):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"t": array}), path)
    (part,) = read(path, t="t")
    values, wrong = Sieve(part).number("t")
    assert [None if np.isnan(v) else v for v in values] == numbers
    assert wrong.tolist() == bad


def test_a_type_that_is_no_text_is_one_error():
    array = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    rows = Rows(pa.table({"t": array}), np.array([1]), "row", "a.parquet")
    with pytest.raises(SourceError, match="has type month_day_nano_interval"):
        Sieve(rows).text("t")
