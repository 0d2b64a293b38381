"""Measure the agreement of raters beyond chance, from counts: ``cohen_kappa``, ``fleiss_kappa``, ``krippendorff_alpha``.

Each is (agreed - chance) / (1 - chance), and comes with the standard error of large samples. Of few targets, or where
raters nearly always agree, ends that lie 1.96 errors off hold too rarely, and beyond 1: ``effective`` is how many
independent pairs would tell the share ``agreed`` as well, whose Wilson interval ``beyond_chance`` turns into one of the kappa.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.functions import Parameter, udf

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]

_PARTS: Final = [(name, pa.float64()) for name in ("error", "agreed", "chance", "effective")]
KAPPA: Final = pa.struct([("kappa", pa.float64()), *_PARTS])
ALPHA: Final = pa.struct([("alpha", pa.float64()), *_PARTS])
NORMAL_POINT: Final = 1.959963984540054
"""97.5 % point of the normal distribution."""
CELLS: Final = pa.list_(pa.struct([("label", pa.string()), ("other_label", pa.string()), ("count", pa.int64())]))
PATTERNS: Final = pa.list_(
    pa.struct(
        [("votes", pa.list_(pa.struct([("value", pa.string()), ("votes", pa.int64())]))), ("targets", pa.int64())]
    )
)


@udf(returns=KAPPA, parameters=[Parameter("cells", CELLS)], version="1")
def cohen_kappa(cells: pa.Array) -> pa.Array:
    """Return Cohen's kappa of two raters, with its standard error.

    Args:
        cells: How often the first said ``label`` and the second ``other_label``; cells without any may be left out.

    Returns:
        kappa, error, agreed, chance, effective, float64; all NULL where both raters always said the same one label, or there
        are no counts.

    Source:
        Cohen (1960); Fleiss, Cohen and Everitt (1969), the variance.

    Example:
        >>> table = [("a", "a", 20), ("a", "b", 5), ("b", "a", 10), ("b", "b", 15)]
        >>> given = pa.array([[{"label": x, "other_label": y, "count": n} for x, y, n in table]], CELLS)
        >>> {name: round(value, 4) for name, value in cohen_kappa(given).to_pylist()[0].items()}
        {'kappa': 0.4, 'error': 0.127, 'agreed': 0.7, 'chance': 0.5, 'effective': 50.0}
    """
    return pa.array([_cohen(row or []) for row in cells.to_pylist()], KAPPA)


def _cohen(cells: list[dict[str, Any]]) -> dict[str, float | None]:
    labels = sorted({c[side] for c in cells for side in ("label", "other_label")})
    table = np.zeros((len(labels), len(labels)))
    for cell in cells:
        table[labels.index(cell["label"]), labels.index(cell["other_label"])] += cell["count"]
    n = table.sum()
    if not n:
        return _known("kappa")
    first, second = table.sum(axis=1) / n, table.sum(axis=0) / n
    chance = _sum(first * second)
    if chance == 1:
        return _known("kappa")
    agreed = table.trace() / n
    kappa = (agreed - chance) / (1 - chance)
    drift = np.add.outer(second, first) * (1 - kappa)
    squares = np.where(np.eye(len(labels), dtype=bool), 1 - drift, drift) ** 2
    variance = (_sum(squares * table / n) - (kappa - chance * (1 - kappa)) ** 2) / (1 - chance) ** 2 / n
    return _known("kappa", kappa, math.sqrt(max(variance, 0)), agreed, chance, n)


@udf(returns=KAPPA, parameters=[Parameter("patterns", PATTERNS)], version="1")
def fleiss_kappa(patterns: pa.Array) -> pa.Array:
    """Return Fleiss' kappa of any number of raters, with its standard error.

    Chance agreement comes from the mean share of each label over targets, so that targets may have different numbers of
    votes; where all have as many it is Fleiss' own.

    Args:
        patterns: How many ``targets`` have these ``votes``, each a value and how many raters said it; two votes or more.

    Returns:
        As ``cohen_kappa``; NULL where all votes are for one label, error and effective also with a single target.

    Source:
        Fleiss (1971); Gwet, Large-sample variance of Fleiss generalized kappa (2021).

    Example:
        >>> a, b = {"value": "a", "votes": 2}, {"value": "b", "votes": 2}
        >>> split = [{"value": "a", "votes": 1}, {"value": "b", "votes": 1}]
        >>> rows = [{"votes": [a], "targets": 4}, {"votes": [b], "targets": 4}, {"votes": split, "targets": 2}]
        >>> {name: round(value, 4) for name, value in fleiss_kappa(pa.array([rows], PATTERNS)).to_pylist()[0].items()}
        {'kappa': 0.6, 'error': 0.2667, 'agreed': 0.8, 'chance': 0.5, 'effective': 6.7561}
    """
    return pa.array([_fleiss(row or []) for row in patterns.to_pylist()], KAPPA)


def _fleiss(patterns: list[dict[str, Any]]) -> dict[str, float | None]:
    votes, targets = _votes(patterns)
    if votes.shape[1] < 2:
        return _known("kappa")
    n, of = targets.sum(), votes.sum(axis=1)
    shares = votes / of[:, None]
    means = np.array([_sum(column * targets) for column in shares.T]) / n
    chance = _sum(means**2)
    agreed = (votes * (votes - 1)).sum(axis=1) / of / (of - 1)
    mean = _sum(agreed * targets) / n
    kappa = (mean - chance) / (1 - chance)
    own = np.array([_sum(row * means) for row in shares])
    moved = ((agreed - chance) - 2 * (1 - kappa) * (own - chance)) / (1 - chance) - kappa
    error = math.sqrt(_sum(moved**2 * targets) / (n - 1) / n) if n > 1 else None
    return _known("kappa", kappa, error, mean, chance, n, _sum(targets * of * (of - 1) / 2))


@udf(returns=ALPHA, parameters=[Parameter("patterns", PATTERNS)], version="1")
def krippendorff_alpha(patterns: pa.Array) -> pa.Array:
    """Return Krippendorff's alpha of any number of raters for labels without an order, with its standard error.

    One less what disagrees over what would by chance, over all pairs of votes for one target; a target's pairs count as
    much as its votes. The error is that of leaving out each target in turn.

    Args:
        patterns: As for ``fleiss_kappa``.

    Returns:
        alpha, error, agreed, chance, effective, float64; NULL where all votes are for one label, error and effective also
        where they are but for one target.

    Source:
        Krippendorff, Computing Krippendorff's alpha-reliability (2011); Efron and Stein (1981), the jackknife.

    Example:
        >>> a, b = {"value": "a", "votes": 2}, {"value": "b", "votes": 2}
        >>> split = [{"value": "a", "votes": 1}, {"value": "b", "votes": 1}]
        >>> rows = [{"votes": [a], "targets": 4}, {"votes": [b], "targets": 4}, {"votes": split, "targets": 2}]
        >>> {name: round(value, 4) for name, value in krippendorff_alpha(pa.array([rows], PATTERNS)).to_pylist()[0].items()}
        {'alpha': 0.62, 'error': 0.2581, 'agreed': 0.8, 'chance': 0.4737, 'effective': 6.5064}
    """
    return pa.array([_krippendorff(row or []) for row in patterns.to_pylist()], ALPHA)


def _krippendorff(patterns: list[dict[str, Any]]) -> dict[str, float | None]:
    votes, targets = _votes(patterns)
    if votes.shape[1] < 2:
        return _known("alpha")
    of = votes.sum(axis=1)
    apart = of - (votes * (votes - 1)).sum(axis=1) / (of - 1)
    totals, differ = (votes * targets[:, None]).sum(axis=0), _sum(apart * targets)
    without = [_alpha(totals - row, differ - own) for row, own in zip(votes, apart, strict=True)]
    error = None
    if all(value is not None for value in without) and (n := targets.sum()) > 1:
        found = np.array(without, np.float64)
        error = math.sqrt((n - 1) / n * _sum((found - _sum(found * targets) / n) ** 2 * targets))
    n = float(totals.sum())
    chance, pairs = _sum(totals * (totals - 1)) / n / (n - 1), _sum(targets * of * (of - 1) / 2)
    return _known("alpha", _alpha(totals, differ), error, 1 - differ / n, chance, targets.sum(), pairs)


def _known(
    name: str,
    value: float | None = None,
    error: float | None = None,
    agreed: float = 0,
    chance: float = 0,
    targets: float = 0,
    pairs: float = 0,
) -> dict[str, float | None]:
    """Return a kappa with what an interval is made of; all NULL without a value.

    An error that was estimated, of several raters, is multiplied by the quotient of the points of Student's t and of the
    normal distribution; where there is none, since all raters of every target agree, a target counts as one pair.
    """
    if value is None:
        return dict.fromkeys((name, "error", "agreed", "chance", "effective"))
    effective: float | None = targets
    if error is None:
        effective = None
    elif error > 0 and 0 < agreed < 1:
        spread = (1 - chance) * error
        if pairs:
            from scipy.special import stdtrit

            spread *= float(stdtrit(targets - 1, 0.975)) / NORMAL_POINT
        effective = min(pairs or targets, agreed * (1 - agreed) / spread**2)
    found = (value, error, agreed, chance, effective)
    names = (name, "error", "agreed", "chance", "effective")
    return {n: None if f is None else float(f) for n, f in zip(names, found, strict=True)}


def _alpha(totals: Doubles, differ: float) -> float | None:
    n = totals.sum()
    chance = n**2 - (totals**2).sum()
    return float(1 - (n - 1) * differ / chance) if chance else None


def _votes(patterns: list[dict[str, Any]]) -> tuple[Doubles, Doubles]:
    """Return how many raters said each label, (patterns, labels), and of how many targets, (patterns,)."""
    labels = sorted({v["value"] for p in patterns for v in p["votes"]})
    votes = np.zeros((len(patterns), len(labels)))
    for row, pattern in enumerate(patterns):
        for vote in pattern["votes"]:
            votes[row, labels.index(vote["value"])] = vote["votes"]
    return votes, np.array([p["targets"] for p in patterns], np.float64)


def _sum(values: Doubles) -> float:
    """Return the sum, rounded once, so that no order of rows changes it."""
    flat: Iterable[float] = values.ravel().tolist()
    return math.fsum(flat)
