"""Measure associations of vectors: cosines by moments (``projections``), tests of them (``association_test``), ``effect_interval``."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import Parameter, udf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]

_VECTOR: Final = pa.list_(pa.float64())
_VECTORS: Final = pa.list_(_VECTOR)
COSINES: Final = pa.list_(pa.struct([("mean", pa.float64()), ("variance", pa.float64()), ("shared", pa.float64())]))
TEST: Final = pa.struct(
    [
        ("effect", pa.float64()),
        ("mean_x", pa.float64()),
        ("mean_y", pa.float64()),
        ("variance_x", pa.float64()),
        ("variance_y", pa.float64()),
        ("shared", pa.float64()),
        ("std", pa.float64()),
        ("p", pa.float64()),
        ("permutations", pa.int64()),
        ("exact", pa.bool_()),
    ]
)
INTERVAL: Final = pa.struct([("low", pa.float64()), ("high", pa.float64())])
_NOTHING: Final = 2.0**-46
"""Smaller variances are what float32 vectors were rounded by."""
_TICKS: Final = 40
"""Associations are compared as multiples of 2^-40, so that sums of them in another order are equal."""
_CHUNK: Final = 1 << 22
"""Numbers of permutations held at once."""


@udf(
    returns=COSINES,
    parameters=[Parameter(name, _VECTOR) for name in ("mean", "products", "shared")] + [Parameter("vectors", _VECTORS)],
    version="2",
)
def projections(mean: pa.Array, products: pa.Array, shared: pa.Array, vectors: pa.Array) -> pa.Array:
    """Return the mean and variance of the cosines that many vectors have with each of some others, from their moments alone.

    With the mean m and the mean outer product P of unit vectors, cosines with a unit vector e have mean e·m and variance
    eᵀ(P - m mᵀ)e, whatever the number of vectors.

    Args:
        mean: Mean of unit vectors, d numbers, as the table function ``moments`` gives it; NULL gives NULL.
        products: Mean of their outer products, d x d numbers, row by row.
        shared: What shared sources add to the variance of a difference, d x d numbers; an empty list where they add nothing.
        vectors: The others, lists of d numbers of any length.

    Returns:
        For each of the others mean and variance (divided by n) of the cosines, and what shared sources add to the variance
        of a difference of such means, float64; NULL where it is all zeros or has NULL, NaN or infinity.

    Raises:
        RequestError: Lengths do not fit (E3700).

    Example:
        >>> nothing = pa.array([[]], pa.list_(pa.float64()))
        >>> given = pa.array([[0.5, 0.5]]), pa.array([[0.5, 0.0, 0.0, 0.5]]), nothing, pa.array([[[2.0, 0.0]]])
        >>> projections(*given).to_pylist()  # of (1, 0) and (0, 1)
        [[{'mean': 0.5, 'variance': 0.25, 'shared': 0.0}]]
    """
    made: list[pa.Array] = []
    ends = [0]
    known: list[bool] = []
    with threadpool_limits(1):
        for row in range(len(mean)):
            known.append(all(column[row].is_valid for column in (mean, products, shared, vectors)))
            if known[-1]:
                first, second, more = (_numbers(column[row]) for column in (mean, products, shared))
                made.append(_cosines(first, second, more, _matrix(vectors[row].values)))
            ends.append(ends[-1] + (len(made[-1]) if known[-1] else 0))
    values = pa.concat_arrays(made) if made else pa.array([], COSINES.value_type)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values, COSINES, mask=pa.array([not k for k in known]))


@udf(
    returns=INTERVAL,
    parameters=[
        Parameter(name, pa.float64())
        for name in ("difference", "standard_error", "df", "variance", "n", "other_variance", "other_n")
    ],
    version="2",
)
def effect_interval(
    difference: pa.Array,
    standard_error: pa.Array,
    df: pa.Array,
    variance: pa.Array,
    n: pa.Array,
    other_variance: pa.Array,
    other_n: pa.Array,
) -> pa.Array:
    """Return the 95 % interval of an effect size: the difference of two means over the standard deviation of all values.

    Over the root of the mean variance within the two, the difference is off by its own error (``welch_error``) and by that
    of the variances, as of normal values; Student's t gives the ends. Carried over to the standard deviation of all
    values, which grows with the difference, they lie within what two parts of these sizes allow.

    Args:
        difference: Of the two means; NULL, here and below, gives NULL.
        standard_error: Of the difference.
        df: Its degrees of freedom (``welch_df``).
        variance: Of the values of the one, divided by ``n``.
        n: How many they are.
        other_variance: Of the values of the other, divided by ``other_n``.
        other_n: How many they are.

    Returns:
        low and high, float64; NULL where a part has one value, or no value differs from others of its part.

    Source:
        Hedges and Olkin, Statistical Methods for Meta-Analysis (1985), chapter 5; Welch (1947).

    Example:
        >>> ends = effect_interval(*(pa.array([v]) for v in (1.0, (2 / 29) ** 0.5, 58.0, 1.0, 30.0, 1.0, 30.0)))
        >>> {name: round(value, 3) for name, value in ends.to_pylist()[0].items()}
        {'low': 0.427, 'high': 1.219}
    """
    from scipy.special import stdtrit

    columns = (difference, standard_error, df, variance, n, other_variance, other_n)
    apart, error, free, v, k, w, m = (
        c.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False) for c in columns
    )
    with np.errstate(all="ignore"):
        within = (k * v + m * w) / (k + m - 1)
        effect = apart / np.sqrt(within)
        moved = (k * k * v) ** 2 / (k - 1) ** 3 + (m * m * w) ** 2 / (m - 1) ** 3
        spread = np.sqrt(error**2 / within + effect**2 * moved / (2 * (k + m) ** 2 * within**2))
        known = (k > 1) & (m > 1) & (within > 0)
        ends = [effect + side * stdtrit(free, 0.975) * spread for side in (-1, 1)]
        most = k * m / (k + m) / (k + m - 1)
        found = [np.where(known, end / np.sqrt(1 + most * end**2), np.nan) for end in ends]
    return pa.StructArray.from_arrays(
        [pa.array(end, pa.float64(), mask=np.isnan(end)) for end in found], fields=list(INTERVAL)
    )


def _numbers(value: Any) -> Doubles:
    return np.asarray(value.values.to_numpy(zero_copy_only=False), np.float64)


def _matrix(vectors: pa.Array) -> Doubles:
    """Return float64 (rows, length); a NULL vector is all NaN.

    Raises:
        RequestError: Lengths differ (E3700).
    """
    lengths = {n for n in vectors.value_lengths().to_pylist() if n is not None}
    if len(lengths) > 1:
        raise RequestError(f"vectors have different lengths: {min(lengths)} and {max(lengths)}", code="E3700")
    width = lengths.pop() if lengths else 0
    matrix = np.full((len(vectors), width), np.nan)
    matrix[vectors.is_valid().to_numpy(zero_copy_only=False)] = (
        vectors.flatten().to_numpy(zero_copy_only=False).reshape(-1, width or 1)[:, :width]
    )
    return matrix


def _directions(vectors: Doubles) -> Doubles:
    """Return unit vectors; NaN for one without a direction."""
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = vectors / np.abs(vectors).max(axis=1, keepdims=True, initial=0)
        return np.asarray(scaled / np.sqrt((scaled * scaled).sum(axis=1, keepdims=True)))


def _cosines(mean: Doubles, products: Doubles, shared: Doubles, vectors: Doubles) -> pa.Array:
    width = len(mean)
    if not len(vectors):
        return pa.array([], COSINES.value_type)
    if vectors.shape[1] != width or len(products) != width * width or len(shared) not in {0, width * width}:
        raise RequestError(
            f"vectors of {vectors.shape[1]} dimensions are compared with vectors of {width}",
            code="E3700",
            hint="take both from one model",
        )
    units = _directions(vectors)
    spread = products.reshape(width, width) - np.outer(mean, mean)
    means = (units * mean).sum(axis=1)
    variances = ((units @ spread) * units).sum(axis=1)
    variances[variances < _NOTHING] = 0
    more = ((units @ shared.reshape(width, width)) * units).sum(axis=1) if len(shared) else np.zeros(len(units))
    unknown = np.isnan(means)
    columns = [pa.array(v, pa.float64(), mask=unknown) for v in (means, variances, more)]
    return pa.StructArray.from_arrays(columns, fields=list(COSINES.value_type))


@udf(
    returns=TEST,
    parameters=[
        *(Parameter(name, _VECTORS) for name in ("x", "y", "a", "b")),
        Parameter("paired", pa.int64(), 0),
        Parameter("permutations", pa.int64(), 10_000, constant=True),
        Parameter("seed", pa.int64(), 0, constant=True),
    ],
    version="2",
)
def association_test(
    x: pa.Array,
    y: pa.Array,
    a: pa.Array,
    b: pa.Array,
    paired: pa.Array | None = None,
    permutations: int = 10_000,
    seed: int = 0,
) -> pa.Array:
    """Test by permutations whether two sets are associated: are the vectors x nearer to a, and y to b, than the other way round?

    s(w) = mean cosine of w with a - mean cosine of w with b. The effect is (mean of s over x - mean over y) / standard
    deviation of s over both (ddof 1). p is the share of the divisions of x and y together, into as many of each, whose
    difference is as large or larger (one-sided): of all of them where there are at most ``permutations``, and else of that
    many random ones, with the one that was observed counted in. Two that are a pair, such as edits of one picture, change
    places with each other alone.

    Args:
        x: Vectors of the first targets; NULL gives NULL.
        y: Of the second ones.
        a: Of the first attributes.
        b: Of the second ones.
        paired: So many of the first of x and of y are pairs, the first with the first; NULL is none.
        permutations: Most divisions that are all taken; how many are drawn where there are more.
        seed: Of the draws.

    Returns:
        effect, means and variances (ddof 1) of s over x and over y, what pairs add to the variance of the difference (shared, as
        welch_error takes it), std, p, how many divisions were compared, and whether these are all. No effect (NULL) where s is the same everywhere, or x and y together have less than two vectors.

    Raises:
        RequestError: Lengths differ (E3700), a set is empty (E3701), a vector has no direction (E3702), or permutations is
            below 1 (E3051).

    Source:
        Caliskan, Bryson and Narayanan (2017), WEAT, who count larger differences only; May et al. (2019) and Steed and
        Caliskan, iEAT (2021), who count equal ones too, as here.

    Example:
        >>> sets = [pa.array([[[1.0, 0.0]] * 2]), pa.array([[[0.0, 1.0]] * 2])]
        >>> found = association_test(*sets, *sets).to_pylist()[0]
        >>> round(found["effect"], 6), round(found["p"], 6), found["permutations"], found["exact"]
        (1.732051, 0.166667, 6, True)
    """
    if permutations < 1:
        raise RequestError(f"permutations must be at least 1, not {permutations}", code="E3051")
    rows = [
        None
        if any(not v[row].is_valid for v in (x, y, a, b))
        else _test(row, (x, y, a, b), int((paired[row].as_py() or 0) if paired is not None else 0), permutations, seed)
        for row in range(len(x))
    ]
    return pa.array(rows, TEST)


def _test(row: int, given: tuple[pa.Array, ...], pairs: int, permutations: int, seed: int) -> dict[str, Any]:
    sets = [_directions(_matrix(v[row].values)) for v in given]
    for name, own in zip("xyab", sets, strict=True):
        if not len(own):
            raise RequestError(f"the set {name!r} is empty", code="E3701")
        if np.isnan(own).any():
            raise RequestError(
                f"the set {name!r} has a vector without a direction", code="E3702", hint="leave out zeros, NaN and NULL"
            )
    if len({own.shape[1] for own in sets}) > 1:
        raise RequestError(
            "vectors have different lengths: " + ", ".join(str(own.shape[1]) for own in sets), code="E3700"
        )
    towards = _mean(sets[2]) - _mean(sets[3])
    of_x, of_y = ((own * towards).sum(axis=1) for own in sets[:2])
    both = np.concatenate([of_x, of_y])
    std = _std(both)
    p, compared, exact = _permuted(_ticks(of_x), _ticks(of_y), pairs, permutations, seed)
    mean_x, mean_y = math.fsum(of_x) / len(of_x), math.fsum(of_y) / len(of_y)
    return {
        "effect": (mean_x - mean_y) / std if std else None,
        "mean_x": mean_x,
        "mean_y": mean_y,
        "variance_x": _variance(of_x),
        "variance_y": _variance(of_y),
        "shared": _shared(of_x - mean_x, of_y - mean_y, pairs),
        "std": std,
        "p": p,
        "permutations": compared,
        "exact": exact,
    }


def _ticks(values: Doubles) -> NDArray[np.int64]:
    return np.rint(np.ldexp(values, _TICKS)).astype(np.int64)


def _mean(vectors: Doubles) -> Doubles:
    return np.array([math.fsum(column) / len(vectors) for column in vectors.T])


def _variance(values: Doubles) -> float | None:
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.fsum((values - mean) ** 2) / (len(values) - 1)


def _std(values: Doubles) -> float | None:
    """Return the standard deviation with ddof 1; ``None`` where the values differ by no more than rounding."""
    variance = _variance(values)
    return None if variance is None or np.ptp(values) <= 2.0**-_TICKS else math.sqrt(variance)


def _shared(of_x: Doubles, of_y: Doubles, pairs: int) -> float:
    """Return what pairs add to the variance of the difference of two means, from the residuals of both."""
    if not pairs or min(len(of_x), len(of_y)) < 2:
        return 0.0
    products = math.fsum(of_x[:pairs] * of_y[:pairs])
    return -2 * products / math.sqrt(math.prod(float(n) * (n - 1) for n in (len(of_x), len(of_y))))


def _permuted(
    of_x: NDArray[np.int64], of_y: NDArray[np.int64], pairs: int, most: int, seed: int
) -> tuple[float, int, bool]:
    """Return the share of divisions whose first part adds up to as much or more, how many were compared, whether all."""
    observed = int(of_x.sum())
    values, first = np.concatenate([of_x[pairs:], of_y[pairs:]]), len(of_x) - pairs
    swaps = of_y[:pairs] - of_x[:pairs]
    kept = int(of_x[:pairs].sum())
    whole = math.comb(len(values), first) << pairs
    if whole <= most:
        alone = [int(values[list(c)].sum()) for c in combinations(range(len(values)), first)]
        swapped = [kept + int(swaps[np.array(turned, bool)].sum()) for turned in product((0, 1), repeat=pairs)]
        return sum(one + other >= observed for one in alone for other in swapped) / whole, whole, True
    draw = np.random.default_rng(seed)
    at_once = max(1, _CHUNK // max(len(values), pairs))
    reached = 0
    for count in _parts(most, at_once):
        shuffled = draw.permuted(np.broadcast_to(values, (count, len(values))), axis=1)
        sums = shuffled[:, :first].sum(axis=1) + kept
        if pairs:
            sums += draw.integers(0, 2, (count, pairs)) @ swaps
        reached += int((sums >= observed).sum())
    return (reached + 1) / (most + 1), most, False


def _parts(count: int, size: int) -> Iterator[int]:
    for start in range(0, count, size):
        yield min(size, count - start)
