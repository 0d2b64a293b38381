"""Rankings as rows: for each query its items, best first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

HITS: Final = pa.schema(
    [
        pa.field("query_id", pa.int64()),
        pa.field("item_id", pa.int64()),
        pa.field("rank", pa.int32()),
        pa.field("score", pa.float64()),
    ]
)
_WHOLE: Final = b"whole rankings of so many hits"


@dataclass(frozen=True)
class Side:
    """Queries or items: ids in ascending order, the images they belong to, and what is compared."""

    ids: NDArray[np.int64]
    images: NDArray[np.int64] | None
    values: Any

    def only(self, chosen: NDArray[np.bool_]) -> Side:
        """Return the same without the others."""
        values = None if self.values is None else self.values.filter(pa.array(chosen))
        return Side(self.ids[chosen], None if self.images is None else self.images[chosen], values)


def hits(
    query_ids: NDArray[np.int64], item_ids: NDArray[np.int64], ranks: NDArray[np.int32], scores: NDArray[np.float64]
) -> pa.Table:
    """Return a hits relation from its columns: whole rankings, each item once a query, ranks from 1 without gaps."""
    made = pa.table([query_ids, item_ids, ranks, scores], schema=HITS)
    return made.replace_schema_metadata({_WHOLE: str(len(made))})


def is_whole(rows: pa.Table) -> bool:
    """Tell whether rows are what ``hits`` made, all of them.

    Example:
        >>> made = hits(np.array([7, 7]), np.array([1, 2]), np.array([1, 2], np.int32), np.array([0.5, 0.4]))
        >>> is_whole(made), is_whole(pa.concat_tables([made, made])), is_whole(HITS.empty_table())
        (True, False, False)
    """
    return bool(rows.schema.equals(HITS)) and (rows.schema.metadata or {}).get(_WHOLE) == str(len(rows)).encode()


def best(scores: NDArray[np.float64], k: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return places and ranks of the k highest scores of every row, ties by place; ``-inf`` is left out."""
    k = min(k, scores.shape[1])
    bound = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
    rows, columns = np.nonzero((scores >= bound) & (scores > -np.inf))
    order = np.lexsort((columns, -scores[rows, columns], rows))
    rows, columns = rows[order], columns[order]
    ranks = np.arange(len(rows)) - np.searchsorted(rows, np.arange(scores.shape[0]))[rows] + 1
    keep = ranks <= k
    return rows[keep], columns[keep], ranks[keep]
