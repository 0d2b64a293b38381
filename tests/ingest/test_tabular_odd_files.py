"""A file that is not a table, or a broken one, is one clear error before the first row."""

from __future__ import annotations

import bz2
import gzip
import lzma

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from counterbalance.engine.errors import NotFoundError, SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest import tabular
from counterbalance.ingest.files import expand


def inspect(path):
    return tabular.inspect(expand(str(path))[0])


def rows(path, columns=None):
    layout = inspect(path)
    parts = list(tabular.read(layout, columns or {n: i for i, n in enumerate(layout.names)}))
    assert sum(p.bytes_read for p in parts) == path.stat().st_size
    return parts


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b" \n\n", "is empty"),
        ("a.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is binary"),
        ("a.csv", b"PK\3\4\n\0\0" + bytes(range(256)), "is binary"),
        ("a.csv", b"ustar" + b"\0" * 507, "is binary"),
        ("a.csv", "url,caption\n".encode("utf-16-le"), "is binary"),
        ("a.csv", b"<!DOCTYPE html><html>404</html>", "HTML"),
        ("a.tsv", b"\n <?xml version='1.0'?>", "HTML or XML"),
        ("a.csv", "url,caption\n".encode("utf-16"), "UTF-16"),
        ("a.csv", "adresse,l\u00e9gende\n".encode("latin-1"), "is not UTF-8"),
        ("a.csv", b"x" * 300_000, "first line of more than"),
        ("a.parquet", b"url,caption\n1,2\n", "is not a Parquet file"),
        ("a.parquet", b"PAR1" + b"\0" * 50, "damaged Parquet"),
        ("a.parquet", b"PAR1", "damaged Parquet"),
        ("a.jsonl", b"[1, 2]\n", "is a JSON list, and not of objects"),
        ("a.jsonl", b"{oops}\n{nope}\n", "is not JSON lines"),
        ("a.csv.gz", gzip.compress(b"a,b\n1,2\n" * 9, mtime=0)[:14], "damaged or cut off"),
        ("a.csv.gz", b"\x1f\x8b nonsense", "damaged or cut off"),
    ],
)
def test_refused_at_once(tmp_path, name, data, said):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(SourceError, match=said) as caught:
        inspect(path)
    assert str(path) in str(caught.value)
    assert caught.value.code in {"E4010", "E4012"}


def test_no_file_at_all(tmp_path):
    with pytest.raises(NotFoundError):
        tabular.layouts(str(tmp_path / "nothing.csv"), ReadOptions())


@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, lzma.compress, lambda b: pa.Codec("zstd").compress(b, asbytes=True)]
)
def test_compressed_text_is_read_whatever_its_name(tmp_path, pack):
    path = tmp_path / "a.csv.packed"
    path.write_bytes(pack(b"url,caption\nu,c\n"))
    (part,) = rows(path)
    assert part.table.to_pylist() == [{"url": b"u", "caption": b"c"}]


def test_a_compressed_file_that_breaks_off_later_is_an_error(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(bytes(range(33, 127)).replace(b",", b"") * 40_000 + b"\n")[:-20])
    layout = tabular.Layout(expand(str(path))[0], "csv", ["a"], compression="gzip")
    with pytest.raises(SourceError, match="cut off") as caught:
        list(tabular.read(layout, {"a": 0}))
    assert caught.value.code == "E4012"


@pytest.mark.parametrize(
    ("text", "names"),
    [("a;b\n1;2\n", ["a", "b"]), ("a\tb\n1\t2\n", ["a", "b"]), ("a|b\n", ["a", "b"]), ("a b\n", ["a b"])],
)
def test_the_separator_is_found(tmp_path, text, names):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert list(inspect(path).names) == names


def test_a_table_without_rows_gives_none(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n")
    assert [p.count for p in rows(tmp_path / "a.csv")] in ([], [0])
    pq.write_table(pa.table({"a": pa.array([], pa.string())}), tmp_path / "a.parquet")
    assert not list(tabular.read(inspect(tmp_path / "a.parquet"), {"a": 0}))


def test_one_folder_may_hold_several_kinds(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.jsonl").write_text('{"a": 1}\n')
    pq.write_table(pa.table({"a": [1]}), tmp_path / "3.parquet")
    (tmp_path / "notes.md").write_text("not a table")
    assert [f.kind for f in tabular.layouts(str(tmp_path), ReadOptions())] == ["csv", "jsonl", "parquet"]


def test_many_short_rows_come_in_chunks_and_keep_their_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(tabular, "CHUNK_ROWS", 100)
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{i},x\n" if i % 7 else "bad\n" for i in range(350)))
    parts = rows(path)
    assert max(p.table.num_rows for p in parts) <= 100
    lines = [int(n) for p in parts for n in p.numbers]
    assert lines == [i + 2 for i in range(350) if i % 7]
    assert [r.number for p in parts for r in p.refused] == [i + 2 for i in range(350) if not i % 7]


def test_limit_counts_refused_rows(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\nbad\n1,2\nbad\n3,4\n")
    for limit, taken, refused in ((1, 0, 1), (2, 1, 1), (3, 1, 2), (9, 2, 2)):
        parts = list(tabular.limited(tabular.read(inspect(path), {"a": 0}), limit))
        assert sum(p.table.num_rows for p in parts) == taken
        assert sum(len(p.refused) for p in parts) == refused


@pytest.mark.parametrize("at", [1, 900])
def test_a_nul_in_a_row_makes_no_file_binary(tmp_path, at):
    lines = [b"url,caption"] + [b"u%d,a man" % i for i in range(1000)]
    lines[at] = b"u,a \0 man"
    path = tmp_path / "a.csv"
    path.write_bytes(b"\n".join(lines) + b"\n")
    (part,) = rows(path)
    assert part.table.num_rows == 1000
    assert part.table["caption"].to_pylist()[at - 1] == b"a \0 man"
