"""Association of groups of images with categories: one pass by moments, beside the product with every category.

Unit vectors of 512 dimensions, half of the images of each of two labels, a few of none; 3,710 categories. ``full`` has a
million images (2 GB). The naive contender reads as many rows at once as it can well multiply, and is a script as it is
usually written: float32 products, sums and squares of the two groups' cosines. The read alone is the limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import counterbalance as cb
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DIMENSIONS = 512
SIZES = {"small": (50_000, 1_000), "full": (1_000_000, 3_710)}
"""Images and categories by scale."""
STEP = 50_000
BLOCK = 4_096
GROUPS = (
    "(SELECT image_id, CASE WHEN image_id % 20 = 0 THEN 'unclear' WHEN image_id % 2 = 0 THEN 'male' ELSE 'female' END AS label "
    "FROM vectors)"
)


def prepare(folder: Path, scale: str) -> None:
    """A lake with a table of vectors and one of categories."""
    images, categories = SIZES[scale]
    if (folder / "association.lake").exists():
        return
    lake = cb.connect(folder / "association.lake")
    lake.ingest({"images": pa.table({"image_id": [0], "key": ["0"]})})
    draw = np.random.default_rng(5)
    centre, gender = draw.normal(size=(2, DIMENSIONS))
    schema = pa.schema([("image_id", pa.int64()), ("embedding", pa.list_(pa.float32(), DIMENSIONS))])

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, images, STEP):
            ids = np.arange(start, min(images, start + STEP))
            noise = draw.normal(size=(len(ids), DIMENSIONS))
            yield pa.record_batch([ids, _unit(centre + 0.1 * np.outer(ids % 2, gender) + noise)], schema=schema)

    tables.append(lake.location, "vectors", pa.RecordBatchReader.from_batches(schema, batches()))
    own = _unit(0.5 * centre + draw.normal(size=(categories, DIMENSIONS)))
    names = [f"category {i:04}" for i in range(categories)]
    rows = pa.table({"category_id": np.arange(categories), "category": names, "embedding": own})
    tables.append(lake.location, "categories", rows)


def _unit(vectors: Any) -> pa.FixedSizeListArray:
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.astype(np.float32).reshape(-1)), DIMENSIONS)


def cases(folder: Path) -> dict[str, Any]:
    """One case; contenders answer with sums over categories."""
    lake = folder / "association.lake"
    return {
        "association of every category": {
            "counterbalance": (lambda: cb.connect(lake), _ours),
            "numpy, blocks of products": (lambda: cb.connect(lake), _naive),
            "the read alone": (lambda: cb.connect(lake), _read),
        }
    }


def _ours(lake: Any) -> list[float]:
    call = f"association(vectors, categories, {GROUPS})"
    rows = lake.sql(f"SELECT avg(value), avg(abs(value)), max(value), min(value) FROM {call}").fetchall()
    return list(rows[0])


def _batches(lake: Any) -> Iterator[tuple[Any, Any]]:
    scanner = tables.open_table(lake.location, "vectors").scanner(columns=["image_id", "embedding"], batch_size=BLOCK)
    for batch in scanner.to_batches():
        yield batch.column(0).to_numpy(), batch.column(1).flatten().to_numpy().reshape(-1, DIMENSIONS)


def _naive(lake: Any) -> list[float]:
    rows = tables.open_table(lake.location, "categories").to_table()["embedding"].combine_chunks()
    against = rows.flatten().to_numpy().reshape(-1, DIMENSIONS).T.copy()
    sums, squares, counts = np.zeros((2, against.shape[1])), np.zeros(against.shape[1]), np.zeros(2)
    for ids, vectors in _batches(lake):
        keep = ids % 20 != 0
        cosines = vectors[keep] @ against
        for group in (0, 1):
            own = cosines[ids[keep] % 2 == group]
            sums[group] += own.sum(axis=0, dtype=np.float64)
            counts[group] += len(own)
        squares += np.einsum("ij,ij->j", cosines, cosines, dtype=np.float64)
    n = counts.sum()
    std = np.sqrt((squares - sums.sum(axis=0) ** 2 / n) / (n - 1))
    values = (sums[1] / counts[1] - sums[0] / counts[0]) / std
    return [float(values.mean()), float(np.abs(values).mean()), float(values.max()), float(values.min())]


def _read(lake: Any) -> None:
    for _, vectors in _batches(lake):
        vectors[:: len(vectors) - 1].sum()
