"""Cluster topics that mean the same, and name features of sparse autoencoders by them, as functions over lists.

One row of a query holds all topics, or clusters of them, with their vectors. Both functions follow Girrbach et al.,
Person-Centric Annotations of LAION-400M (2025), topic analysis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import Parameter, udf
from counterbalance.udfs.models import sae_model, weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]

CLUSTERS: Final = pa.list_(
    pa.struct(
        [
            pa.field("step", pa.int32()),
            pa.field("threshold", pa.float64()),
            pa.field("cluster", pa.string()),
            pa.field("topic", pa.string()),
        ]
    )
)
SHARES: Final = pa.list_(
    pa.struct(
        [
            pa.field("sae", pa.int32()),
            pa.field("feature", pa.int32()),
            pa.field("cluster", pa.string()),
            pa.field("cosine", pa.float64()),
            pa.field("share", pa.float64()),
        ]
    )
)
_TOPICS: Final = Parameter("topics", pa.list_(pa.string()))
_VECTORS: Final = Parameter("vectors", pa.list_(pa.list_(pa.float32())))
_BLOCK: Final = 4096
"""Features that are compared with all topics at once."""


@udf(
    returns=CLUSTERS,
    parameters=[
        _TOPICS,
        _VECTORS,
        Parameter("least", pa.float64(), 0.8, constant=True),
        Parameter("most", pa.float64(), 0.95, constant=True),
        Parameter("steps", pa.int64(), 20, constant=True),
    ],
    version="1",
)
def cluster_topics(
    topics: pa.Array, vectors: pa.Array, least: float = 0.8, most: float = 0.95, steps: int = 20
) -> pa.Array:
    """Return the clusters of topics that mean nearly the same, at evenly spaced thresholds of the cosine.

    In alphabetical order (of code points) every topic that is in no cluster yet begins one, and each later one joins that is
    more similar than the threshold to all that are in it already. A cluster is called by its topics, joined by ", ".

    Args:
        topics: Names, each once.
        vectors: Their vectors, as many, all of one length and none of length 0.
        least: First threshold.
        most: Last one.
        steps: How many.

    Returns:
        For every threshold and topic: ``step`` from 1, ``threshold``, ``cluster`` and ``topic``, in order of step and topic.

    Raises:
        RequestError: Thresholds (``E3051``) or lists (``E3717``) that make no sense.

    Example:
        >>> names, vectors = [["cat", "dog", "kitten"]], [[[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]]]
        >>> found = cluster_topics(pa.array(names), pa.array(vectors), least=0.7, most=0.9, steps=2)
        >>> [(c["step"], c["cluster"]) for c in found.to_pylist()[0]]
        [(1, 'cat, kitten'), (1, 'dog'), (1, 'cat, kitten'), (2, 'cat'), (2, 'dog'), (2, 'kitten')]
    """
    if not (-1 <= least <= most <= 1 and 1 <= steps <= 1000):
        raise RequestError(
            f"thresholds from {least} to {most} in {steps} steps make no sense",
            code="E3051",
            hint="-1 <= least <= most <= 1, and steps from 1 to 1000",
        )
    thresholds = np.linspace(least, most, steps)
    found: list[list[dict[str, Any]] | None] = []
    for names, matrix in _given("cluster_topics", topics, vectors):
        if names is None:
            found.append(None)
            continue
        order = sorted(range(len(names)), key=names.__getitem__)
        ordered = [names[i] for i in order]
        similar = _products(matrix[order], matrix[order])
        found.append([row for n, t in enumerate(thresholds) for row in _rows(n + 1, float(t), ordered, similar)])
    return pa.array(found, CLUSTERS)


def _rows(step: int, threshold: float, names: list[str], similar: Doubles) -> Iterator[dict[str, Any]]:
    of: dict[int, str] = {}
    for members in _clusters(similar, threshold):
        name = ", ".join(names[i] for i in members)
        of |= dict.fromkeys(members, name)
    for i, topic in enumerate(names):
        yield {"step": step, "threshold": threshold, "cluster": of[i], "topic": topic}


def _clusters(similar: Doubles, threshold: float) -> Iterator[list[int]]:
    near = similar > threshold
    free = np.ones(len(similar), bool)
    for first in range(len(similar)):
        if not free[first]:
            continue
        members = [first]
        open_to = near[first] & free
        open_to[: first + 1] = False
        while open_to.any():
            nearest = int(open_to.argmax())
            members.append(nearest)
            open_to &= near[nearest]
            open_to[: nearest + 1] = False
        free[members] = False
        yield members


def _weights(checkpoint: str, **_: object) -> str:
    return weights.digest(sae_model.checkpoint(checkpoint).folder)


@udf(
    returns=SHARES,
    parameters=[
        _TOPICS,
        _VECTORS,
        Parameter("checkpoint", pa.string(), constant=True),
        Parameter("keep", pa.int64(), 5, constant=True),
    ],
    version="1",
    weights=_weights,
)
def name_features(topics: pa.Array, vectors: pa.Array, checkpoint: str, keep: int = 5) -> pa.Array:
    """Return what features of sparse autoencoders stand for: p(t|F), the topics nearest to what each feature adds to a vector.

    The cosines of a feature's column of the decoder with all topics are computed, the ``keep`` largest stay (ties in the order
    of ``topics``) as far as they are above 0, and are divided by their sum.

    Args:
        topics: Names of topics or of clusters of them, each once.
        vectors: Their vectors, as many, made by the model whose vectors the autoencoders learned from.
        checkpoint: A folder that ``CALL train_sae(…)`` wrote.
        keep: Topics of a feature.

    Returns:
        For every feature and topic that stays: number of the autoencoder, of the feature (as in ``sae_features``), the
        topic as ``cluster``, its cosine and share; in order of feature and falling share.

    Raises:
        NotFoundError: There is no such folder (``E1310``).
        RequestError: It holds no autoencoders (``E3710``), they are of other vectors or lists make no sense (``E3717``).
    """
    found = sae_model.checkpoint(checkpoint)
    if keep < 1:
        raise RequestError(f"'keep' of name_features() is {keep}; it must be at least 1", code="E3051")
    given = list(_given("name_features", topics, vectors))
    for names, matrix in given:
        if names and matrix.shape[1] != found.width:
            raise RequestError(
                f"topics have vectors of {matrix.shape[1]} numbers, {checkpoint} is of {found.width}",
                code="E3700",
                hint="make both by the same model",
            )
    parts: list[list[pa.Table]] = [[] for _ in given]
    for number, member in enumerate(found.members) if any(names for names, _ in given) else ():
        columns = _unit(np.ascontiguousarray(found.arrays(member)["decoder.weight"].T, np.float64))
        for row, (names, matrix) in enumerate(given):
            if names:
                parts[row].append(_nearest(number, columns, names, matrix, keep))
    rows = [None if names is None else tables for (names, _), tables in zip(given, parts, strict=True)]
    return _lists(rows)


def _nearest(number: int, columns: Doubles, names: list[str], matrix: Doubles, keep: int) -> pa.Table:
    kept = min(keep, len(names))
    features, places, cosines = [], [], []
    for start in range(0, len(columns), _BLOCK):
        products = _products(columns[start : start + _BLOCK], matrix)
        best = np.argsort(-products, axis=1, kind="stable")[:, :kept]
        values = np.take_along_axis(products, best, 1)
        there = values > 0
        features.append(np.broadcast_to(np.arange(start, start + len(products))[:, None], best.shape)[there])
        places.append(best[there])
        cosines.append(values[there])
    feature, cosine = np.concatenate(features), np.concatenate(cosines)
    total = np.bincount(feature, cosine, len(columns))[feature]
    return pa.table(
        {
            "sae": pa.array(np.full(len(feature), number, np.int32)),
            "feature": pa.array((feature + number * sae_model.STRIDE).astype(np.int32)),
            "cluster": pa.array(names, pa.string()).take(pa.array(np.concatenate(places))),
            "cosine": pa.array(cosine),
            "share": pa.array(cosine / total),
        }
    )


def _lists(rows: list[list[pa.Table] | None]) -> pa.Array:
    """Return tables as lists of structs, one a row."""
    lengths = [sum(len(t) for t in tables or ()) for tables in rows]
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    tables = [t for part in rows for t in part or ()]
    schema = pa.schema(list(SHARES.value_type))
    whole = pa.concat_tables(tables).cast(schema) if tables else schema.empty_table()
    values = pa.StructArray.from_arrays(
        [whole[name].combine_chunks() for name in schema.names], fields=list(SHARES.value_type)
    )
    return pa.ListArray.from_arrays(offsets, values, type=SHARES, mask=pa.array([r is None for r in rows]))


def _given(function: str, topics: pa.Array, vectors: pa.Array) -> Iterator[tuple[list[str] | None, Doubles]]:
    """Yield names and unit vectors of every row; no names where a list is NULL."""
    for row in range(len(topics)):
        if not (topics[row].is_valid and vectors[row].is_valid):
            yield None, np.empty((0, 0))
            continue
        names, given = topics[row].as_py(), vectors[row].values
        lengths = {len(v) if v.is_valid else 0 for v in given}
        wrong = None
        if len(names) != len(given):
            wrong = f"{len(names)} topics and {len(given)} vectors"
        elif None in names or len(set(names)) != len(names):
            wrong = "a topic that is NULL or stands twice"
        elif len(lengths - {0}) != min(1, len(names)) or 0 in lengths:
            wrong = "vectors of different lengths, or none"
        if wrong:
            raise RequestError(f"{function}() got {wrong}", code="E3717", hint="give every topic once, with its vector")
        flat = given.flatten().to_numpy(zero_copy_only=False).astype(np.float64)
        yield names, _unit(flat.reshape(len(names), -1) if names else np.empty((0, 0)))


def _unit(rows: Doubles) -> Doubles:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def _products(a: Doubles, b: Doubles) -> Doubles:
    """Return the cosines of unit vectors; on one thread, so that they have the same bits whatever the machine is doing."""
    with threadpool_limits(1):
        return np.asarray(a @ b.T)
