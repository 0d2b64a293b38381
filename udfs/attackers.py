"""Ask classifiers what gives a label away, as functions over lists: a call learns and judges, seed by seed.

One row of a query holds a whole data set as lists: the image, the features and the label of everything that is in it. For
each seed the images are cut anew (``attack_splits``), a classifier learns from one side and is judged by the other. What
it finds says that the label follows from the features, not why. Labels are perceived ones.

``'logistic'`` (scikit-learn) needs nothing more; ``'lstm'``, ``'mlp'`` and ``'bert'`` are those of the papers and need
torch (``models.attackers``).

Results do not depend on how many threads there are: what is learned is learned on one. They can differ in the last digits
between kinds of processors, and on a GPU between runs.
"""

from __future__ import annotations

import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import Parameter, udf
from counterbalance.engine.progress import Progress, tell
from counterbalance.udfs.attack_splits import BERT, MASKED, UNKNOWN, Settings, split
from counterbalance.udfs.models import weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from counterbalance.udfs.attack_splits import Attack, Split


LEAST: Final = 4
"""Images of each label below which nothing is learned."""
RUNS: Final = pa.list_(
    pa.struct(
        [
            pa.field("seed", pa.int64()),
            pa.field("n_train", pa.int64()),
            pa.field("n_test", pa.int64()),
            pa.field("accuracy", pa.float64()),
            pa.field("confidence", pa.float64()),
            pa.field("auc", pa.float64()),
            pa.field("note", pa.string()),
        ]
    )
)
"""What a call returns: one struct a seed, or a single one that holds a note and nothing else."""
_WORD: Final = re.compile(r"\w+")
_INTERVAL: Final = pa.struct([pa.field(n, pa.float64()) for n in ("value", "low", "high")])
_IMAGES: Final = Parameter("images", pa.list_(pa.int64()))
_LABELS: Final = Parameter("labels", pa.list_(pa.string()))
_SETTINGS: Final = (
    Parameter("attacker", pa.string(), "logistic", constant=True),
    Parameter("seeds", pa.int64(), 5, constant=True),
    Parameter("test_share", pa.float64(), 0.2, constant=True),
    Parameter("epochs", pa.int64(), None, constant=True),
    Parameter("learning_rate", pa.float64(), None, constant=True),
)


def _weights(attacker: str, model: str, **_: object) -> str:
    return weights.digest(weights.folder(model)) if attacker == "bert" else ""


@udf(
    returns=RUNS,
    parameters=[
        _IMAGES,
        Parameter("texts", pa.list_(pa.string())),
        _LABELS,
        Parameter("words", pa.list_(pa.string()), None),
        Parameter("vocabulary", pa.list_(pa.string()), None),
        *_SETTINGS,
        Parameter("model", pa.string(), BERT, constant=True),
    ],
    version="2",
    weights=_weights,
)
def attack_texts(
    images: pa.Array,
    texts: pa.Array,
    labels: pa.Array,
    words: pa.Array,
    vocabulary: pa.Array,
    attacker: str = "logistic",
    seeds: int = 5,
    test_share: float = 0.2,
    epochs: int | None = None,
    learning_rate: float | None = None,
    model: str = BERT,
) -> pa.Array:
    r"""Return how well a classifier tells the label of texts whose telling words are masked, seed by seed.

    Texts are cut into words by ``\w+`` in lower case.

    Args:
        images: Image of every text; its texts stay together.
        texts: The texts, as many.
        labels: One of two labels for every text.
        words: Words that are masked, in any case; NULL masks none.
        vocabulary: Texts whose words are known, all others being one unknown word; NULL knows all.
        attacker: ``'logistic'`` (regression over TF-IDF of the training side), ``'mlp'`` (words as a set), ``'lstm'`` or
            ``'bert'`` (Hirota et al. 2022).
        seeds: How many; they are 0, 1, 2 …
        test_share: Share of images to judge by.
        epochs: Of torch's attackers at most; their papers' otherwise.
        learning_rate: Likewise.
        model: Checkpoint of ``'bert'``.

    Returns:
        For each seed: rows of both sides, accuracy, confidence (mean of the probability of the predicted label, 0 where it
        is wrong) and area under the ROC curve. A note instead where there is too little to learn from.

    Raises:
        RequestError: Settings (``E3051``) or lists (``E3651``) that make no sense.

    Example:
        >>> sets = [["a tie"] * 30 + ["a dress"] * 30]
        >>> given = [pa.array([list(range(60))]), pa.array(sets), pa.array([["male"] * 30 + ["female"] * 30])]
        >>> runs = attack_texts(*given, pa.nulls(1), pa.nulls(1), seeds=2).to_pylist()[0]
        >>> [(r["n_train"], r["n_test"], r["accuracy"]) for r in runs]
        [(48, 12, 1.0), (48, 12, 1.0)]
    """
    settings = Settings(attacker, seeds, test_share, epochs, learning_rate, model)
    settings.check("attack_texts", ("logistic", "mlp", "lstm", "bert"))

    def attack(row: int) -> Attack:
        masked = {str(w).lower() for w in words[row].as_py() or ()}
        known = vocabulary[row].as_py()
        tokens = _tokens(texts[row].as_py(), masked, None if known is None else _words_of(known))
        if settings.attacker in ("lstm", "bert"):
            from counterbalance.udfs.models import attackers

            return attackers.over_tokens(tokens, settings)
        matrix = _counts(tokens)
        return _over_sets(matrix.sign(), settings) if settings.attacker == "mlp" else _over_counts(matrix)

    return _attacked("attack_texts", (images, texts, labels), attack, settings)


