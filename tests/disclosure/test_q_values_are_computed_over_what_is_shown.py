"""Every audit that shows q-values beside cells says which columns they are, so that the engine computes them anew over what it shows."""

from __future__ import annotations

import pytest
import sqlglot

import counterbalance as cb

AUDITS = {name: sqlglot.parse_one(cb.audits()[name].sql, dialect="duckdb").named_selects for name in cb.audits()}


@pytest.mark.parametrize("name", [name for name, columns in AUDITS.items() if "q" in columns])
def test_they_are_declared(name):
    assert {cell.tests for cell in cb.audits()[name].cells} >= {("p", "q")}
