"""A row whose function failed is NULL, recorded once with the reason, and tried again only when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.refresh.model import Stage


def _half(text: str | None) -> int | None:
    if text is None:
        return None
    if "?" in text:
        raise ValueError(f"odd: {text}")
    return len(text) // 2


@pytest.fixture
def texts(empty_lake: Lake, build: SimpleNamespace) -> Lake:
    """Captions 1 to 6; 2 and 5 are odd, 3 is NULL."""
    empty_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    _set(empty_lake, build, {1: "one", 2: "two?", 3: None, 4: "four", 5: "five?", 6: "six"})
    return empty_lake


def _set(lake: Lake, build: SimpleNamespace, texts: dict[int, str | None]) -> None:
    lake.ingest(
        {"captions": build.captions(caption_id=list(texts), image_id=[1] * len(texts), text=list(texts.values()))}
    )


def _refresh(lake: Lake, **options: Any) -> Stage:
    return lake.refresh("captions.half", executor="inline", **options).stages[0]


def _errors(lake: Lake) -> list[Any]:
    return lake.sql("SELECT table_name, column_name, key, message, attempts FROM meta.errors ORDER BY key").fetchall()


def _error(key: int, text: str, attempts: int = 1) -> tuple[Any, ...]:
    return ("captions", "half", str(key), f"ValueError: odd: {text}", attempts)


def _values(lake: Lake) -> dict[int, int | None]:
    return dict(lake.sql("SELECT caption_id, half FROM captions").fetchall())


@pytest.fixture
def half(texts: Lake, row_function: Callable[..., Any]) -> Any:
    """The function of the column ``half``, refreshed once."""
    function = row_function("f_half", _half)
    texts.add_column("captions", "half", "f_half(text)")
    stage = _refresh(texts)
    assert (stage.rows, stage.updated, stage.errors) == (6, 6, 2)
    function.taken()
    return function


def test_recorded_once(texts: Lake, half: Any) -> None:
    assert _values(texts) == {1: 1, 2: None, 3: None, 4: 2, 5: None, 6: 1}
    assert _errors(texts) == [_error(2, "two?"), _error(5, "five?")]
    stage = _refresh(texts)
    assert (stage.mode, stage.rows, stage.errors) == ("no_op", 0, 0)
    assert half.taken() == []
    assert len(_errors(texts)) == 2


def test_null_is_not_computed_twice(texts: Lake, half: Any, build: SimpleNamespace) -> None:
    _set(texts, build, {7: "seven"})
    _refresh(texts)
    assert half.taken() == ["seven"]


def test_retry_counts_attempts(texts: Lake, half: Any) -> None:
    for attempt in (2, 3):
        stage = _refresh(texts, retry_errors=True)
        assert (stage.mode, stage.rows, stage.errors) == ("incremental", 2, 2)
        assert half.taken()[:2] == ["two?", "five?"]  # then a few known rows: does it work on those?
        assert _errors(texts) == [_error(2, "two?", attempt), _error(5, "five?", attempt)]
    half.of = len
    assert _refresh(texts).mode == "no_op"
    assert _refresh(texts, retry_errors=True).errors == 0
    assert _errors(texts) == []
    assert _values(texts) == {1: 1, 2: 4, 3: None, 4: 2, 5: 5, 6: 1}


def test_retry_without_failures_is_no_op(texts: Lake, half: Any, build: SimpleNamespace) -> None:
    _set(texts, build, {2: "two", 5: "five"})
    _refresh(texts)
    half.taken()
    assert _refresh(texts, retry_errors=True).mode == "no_op"
    assert half.taken() == []


def test_updated_row(texts: Lake, half: Any, build: SimpleNamespace) -> None:
    _set(texts, build, {2: "two", 5: "five? again"})
    stage = _refresh(texts)
    assert (stage.rows, stage.errors) == (2, 1)
    assert [e[2:4] for e in _errors(texts)] == [("5", "ValueError: odd: five? again")]
    assert _values(texts)[2] == 1
    assert half.taken() == ["two", "five? again"]


def test_deleted_row(texts: Lake, half: Any) -> None:
    captions = tables.open_table(texts.location, "captions")
    assert captions is not None
    captions.delete("caption_id = 2")
    assert _refresh(texts).mode == "no_op"
    assert _errors(texts) == [_error(5, "five?")]
    assert half.taken() == []


def test_changed_definition(texts: Lake, half: Any) -> None:
    half.of = lambda text: None if text is None else len(text)
    half.declare(version="2")
    assert _refresh(texts).mode == "rebuild"
    assert _errors(texts) == []


def test_changed_definition_that_fails_elsewhere(texts: Lake, half: Any) -> None:
    half.of = lambda text: _half(text.replace("?", "").replace("six", "?")) if text else None
    half.declare(version="2")
    _refresh(texts)
    assert _errors(texts) == [_error(6, "?")]


def test_dropped_column(texts: Lake, half: Any) -> None:
    texts.drop_column("captions", "half")
    assert _errors(texts) == []


def test_failures_of_a_round_that_was_interrupted(
    texts: Lake, row_function: Callable[..., Any], build: SimpleNamespace
) -> None:
    """What failed before an interruption and was repaired or deleted since is not recorded."""
    function = row_function("f_again", _half)
    texts.add_column("captions", "half", "f_again(text)")

    def stop(text: str) -> int | None:
        if text == "six":
            raise KeyboardInterrupt
        return _half(text)

    function.of = stop
    function.partial = False
    with pytest.raises(KeyboardInterrupt):
        _refresh(texts, batch_size=1)
    captions = tables.open_table(texts.location, "captions")
    assert captions is not None
    captions.delete("caption_id = 5")
    _set(texts, build, {2: "two"})
    function.of = _half
    function.taken()
    stage = _refresh(texts, batch_size=1)
    assert sorted(function.taken()) == ["six", "two"]
    assert stage.errors == 0
    assert _errors(texts) == []
    assert _values(texts) == {1: 1, 2: 1, 3: None, 4: 2, 6: 1}


def test_keys_of_views(texts: Lake, row_function: Callable[..., Any]) -> None:
    """A key of several columns is told as JSON; it goes with the row."""
    row_function("f_key", _half)
    texts.create_materialized_view(
        "v", "SELECT image_id, coalesce(text, '-') AS text FROM captions", ["image_id", "text"]
    )
    texts.add_column("v", "half", "f_key(text)")
    texts.refresh(executor="inline")
    found = texts.sql("SELECT key FROM meta.errors WHERE table_name = 'v' ORDER BY 1").fetchall()
    assert found == [('[1, "five?"]',), ('[1, "two?"]',)]
    captions = tables.open_table(texts.location, "captions")
    assert captions is not None
    captions.delete("caption_id = 2")
    texts.refresh(executor="inline")
    assert texts.sql("SELECT key FROM meta.errors WHERE table_name = 'v'").fetchall() == [('[1, "five?"]',)]
    assert texts.refresh(executor="inline", retry_errors=True).stages[-1].errors == 1
    assert texts.sql("SELECT key, attempts FROM meta.errors WHERE table_name = 'v'").fetchall() == [('[1, "five?"]', 2)]
