"""``status`` and ``refresh --dry-run`` name the function, expression, list or input that made a stored result stale."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from counterbalance.engine.catalog import definitions
from counterbalance.engine.functions import Parameter, udf
from counterbalance.engine.refresh.staleness import differences
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.engine.lake import Lake


@pytest.fixture
def chain(lake: Lake, row_function: Callable[..., Any]) -> Any:
    """``captions.size`` by a function, ``captions.twice`` on it, a view that calls the function too, an index."""
    function = row_function("n_size", lambda text: len(text or ""), weights="aaaaaaaabb")
    lake.add_column("captions", "size", "n_size(text)")
    lake.add_column("captions", "twice", "size * 2")
    select = "SELECT caption_id, n_size(text) AS n FROM captions WHERE twice > 2"
    lake.create_materialized_view("v", select, "caption_id")
    lake.create_index("captions", "text", "btree", name="texts")
    lake.refresh(executor="inline")
    assert set(_reasons(lake).values()) == {""}
    return function


def _reasons(lake: Lake) -> dict[str, str]:
    return {r["target"]: r["reason"] for r in lake.status().to_pylist()}


def _redefine(lake: Lake, target: str, **changes: Any) -> None:
    known = definitions.load(lake.location).by_target[target]
    definitions.declare(lake.location, replace(known, **changes))


def test_version(lake: Lake, chain: Any) -> None:
    chain.declare(version="2")
    told = "function n_size changed (version 1 -> 2)"
    upstream = "upstream column captions.size was changed"
    assert _reasons(lake) == {
        "captions.size": told,
        "captions.twice": upstream,
        "v": f"{told}, upstream column captions.twice was changed",
        "texts": "",
    }
    assert {s.target: s.reason for s in lake.refresh(dry_run=True).stages} == _reasons(lake)
    lake.refresh(executor="inline")
    assert set(_reasons(lake).values()) == {""}


def test_weights(lake: Lake, chain: Any) -> None:
    chain.declare(weights=lambda: "ccccccccdd")
    assert _reasons(lake)["captions.size"] == "weights of n_size changed (aaaaaaaa -> cccccccc)"


def test_expression(lake: Lake, chain: Any) -> None:
    _redefine(lake, "captions.size", sql="n_size(upper(text))")
    _redefine(lake, "captions.twice", sql="size + size")
    reasons = _reasons(lake)
    assert reasons["captions.size"] == "expression changed"
    assert reasons["captions.twice"] == "expression changed"


def test_both_at_once(lake: Lake, chain: Any) -> None:
    _redefine(lake, "captions.size", sql="n_size(text) + 1")
    chain.declare(version="b")
    assert _reasons(lake)["captions.size"] == "expression changed, function n_size changed (version 1 -> b)"


def test_select_and_index(lake: Lake, chain: Any) -> None:
    _redefine(lake, "v", sql="SELECT caption_id, n_size(text) AS n FROM captions WHERE twice > 3")
    _redefine(lake, "texts", options={"kind": "bitmap"})
    reasons = _reasons(lake)
    assert reasons["v"] == "SELECT changed"
    assert reasons["texts"] in {"options changed", "not built"}  # Lance knows no bitmap of that name


@pytest.mark.parametrize("constant", [True, False])
def test_default_of_a_parameter(lake: Lake, *, constant: bool) -> None:
    def declare(default: int) -> None:
        parameters = [Parameter("text", pa.string()), Parameter("least", pa.int64(), default, constant=constant)]

        @udf(returns=pa.int64(), parameters=parameters, version="1")
        def n_least(text: pa.Array, least: object) -> pa.Array:
            return pa.array([len(t or "") for t in text.to_pylist()], pa.int64())

    declare(1)
    lake.add_column("captions", "a", "n_least(text)")
    lake.refresh(executor="inline")
    declare(30)
    told = "'least' of n_least changed (1 -> 30)" if constant else "a default of n_least changed"
    assert _reasons(lake)["captions.a"] == told


def test_a_list_and_a_relation_of_another_form() -> None:
    before = {"kind": "view", "sql": "FROM x", "plain": "a", "lists": {"crime_words": "1", "stop_words": "1"}}
    assert differences(before, {**before, "plain": "b", "lists": {"crime_words": "2", "stop_words": "1"}}) == [
        "list crime_words changed"
    ]
    assert differences(before, {**before, "plain": "b"}) == ["a view or table that its SELECT reads is of another form"]
    assert differences(before, before) == []


def test_parts_are_kept_once(lake: Lake, chain: Any) -> None:
    version = tables.latest_version(lake.location, "meta/fingerprints")
    lake.refresh(executor="inline")
    lake.status()
    assert tables.latest_version(lake.location, "meta/fingerprints") == version
    chain.declare(version="2")
    lake.refresh(dry_run=True)
    assert tables.latest_version(lake.location, "meta/fingerprints") == version


def test_a_lake_of_an_earlier_release(lake: Lake, chain: Any) -> None:
    """It holds no parts: that something changed is all that can be told."""
    tables.drop(lake.location, "meta/fingerprints")
    chain.declare(version="2")
    assert _reasons(lake)["captions.size"] == "its definition, function or inputs changed"
    assert _reasons(lake)["v"] == "its definition, a function or a list changed"
