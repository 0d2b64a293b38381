from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import counterbalance


def modules() -> list[str]:
    skipped = ("counterbalance.__main__",)
    found = pkgutil.walk_packages(counterbalance.__path__, "counterbalance.")
    return sorted(m.name for m in found if m.name not in skipped)


@pytest.mark.parametrize("name", ["counterbalance", *modules()])
def test_examples_in_docstrings_hold(name):
    outcome = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert outcome.failed == 0
