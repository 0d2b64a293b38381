"""Which pictures a classifier learns from, which choose its best epoch, and which tell how good it is."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

SPLITS: Final = ("train", "validation", "test")
SHARES: Final = (0.8, 0.1, 0.1)
"""As Girrbach et al. (2025) divide their labels."""


def split(classes: Sequence[Hashable], groups: Sequence[Hashable], seed: int) -> NDArray[np.int8]:
    """Number of the split of every row: 0 train, 1 validation, 2 test.

    Rows of one group stay together, so that the persons of one image are never on two sides. Groups are given out class by
    class, the class with the fewest groups left first, in the order of a hash of seed and group, each to the split that
    lacks most of its share of that class (iterative stratification, Sechidis et al. 2011, with a fixed order for ties).

    Args:
        classes: Class of every row.
        groups: Group of every row, such as an image id; told apart and hashed by ``repr``.
        seed: Another seed, another split.

    Returns:
        int8, one a row.

    Example:
        >>> split(["a"] * 10, range(10), seed=0).tolist()
        [0, 0, 0, 2, 0, 0, 0, 0, 0, 1]
    """
    shown: dict[Hashable, set[Hashable]] = {}
    for label, group in zip(classes, groups, strict=True):
        shown.setdefault(group, set()).add(label)
    left: dict[Hashable, list[Hashable]] = {}
    for group in sorted(shown, key=lambda g: _order(seed, g)):
        for label in shown[group]:
            left.setdefault(label, []).append(group)
    lacking = {label: [share * len(found) for share in SHARES] for label, found in left.items()}
    every = [share * len(shown) for share in SHARES]
    side: dict[Hashable, int] = {}
    while left:
        label = min(left, key=lambda c: (len(left[c]), repr(c)))
        for group in left[label]:
            where = side[group] = _most(lacking[label], every)
            for needs in (every, *(lacking[c] for c in shown[group])):
                needs[where] -= 1
        left = {c: kept for c, found in left.items() if (kept := [g for g in found if g not in side])}
    return np.array([side[g] for g in groups], np.int8)


def _order(seed: int, group: Hashable) -> bytes:
    return hashlib.sha256(f"{seed} {group!r}".encode()).digest()


def _most(lacking: Sequence[float], every: Sequence[float]) -> int:
    """The split that lacks most; of equals the one that lacks most groups of all, then the earlier one."""
    return max(range(len(SHARES)), key=lambda i: (round(lacking[i], 6), round(every[i], 6), -i))
