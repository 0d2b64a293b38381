"""Put the distributions of two lakes side by side: one query over audits that compare."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import RequestError
from counterbalance.engine.sql.parse import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OTHER: Final = "b"
"""What the second lake is called in the query."""
_NAMED: Final = re.compile(r"\s*\w+\s*(\(.*\))?\s*", re.DOTALL)
GROUPS: Final = "caption_gender"
"""What is compared where nothing is named."""


def query(groups: Sequence[str], min_count: int = 10) -> str:
    """Return the query; its rows have ``measure`` and ``groups`` before the columns of the audit.

    Args:
        groups: Group relations that both lakes have: views or calls.
        min_count: Cells with fewer images are hidden.

    Raises:
        RequestError: One is a query, or no name (``E3778``).
    """
    for one in groups:
        if _NAMED.fullmatch(one) is None:
            raise RequestError(
                f"{one[:60]!r} is no name that both lakes have, nor a call of one",
                code="E3778",
                hint="such as caption_gender, image_labels('scene'), or a view that both have",
            )
    return "\nUNION ALL BY NAME\n".join(_queries(groups or [GROUPS], min_count))


def _queries(chosen: Sequence[str], min_count: int) -> Iterator[str]:
    texts = f"texts := captions, other_texts := {OTHER}.captions"
    for groups in chosen:
        both = f"{groups}, {OTHER}.{groups}"
        yield _query("demographics", groups, f"compare_demographics({both}, min_count := {min_count})")
        yield _query("sentiment", groups, f"compare_sentiment({both}, {texts}, min_count := {min_count})")
        yield _query("crime_words", groups, f"compare_crime_words({both}, {texts}, min_count := {min_count})")
    for number, first in enumerate(chosen):
        for second in chosen[number + 1 :]:
            both = f"{first}, {OTHER}.{first}, crossed := {second}, others_crossed := {OTHER}.{second}"
            call = f"compare_intersections({both}, min_count := {min_count})"
            yield _query("intersections", f"{first}, {second}", call)


def _query(measure: str, groups: str, call: str) -> str:
    return f"SELECT {as_text(measure)} AS measure, {as_text(groups)} AS groups, * FROM {call}"
