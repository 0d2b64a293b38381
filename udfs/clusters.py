"""Find groups in sets of vectors and texts, as functions over lists: ``kmeans``, ``mean_vector``, ``principal_axes``, ``tsne``, ``lda``.

One row of a query holds a whole set as lists. Give them in a fixed order, ``list(x ORDER BY id)``: then the same rows give
the same bits, whatever the order in which they are stored.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import Parameter, udf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_VECTORS: Final = pa.list_(pa.list_(pa.float32()))
POINTS: Final = pa.list_(pa.struct([("x", pa.float64()), ("y", pa.float64())]))
_NUMBERS: Final = pa.list_(pa.float64())
AXES: Final = pa.struct([("mean", _NUMBERS), ("first", _NUMBERS), ("second", _NUMBERS), ("share", pa.float64())])
TOPICS: Final = pa.list_(pa.struct([("share", pa.float64()), ("words", pa.list_(pa.string()))]))
_WORD: Final = re.compile(r"\w\w+")
_SEED: Final = Parameter("seed", pa.int64(), 0, constant=True)


@udf(
    returns=_VECTORS,
    parameters=[
        Parameter("vectors", _VECTORS),
        Parameter("k", pa.int64(), constant=True),
        _SEED,
        Parameter("starts", pa.int64(), 10, constant=True),
        Parameter("device", pa.string(), "auto", constant=True),
    ],
    version="1",
)
def kmeans(vectors: pa.Array, k: int, seed: int = 0, starts: int = 10, device: str = "auto") -> pa.Array:
    """Return the centroids of k clusters of vectors, that of the largest cluster first (K-means).

    First centroids are drawn by k-means++ (scikit-learn), moved by Lloyd's steps on a GPU or CPU, and the best of several
    such starts, by the sum of squared distances, is taken. The same on every run of one device.

    Args:
        vectors: Lists of float32, all of one length; NULL gives NULL.
        k: Clusters.
        seed: Of the draws.
        starts: How many times.
        device: ``'auto'`` (a GPU where torch has one), ``'cpu'``, ``'cuda'`` …

    Returns:
        k lists of float32.

    Raises:
        RequestError: ``k`` or ``starts`` make no sense, or there are fewer different vectors than k (``E3051``); a vector has
            another length (``E3700``) or holds what is not a number (``E3702``).

    Source:
        Lloyd (1982); Arthur and Vassilvitskii, k-means++ (2007).

    Example:
        >>> kmeans(pa.array([[[0.0, 1.0], [0.0, 3.0], [9.0, 1.0]]]), 2).to_pylist()
        [[[0.0, 2.0], [9.0, 1.0]]]
    """
    for name, value in (("k", k), ("starts", starts)):
        if value < 1:
            raise RequestError(f"{name!r} of kmeans() is {value}; it must be at least 1", code="E3051")
    found = [_centroids(m, k, seed, starts, device) for m in _matrices("kmeans", vectors)]
    return pa.array([None if f is None else f.tolist() for f in found], _VECTORS)


@udf(returns=_VECTORS.value_type, parameters=[Parameter("vectors", _VECTORS)], version="1")
def mean_vector(vectors: pa.Array) -> pa.Array:
    """Return the mean of vectors, such as those of an image's captions.

    Args:
        vectors: Lists of float32, all of one length; NULL gives NULL, and so does a list without vectors.

    Returns:
        A list of float32: sums are of float64, so that it is the nearest one.

    Raises:
        RequestError: Vectors as in ``kmeans``.

    Example:
        >>> mean_vector(pa.array([[[0.0, 1.0], [1.0, 4.0]], []])).to_pylist()
        [[0.5, 2.5], None]
    """
    means = [None if m is None or not len(m) else m.mean(0, np.float64) for m in _matrices("mean_vector", vectors)]
    return pa.array([None if m is None else m.tolist() for m in means], _VECTORS.value_type)


@udf(returns=AXES, parameters=[Parameter("vectors", _VECTORS)], version="1")
def principal_axes(vectors: pa.Array) -> pa.Array:
    """Return the two directions along which vectors differ most (principal components, by LAPACK).

    Args:
        vectors: Lists of float32, all of one length; NULL gives NULL, and so does a list without vectors.

    Returns:
        The vectors' mean, the two axes as unit vectors whose largest component is above 0, and the share of the variance
        that both explain; all zeros for an axis along which nothing differs, 0 where nothing differs at all.

    Raises:
        RequestError: Vectors as in ``kmeans``.

    Source:
        Pearson, On lines and planes of closest fit to systems of points in space (1901).

    Example:
        >>> axes = principal_axes(pa.array([[[0.0, 1.0], [0.0, 3.0], [3.0, 2.0]]]))[0].as_py()
        >>> axes["mean"], [abs(round(x)) for x in axes["first"]], axes["share"]
        ([1.0, 2.0], [1, 0], 1.0)
    """
    return pa.array([_axes(matrix) for matrix in _matrices("principal_axes", vectors)], AXES)


@udf(
    returns=POINTS,
    parameters=[
        Parameter("vectors", _VECTORS),
        Parameter("perplexity", pa.float64(), 30.0, constant=True),
        _SEED,
    ],
    version="1",
)
def tsne(vectors: pa.Array, perplexity: float = 30.0, seed: int = 0) -> pa.Array:
    """Return the places of vectors on a map, near ones near each other (t-SNE, scikit-learn).

    Only who is near whom means something: axes, distances between groups and their sizes do not. The time goes with the
    number of vectors: a few thousand take some ten seconds.

    Args:
        vectors: Lists of float32, all of one length; NULL gives NULL.
        perplexity: About how many neighbours of each count; at most a third of the others is taken.
        seed: Of what is random.

    Returns:
        x and y for every vector, in their order.

    Raises:
        RequestError: ``perplexity`` is not above 0 (``E3051``); vectors as in ``kmeans``.

    Source:
        van der Maaten and Hinton, Visualizing data using t-SNE (2008).

    Example:
        >>> len(tsne(pa.array([[[0.0, 1.0], [0.0, 3.0], [9.0, 1.0]]])).to_pylist()[0])
        3
    """
    if not perplexity > 0:
        raise RequestError(f"'perplexity' of tsne() is {perplexity}; it must be above 0", code="E3051")
    rows = [None if m is None else _map(m, perplexity, seed) for m in _matrices("tsne", vectors)]
    return pa.array([None if r is None else [{"x": x, "y": y} for x, y in r.tolist()] for r in rows], POINTS)


@udf(
    returns=TOPICS,
    parameters=[
        Parameter("texts", pa.list_(pa.string())),
        Parameter("without", pa.list_(pa.string()), None),
        Parameter("topics", pa.int64(), 3, constant=True),
        Parameter("top", pa.int64(), 10, constant=True),
        _SEED,
    ],
    version="1",
)
def lda(texts: pa.Array, without: pa.Array, topics: int = 3, top: int = 10, seed: int = 0) -> pa.Array:
    r"""Return the topics of texts, each as its weightiest words (latent Dirichlet allocation, scikit-learn).

    Words are runs of two or more letters, digits and underscores, in lower case. The order of the texts does not matter.

    Args:
        texts: The texts; NULL ones are left out; a NULL list gives NULL.
        without: Words to leave out, such as those of ``lists.stop_words``; NULL leaves out none.
        topics: How many.
        top: Words a topic.
        seed: Of what is random.

    Returns:
        For each topic, the most frequent first: its share of the texts (mean of the share that it has in each) and its
        words, the weightiest first. No topics where there are no words.

    Raises:
        RequestError: ``topics`` or ``top`` is below 1 (``E3051``).

    Source:
        Blei, Ng and Jordan (2003); Hoffman, Blei and Bach (2010), who fit it by variational Bayes, as here.

    Example:
        >>> lda(pa.array([["a surf board", "surf and board", "board"]]), pa.array([["and"]]), topics=1).to_pylist()
        [[{'share': 1.0, 'words': ['board', 'surf']}]]
    """
    for name, value in (("topics", topics), ("top", top)):
        if value < 1:
            raise RequestError(f"{name!r} of lda() is {value}; it must be at least 1", code="E3051")
    pairs = zip(texts.to_pylist(), without.to_pylist(), strict=True)
    return pa.array([None if t is None else _topics(t, {*(w or ())}, topics, top, seed) for t, w in pairs], TOPICS)


def _matrices(function: str, vectors: pa.Array) -> list[Floats | None]:
    """Return float32 (vectors, length) of every row.

    Raises:
        RequestError: Lengths differ (E3700), or there is what is not a number (E3702).
    """
    return [matrix(function, vectors[row].values) if vectors[row].is_valid else None for row in range(len(vectors))]


def matrix(function: str, vectors: pa.Array) -> Floats:
    """Return float32 (vectors, length).

    Args:
        function: Whose vectors they are, for errors.
        vectors: Lists of float32.

    Raises:
        RequestError: Lengths differ (E3700), or there is what is not a number (E3702).
    """
    lengths = set(vectors.value_lengths().to_pylist())
    if len(lengths) > 1 or None in lengths:
        shown = " and ".join(sorted(str(n) if n is not None else "none (NULL)" for n in lengths)[:3])
        raise RequestError(f"vectors of {function}() have different lengths: {shown}", code="E3700")
    flat = vectors.flatten().to_numpy(zero_copy_only=False)
    matrix = np.asarray(flat, np.float32).reshape(len(vectors), -1) if len(vectors) else np.empty((0, 0), np.float32)
    if not np.isfinite(matrix).all():
        raise RequestError(
            f"a vector of {function}() holds NULL, NaN or infinity", code="E3702", hint="leave such rows out"
        )
    return matrix


def _centroids(points: Floats | None, k: int, seed: int, starts: int, device: str) -> Floats | None:
    if points is None:
        return None
    different = len(np.unique(points, axis=0)) if len(points) < 10 * k else len(points)
    if different < k:
        raise RequestError(
            f"kmeans() cannot make {k} clusters of {different} different vectors", code="E3051", hint="give a smaller k"
        )
    from counterbalance.engine.search.kmeans import best

    return best(points, k, seed=seed, starts=starts, device=device)


def _axes(points: Floats | None) -> dict[str, Any] | None:
    if points is None or not len(points):
        return None
    mean = points.mean(axis=0, dtype=np.float64)
    with threadpool_limits(1):  # the same bits on every machine with any number of cores
        apart = points - mean
        values, columns = np.linalg.eigh(apart.T @ apart)
    axes = np.zeros((2, len(mean)))
    whole = max(float(values.sum()), 0.0)
    for place, column in enumerate(reversed(range(max(0, len(mean) - 2), len(mean)))):
        if values[column] > whole * np.finfo(np.float32).eps:
            axis = columns[:, column]
            axes[place] = axis * np.sign(axis[np.abs(axis).argmax()])
    share = float(values[-2:].clip(0).sum()) / whole if whole else 0.0
    return {"mean": mean.tolist(), "first": axes[0].tolist(), "second": axes[1].tolist(), "share": min(share, 1.0)}


def _map(points: Floats, perplexity: float, seed: int) -> NDArray[Any]:
    if len(points) < 2:
        return np.zeros((len(points), 2))
    from sklearn.manifold import TSNE

    model = TSNE(
        perplexity=min(perplexity, max(1.0, (len(points) - 1) / 3)),
        init="pca" if min(points.shape) > 1 and np.ptp(points, axis=0).any() else "random",
        random_state=seed,
    )
    with threadpool_limits(1):
        found: NDArray[Any] = model.fit_transform(points)
    return found


def _topics(texts: Sequence[str | None], without: set[str], topics: int, top: int, seed: int) -> list[dict[str, Any]]:
    counted = [Counter(w for w in _WORD.findall((t or "").lower()) if w not in without) for t in texts]
    own = sorted(sorted(c.items()) for c in counted if c)
    words = sorted({w for c in own for w, _ in c})
    if not words:
        return []
    from scipy.sparse import csr_array
    from sklearn.decomposition import LatentDirichletAllocation

    at = {w: i for i, w in enumerate(words)}
    cells = [(n, row, at[w]) for row, c in enumerate(own) for w, n in c]
    values, rows, columns = (np.array(c) for c in zip(*cells, strict=True))
    matrix = csr_array((values, (rows, columns)), shape=(len(own), len(words)))
    model = LatentDirichletAllocation(topics, random_state=seed)
    with threadpool_limits(1):
        shares = model.fit_transform(matrix).mean(axis=0)
    order = np.argsort(-shares, kind="stable")
    return [
        {"share": float(shares[t]), "words": [words[w] for w in np.argsort(-model.components_[t], kind="stable")[:top]]}
        for t in order
    ]
