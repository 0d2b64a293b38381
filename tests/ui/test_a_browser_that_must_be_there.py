"""Without Chromium a test in a browser skips, and fails where COUNTERBALANCE_REQUIRE_BROWSER says that there must be one."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(("required", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_without_one(request, monkeypatch, required, outcome):
    monkeypatch.setattr("chromium.PROGRAM", None)
    monkeypatch.setenv("COUNTERBALANCE_REQUIRE_BROWSER", required)
    with pytest.raises(outcome, match="no Chromium here"):
        request.getfixturevalue("browser")
