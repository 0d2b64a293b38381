"""Where a device has no memory for a batch, a function gets smaller ones: in a query as in a refresh."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from counterbalance.engine import functions
from counterbalance.engine.errors import LimitError

torch = pytest.importorskip("torch")
TEXTS = ["x" * (number % 7) for number in range(1500)]


@pytest.fixture
def calls(monkeypatch):
    """Rows of each call of ``t_narrow(text)``, which has no memory for more than 500 rows, nor for the text 'huge'."""
    seen = []

    def narrow(text):
        seen.append(len(text))
        if len(text) > 500 or "huge" in text.to_pylist():
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return pc.utf8_length(text)

    parameters = (functions.Parameter("text", pa.string()),)
    made = functions.Function("t_narrow", narrow, parameters, pa.int32(), "1")
    functions.functions()
    monkeypatch.setitem(functions._registry, "t_narrow", made)
    return seen


@pytest.fixture
def captioned(empty_lake, build):
    empty_lake.ingest(
        {
            "images": build.images(image_id=[1], key=["a"]),
            "captions": build.captions(caption_id=list(range(1500)), image_id=[1] * 1500, text=TEXTS),
        }
    )
    return empty_lake


def test_a_query_goes_on_with_smaller_batches(captioned, calls):
    with captioned.session(threads=1) as session:
        rows = session.sql("SELECT caption_id, t_narrow(text) FROM captions ORDER BY 1").fetchall()
        assert rows == [(number, len(text)) for number, text in enumerate(TEXTS)]
        assert calls == [1500, 750, 375, 375, 375, 375]
        calls.clear()
        assert session.sql("SELECT sum(t_narrow(text)) FROM captions").fetchall() == [(sum(map(len, TEXTS)),)]
        assert calls == [375] * 4


def test_a_refresh_does_the_same(captioned, calls):
    captioned.sql("ALTER TABLE captions ADD COLUMN n AS (t_narrow(text))")
    (stage,) = captioned.refresh(executor="inline").stages
    assert (stage.rows, stage.errors) == (1500, 0)
    assert "out of memory at 512 rows; going on with 256" in stage.message
    assert calls[:4] == [1024, 512, 256, 256]
    assert captioned.sql("SELECT n FROM captions ORDER BY caption_id").to_arrow()["n"].to_pylist() == list(
        map(len, TEXTS)
    )


def test_a_row_that_is_too_large_alone_ends_a_query(captioned, calls):
    with pytest.raises(LimitError, match=r"t_narrow\(\) ran out of memory for a single row") as caught:
        captioned.sql("SELECT t_narrow('huge') AS n").fetchall()
    assert caught.value.code == "E5003"
    assert "CUDA out of memory" in caught.value.message
    assert set(calls) == {1}  # DuckDB tries to fold what is constant, several times
