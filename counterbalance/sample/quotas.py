"""Exact shares: as near to a rate as whole numbers allow, and the members chosen at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import random
    from collections.abc import Hashable, Mapping, Sequence

T = TypeVar("T")
K = TypeVar("K", bound="Hashable")


def apportion(total: int, shares: Mapping[K, float]) -> dict[K, int]:
    """Return whole numbers that add up to ``total`` in the proportion of ``shares`` (largest remainders; ties by order).

    Example:
        >>> apportion(10, {"a": 0.55, "b": 0.3, "c": 0.15})
        {'a': 6, 'b': 3, 'c': 1}
    """
    whole = sum(shares.values())
    exact = {key: total * share / whole for key, share in shares.items()}
    counts = {key: int(value + 1e-9) for key, value in exact.items()}
    order = sorted(shares, key=lambda key: counts[key] - exact[key])
    for key in order[: total - sum(counts.values())]:
        counts[key] += 1
    return counts


def deal(rng: random.Random, total: int, shares: Mapping[K, float]) -> list[K]:
    """Return ``total`` values in exact proportion, shuffled."""
    dealt = [key for key, count in apportion(total, shares).items() for _ in range(count)]
    rng.shuffle(dealt)
    return dealt


def pick(rng: random.Random, items: Sequence[T], rate: float) -> list[T]:
    """Return a share of the items (rounded half up), chosen at random, in the order given.

    Example:
        >>> import random
        >>> len(pick(random.Random(1), range(10), 0.25))
        3
    """
    count = min(len(items), int(len(items) * rate + 0.5 + 1e-9))
    chosen = sorted(rng.sample(range(len(items)), count))
    return [items[i] for i in chosen]
