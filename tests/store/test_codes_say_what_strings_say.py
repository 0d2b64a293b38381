"""Columns with few distinct values are stored with codes beside them, which never say anything else than the strings."""

from __future__ import annotations

import os

import lance
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterbalance as cb
from counterbalance.engine.catalog import snapshot
from counterbalance.engine.schema import BASE_TABLES, CODE_SUFFIX
from counterbalance.engine.write import dictionaries
from counterbalance.engine.write.dictionaries import Coder, codes_hold

GROUPS = "SELECT split, license, count(*) AS n FROM images GROUP BY ALL ORDER BY ALL"


def decoded(lake, table, column):
    """Strings as their codes spell them."""
    rows = lance.dataset(lake.location.table(table)).to_table(columns=[column, column + CODE_SUFFIX])
    values = snapshot.codes(lake.location)[(table, column)]
    return rows[column].to_pylist(), [None if c is None else values[c] for c in rows[column + CODE_SUFFIX].to_pylist()]


def test_every_coded_column(disk_lake, build):
    texts = ["a", None, "b", "a", "", "é", "O'Brien"]
    ids = list(range(7))
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids, split=texts, license=texts[::-1], nsfw=texts, source=[None] * 7),
            "captions": build.captions(caption_id=ids, image_id=ids, origin=texts),
            "detections": build.detections(detection_id=ids, image_id=ids, category=texts, origin=texts),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["x"] * 7, value=texts, annotator=texts),
        }
    )
    for table in ("images", "captions", "detections", "labels"):
        for column in BASE_TABLES[table].coded:
            if (table, column) in snapshot.codes(disk_lake.location):
                strings, spelled = decoded(disk_lake, table, column)
                assert strings == spelled, (table, column)
    assert set(BASE_TABLES["images"].coded) >= {"split", "license"}


@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")))
@given(steps=st.lists(st.lists(st.none() | st.text(max_size=3), max_size=8), min_size=1, max_size=4))
def test_any_values_in_any_order(build, tmp_path_factory, steps):
    lake = cb.connect(tmp_path_factory.mktemp("codes") / "a.lake")
    expected: list[str | None] = []
    for values in steps:
        ids = list(range(len(expected), len(expected) + len(values)))
        lake.ingest({"images": build.images(image_id=ids, split=values)})
        expected += values
    if not any(v is not None for v in expected):
        return
    strings, spelled = decoded(lake, "images", "split")
    assert sorted(map(str, strings)) == sorted(map(str, expected))
    assert strings == spelled
    got = dict(lake.sql("SELECT split, count(*) FROM images GROUP BY split").fetchall())
    assert got == {v: expected.count(v) for v in set(expected)}
    for value in {v for v in expected if v is not None}:
        n = lake.sql("SELECT count(*) FROM images WHERE split = $v", v=value).fetchall()
        assert n == [(expected.count(value),)]


def test_codes_are_given_once(disk_lake, build):
    for number in range(3):
        disk_lake.ingest({"images": build.images(image_id=[number], split=["same"], license=[f"license {number}"])})
    known = snapshot.codes(disk_lake.location)
    assert known[("images", "split")] == ["same"]
    assert known[("images", "license")] == ["license 0", "license 1", "license 2"]


@pytest.fixture
def few_codes(monkeypatch):
    monkeypatch.setattr(dictionaries, "MAX_VALUES", 4)


@pytest.mark.usefixtures("few_codes")
def test_a_column_that_outgrows_its_codes_is_read_as_strings(disk_lake, build):
    for start in range(0, 12, 3):
        ids = list(range(start, start + 3))
        disk_lake.ingest({"images": build.images(image_id=ids, split=[f"s{i}" for i in ids], license=["x", None, "x"])})
        got = disk_lake.sql("SELECT image_id, split FROM images ORDER BY 1").fetchall()
        assert got == [(i, f"s{i}") for i in range(start + 3)]
        for i in (0, start + 2):
            assert disk_lake.sql("SELECT image_id FROM images WHERE split = $s", s=f"s{i}").fetchall() == [(i,)]
    assert len(disk_lake.sql(GROUPS)) == 12
    assert snapshot.codes(disk_lake.location)[("images", "split")].count(None) == 1, (
        "the end of the codes is noted once"
    )


@pytest.mark.usefixtures("few_codes")
def test_other_columns_stay_coded(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=list(range(9)), split=list("abcdefghi"), license=["x"] * 9)})
    assert None in snapshot.codes(disk_lake.location)[("images", "split")]
    assert snapshot.codes(disk_lake.location)[("images", "license")] == ["x"]
    assert disk_lake.sql("SELECT license, count(*) FROM images GROUP BY 1").fetchall() == [("x", 9)]


def test_codes_are_hidden(lake):
    assert not [c for c in lake.sql("SELECT * FROM images").columns if CODE_SUFFIX in c]
    assert not [r for r in lake.sql("SELECT column_name FROM meta.columns").fetchall() if CODE_SUFFIX in r[0]]


def dataset(tmp_path, strings, numbers, name="t"):
    rows = pa.table({"c": pa.array(strings, pa.string()), "c__code": pa.array(numbers, pa.int16())})
    return lance.write_dataset(rows, str(tmp_path / f"{name}.lance"))


@pytest.mark.parametrize(
    ("strings", "numbers", "hold"),
    [
        (["a", "b", None], [0, 1, None], True),
        ([], [], True),
        (["a", "b"], [0, 0], False),
        (["a", "b"], [0, None], False),
        ([None, "b"], [0, 1], False),
        (["a", "b"], [0, 7], False),
        (["a", "b"], [0, -1], False),
        ([None, None], [None, None], True),
    ],
)
def test_whether_codes_hold(tmp_path, strings, numbers, hold):
    assert codes_hold(dataset(tmp_path, strings, numbers), {"c": ["a", "b"]}) is hold


def test_codes_of_a_column_that_outgrew_them_are_not_looked_at(tmp_path):
    assert codes_hold(dataset(tmp_path, ["a", "z"], [0, -1]), {"c": ["a", None]})


def test_a_table_without_codes_holds(tmp_path):
    plain = lance.write_dataset(pa.table({"c": ["a"]}), str(tmp_path / "p.lance"))
    assert codes_hold(plain, {"c": ["a"]})


def test_codes_written_before_a_kill_are_harmless(disk_lake, build):
    """They are flushed before the rows that use them: a killed run leaves codes that nobody uses yet."""
    disk_lake.ingest({"images": build.images(image_id=[1], split=["a"])})
    coder = Coder(disk_lake.location)
    coder.encode("images", BASE_TABLES["images"], pa.table({"split": ["orphan"]}))
    coder.flush()
    disk_lake.ingest({"images": build.images(image_id=[2, 3], split=["orphan", "b"])})
    assert decoded(disk_lake, "images", "split")[1] == ["a", "orphan", "b"]
    assert snapshot.codes(disk_lake.location)[("images", "split")] == ["a", "orphan", "b"]
