"""Choose the rows that a classifier learns from and those it is judged by, when it is asked what gives a label away.

Rows of one image stay on one side. Both sides hold as many rows of one label as of the other, so that guessing is right half
of the time. What goes where is decided by hashes of seed and image, not by the order of rows: two sets over the same
images are cut alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from counterbalance.engine.errors import RequestError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray


_GOLDEN: Final = 0x9E3779B97F4A7C15
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_CHECKED: Final = 0.1

BERT: Final = "google-bert/bert-base-uncased"
MASKED: Final = "[mask]"
"""What stands for a word that tells the label; no word of a text is written so."""
UNKNOWN: Final = "[unknown]"
"""What stands for a word outside of the vocabulary."""


@dataclass(frozen=True, slots=True)
class Split:
    """Row numbers of the two sides, int64, ascending; ``check`` are those of the training side by which a learner stops."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    check: NDArray[np.int64]


if TYPE_CHECKING:
    Attack = Callable[[Split, NDArray[np.bool_], int], NDArray[np.float64]]
    """From a cut, the labels of all rows and a seed to the probability of the label in every test row."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a classifier is asked; the defaults of ``epochs`` and ``learning_rate`` are those of its paper."""

    attacker: str
    seeds: int
    test_share: float
    epochs: int | None = None
    learning_rate: float | None = None
    model: str = BERT

    def check(self, function: str, known: Collection[str]) -> None:
        """Refuse what makes no sense (``E3051``)."""
        if self.attacker not in known:
            raise RequestError(
                f"'attacker' of {function}() cannot be {self.attacker!r}{did_you_mean(self.attacker, known)}",
                code="E3051",
                hint=f"one of {', '.join(known)}",
            )
        wrong = (
            ("seeds", self.seeds, self.seeds < 1, "at least 1"),
            ("test_share", self.test_share, not 0 < self.test_share < 1, "between 0 and 1"),
            ("epochs", self.epochs, self.epochs is not None and self.epochs < 1, "at least 1"),
            ("learning_rate", self.learning_rate, not (self.learning_rate or 1) > 0, "above 0"),
        )
        for name, value, is_wrong, wanted in wrong:
            if is_wrong:
                raise RequestError(f"{name!r} of {function}() is {value}; it must be {wanted}", code="E3051")


def split(images: NDArray[np.int64], positive: NDArray[np.bool_], seed: int, share: float) -> Split:
    """Cut rows into a training and a test side, by image, both labels equally frequent on each.

    Images are drawn label by label (those that have rows of both labels are a third kind); of the label with more rows on
    a side as many are left out as are too many. A tenth of the images of the training side are set apart to check by.

    Args:
        images: Image of every row.
        positive: Which of the two labels a row has.
        seed: Another seed, another cut.
        share: Share of the images of each kind that are for the test, rounded; at least one where there are two.

    Returns:
        Row numbers; empty ones where a label has too few images.

    Example:
        >>> cut = split(np.arange(10), np.arange(10) < 4, seed=0, share=0.25)
        >>> len(cut.train), len(cut.test), sorted({*cut.train.tolist()} & {*cut.test.tolist()}), len(cut.check)
        (6, 2, [], 0)
    """
    each, at = np.unique(images, return_inverse=True)
    has = np.zeros((2, len(each)), bool)
    has[positive.astype(np.intp), at] = True
    order = _hash(each, seed)
    tested, checked = np.zeros(len(each), bool), np.zeros(len(each), bool)
    for kind in ((True, False), (False, True), (True, True)):
        found = np.flatnonzero((has[0] == kind[0]) & (has[1] == kind[1]))
        count = max(round(share * len(found)), int(len(found) > 1))
        ranked = found[np.lexsort((each[found], order[found]))]
        tested[ranked[:count]] = True
        checked[ranked[count : count + round(_CHECKED * (len(found) - count))]] = True
    rows = _hash(images.view(np.uint64) + _hash(_places(at), seed), seed)
    on_test = tested[at]
    train = _balanced(~on_test, positive, rows)
    return Split(train, _balanced(on_test, positive, rows), train[checked[at][train]])


def _balanced(side: NDArray[np.bool_], positive: NDArray[np.bool_], order: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return as many rows of both labels as the rarer one has on a side."""
    rows = [np.flatnonzero(side & (positive == label)) for label in (False, True)]
    count = min(map(len, rows))
    chosen = [own[np.lexsort((own, order[own]))[:count]] for own in rows]
    return np.sort(np.concatenate(chosen)).astype(np.int64)


def _places(at: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the number of every row among those of its image, from 0, in their order."""
    order = np.argsort(at, kind="stable")
    starts = np.searchsorted(at[order], at[order])
    places = np.empty(len(at), np.int64)
    places[order] = np.arange(len(at)) - starts
    return places


def _hash(values: NDArray[np.int64] | NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Return SplitMix64 of values and seed, the same on every machine."""
    start = np.uint64((seed + 1) * _GOLDEN % 2**64)
    mixed = values.astype(np.uint64, copy=True) + start
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    mixed ^= mixed >> np.uint64(31)
    return mixed
