"""Two words that are not a statement are told as a typo, not refused as if they were dangerous."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import RefusedError, SqlError


@pytest.mark.parametrize(
    ("text", "near"),
    [("describ captions", "DESCRIBE"), ("shwo tables", "SHOW"), ("refrsh captions.x", None), ("captions c", None)],
)
def test_first_words(lake, text, near):
    with pytest.raises(SqlError) as error:
        lake.sql(text)
    assert not isinstance(error.value, RefusedError)
    assert near is None or f"; did you mean '{near}'?" in str(error.value)
