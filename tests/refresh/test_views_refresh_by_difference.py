"""A view is refreshed by key: what is equal stays as it is, with its generated columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from repeats import again

from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.refresh.model import Stage


@pytest.fixture
def thousand(empty_lake: Lake, build: SimpleNamespace) -> Lake:
    """1,000 images with a caption each."""
    empty_lake.ingest({"images": build.images(image_id=list(range(2000)), key=[str(i) for i in range(2000)])})
    _captions(empty_lake, build, range(1000))
    return empty_lake


def _captions(lake: Lake, build: SimpleNamespace, ids: Any, text: str = "text") -> None:
    ids = list(ids)
    lake.ingest({"captions": build.captions(caption_id=ids, image_id=ids, text=[f"{text} {i}" for i in ids])})


def _stages(lake: Lake, *targets: str, **options: Any) -> dict[str, Stage]:
    return {s.target: s for s in lake.refresh(*targets, executor="inline", **options).stages}


def _rows(lake: Lake, sql: str) -> list[Any]:
    return lake.sql(sql).fetchall()


def _dataset(lake: Lake, name: str) -> Any:
    return tables.open_table(lake.location, name)


def test_one_percent_of_sources(thousand: Lake, build: SimpleNamespace, row_function: Callable[..., Any]) -> None:
    edit = row_function("d_edit", len, batch_size=64)
    thousand.create_materialized_view("v", "SELECT image_id, upper(text) AS text FROM captions", "image_id")
    thousand.add_column("v", "edited", "d_edit(text)")
    _stages(thousand)
    assert len(edit.taken()) == 1000
    _captions(thousand, build, range(1000, 1010))
    _captions(thousand, build, range(5, 8), "other")
    _dataset(thousand, "captions").delete("caption_id IN (1, 2)")
    found = _stages(thousand)
    assert (found["v"].mode, found["v"].written, found["v"].updated, found["v"].deleted) == ("incremental", 10, 3, 2)
    assert sorted(edit.taken()) == sorted(
        [f"TEXT {i}" for i in range(1000, 1010)] + [f"OTHER {i}" for i in range(5, 8)]
    )
    assert found["v.edited"].rows == 13
    assert _rows(thousand, "SELECT count(*), count(edited), sum(edited - length(text)) FROM v") == [(1008, 1008, 0)]
    assert {s.mode for s in _stages(thousand).values()} == {"no_op"}


def test_replaced_by_another_query(thousand: Lake, row_function: Callable[..., Any]) -> None:
    """The same columns: equal rows keep what was computed."""
    edit = row_function("d_replaced", len)
    thousand.create_materialized_view("v", "SELECT image_id, text FROM captions", "image_id")
    thousand.add_column("v", "edited", "d_replaced(text)")
    _stages(thousand)
    edit.taken()
    thousand.create_materialized_view(
        "v", "SELECT image_id, text FROM captions WHERE image_id < 100 OR text LIKE '%9'", "image_id", replace=True
    )
    found = _stages(thousand)
    assert (found["v"].written, found["v"].updated) == (0, 0)
    assert found["v"].deleted == 1000 - 100 - 90
    assert edit.taken() == []


def test_a_changed_order_changes_nothing(thousand: Lake) -> None:
    thousand.create_materialized_view("v", "SELECT image_id, text FROM captions ORDER BY text", "image_id")
    _stages(thousand)
    before = _dataset(thousand, "v").version
    thousand.create_materialized_view(
        "v", "SELECT image_id, text FROM captions ORDER BY text DESC", "image_id", replace=True
    )
    found = _stages(thousand)
    assert found["v"].mode == "no_op"
    assert _dataset(thousand, "v").version == before
    assert _stages(thousand)["v"].reason == ""


@pytest.mark.cases(1)
@pytest.mark.parametrize("change", ["columns", "types", "key"])
def test_another_shape(thousand: Lake, row_function: Callable[..., Any], change: str) -> None:
    edit = row_function("d_shape", len)
    thousand.create_materialized_view("v", "SELECT image_id, image_id + 1 AS other, text FROM captions", "image_id")
    thousand.add_column("v", "edited", "d_shape(text)")
    _stages(thousand)
    edit.taken()
    select, key = {
        "columns": ("SELECT image_id, image_id + 1 AS other, text, 1 AS one FROM captions", "image_id"),
        "types": ("SELECT image_id, (image_id + 1)::DOUBLE AS other, text FROM captions", "image_id"),
        "key": ("SELECT image_id, image_id + 1 AS other, text FROM captions", "other"),
    }[change]
    thousand.create_materialized_view("v", select, key, replace=True)
    found = _stages(thousand)
    assert found["v"].written == 1000
    assert len(edit.taken()) == 1000
    assert _rows(thousand, "SELECT count(*), sum(edited - length(text)) FROM v") == [(1000, 0)]
    assert {s.mode for s in _stages(thousand).values()} == {"no_op"}


def test_keys_of_several_columns_and_strings(thousand: Lake, build: SimpleNamespace) -> None:
    select = "SELECT 'k''\"' || (image_id % 10) AS a, image_id % 7 AS b, count(*) AS n FROM captions GROUP BY 1, 2"
    thousand.create_materialized_view("v", select, ["a", "b"])
    _stages(thousand)
    _captions(thousand, build, [1000])
    found = _stages(thousand)["v"]
    assert (found.written, found.updated, found.deleted) == (0, 1, 0)
    assert sorted(_rows(thousand, "SELECT a, b, n FROM v")) == sorted(_rows(thousand, select))


@pytest.mark.parametrize(
    ("select", "code"),
    [
        ("SELECT nullif(image_id, $x) AS image_id FROM captions", "E3421"),
        ("SELECT CASE WHEN image_id = $x THEN 1 ELSE image_id END AS image_id FROM captions", "E3422"),
    ],
)
def test_keys_that_went_bad(thousand: Lake, build: SimpleNamespace, select: str, code: str) -> None:
    """A key that was unique when it was declared and is not any more: nothing changes."""
    thousand.create_materialized_view("v", select.replace("$x", "1500"), "image_id")
    _stages(thousand)
    before = _dataset(thousand, "v").version
    _captions(thousand, build, [1500])
    found = _stages(thousand)["v"]
    assert (found.mode, found.code) == ("failed", code)
    assert _dataset(thousand, "v").version == before
    assert _rows(thousand, "SELECT count(*) FROM v") == [(1000,)]
    _dataset(thousand, "captions").delete("caption_id = 1500")
    assert _stages(thousand)["v"].mode == "no_op"


def test_empty_view_and_back(thousand: Lake, build: SimpleNamespace, row_function: Callable[..., Any]) -> None:
    row_function("d_empty", len)
    thousand.create_materialized_view("v", "SELECT image_id, text FROM captions WHERE text LIKE 'new%'", "image_id")
    thousand.add_column("v", "edited", "d_empty(text)")
    found = _stages(thousand)
    assert (found["v"].mode, found["v"].rows, found["v.edited"].rows) == ("rebuild", 0, 0)
    assert _rows(thousand, "SELECT * FROM v") == []
    assert {s.mode for s in _stages(thousand).values()} == {"no_op"}
    _captions(thousand, build, [1500], "new")
    found = _stages(thousand)
    assert (found["v"].written, found["v.edited"].rows) == (1, 1)
    assert _rows(thousand, "SELECT * FROM v") == [(1500, "new 1500", 8)]
    _dataset(thousand, "captions").delete("caption_id = 1500")
    assert _stages(thousand)["v"].deleted == 1
    assert _rows(thousand, "SELECT * FROM v") == []


def test_a_query_that_fails_while_it_runs(thousand: Lake, build: SimpleNamespace) -> None:
    thousand.create_materialized_view(
        "v", "SELECT image_id, replace(text, 'text ', '')::INTEGER AS n FROM captions", "image_id"
    )
    thousand.create_materialized_view("w", "SELECT n, count(*) AS c FROM v GROUP BY n", "n")
    _stages(thousand)
    before = _rows(thousand, "SELECT * FROM v ORDER BY 1")
    _captions(thousand, build, [1500], "bad")
    found = _stages(thousand)
    assert (found["v"].mode, found["w"].mode) == ("failed", "skipped")
    assert "bad 1500" in found["v"].message
    assert _rows(thousand, "SELECT * FROM v ORDER BY 1") == before


def test_views_over_views(thousand: Lake, build: SimpleNamespace) -> None:
    thousand.create_materialized_view("v", "SELECT image_id % 10 AS g, count(*) AS n FROM captions GROUP BY 1", "g")
    thousand.create_materialized_view("w", "SELECT n, count(*) AS c FROM v GROUP BY n", "n")
    thousand.create_materialized_view("x", "SELECT c, max(n) AS m FROM w GROUP BY c", "c")
    assert {s.mode for s in _stages(thousand).values()} == {"rebuild"}
    _captions(thousand, build, [1003, 1013])
    found = _stages(thousand, "x")
    assert [found[t].mode for t in ("v", "w", "x")] == ["incremental"] * 3
    assert sorted(_rows(thousand, "SELECT * FROM w")) == [(100, 9), (102, 1)]
    assert sorted(_rows(thousand, "SELECT * FROM x")) == [(1, 102), (9, 100)]


def test_an_audit_as_a_view(lake: Lake) -> None:
    lake.create_materialized_view("persons_by_word", "SELECT * FROM caption_gender", "image_id")
    _stages(lake)
    expected = sorted(_rows(lake, "SELECT * FROM caption_gender"))
    assert expected
    assert sorted(_rows(lake, "SELECT * FROM persons_by_word")) == expected
    assert _stages(lake)["persons_by_word"].mode == "no_op"


def test_only_columns_that_are_read_matter(thousand: Lake, row_function: Callable[..., Any]) -> None:
    """A column that is filled beside the ones that are read leaves the view alone, and so does compaction."""
    row_function("d_beside", len)
    thousand.create_materialized_view("v", "SELECT image_id, text FROM captions", "image_id")
    _stages(thousand)
    thousand.add_column("captions", "size", "d_beside(text)")
    found = _stages(thousand)
    assert (found["captions.size"].mode, found["v"].mode, found["v"].reason) == ("rebuild", "no_op", "")
    _dataset(thousand, "captions").optimize.compact_files()
    assert _stages(thousand)["v"].reason == ""


def test_a_view_that_somebody_damaged(thousand: Lake) -> None:
    thousand.create_materialized_view("v", "SELECT image_id, text FROM captions", "image_id")
    _stages(thousand)
    view = _dataset(thousand, "v")
    view.delete("image_id < 10")
    _dataset(thousand, "v").update({"text": "'damaged'"}, where="image_id = 20")
    rows = pa.table({"image_id": [30, 5000], "text": ["double", "more"]}, schema=_dataset(thousand, "v").schema)
    import lance

    lance.write_dataset(rows, _dataset(thousand, "v"), mode="append")
    found = _stages(thousand)["v"]
    assert found.reason == "its own table changed"
    assert sorted(_rows(thousand, "SELECT * FROM v")) == sorted((i, f"text {i}") for i in range(1000))
    assert _stages(thousand)["v"].mode == "no_op"


_TYPES = {
    "list": "[image_id, NULL]",
    "struct": "{'a': image_id, 'b': [text]}",
    "nested": "[{'a': 1.5::FLOAT, 'b': NULL::VARCHAR}]",
    "vector": "[image_id, 2, 3]::FLOAT[3]",
    "bytes": "encode(text)",
    "decimal": "image_id::DECIMAL(12, 3)",
    "date": "DATE '2020-01-01' + image_id::INTEGER",
    "time": "TIMESTAMP '2020-01-01 00:00:00' + to_seconds(image_id)",
    "zoned": "TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_seconds(image_id)",
    "huge": "sum(image_id)",
    "small": "image_id::SMALLINT",
    "unsigned": "abs(image_id)::UINTEGER",
    "float": "CASE WHEN image_id = 3 THEN 'nan'::DOUBLE ELSE image_id / 3 END",
    "boolean": "image_id % 2 = 0",
    "null": "NULL",
    "enum": "CASE WHEN image_id > 5 THEN 'a' END",
}


@pytest.mark.parametrize("kind", ["all", *again(*_TYPES)])
def test_types(empty_lake: Lake, build: SimpleNamespace, row_function: Callable[..., Any], kind: str) -> None:
    """Whatever a query returns is stored, compared and left alone when it is equal: all kinds at once, and each alone."""
    kinds = list(_TYPES) if kind == "all" else [kind]
    values = ", ".join(f"{_TYPES[k]} AS value_{k}" for k in kinds)
    edit = row_function("d_types", lambda key: key, parameters={"key": pa.int64()})
    empty_lake.ingest({"images": build.images(image_id=list(range(10)), key=[str(i) for i in range(10)])})
    _captions(empty_lake, build, range(8))
    select = f"SELECT image_id, {values} FROM captions GROUP BY image_id, text"
    empty_lake.create_materialized_view("v", select, "image_id")
    empty_lake.add_column("v", "edited", "d_types(image_id)")
    _stages(empty_lake)
    assert len(edit.taken()) == 8
    _captions(empty_lake, build, [9])
    found = _stages(empty_lake)
    assert (found["v"].written, found["v"].updated, found["v"].deleted) == (1, 0, 0)
    assert edit.taken() == [9]
    names = [f"value_{k}" for k in kinds]
    stored = _dataset(empty_lake, "v").to_table(columns=["image_id", *names]).sort_by("image_id")
    wanted = empty_lake.sql(f"{select} ORDER BY 1").to_arrow()
    for name in names:
        np.testing.assert_equal(stored[name].to_pylist(), wanted[name].to_pylist())
