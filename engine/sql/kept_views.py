"""Materialized views that keep the rows of one call of a view: a query reads these where they are fresh, and computes nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from counterbalance.engine.catalog.definitions import ERRORS
from counterbalance.engine.sql import queries
from counterbalance.engine.sql.call_syntax import call_name
from counterbalance.engine.sql.parse import DIALECT
from counterbalance.engine.sql.resolver import LABELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterbalance.engine.catalog.definitions import Definition


def keeping(query: str, views: Iterable[Definition]) -> Iterator[tuple[Definition, exp.Func]]:
    """Yield the materialized views whose definition is ``SELECT * FROM query(…)``, each with that call.

    Those that hold perceived labels are left out, and those of labels, which sessions read each with its own rights.

    Example:
        >>> from counterbalance.engine.catalog.definitions import Definition
        >>> kept = Definition("view", "groups", "groups", "SELECT * FROM caption_gender()")
        >>> [(view.name, call.sql()) for view, call in keeping("caption_gender", [kept])]
        [('groups', 'CAPTION_GENDER()')]
    """
    for view in views:
        reads = {relation for relation, _ in view.reads}
        if view.sensitive or ERRORS in view.options or LABELS in reads:
            continue
        call = _call(view.sql)
        if call is not None and call_name(call) == query:
            yield view, call


@lru_cache(maxsize=256)
def _call(sql: str) -> exp.Func | None:
    """Return the call of a view that is all of a query."""
    try:
        tree = sqlglot.parse_one(sql, dialect=DIALECT)
    except (ParseError, TokenError):
        return None
    table = tree.find(exp.Table)
    if table is None or not isinstance(table.this, exp.Func):
        return None
    alone = exp.select("*").from_(table.copy())
    known = queries.queries().get(call_name(table.this))
    return table.this if tree == alone and known is not None and known.kind == "view" and not known.is_own else None
