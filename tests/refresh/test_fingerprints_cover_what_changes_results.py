"""What is stored is computed again when its function, its definition or what it stands on changed, and only then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from repeats import again

from counterbalance.engine.catalog import definitions
from counterbalance.engine.functions import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.engine.lake import Lake


def _modes(lake: Lake, **options: Any) -> dict[str, str]:
    return {s.target: s.mode for s in lake.refresh(executor="inline", **options).stages}


def _redefine(lake: Lake, target: str, **changes: Any) -> None:
    from dataclasses import replace

    known = definitions.load(lake.location).by_target[target]
    definitions.declare(lake.location, replace(known, **changes))


@pytest.fixture
def chain(lake: Lake, row_function: Callable[..., Any]) -> Any:
    """``captions.size`` by a function, ``captions.twice`` on it, a view on both, a column on the view."""
    function = row_function("p_size", lambda text: None if text is None else len(text))
    lake.add_column("captions", "size", "p_size(text)")
    lake.add_column("captions", "twice", "size * 2")
    lake.add_column("captions", "alone", "lower(text)")
    lake.create_materialized_view(
        "v", "SELECT image_id, sum(twice)::BIGINT AS total FROM captions GROUP BY image_id", "image_id"
    )
    lake.add_column("v", "more", "total + 1")
    assert set(_modes(lake).values()) == {"rebuild"}
    assert set(_modes(lake).values()) == {"no_op"}
    return function


_ALL = {
    "captions.size": "rebuild",
    "captions.twice": "rebuild",
    "v": "no_op",
    "captions.alone": "no_op",
    "v.more": "no_op",
}


@pytest.mark.parametrize(
    "change", [{"version": "2"}, {"weights": "abc"}, {"weights": lambda: "def"}], ids=["version", "weights", "digest"]
)
def test_function(lake: Lake, chain: Any, change: dict[str, Any]) -> None:
    """Whatever stands on it is looked at; where the values are equal in the end, it stops."""
    chain.declare(**change)
    assert _modes(lake) == _ALL
    assert set(_modes(lake).values()) == {"no_op"}


def test_other_values_reach_the_end(lake: Lake, chain: Any) -> None:
    chain.of = lambda text: None if text is None else len(text) + 1
    chain.declare(version="2")
    assert _modes(lake) == {**_ALL, "v": "incremental", "v.more": "incremental"}
    assert lake.sql("SELECT image_id, total, more FROM v WHERE image_id = 1").fetchall() == [(1, 90, 91)]


@pytest.mark.parametrize("change", [{"batch_size": 3, "memory": "9GB"}, *again({"batch_size": 3}, {"memory": "9GB"})])
def test_what_changes_no_result(lake: Lake, chain: Any, change: dict[str, Any]) -> None:
    chain.declare(**change)
    assert set(_modes(lake).values()) == {"no_op"}


def test_text_of_a_definition(lake: Lake, chain: Any) -> None:
    _redefine(lake, "captions.size", sql="P_SIZE( TEXT ) -- sizes")
    _redefine(lake, "captions.twice", sql="size*2 /* twice */", schedule="@daily")
    _redefine(lake, "v", sql="select IMAGE_ID, sum(twice)::bigint as total from captions group by image_id -- all")
    assert set(_modes(lake).values()) == {"no_op"}


def test_changed_in_the_middle_of_a_chain(lake: Lake, chain: Any) -> None:
    chain.taken()
    _redefine(lake, "captions.twice", sql="size * 3")
    assert _modes(lake) == {**_ALL, "captions.size": "no_op", "v": "incremental", "v.more": "incremental"}
    assert chain.taken() == []
    assert lake.sql("SELECT total, more FROM v WHERE image_id = 1").fetchall() == [(3 * 43, 3 * 43 + 1)]


def test_other_type(lake: Lake, chain: Any) -> None:
    _redefine(lake, "captions.twice", type="DOUBLE")
    assert _modes(lake)["captions.twice"] == "rebuild"
    assert (
        lake.sql("SELECT twice FROM captions WHERE caption_id = 11").to_arrow().schema.field("twice").type
        == pa.float64()
    )


def test_constants_and_defaults(lake: Lake, row_function: Callable[..., Any]) -> None:
    def declare(default: int) -> Any:
        parameters = [Parameter("text", pa.string()), Parameter("least", pa.int64(), default)]
        return row_function("p_least", lambda text, least: max(len(text or ""), least), parameters=parameters)

    declare(1)
    lake.add_column("captions", "a", "p_least(text)")
    lake.add_column("captions", "b", "p_least(text, 5)")
    _modes(lake)
    declare(30)
    assert _modes(lake) == {"captions.a": "rebuild", "captions.b": "no_op"}
    assert lake.sql("SELECT min(a), min(b) FROM captions").fetchall() == [(30, 5)]


def test_full_only_when_asked(lake: Lake, chain: Any) -> None:
    chain.taken()
    assert _modes(lake, full=True)["captions.size"] == "rebuild"
    assert len(chain.taken()) == 8
    assert set(_modes(lake).values()) == {"no_op"}
    assert chain.taken() == []


def test_dry_run_tells_and_does_nothing(lake: Lake, chain: Any) -> None:
    chain.declare(version="2")
    report = lake.refresh(dry_run=True)
    reasons = {s.target: s.reason for s in report.stages}
    assert reasons["captions.size"] == "function p_size changed (version 1 -> 2)"
    assert reasons["captions.alone"] == ""
    assert reasons["v.more"] == "reads v"
    chain.taken()
    assert {s.target: s.reason for s in lake.refresh(dry_run=True).stages} == reasons
    assert chain.taken() == []
