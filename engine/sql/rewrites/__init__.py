"""Rewrites of a plan that read less for the same rows.

Each takes a plan and returns another, or the same where nothing fits. They are applied in this order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from counterbalance.engine.sql.rewrites.blobs import show_bytes
from counterbalance.engine.sql.rewrites.count_by_sorted_key import count_by_image
from counterbalance.engine.sql.rewrites.count_from_statistics import count_by_tally
from counterbalance.engine.sql.rewrites.count_star import count_by_rows
from counterbalance.engine.sql.rewrites.group_by_dictionary import group_by_codes

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.engine.sql.plan import Plan

COUNTING: Final[tuple[Callable[[Plan], Plan], ...]] = (count_by_tally, count_by_image, group_by_codes, count_by_rows)
"""For plans with an aggregate, a GROUP BY or a DISTINCT."""
REWRITES: Final = (*COUNTING, show_bytes)


def rewritten(plan: Plan) -> Plan:
    """Return a plan after all rewrites; those that can find nothing in it are passed over."""
    counts = plan.tree.find(exp.AggFunc, exp.Group, exp.Distinct) is not None
    seen, has_tables = None, False
    for rewrite in REWRITES:
        if plan is not seen:
            seen, has_tables = plan, any(relation.tables for relation in plan.needed())
        if has_tables and (counts or rewrite not in COUNTING):
            plan = rewrite(plan)
    return plan
