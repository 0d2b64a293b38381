"""Samples for the simulations of bench/coverage.py: rows that are alike, their sums, and how many intervals hold a truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import counterbalance as cb

SIZES = (1, 2, 3, 5, 10)
DRAWS = 4000


def alike(draw: np.random.Generator, values: np.ndarray, of_cluster: np.ndarray, correlation: float) -> np.ndarray:
    """Return values of which some are those of their cluster."""
    return np.where(draw.random(values.shape) < np.sqrt(correlation), of_cluster, values)


def sums(values: np.ndarray, sizes: np.ndarray, prefix: str = "") -> pa.Table:
    """Return sums over the clusters of each sample; ``values``: (draws, clusters, most rows), ``sizes``: (draws, clusters)."""
    own = (values * (np.arange(values.shape[2]) < sizes[..., None])).sum(axis=2)
    columns = {
        "total": own.sum(axis=1),
        "n": sizes.sum(axis=1),
        "squares": (own**2).sum(axis=1),
        "products": (own * sizes).sum(axis=1),
        "sizes": (sizes**2).sum(axis=1),
        "clusters": np.full(len(sizes), sizes.shape[1]),
        "seen": (own > 0).sum(axis=1),
    }
    return table(**{prefix + name: column for name, column in columns.items()})


def rows_of(
    draw: np.random.Generator, samples: int, images: int, share: float, correlation: float
) -> dict[str, np.ndarray]:
    """Return rows of images of samples, alike within an image, as columns."""
    sizes = draw.choice(SIZES, samples * images)
    image = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(image)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    hit = alike(draw, draw.random(len(image)) < share, (draw.random(len(sizes)) < share)[image], correlation)
    return {"image_id": image, "row_id": np.arange(len(image)), "place": place, "sample": image // images, "hit": hit}


def table(**columns: np.ndarray) -> pa.Table:
    """Return columns of doubles."""
    return pa.table({name: pa.array(np.asarray(column, float)) for name, column in columns.items()})


def vectors(rows: np.ndarray, **columns: object) -> pa.Table:
    """Return a table with an embedding a row."""
    return pa.table({**columns, "embedding": pa.array(rows.astype(np.float32).tolist(), pa.list_(pa.float32()))})


def told(session: cb.Session, text: str, samples: pa.Table, **values: float) -> tuple[float, ...]:
    """Return the row that a query gives over samples, which it calls ``drawn``."""
    return session.sql(text.replace("drawn", session.bind("drawn", samples)), **values).fetchall()[0]


def held(
    session: cb.Session, call: str, *asked: tuple[float, str, str], where: str = "true", **tables: pa.Table
) -> np.ndarray:
    """Return how many intervals of an audit's answer hold a truth, and how many there are; a truth and two ends each."""
    parts = [
        f"sum(CASE WHEN {low} <= {truth!r} AND {truth!r} <= {high} THEN 1e0 ELSE 0 END), count({low})"
        for truth, low, high in asked
    ]
    row = session.sql(f"SELECT {', '.join(parts)} FROM {call} WHERE {where}", **tables).fetchall()[0]
    return np.array(row, float).reshape(-1, 2)


def inside(low: np.ndarray, high: np.ndarray, truth: float) -> float:
    """Return how many intervals hold the truth, of those that are there."""
    known = ~np.isnan(low)
    return float(np.mean((low[known] <= truth) & (truth <= high[known]))) if known.any() else np.nan


def parts_of(found: list[np.ndarray]) -> list[str]:
    """Return how many hold the truth, of what ``held`` told of some calls."""
    rights, counts = np.sum(found, axis=0).T
    return [shown(right / count) if count else "" for right, count in zip(rights, counts, strict=True)]


def shown(share: float) -> str:
    """Return how many of the samples."""
    return "" if np.isnan(share) else f"{share:.1%}"
