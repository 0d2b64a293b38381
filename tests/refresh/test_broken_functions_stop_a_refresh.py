"""A broken function must not look like bad data: a refresh stops early, and records and publishes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from counterbalance.engine.functions import udf

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.refresh.model import Stage


def _fail(text: str) -> int:
    raise RuntimeError(f"no such device for {text}")


def _add(lake: Lake, build: SimpleNamespace, first: int, count: int, text: str = "text") -> None:
    ids = list(range(first, first + count))
    lake.ingest({"captions": build.captions(caption_id=ids, image_id=[1] * count, text=[f"{text} {i}" for i in ids])})


@pytest.fixture
def texts(empty_lake: Lake, build: SimpleNamespace) -> Lake:
    """100 captions."""
    empty_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    _add(empty_lake, build, 0, 100)
    return empty_lake


def _refresh(lake: Lake, **options: Any) -> Stage:
    return lake.refresh("captions.c", executor="inline", **{"batch_size": 10, **options}).stages[0]


def _errors(lake: Lake) -> list[Any]:
    return lake.sql("SELECT key, message, attempts FROM meta.errors ORDER BY key::INTEGER").fetchall()


def _values(lake: Lake) -> list[Any]:
    return [v for (v,) in lake.sql("SELECT c FROM captions ORDER BY caption_id").fetchall()]


@pytest.mark.parametrize("partial", [True, False])
def test_all_rows_fail(texts: Lake, row_function: Callable[..., Any], partial: bool) -> None:
    broken = row_function("b_all", _fail, partial=partial)
    texts.add_column("captions", "c", "b_all(text)")
    stage = _refresh(texts)
    assert (stage.mode, stage.code) == ("failed", "E8005")
    assert "no such device" in stage.message
    assert len(set(broken.taken())) <= 40
    assert _errors(texts) == []
    assert _values(texts) == [None] * 100
    assert texts.sql("SELECT mode, updated FROM meta.runs WHERE target = 'captions.c' ORDER BY at").fetchall()[-1] == (
        "failed",
        0,
    )
    broken.of = len
    assert _refresh(texts).rows == 100
    assert _values(texts) == [len(f"text {i}") for i in range(100)]


def test_all_new_rows_are_bad_data(texts: Lake, row_function: Callable[..., Any], build: SimpleNamespace) -> None:
    """The function still works on rows that it once computed: these are bad data."""
    row_function("b_data", lambda text: _fail(text) if "bad" in text else len(text))
    texts.add_column("captions", "c", "b_data(text)")
    _refresh(texts)
    _add(texts, build, 200, 50, "bad")
    stage = _refresh(texts)
    assert (stage.mode, stage.rows, stage.errors) == ("incremental", 50, 50)
    assert [key for key, _, _ in _errors(texts)] == [str(i) for i in range(200, 250)]
    assert _refresh(texts).mode == "no_op"


@pytest.mark.parametrize("count", [5, 50])
def test_function_broke_later(
    texts: Lake, row_function: Callable[..., Any], build: SimpleNamespace, count: int
) -> None:
    """It fails on rows that it once computed too: nothing is recorded, what is stored stays."""
    later = row_function("b_later", len)
    texts.add_column("captions", "c", "b_later(text)")
    _refresh(texts)
    before = _values(texts)
    _add(texts, build, 200, count)
    later.of = _fail
    stage = _refresh(texts)
    assert (stage.mode, stage.code) == ("failed", "E8005")
    assert _errors(texts) == []
    assert _values(texts) == before + [None] * count
    later.of = len
    assert _refresh(texts).rows == count
    assert None not in _values(texts)


def test_function_breaks_in_the_middle(texts: Lake, row_function: Callable[..., Any]) -> None:
    """What was computed before is kept, and what failed is computed again once it is repaired."""
    middle = row_function("b_middle", len)
    texts.add_column("captions", "c", "b_middle(text)")
    middle.of = lambda text: len(text) if len(middle.seen) <= 50 else _fail(text)
    stage = _refresh(texts)
    assert (stage.mode, stage.code) == ("failed", "E8005")
    assert _errors(texts) == []
    assert _values(texts) == [None] * 100
    middle.taken()
    middle.of = len
    assert _refresh(texts).rows == 50
    assert len(set(middle.taken())) == 50
    assert _values(texts) == [len(f"text {i}") for i in range(100)]


def test_many_bad_rows_in_a_row_are_data(texts: Lake, row_function: Callable[..., Any]) -> None:
    bad = row_function("b_stretch", lambda text: len(text) if int(text.split()[1]) < 20 else _fail(text))
    texts.add_column("captions", "c", "b_stretch(text)")
    stage = _refresh(texts)
    assert (stage.mode, stage.errors) == ("rebuild", 80)
    assert len(_errors(texts)) == 80
    assert set(bad.taken()) == {f"text {i}" for i in range(100)}


def test_import_error(texts: Lake, row_function: Callable[..., Any]) -> None:
    def broken(text: str) -> int:
        raise ModuleNotFoundError("No module named 'torch'", name=text)

    row_function("b_import", broken, partial=False)
    texts.add_column("captions", "c", "b_import(text)")
    stage = _refresh(texts)
    assert (stage.mode, stage.code) == ("failed", "E8002")
    assert "torch" in stage.message
    assert _errors(texts) == []


def test_a_model_that_cannot_be_loaded(texts: Lake) -> None:
    @udf(returns=pa.int64(), parameters={"text": pa.string()}, version="1", name="b_model")
    class Model:
        def open(self, device: str) -> None:
            raise OSError(f"no weights for {device}")

        def __call__(self, text: pa.Array) -> pa.Array:
            return pa.compute.utf8_length(text)

    texts.add_column("captions", "c", "b_model(text)")
    stage = _refresh(texts)
    assert (stage.mode, stage.code) == ("failed", "E8001")
    assert "no weights" in stage.message
    assert _errors(texts) == []


@pytest.mark.parametrize(
    ("returned", "code", "words"),
    [
        (lambda text: pa.array([1] * (len(text) + 1)), "E8003", "11 values for 10 rows"),
        (lambda text: pa.array(["many"] * len(text)), "E8005", "many"),
        (lambda text: ["x"] * len(text), "E8005", "x"),
        (lambda text: None, "E8005", "None"),
    ],
    ids=["length", "type", "list", "nothing"],
)
def test_wrong_results(texts: Lake, returned: Callable[[Any], Any], code: str, words: str) -> None:
    udf(returns=pa.int64(), parameters={"text": pa.string()}, version="1", name="b_wrong")(returned)
    texts.add_column("captions", "c", "b_wrong(text)")
    stage = _refresh(texts)
    assert (stage.mode, stage.code) == ("failed", code)
    assert words in stage.message
    assert _errors(texts) == []


def test_must_not_fail(texts: Lake, row_function: Callable[..., Any]) -> None:
    strict = row_function("b_strict", lambda text: _fail(text) if text == "text 55" else len(text), on_error="raise")
    texts.add_column("captions", "c", "b_strict(text)")
    stage = _refresh(texts)
    assert (stage.mode, stage.code) == ("failed", "E8004")
    assert "captions 55" in stage.message
    assert _errors(texts) == []
    assert _values(texts) == [None] * 100
    strict.taken()
    strict.of = len
    assert _refresh(texts).rows == 50
    assert len(strict.taken()) == 50


def test_what_reads_a_failed_column_is_skipped(texts: Lake, row_function: Callable[..., Any]) -> None:
    row_function("b_first", _fail)
    texts.add_column("captions", "c", "b_first(text)")
    texts.add_column("captions", "d", "c + 1")
    texts.add_column("captions", "e", "length(text)")
    texts.create_materialized_view("v", "SELECT caption_id, d FROM captions", "caption_id")
    report = texts.refresh(executor="inline")
    assert {s.target: s.mode for s in report.stages} == {
        "captions.c": "failed",
        "captions.d": "skipped",
        "captions.e": "rebuild",
        "v": "skipped",
    }
    assert report.mode == "failed"
