"""A bad row of a list is refused with its place and reason; its neighbours are taken."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import rejects_of

from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest import hashing, laion
from counterbalance.ingest.rows import MAX_TEXT


def load(path, **options):
    chunks = list(laion.read(str(path), ReadOptions(**options)).chunks)
    captions = [c for k in chunks for c in k.tables["captions"]["text"].to_pylist()]
    return captions, rejects_of(chunks), chunks


def test_each_bad_row_is_refused_and_counted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(
        b"url,caption,width\n"
        b"u1,good,1\n"
        b",no url,1\n"
        b"u2,,1\n"
        b"u3,   ,1\n"
        b"u4,\xff\xfe bytes,1\n"
        b"\xff,bytes,1\n"
        b"u5,too,many,cells\n"
        b'u6,"open,1\n'
        b"u7," + b"x" * (MAX_TEXT + 1) + b",1\n"
        b"" + b"u" * 20_000 + b",long url,1\n"
        b"u8,last,1"
    )
    captions, rejects, chunks = load(path)
    assert captions == ["good", "last"]
    assert sorted(rejects, key=lambda r: int(r[0].split()[1])) == [
        ("line 3", "missing_url"),
        ("line 4", "missing_caption"),
        ("line 5", "missing_caption"),
        ("line 6", "bad_utf8"),
        ("line 7", "bad_utf8"),
        ("line 8", "bad_columns"),
        ("line 9", "bad_quote"),
        ("line 10", "too_long"),
        ("line 11", "too_long"),
    ]
    assert sum(c.rows_read for c in chunks) == 11
    assert {r.source for c in chunks for r in c.rejects} == {str(path)}
    assert all(len(r.message) < 200 for c in chunks for r in c.rejects)


def test_impossible_numbers_are_null_and_cost_nothing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "url,caption,width,height,similarity\nu1,a,-1,nan,nan\nu2,b,1e9,2e9,inf\nu3,c,12.5,99999999999,x\nu4,d,3.0,4,1e99\n"
    )
    _, rejects, (chunk,) = load(path)
    assert rejects == []
    images = chunk.tables["images"].select(["width", "height"]).to_pylist()
    assert [(i["width"], i["height"]) for i in images] == [(None, None), (10**9, 2 * 10**9), (None, None), (3, 4)]
    assert chunk.tables["captions"]["similarity"].to_pylist() == [None] * 4


def test_numbers_that_are_none_are_told(tmp_path):
    (tmp_path / "1.csv").write_text("url,caption,width,similarity\nu1,a,wide,0.1\nu2,b,,nan\n,no url,narrow,0.1\n")
    (tmp_path / "2.csv").write_text("url,caption,width,similarity\nu3,c,-1,high\nu4,d,so so,1e99\n")
    source = laion.read(str(tmp_path), ReadOptions())
    for _ in source.chunks:
        assert source.notes == []
    assert source.notes == [
        "width cannot be taken in 2 rows, and is NULL there: 'wide' (line 2 of 1.csv)",
        "similarity cannot be taken in 2 rows, and is NULL there: 'high' (line 2 of 2.csv)",
    ]


def test_sizes_that_are_none_are_told_but_for_unknown_ones(tmp_path):
    (tmp_path / "1.csv").write_text("url,caption,width\nu1,a,-1\nu2,b,0\nu3,c,1.5\nu4,d,1e12\nu5,e,-7\n")
    source = laion.read(str(tmp_path), ReadOptions())
    assert [c.tables["images"]["width"].to_pylist() for c in source.chunks] == [[None] * 5]
    assert source.notes == ["width cannot be taken in 3 rows, and is NULL there: '1.5' (line 4 of 1.csv)"]


def test_captions_that_are_lists_are_told(tmp_path):
    rows = pa.table({"url": ["u1", "u2"], "caption": [["a dog", "a cat"], ["a bird"]]})
    pq.write_table(rows, tmp_path / "1.parquet")
    source = laion.read(str(tmp_path), ReadOptions())
    assert [c.tables["captions"]["text"].to_pylist() for c in source.chunks] == [['["a dog","a cat"]', '["a bird"]']]
    assert [n.partition(":")[0] for n in source.notes] == ["caption is a list or struct in 2 rows, and is kept as JSON"]


def test_a_repeated_key_is_refused_also_in_a_later_file(tmp_path):
    (tmp_path / "1.csv").write_text("key,url,caption\nk1,u1,a\nk1,u2,b\nk2,u3,c\n")
    (tmp_path / "2.csv").write_text("key,url,caption\nk3,u4,d\nk2,u5,e\n")
    captions, rejects, chunks = load(tmp_path)
    assert captions == ["a", "c", "d"]
    assert rejects == [("line 3", "duplicate_key"), ("line 3", "duplicate_key")]
    assert [r.source.rpartition("/")[2] for c in chunks for r in c.rejects] == ["1.csv", "2.csv"]


def test_a_row_without_key_in_a_keyed_list_goes_by_its_url(tmp_path):
    (tmp_path / "a.csv").write_text("key,url,caption\n,u1,a\nk2,,b\n,,c\n")
    captions, rejects, (chunk,) = load(tmp_path / "a.csv")
    assert captions == ["a", "b"]
    assert chunk.tables["images"]["key"].to_pylist() == ["u1", "k2"]
    assert rejects == [("line 4", "missing_key")]


CELL = st.sampled_from([None, "", " ", "u1", "u2", "7", "x" * 20_000, "é"])


@pytest.mark.parametrize("keyed", [True, False])
@given(rows=st.lists(st.tuples(CELL, CELL, CELL), max_size=12))
def test_rows_in_are_rows_taken_and_refused(tmp_path_factory, keyed, rows):
    path = tmp_path_factory.mktemp("rows") / "a.parquet"
    columns = {n: pa.array([r[i] for r in rows], pa.string()) for i, n in enumerate(("url", "caption", "key"))}
    if not keyed:
        columns.pop("key")
    pq.write_table(pa.table(columns), path)
    chunks = list(laion.read(str(path), ReadOptions()).chunks)
    taken = {(key if keyed and (key or "").strip() else url, text) for url, text, key in rows}
    assert sum(c.rows_read for c in chunks) == len(rows)
    for chunk in chunks:
        ids = chunk.tables["captions"]["caption_id"].to_numpy()
        assert hashing.first_of_each(ids).all()
        assert set(chunk.tables["captions"]["image_id"].to_pylist()) <= set(
            chunk.tables["images"]["image_id"].to_pylist()
        )
        if keyed:
            assert len(ids) + len(chunk.rejects) == chunk.rows_read
        pairs = zip(
            chunk.tables["captions"]["image_id"].to_pylist(), chunk.tables["captions"]["text"].to_pylist(), strict=True
        )
        by_id = dict(
            zip(chunk.tables["images"]["image_id"].to_pylist(), chunk.tables["images"]["key"].to_pylist(), strict=True)
        )
        assert {(by_id[i], t) for i, t in pairs} <= taken
