"""Audits over relations of several lakes, whose images have no more in common than their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.sql import arguments
from counterbalance.engine.sql.scope import parsed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from counterbalance.engine.sql.query_model import Query

_COMPARES: Final = "two datasets"
"""Subject of audits that match no images."""
_GROUPS: Final = ("groups", "others")

_NOTHING: Final = ("NULL", "WHERE 1 = 0)")
"""How defaults end that are no rows of this lake."""


def matched(query: Query, given: Mapping[str, exp.Expr], lakes: AbstractSet[str]) -> Iterator[str]:
    """Return notes of groups of attached lakes that an audit matches with images of this one.

    Args:
        query: The audit.
        given: Its arguments.
        lakes: Names of the attached lakes.
    """
    if not lakes or query.subject == _COMPARES:
        return
    related = [p for p in query.parameters if p.is_relation and "image_id" in p.columns and p.name not in query.apart]
    names = {p.name for p in related}
    of = {name: _read_of(given[name], lakes) for name in _GROUPS if name in given and name in names}
    own = {p.name for p in related if p.name in given or not (p.default or "NULL").endswith(_NOTHING)} - of.keys()
    own |= {name for name, found in of.items() if not found}
    own |= {table.name.lower() for table in parsed(query).find_all(exp.Table)} & BASE_TABLES.keys()
    for name in (n for n, found in of.items() if found and own):
        yield (
            f"{query.name}() matches {name} of {', '.join(sorted(of[name]))} with {', '.join(sorted(own))} of this lake "
            "by image_id, which tells something only where both hold the same images"
        )


def _read_of(node: exp.Expr, lakes: AbstractSet[str]) -> set[str]:
    """Return the lakes that an argument reads."""
    target = arguments.as_relation(node, "the argument")
    return {table.db.lower() for table in target.find_all(exp.Table)} & lakes
