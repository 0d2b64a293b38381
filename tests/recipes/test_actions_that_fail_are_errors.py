"""An action that cannot be loaded, or that fails, is an error which names it."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from counterbalance.engine.errors import FunctionError
from counterbalance.engine.recipes import actions


def test_an_action_that_cannot_be_loaded(lake, monkeypatch):
    broken = EntryPoint("label_all", "no_such_module:label_all", actions.GROUP)
    monkeypatch.setattr(actions, "by_name", lambda _group: {broken.name: broken})
    with pytest.raises(FunctionError, match=r"label_all\(\) cannot be loaded: .*no_such_module") as caught:
        actions.run(lake, actions.Call("label_all", {}))
    assert caught.value.code == "E8001"


def test_an_action_that_fails(lake, monkeypatch):
    def label_all(_lake):
        raise ValueError("no labels here")

    monkeypatch.setitem(actions._own, "label_all", label_all)
    with pytest.raises(FunctionError, match="label_all failed: ValueError: no labels here") as caught:
        actions.run(lake, actions.Call("label_all", {}))
    assert caught.value.code == "E8167"