@udf(
    returns=RUNS,
    parameters=[_IMAGES, Parameter("sets", pa.list_(pa.list_(pa.string()))), _LABELS, *_SETTINGS],
    version="2",
)
def attack_sets(
    images: pa.Array,
    sets: pa.Array,
    labels: pa.Array,
    attacker: str = "logistic",
    seeds: int = 5,
    test_share: float = 0.2,
    epochs: int | None = None,
    learning_rate: float | None = None,
) -> pa.Array:
    """Return how well a classifier tells the label of sets of strings, such as the objects of an image, seed by seed.

    Args:
        images: Image of every set.
        sets: The sets, as many; a set may be empty, none may be NULL.
        labels: One of two labels for every set.
        attacker: ``'logistic'`` (regression over zeros and ones) or ``'mlp'`` (Wang et al. 2019).
        seeds: As for ``attack_texts``, and so are the rest and what is returned.
        test_share: Share of images to judge by.
        epochs: Of torch's attackers.
        learning_rate: Likewise.

    Raises:
        RequestError: As ``attack_texts``.

    Example:
        >>> given = [pa.array([list(range(20))]), pa.array([[["tie"], []] * 10]), pa.array([["male", "female"] * 10])]
        >>> [r["accuracy"] for r in attack_sets(*given, seeds=1).to_pylist()[0]]
        [1.0]
    """
    settings = Settings(attacker, seeds, test_share, epochs, learning_rate)
    settings.check("attack_sets", ("logistic", "mlp"))
    inputs = images, sets, labels
    return _attacked(
        "attack_sets", inputs, lambda row: _over_sets(_counts(sets[row].as_py()).sign(), settings), settings
    )


@udf(
    returns=RUNS,
    parameters=[_IMAGES, Parameter("vectors", pa.list_(pa.list_(pa.float32()))), _LABELS, *_SETTINGS],
    version="2",
)
def attack_vectors(
    images: pa.Array,
    vectors: pa.Array,
    labels: pa.Array,
    attacker: str = "logistic",
    seeds: int = 5,
    test_share: float = 0.2,
    epochs: int | None = None,
    learning_rate: float | None = None,
) -> pa.Array:
    """Return how well a classifier tells the label of vectors, such as embeddings, seed by seed.

    Args:
        images: Image of every vector.
        vectors: The vectors, as many, all of one length.
        labels: One of two labels for every vector.
        attacker: ``'logistic'`` (regression over values standardised by the training side) or ``'mlp'`` (Wang et al. 2019).
        seeds: As for ``attack_texts``, and so are the rest and what is returned.
        test_share: Share of images to judge by.
        epochs: Of torch's attackers.
        learning_rate: Likewise.

    Raises:
        RequestError: As ``attack_texts``; also vectors of several lengths, or that hold no numbers (``E3700``, ``E3702``).

    Example:
        >>> given = [pa.array([list(range(20))]), pa.array([[[1.0, 0.0], [0.0, 1.0]] * 10]), pa.array([["male", "female"] * 10])]
        >>> [r["auc"] for r in attack_vectors(*given, seeds=1).to_pylist()[0]]
        [1.0]
    """
    settings = Settings(attacker, seeds, test_share, epochs, learning_rate)
    settings.check("attack_vectors", ("logistic", "mlp"))
    inputs = images, vectors, labels
    return _attacked(
        "attack_vectors", inputs, lambda row: _over_vectors(_matrix(vectors[row].values), settings), settings
    )


