"""Which pictures a classifier learns from, which choose its best epoch, and which tell how good it is."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
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

    Rows of one group stay together, so that the persons of one image are never on two sides. Groups are divided within
    strata: the stratum of a group is the rarest class among its rows, so that rare classes get their share. Within a
    stratum the order is that of a hash of seed and group, and each group goes where most is missing.

    Args:
        classes: Class of every row.
        groups: Group of every row, such as an image id; told apart and hashed by ``repr``.
        seed: Another seed, another split.

    Returns:
        int8, one a row.

    Example:
        >>> split(["a"] * 10, range(10), seed=0).tolist()
        [2, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    """
    counts = Counter(classes)
    rarity = {c: n for n, c in enumerate(sorted(counts, key=lambda c: (counts[c], repr(c))))}
    strata: dict[Hashable, int] = {}
    for label, group in zip(classes, groups, strict=True):
        strata[group] = min(strata.get(group, len(rarity)), rarity[label])
    members: defaultdict[int, list[Hashable]] = defaultdict(list)
    for group, stratum in strata.items():
        members[stratum].append(group)
    side: dict[Hashable, int] = {}
    for found in members.values():
        side.update(_divided(sorted(found, key=lambda g: _order(seed, g))))
    return np.array([side[g] for g in groups], np.int8)


def _order(seed: int, group: Hashable) -> bytes:
    return hashlib.sha256(f"{seed} {group!r}".encode()).digest()


def _divided(groups: Sequence[Hashable]) -> dict[Hashable, int]:
    """Group by group to the split that lacks most of its share; the earlier one where two lack the same."""
    given = [0] * len(SHARES)
    found = {}
    for number, group in enumerate(groups, start=1):
        lacking = [round(share * number - has, 9) for share, has in zip(SHARES, given, strict=True)]
        where = lacking.index(max(lacking))
        given[where] += 1
        found[group] = where
    return found
