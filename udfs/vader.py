"""Score the sentiment of texts by VADER, equal to the vaderSentiment package (or NLTK's port) to the last bit.

``vader(text)`` gives the compound score, ``vader_scores(text)`` all four, ``vader_tokens(tokens)`` the compound score of
texts stored as whitespace-split tokens. With ``rules := 'nltk'`` the rules are those of NLTK's port. Only the English
words of the lexicon (2014, social media) are seen; see the paper before reading much into a single score.

Source: C. J. Hutto and E. Gilbert, VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text,
ICWSM 2014.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import RequestError, did_you_mean
from counterbalance.engine.functions import Parameter, udf
from counterbalance.udfs.rows import BATCH_ROWS
from counterbalance.udfs.vader_rules import Scores
from counterbalance.udfs.vader_texts import encoded, score, starts_of
from counterbalance.udfs.vader_words import load, package_is_known, reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

RULES: Final = ("vader", "nltk")
BLOCK_ROWS: Final = 1 << 15
BLOCK_BYTES: Final = 1 << 26
SCORES: Final = pa.struct([(name, pa.float64()) for name in ("neg", "neu", "pos", "compound")])

_TEXT: Final = Parameter("text", pa.string())
_TOKENS: Final = Parameter("tokens", pa.list_(pa.string()))
_RULES: Final = Parameter("rules", pa.string(), default="vader", constant=True)


@udf(returns=pa.float64(), parameters=[_TEXT, _RULES], version="1", batch_size=BATCH_ROWS)
def vader(text: pa.Array | pa.ChunkedArray, rules: str = "vader") -> pa.Array:
    """Return the sentiment of a text, from -1 to 1: VADER's compound score.

    Args:
        text: Strings of any length; NULL gives NULL.
        rules: ``'vader'`` for the vaderSentiment package's results, ``'nltk'`` for those of NLTK's port.

    Returns:
        float64, one a text; 0 for a text without words of the lexicon, also for an empty one.

    Raises:
        RequestError: There are no such rules (E3051).

    Example:
        >>> vader(pa.array(["A happy dog.", "A dog.", None])).to_pylist()
        [0.5719, 0.0, None]
    """
    return pa.array(_scores(text, rules, _split, shares=False).compound, mask=_nulls(text))


@udf(returns=SCORES, parameters=[_TEXT, _RULES], version="1", batch_size=BATCH_ROWS)
def vader_scores(text: pa.Array | pa.ChunkedArray, rules: str = "vader") -> pa.Array:
    """Return the shares of negative, neutral and positive words of a text and its compound score, by VADER.

    Args:
        text: Strings of any length; NULL gives NULL.
        rules: As for ``vader``.

    Returns:
        struct<neg, neu, pos, compound: float64>, one a text; all 0 for a text without words.

    Raises:
        RequestError: There are no such rules (E3051).

    Example:
        >>> vader_scores(pa.array(["A happy dog."])).to_pylist()
        [{'neg': 0.0, 'neu': 0.351, 'pos': 0.649, 'compound': 0.5719}]
    """
    arrays = [pa.array(values) for values in _scores(text, rules, _split, shares=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(SCORES), mask=pa.array(_nulls(text)))


@udf(returns=pa.float64(), parameters=[_TOKENS, _RULES], version="1", batch_size=BATCH_ROWS)
def vader_tokens(tokens: pa.Array | pa.ChunkedArray, rules: str = "vader") -> pa.Array:
    """Return the compound score of a text stored as its whitespace-split tokens; equals vader() of the text.

    The tokens must be the text's own, with their case and punctuation: ``string_split`` by white space, not a
    tokeniser's words, lemmas or lower-cased forms. Large batches are scored fastest dictionary-encoded
    (``list<dictionary<string>>``). Empty and NULL tokens count as not there, a token with white space in it as several.

    Args:
        tokens: Lists of strings, plain or dictionary-encoded; NULL gives NULL.
        rules: As for ``vader``.

    Returns:
        float64, one a list; bit for bit what ``vader`` gives for the tokens joined by spaces.

    Raises:
        RequestError: There are no such rules (E3051).

    Example:
        >>> vader_tokens(pa.array([["A", "happy", "dog."], []])).to_pylist()
        [0.5719, 0.0]
    """
    return pa.array(_scores(tokens, rules, _as_lists, shares=False).compound, mask=_nulls(tokens))


def _nulls(array: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Return where the array is NULL, as numpy bool."""
    return np.asarray(pc.is_null(array))


def _split(texts: pa.Array) -> pa.Array:
    """Return the lists of tokens as ``str.split`` gives them, save for empty ones at the ends."""
    plain = pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)
    return pc.utf8_split_whitespace(texts if plain else texts.cast(pa.large_string()))


def _as_lists(lists: pa.Array) -> pa.Array:
    """Return the lists of strings in a form that can be flattened and encoded."""
    if pa.types.is_null(lists.type):
        return lists.cast(pa.list_(pa.string()))
    item = lists.type.value_type
    plain = pa.types.is_dictionary(item) or pa.types.is_string(item) or pa.types.is_large_string(item)
    return lists if plain else lists.cast(pa.large_list(pa.large_string()))


def _scores(
    texts: pa.Array | pa.ChunkedArray, rules: str, split: Callable[[pa.Array], pa.Array], *, shares: bool
) -> Scores:
    if rules not in RULES:
        raise RequestError(
            f"no rules {rules!r} for VADER{did_you_mean(str(rules), RULES)}",
            code="E3051",
            hint=f"rules: {', '.join(RULES)}",
        )
    own = rules == "nltk" or package_is_known()
    scorer: Callable[[pa.Array], Scores] = partial(score, load(rules), shares=shares) if own else _by_the_package
    parts = [scorer(split(block)) for block in _blocks(texts)]
    return Scores(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _by_the_package(lists: pa.Array) -> Scores:
    """Return scores from the package itself, for a release whose rules may be others."""
    rows, starts = [], starts_of(lists).tolist()
    ids, distinct = encoded(lists.flatten())
    words = distinct.to_pylist()
    for start, end in pairwise(starts):
        text = " ".join([words[token] for token in ids[start:end].tolist()])
        rows.append(tuple(reference().polarity_scores(text)[name] for name in SCORES.names))
    return Scores(*np.array(rows, dtype=np.float64).reshape(-1, 4).T)


def _blocks(array: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array]:
    """Yield the slices of a bounded number of rows and bytes; at least one, empty for an empty array."""
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    if not len(array):
        yield pa.array([], array.type)
    for chunk in chunks:
        for start in range(0, len(chunk), BLOCK_ROWS):
            yield from _halves(chunk.slice(start, BLOCK_ROWS))


def _halves(block: pa.Array) -> Iterator[pa.Array]:
    """Yield the block, cut in halves until each has few enough bytes or one row."""
    item = getattr(block.type, "value_type", block.type)
    if (
        len(block) < 2
        or pa.types.is_dictionary(block.type)
        or pa.types.is_dictionary(item)
        or block.nbytes <= BLOCK_BYTES
    ):
        yield block
        return
    half = len(block) // 2
    yield from _halves(block.slice(0, half))
    yield from _halves(block.slice(half))
