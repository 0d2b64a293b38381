"""Views that the engine computes without their SQL, where what is stored allows it.

A query file names its kernel in its front matter (``kernel = "roll_up"``). The SQL stays the definition: it is shown, sent to other
engines, and run whenever the kernel does not fit. A kernel gives the same rows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from counterbalance.engine.catalog import file_statistics
from counterbalance.engine.sql.parse import to_sql
from counterbalance.engine.sql.plan import Later

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterbalance.engine.search.rollup import RollUp
    from counterbalance.engine.sql.plan import Relation, StoredTable


def computed(kernel: str, relations: Sequence[Relation], scalars: Mapping[str, exp.Expr]) -> Relation | None:
    """Return the rows of a view that are computed without its SQL, or ``None`` where that must answer.

    Args:
        kernel: Its name.
        relations: What the view reads.
        scalars: Parameters of the view as literals.
    """
    if kernel == "ranked_once":  # what a table function ranked needs nothing
        return next((r for r in relations if r.is_ranking), None)
    parts = {r.tables[0].name.removeprefix("sensitive/"): r for r in relations if r.tables}
    if kernel != "roll_up" or parts.keys() != {"labels", "detections"} or len(relations) != len(parts):
        return None
    labels, detections = parts["labels"], parts["detections"]
    work = roll_up(labels.tables, detections.tables, scalars)
    key = (detections.id, *(to_sql(s) for s in scalars.values()))
    return None if work is None else labels.derived(kernel, lambda: Later(work.schema, work.run), detections, key=key)


def roll_up(
    labels: Sequence[StoredTable], boxes: Sequence[StoredTable], scalars: Mapping[str, exp.Expr]
) -> RollUp | None:
    """Return the kernel of ``image_labels``, or ``None`` when its SQL must answer.

    Args:
        labels: The stored tables that make up ``labels``.
        boxes: The stored detections.
        scalars: Parameters ``attribute``, ``min_side`` and ``annotator`` of the view as literals.
    """
    from counterbalance.engine.search.rollup import RollUp

    attribute, annotator = _text(scalars["attribute"]), _text(scalars["annotator"])
    least = _least(scalars["min_side"])
    if attribute is None or least is None or len(boxes) != 1 or any("attribute" not in part.codes for part in labels):
        return None
    holding = [part for part in labels if attribute in part.codes["attribute"]]
    if len(holding) != 1:
        return None
    own = holding[0]
    wanted = {"attribute": attribute} | ({} if annotator is None else {"annotator": annotator})
    passed = {c: np.array([v == wanted[c] for v in (None, *own.codes[c])]) for c in wanted if c in own.codes}
    fragments = file_statistics.holding(own.lake.location, own.name, own.dataset, own.codes, passed)
    found = RollUp(own.dataset, own.codes, boxes[0].dataset, attribute, least, annotator, fragments)
    return found if found.fits else None


def _text(node: exp.Expr) -> str | None:
    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else None


def _least(bound: exp.Expr) -> np.float32 | None:
    is_number = isinstance(bound.this if isinstance(bound, exp.Neg) else bound, exp.Literal) and not bound.is_string
    return _least_side(to_sql(bound)) if is_number else None


@lru_cache(maxsize=64)
def _least_side(number: str) -> np.float32 | None:
    """Return the smallest float32 that DuckDB takes to be at least a number, as the SQL of the view compares them."""
    import duckdb

    with duckdb.connect() as connection:
        near = np.float32(connection.sql(f"SELECT CAST({number} AS DOUBLE)").fetchall()[0][0])
        for side in (np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))):
            reached = connection.sql(f"SELECT $side::FLOAT >= {number}", params={"side": float(side)}).fetchall()[0][0]
            if reached and np.isfinite(side):
                return np.float32(side)
    return None
