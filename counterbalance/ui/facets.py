"""What the images of a selection can be narrowed by: values of their splits, boxes, labels and columns, with how many have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.schema import BASE_TABLES, is_sensitive
from counterbalance.report.svg import plain
from counterbalance.ui.selection import TABLES, is_number, name_of, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from counterbalance.engine.session import Session
    from counterbalance.ui.selection import Columns, Filters, Selection

_TOP: Final = 20
COUNTED: Final = 50_000
"""Of a larger selection so many images, evenly spread, are counted."""
_LENGTH: Final = 200
"""Longer values are not offered."""
_COLUMNS: Final = 12
_PLAIN: Final = {"images": ("source", "license"), "captions": ("origin",), "detections": ("origin",)}
"""Columns of base tables that are offered; of others those that were added to them are."""
_NUMBERS: Final = {"images": ("width", "height"), "captions": ("similarity",), "detections": ("score",)}


def facets(session: Session, selection: Selection, filters: Filters) -> list[dict[str, Any]]:
    """Return facets, each with its most frequent values and with those that are chosen.

    Args:
        session: Whose versions are read.
        selection: The images, which remembers what was counted.
        filters: What is chosen.
    """
    if "facets" not in selection.told:
        selection.told["facets"] = list(_counted(session, selection))
    found = []
    counted = len(_chosen(selection))
    for name, title, values in selection.told["facets"]:
        kind, _, prefix = name.partition("=")
        chosen = [v for v in getattr(filters, kind) if v.startswith(prefix)]
        counts = dict(values)
        shown = [
            {"value": v, "text": plain(v[len(prefix) :])[:80], "count": counts.get(v), "chosen": v in chosen}
            for v in dict.fromkeys([*chosen, *counts])
        ]
        if chosen or any(v["count"] != counted for v in shown):
            found.append({"name": kind, "title": title, "values": shown, "open": bool(chosen)})
    return found


def numbers(columns: Columns, filters: Filters) -> list[dict[str, Any]]:
    """Return columns of numbers with the bounds that are chosen."""
    return [
        {
            "name": name,
            "title": name.replace(".", ": "),
            "least": written(filters.least[name]) if name in filters.least else "",
            "most": written(filters.most[name]) if name in filters.most else "",
        }
        for name in (f"{table}.{column}" for table, column in _offered(columns, _NUMBERS, number=True))
    ]


def offered(columns: Columns) -> list[str]:
    """Return columns of images by whose values people tell images apart: some of every lake's, and those that were added."""
    both = [*_offered(columns, _PLAIN, number=False), *_offered(columns, _NUMBERS, number=True)]
    return [*(c for c in ("split",) if c in columns["images"]), *(c for table, c in both if table == "images")]


def _offered(columns: Columns, base: dict[str, tuple[str, ...]], *, number: bool) -> list[tuple[str, str]]:
    """Return some columns of base tables, and those that were added to them, of numbers or of few values."""
    found = [(table, column) for table, named in base.items() for column in named if column in columns[table]]
    for table in TABLES:
        own = {c.name for c in BASE_TABLES[table].columns}
        for column, kind in columns[table].items():
            fits = is_number(kind) if number else kind in {"string", "large_string", "bool"}
            if column not in own and fits and not column.endswith("_error"):
                found.append((table, column))
    return found[:_COLUMNS]


def _counted(session: Session, selection: Selection) -> Any:
    """Yield kind, title, and values with their counts."""
    chosen = pa.table({"image_id": _chosen(selection)})
    columns = selection.columns

    def counts(column: str, table: str) -> Sequence[tuple[str, int]]:
        value = name_of(column)
        if columns[table][column] == "bool":
            value = f"CAST({value} AS VARCHAR)"
        rows = session.sql(
            f"SELECT {value} AS value, count(DISTINCT image_id) AS n FROM {table} WHERE image_id IN (SELECT image_id FROM chosen) "
            f"AND {value} IS NOT NULL GROUP BY ALL ORDER BY n DESC, value LIMIT {_TOP}",
            chosen=chosen,
        ).fetchall()
        return [(v, n) for v, n in rows if len(v) <= _LENGTH]

    yield "split", "Split", counts("split", "images")
    yield "category", "Boxes of each", counts("category", "detections")
    closed = session.sensitive_attributes()
    told = session.sql(
        "SELECT attribute, value, count(DISTINCT image_id) AS n, bool_or(score IS NOT NULL) FROM labels WHERE image_id IN (SELECT image_id FROM chosen) "
        f"AND (score IS NULL OR score >= 0.5) GROUP BY attribute, value HAVING length(attribute) + length(value) < {_LENGTH} "
        f"QUALIFY row_number() OVER (PARTITION BY attribute ORDER BY n DESC, value) <= {_TOP} ORDER BY attribute, n DESC, value",
        chosen=chosen,
    ).fetchall()
    labels: dict[str, list[tuple[str, int]]] = {}
    scored = {attribute for attribute, _, _, has_score in told if has_score}
    for attribute, value, count, _ in told:
        if attribute not in closed and not is_sensitive(attribute) and len(labels) < _COLUMNS:
            labels.setdefault(attribute, []).append((f"{attribute}:{value}", count))
    for attribute, values in labels.items():
        told_score = ", score 0.5 or more" if attribute in scored else ""
        yield f"label={attribute}:", f"Label: {plain(attribute)[:80]}{told_score}", values
    for table, column in _offered(columns, _PLAIN, number=False):
        prefix = f"{table}.{column}:"
        values = [(prefix + v, n) for v, n in counts(column, table)]
        yield f"column={prefix}", f"{table}: {plain(column)[:80]}", values


def _chosen(selection: Selection) -> NDArray[np.int64]:
    """Return the images of a selection that are counted."""
    return selection.ids[:: max(1, -(-len(selection.ids) // COUNTED))]
