"""Score a classifier: by class, by confusion, by calibration; and which of these numbers may be published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.engine.disclosure.cells import MIN_COUNT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

BINS: Final = 10


@dataclass(frozen=True, slots=True)
class Scores:
    """A classifier's answers beside the labels.

    Args:
        classes: Names, in the order of the logits.
        confusion: int64 (true class, predicted class).
        reliability: One row a bin of confidence that has any: from, to, n, mean confidence, accuracy.
        ece: Expected calibration error in [0, 1]: mean gap of confidence and accuracy over bins, weighted by n (Guo et
            al. 2017, ten bins of equal width).
    """

    classes: tuple[str, ...]
    confusion: NDArray[np.int64]
    reliability: tuple[dict[str, float], ...]
    ece: float

    @property
    def rows(self) -> int:
        """Return how many were judged."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """Return share that is right."""
        return float(np.trace(self.confusion) / self.rows)

    @property
    def kappa(self) -> float | None:
        """Return Cohen's kappa; ``None`` where chance alone agrees always."""
        expected = float(self.confusion.sum(0) @ self.confusion.sum(1)) / self.rows**2
        return None if expected == 1.0 else (self.accuracy - expected) / (1 - expected)

    def by_class(self) -> list[dict[str, Any]]:
        """Return the name, n (labels), predicted, precision, recall and F1 of every class; ``None`` where the denominator is zero."""
        found = []
        for i, name in enumerate(self.classes):
            hit, true, said = int(self.confusion[i, i]), int(self.confusion[i].sum()), int(self.confusion[:, i].sum())
            measures = {"precision": _ratio(hit, said), "recall": _ratio(hit, true), "f1": _ratio(2 * hit, true + said)}
            found.append({"class": name, "n": true, "predicted": said, **measures})
        return found

    @property
    def macro_f1(self) -> float:
        """Return mean F1 of the classes that occur or were predicted."""
        values = [c["f1"] for c in self.by_class() if c["f1"] is not None]
        return float(np.mean(values)) if values else 0.0

    def published(self) -> dict[str, Any]:
        """Return all of it without small cells: counts below ``MIN_COUNT``, and rates whose denominator is below it, are ``None``.

        Where one cell alone of a row of the confusion matrix would be hidden, the next smallest goes too, because the
        row's total would tell it; where one class alone is hidden, or one bin, the number of all goes too.
        """
        enough = self.rows >= MIN_COUNT
        alone = 1 in (self._hidden_classes("n"), self._hidden_classes("predicted"), self._hidden_bins())
        return {
            "n": None if alone else count(self.rows),
            "accuracy": self.accuracy if enough else None,
            "kappa": self.kappa if enough else None,
            "macro_f1": self.macro_f1 if enough else None,
            "ece": self.ece if enough else None,
            "classes": [_class(c) for c in self.by_class()],
            "confusion": [_hidden(row) for row in self.confusion.tolist()],
            "reliability": [r if r["n"] >= MIN_COUNT else {**r, **_NO_BIN} for r in self.reliability],
        }

    def _hidden_classes(self, what: str) -> int:
        return sum(c[what] < MIN_COUNT for c in self.by_class())

    def _hidden_bins(self) -> int:
        return sum(r["n"] < MIN_COUNT for r in self.reliability)


_NO_BIN: Final = {"n": None, "confidence": None, "accuracy": None}


def score(classes: Sequence[str], labels: NDArray[np.integer[Any]], logits: NDArray[np.floating[Any]]) -> Scores:
    """Judge logits against labels.

    Args:
        classes: Names, in the order of the logits.
        labels: Number of the true class, one a row.
        logits: Rows of logits, (rows, classes).

    Example:
        >>> found = score(["a", "b"], np.array([0, 0, 1]), np.array([[9, 0], [0, 9], [0, 9]]))
        >>> found.confusion.tolist(), round(found.accuracy, 2), found.by_class()[1]["precision"]
        ([[1, 1], [0, 1]], 0.67, 0.5)
    """
    chances = softmax(logits)
    said = np.asarray(logits).argmax(1)
    confusion = np.zeros((len(classes), len(classes)), np.int64)
    np.add.at(confusion, (np.asarray(labels), said), 1)
    confidence = chances.max(1)
    right = said == np.asarray(labels)
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    reliability = []
    for number in range(BINS):
        inside = bins == number
        if n := int(inside.sum()):
            means = {"confidence": float(confidence[inside].mean()), "accuracy": float(right[inside].mean())}
            reliability.append({"from": number / BINS, "to": (number + 1) / BINS, "n": n, **means})
    gaps = sum(r["n"] * abs(r["confidence"] - r["accuracy"]) for r in reliability)
    return Scores(tuple(classes), confusion, tuple(reliability), float(gaps / max(1, len(right))))


def softmax(logits: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return the rows of probabilities, float64.

    Example:
        >>> softmax(np.array([[0.0, 0.0]])).tolist()
        [[0.5, 0.5]]
    """
    shifted = np.asarray(logits, np.float64)
    powers = np.exp(shifted - shifted.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))


def count(number: int) -> int | None:
    """Return a count, or ``None`` when it is too small to be published.

    Example:
        >>> count(10), count(9)
        (10, None)
    """
    return number if number >= MIN_COUNT else None


def _class(row: dict[str, Any]) -> dict[str, Any]:
    few = {"recall": row["n"] < MIN_COUNT, "precision": row["predicted"] < MIN_COUNT}
    shown = {"class": row["class"], "n": count(row["n"]), "predicted": count(row["predicted"])}
    rates = {name: None if hidden else row[name] for name, hidden in few.items()}
    return {**shown, **rates, "f1": None if any(few.values()) else row["f1"]}


def _hidden(row: Sequence[int]) -> list[int | None]:
    cells = [count(n) for n in row]
    if cells.count(None) == 1 and len(cells) > 1:
        cells[min((n, i) for i, n in enumerate(row) if cells[i] is not None)[1]] = None
    return cells


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
