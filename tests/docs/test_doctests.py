from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest
from repeats import again

import counterbalance


def modules() -> dict[str, bool]:
    """All modules, and whether there is an example in their text."""
    found = {}
    for module in pkgutil.walk_packages(counterbalance.__path__, "counterbalance."):
        if module.name != "counterbalance.__main__":
            place = Path(module.module_finder.path, module.name.rpartition(".")[2])
            file = place / "__init__.py" if module.ispkg else place.with_suffix(".py")
            found[module.name] = ">>>" in file.read_text(encoding="utf-8")
    return dict(sorted(found.items()))


MODULES = modules()


def test_most_examples_are_found():
    assert sum(MODULES.values()) > 100


@pytest.mark.parametrize(
    "name",
    [
        "counterbalance",
        *(m for m, shows in MODULES.items() if shows),
        *again(*(m for m, s in MODULES.items() if not s)),
    ],
)
def test_examples_in_docstrings_hold(name):
    outcome = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert outcome.failed == 0