@udf(
    returns=_INTERVAL,
    parameters=[Parameter("values", pa.list_(pa.float64())), Parameter("ratio", pa.float64())],
    version="1",
    name="split_interval",
)
def split_interval(values: pa.Array, ratio: pa.Array) -> pa.Array:
    """Return the mean of a measure over random cuts into training and test side, with a 95 % interval.

    The cuts share rows, so that the plain standard error is too small: the variance is multiplied by 1 / cuts + ratio
    instead of 1 / cuts, with Student's t of cuts - 1 degrees of freedom (the corrected resampled t-test).

    Args:
        values: The measure, one a cut; NULL, or any NULL in it, gives NULL.
        ratio: Test rows / training rows; more where cuts have more in common than rows. In simulations (docs/coverage.md)
            accuracies and areas need 0.5, confidences and differences of two classifiers 1: they vary more from dataset
            to dataset than from cut to cut, for classifiers learn from nearly the same rows.

    Returns:
        value, low, high; no interval for a single cut.

    Source:
        Nadeau and Bengio, Inference for the generalization error (2003).

    Example:
        >>> split_interval(pa.array([[0.5, 0.6, 0.7]]), pa.array([0.25])).to_pylist()
        [{'value': 0.6, 'low': 0.2713..., 'high': 0.9286...}]
    """
    found = [_interval(v, r) for v, r in zip(values.to_pylist(), ratio.to_pylist(), strict=True)]
    return pa.array([dict(zip(("value", "low", "high"), f, strict=True)) for f in found], _INTERVAL)


def _interval(values: Sequence[float | None] | None, ratio: float | None) -> tuple[float | None, ...]:
    known = [v for v in values or () if v is not None]
    if not known or len(known) != len(values or ()):
        return None, None, None
    mean = math.fsum(known) / len(known)
    if len(known) < 2 or ratio is None:
        return mean, None, None
    from scipy.special import stdtrit

    variance = math.fsum((v - mean) ** 2 for v in known) / (len(known) - 1)
    half = float(stdtrit(len(known) - 1, 0.975)) * math.sqrt(variance * (1 / len(known) + ratio))
    return mean, mean - half, mean + half


def _attacked(
    function: str, given: tuple[pa.Array, ...], attack: Callable[[int], Attack], settings: Settings
) -> pa.Array:
    """Return the runs of every row."""
    images, features, labels = given
    found: list[list[dict[str, Any]]] = []
    with threadpool_limits(1):
        for row in range(len(images)):
            ids, own_labels = images[row].as_py() or [], labels[row].as_py() or []
            count = len(features[row]) if features[row].is_valid else 0
            if not len(ids) == len(own_labels) == count:
                raise RequestError(
                    f"{function}() needs lists of equal length: {len(ids)} images, {count} features, {len(own_labels)} labels",
                    code="E3651",
                )
            found.append(_runs(function, ids, own_labels, partial(attack, row), settings))
    return pa.array(found, RUNS)


def _runs(
    function: str, ids: list[int], own_labels: list[str], attack: Callable[[], Attack], settings: Settings
) -> list[dict[str, Any]]:
    note = _note(function, ids, own_labels)
    if note is not None:
        return [{"note": note}]
    images, positive = np.asarray(ids, np.int64), np.asarray(own_labels) == max(own_labels)
    ready = attack()
    found = []
    for seed in range(settings.seeds):
        if settings.attacker == "logistic":  # the others tell of their epochs
            tell(Progress(function, seed, settings.seeds, "cuts", seed))
        found.append(_run(split(images, positive, seed, settings.test_share), positive, seed, ready))
    return found


def _note(function: str, ids: list[int], own_labels: list[str]) -> str | None:
    """Return why nothing can be learned, if so."""
    if None in ids or None in own_labels:
        raise RequestError(f"an image or a label of {function}() is NULL", code="E3651", hint="leave such rows out")
    sizes = {
        label: len({i for i, own in zip(ids, own_labels, strict=True) if own == label})
        for label in sorted({*own_labels})
    }
    if len(sizes) > 2:
        raise RequestError(f"{function}() tells two labels apart, not {len(sizes)}", code="E3651")
    if not sizes:
        return "no rows"
    if len(sizes) == 1:
        return f"only one label: {next(iter(sizes))}"
    few = min(sizes, key=lambda label: sizes[label])
    return f"fewer than {LEAST} images of {few}" if sizes[few] < LEAST else None


