"""``@udf`` alone: type hints tell the signature, rows are given one by one, and the source makes the version."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import counterbalance as cb
from counterbalance.engine import functions
from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import function, udf


@pytest.fixture(autouse=True)
def _forgotten():
    known = dict(functions._registry)
    yield
    functions._registry.clear()
    functions._registry.update(known)


@pytest.fixture
def texts(empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    empty_lake.ingest({"captions": build.captions(caption_id=[1, 2, 3], image_id=[1] * 3, text=["Ab", "abc", ""])})
    return empty_lake


def first(lake, query):
    return lake.sql(query).to_arrow().column(0).to_pylist()


def test_row_by_row(texts):
    @udf
    def h_shout(text: str) -> float:
        """Share of capital letters."""
        return sum(map(str.isupper, text)) / len(text)

    assert h_shout("AB") == 1.0
    assert (function("h_shout").signature, function("h_shout").doc) == ("h_shout(text)", "Share of capital letters.")
    assert first(texts, "SELECT h_shout(text) FROM captions WHERE text <> '' ORDER BY caption_id") == [0.5, 0.0]
    assert texts.sql("SELECT h_shout(text) AS s FROM captions").schema.field("s").type == pa.float64()


def test_dates_and_moments_are_taken_and_given(texts):
    @udf
    def h_year(day: dt.date) -> int:
        return day.year

    @udf
    def h_hour(moment: dt.datetime) -> int:
        return moment.hour

    @udf
    def h_day(n: int) -> dt.date:
        return dt.date(2020, 1, n)

    @udf
    def h_morning(n: int) -> dt.datetime:
        return dt.datetime(2020, 1, n, 5, tzinfo=dt.UTC)

    sql = "SELECT h_year(DATE '2020-03-04'), h_hour(TIMESTAMP '2020-03-04 07:00:00'), h_day(2), h_hour(h_morning(3))"
    assert texts.sql(sql).fetchall() == [(2020, 7, dt.date(2020, 1, 2), 5)]
    texts.add_column("captions", "day", "h_day(caption_id)")
    texts.refresh(executor="inline")
    assert first(texts, "SELECT max(day) FROM captions") == [dt.date(2020, 1, 3)]


def test_what_a_row_raises_is_its_error(texts):
    @udf
    def h_fails(text: str) -> float:
        return 1 / len(text)

    texts.add_column("captions", "c", "h_fails(text)")
    (stage,) = texts.refresh(executor="inline").stages
    assert (stage.updated, stage.errors) == (3, 1)
    assert first(texts, "SELECT c FROM captions ORDER BY caption_id") == [0.5, 1 / 3, None]
    assert first(texts, "SELECT message FROM meta.errors") == ["ZeroDivisionError: division by zero"]


def test_null_gives_null_unless_it_is_asked_for(texts):
    @udf
    def h_size(text: str) -> int:
        return len(text)

    @udf
    def h_known(text: str | None) -> bool:
        return text is not None

    query = "SELECT {}(nullif(text, '')) FROM captions ORDER BY caption_id"
    assert first(texts, query.format("h_size")) == [2, 3, None]
    assert first(texts, query.format("h_known")) == [True, True, False]


def test_a_default_makes_a_constant(texts):
    @udf(name="h_often")
    def repeated(text: str, times: int = 2, glue: str = "") -> str:
        return glue.join([text] * times)

    assert function("h_often").signature == "h_often(text[, times, glue])"
    query = "SELECT h_often(text{}) FROM captions WHERE caption_id = 1"
    assert first(texts, query.format("")) == ["AbAb"]
    assert first(texts, query.format(", times := 3, glue := '-'")) == ["Ab-Ab-Ab"]


def test_arrays_batch_by_batch(texts):
    seen = []

    @udf
    def h_length(text: pa.StringArray, more: int = 0) -> pa.Int64Array:
        seen.append(len(text))
        return pc.add(pc.utf8_length(text).cast(pa.int64()), more)

    assert first(texts, "SELECT h_length(text, more := 1) FROM captions ORDER BY caption_id") == [3, 4, 1]
    assert seen == [3]


def test_a_model(texts):
    @udf
    class h_scaled:  # noqa: N801
        def __init__(self, by: float = 1.0) -> None:
            self.by = by

        def __call__(self, text: pa.StringArray) -> pa.DoubleArray:
            return pc.multiply(pc.utf8_length(text).cast(pa.float64()), self.by)

    assert first(texts, "SELECT h_scaled(text, by := 0.5) FROM captions ORDER BY caption_id") == [1.0, 1.5, 0.0]


def test_types():
    @udf
    def h_types(
        a: bytes, b: bool, c: list[str], d: dt.date, e: dt.datetime, f: list[float] | None
    ) -> list[int] | None: ...

    found = function("h_types")
    assert [p.type for p in found.parameters] == [
        pa.binary(),
        pa.bool_(),
        pa.list_(pa.string()),
        pa.date32(),
        pa.timestamp("us", "UTC"),
        pa.list_(pa.float64()),
    ]
    assert found.returns == pa.list_(pa.int64())


def test_the_version_is_of_the_source(tmp_path):
    def version(text):
        file = tmp_path / f"{abs(hash(text))}.py"
        file.write_text(f"from counterbalance import udf\n@udf\n{text}")
        (name,) = functions.load_file(str(file))
        found = function(name).version
        functions._registry.pop(name)
        return found

    one = version("def h_version(text: str) -> int:\n    return len(text)\n")
    assert one.startswith("source ")
    assert version("def h_version(text: str) -> int:\n    return 1 + len(text)\n") != one
    assert version("# why\n\ndef h_version(text: str) -> int:\n    return len(text)\n") != ""


def test_a_changed_source_makes_columns_stale(texts):
    @udf(name="h_stale")
    def before(text: str) -> int:
        return len(text)

    texts.add_column("captions", "c", "h_stale(text)")
    texts.refresh(executor="inline")
    assert texts.refresh(executor="inline").stages[0].mode == "no_op"

    @udf(name="h_stale")
    def after(text: str) -> int:
        return -len(text)

    assert texts.refresh(executor="inline").stages[0].mode == "rebuild"
    assert first(texts, "SELECT c FROM captions ORDER BY caption_id") == [-2, -3, 0]


def no_hint(text): ...
def no_result(text: str): ...
def any_array(text: pa.Array) -> pa.DoubleArray: ...
def mixed(text: str) -> pa.DoubleArray: ...
def mixed_too(text: pa.StringArray, more: str) -> pa.DoubleArray: ...
def many(*texts: str) -> int: ...
def unknown(text: Nowhere) -> int: ...  # noqa: F821
def of_two(text: str | int) -> int: ...
def of_constants(text: str = "") -> int: ...


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (no_hint, "no_hint: text has no type hint"),
        (no_result, "no_result: the result has no type hint"),
        (any_array, "text is hinted Array, which tells no type"),
        (mixed, "of one row or of arrays, not of both"),
        (mixed_too, "of one row or of arrays, not of both"),
        (many, r"\*args"),
        (unknown, "cannot be read: name 'Nowhere'"),
        (of_two, "text is hinted"),
        (of_constants, "no parameter without a default"),
    ],
)
def test_hints_that_tell_too_little(call, told):
    with pytest.raises(RequestError, match=told) as caught:
        udf(call)
    assert caught.value.code == "E3065"
    assert "or write @udf(returns=pa.string(), parameters={" in caught.value.hint


def test_what_to_write_names_the_parameters():
    with pytest.raises(RequestError) as caught:
        udf(any_array)
    assert caught.value.hint.endswith(
        "@udf(returns=pa.string(), parameters={'text': pa.string()}) with the types of yours"
    )


@pytest.mark.parametrize("given", [{"returns": pa.int64()}, {"parameters": {"text": pa.string()}}])
def test_one_of_both_is_an_error(given):
    with pytest.raises(RequestError, match="returns and parameters, or neither") as caught:
        cb.udf(**given)(any_array)
    assert caught.value.code == "E3066"
    assert caught.value.hint.startswith("write @udf(returns=pa.string(), parameters={'text': pa.string()})")