def _run(cut: Split, positive: NDArray[np.bool_], seed: int, attack: Attack) -> dict[str, Any]:
    from sklearn.metrics import roc_auc_score

    if not len(cut.train) or not len(cut.test):
        return {"note": "a side of the cut has one label only"}
    chance = attack(cut, positive, seed)
    truth = positive[cut.test]
    accuracy, confidence = judged(chance, truth)
    return {
        "seed": seed,
        "n_train": len(cut.train),
        "n_test": len(cut.test),
        "accuracy": accuracy,
        "confidence": confidence,
        "auc": float(roc_auc_score(truth, chance)),
        "note": None,
    }


def judged(chance: NDArray[np.float64], truth: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the accuracy, and the mean of the probability of the predicted label where it is right (0 where not).

    Args:
        chance: Probability of the label, one a row; it is predicted from 0.5 on.
        truth: Whether the row has it.

    Example:
        >>> judged(np.array([0.9, 0.4, 0.2]), np.array([True, True, False]))
        (0.666..., 0.566...)
    """
    right = (chance >= 0.5) == truth
    return float(right.mean()), math.fsum(np.maximum(chance, 1 - chance)[right]) / len(truth)


def _words_of(texts: Iterable[str | None]) -> set[str]:
    return {word for text in texts for word in _WORD.findall((text or "").lower())}


def _tokens(texts: Iterable[str | None], masked: set[str], known: set[str] | None) -> list[list[str]]:
    def shown(word: str) -> str:
        if word in masked:
            return MASKED
        return word if known is None or word in known else UNKNOWN

    return [[shown(w) for w in _WORD.findall((text or "").lower())] for text in texts]


def _counts(tokens: Iterable[Sequence[str]]) -> Any:
    """Return how often each word is in each row, int64 CSR; columns in the order of the words' first use."""
    from scipy.sparse import csr_array

    columns: dict[str, int] = {}
    places: list[int] = []
    ends = [0]
    for row in tokens:
        places += [columns.setdefault(word, len(columns)) for word in row]
        ends.append(len(places))
    shape = (len(ends) - 1, max(len(columns), 1))
    matrix = csr_array((np.ones(len(places), np.int64), places, ends), shape=shape)
    matrix.sum_duplicates()
    return matrix


def _over_counts(counts: Any) -> Attack:
    """Fit logistic regression over TF-IDF, words and weights those of the training side."""

    def attack(cut: Split, positive: NDArray[np.bool_], _: int) -> NDArray[np.float64]:
        from sklearn.feature_extraction.text import TfidfTransformer

        used = np.flatnonzero(counts[cut.train].sum(axis=0) > 0)
        if not len(used):
            return np.full(len(cut.test), 0.5)
        tfidf = TfidfTransformer()
        train = tfidf.fit_transform(counts[cut.train][:, used])
        return _logistic(train, tfidf.transform(counts[cut.test][:, used]), positive[cut.train])

    return attack


def _over_sets(ones: Any, settings: Settings) -> Attack:
    if settings.attacker == "mlp":
        from counterbalance.udfs.models import attackers

        return attackers.over_rows(ones, settings)
    ones = ones.astype(np.float64)
    return lambda cut, positive, _: _logistic(ones[cut.train], ones[cut.test], positive[cut.train])


def _over_vectors(matrix: NDArray[np.float32], settings: Settings) -> Attack:
    if settings.attacker == "mlp":
        from counterbalance.udfs.models import attackers

        return attackers.over_rows(matrix, settings)

    def attack(cut: Split, positive: NDArray[np.bool_], _: int) -> NDArray[np.float64]:
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler()
        train = scaler.fit_transform(matrix[cut.train].astype(np.float64))
        return _logistic(train, scaler.transform(matrix[cut.test].astype(np.float64)), positive[cut.train])

    return attack


def _logistic(train: Any, test: Any, positive: NDArray[np.bool_]) -> NDArray[np.float64]:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=2000).fit(train, positive)
    return np.asarray(model.predict_proba(test)[:, 1], np.float64)


def _matrix(vectors: pa.ListArray) -> NDArray[np.float32]:
    """Return float32 (rows, length) of equally long lists of finite numbers."""
    flat = vectors.flatten()
    length = len(flat) // len(vectors)
    lengths = np.asarray(vectors.value_lengths().fill_null(-1))
    if not (lengths == length).all() or length == 0 or flat.null_count:
        raise RequestError("vectors are NULL, empty, or of several lengths", code="E3700", hint="leave such rows out")
    matrix = np.asarray(flat, np.float32).reshape(len(vectors), length)
    if not np.isfinite(matrix).all():
        raise RequestError("a vector holds no finite numbers", code="E3702", hint="leave such rows out")
    return matrix
