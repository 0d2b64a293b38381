"""Find the nouns of a text: ``nouns``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from counterbalance.engine.functions import Parameter, udf
from counterbalance.udfs import taggers
from counterbalance.udfs.spans import spans

if TYPE_CHECKING:
    from counterbalance.udfs.taggers import Tagger

TAGS: Final = frozenset({"NN", "NNS"})
"""Common nouns, singular and plural; names (NNP, NNPS) are none."""
NOUN: Final = pa.struct(
    [
        ("word", pa.string()),
        ("tag", pa.string()),
        ("position", pa.int32()),
        ("start", pa.int32()),
        ("end", pa.int32()),
    ]
)


@udf(
    returns=pa.list_(NOUN),
    parameters=[
        Parameter("text", pa.string()),
        Parameter("tagger", pa.string(), taggers.DEFAULT, constant=True),
    ],
    version="2",
    batch_size=8192,
    weights=taggers.digest,
)
class nouns:  # noqa: N801 - its name in SQL
    """The common nouns of a text (tags NN and NNS), by a part-of-speech tagger that works offline.

    Args:
        tagger: ``'textblob'`` (rules, with their lexicon in the package, and a few of our own), ``'nltk'`` (the averaged perceptron, where its data
            are) or ``'spacy:NAME'`` (an installed pipeline or the folder of one); part of the column's fingerprint.

    Call with:
        text: Strings; NULL gives NULL, a text without nouns an empty list.

    Returns:
        list<struct<word: string, tag: string, position: int32, start: int32, end: int32>> in the order of the text:
        ``position`` counts words and marks from 0 and is what ``fill_mask`` takes; ``start`` and ``end`` are characters from 0,
        the end not included.

    Raises:
        RequestError: There is no such tagger (E3051), or its library is missing (E3501).
        NotFoundError: Its data are missing (E1220, E1221).

    Source:
        Le et al., COCO-Counterfactuals (2023), section 3.1: the nouns that are replaced.

    Example:
        ``SELECT unnest(nouns(text)).word AS word, count(*) FROM captions GROUP BY ALL``
    """

    def __init__(self, tagger: str = taggers.DEFAULT) -> None:
        self._name = tagger
        self._tags: Tagger | None = None

    def open(self, device: str) -> None:
        """Load the tagger."""
        del device
        self._tags = taggers.load(self._name)

    def close(self) -> None:
        """Let it go."""
        self._tags = None

    def __call__(self, text: pa.Array) -> pa.Array:
        """Return the nouns of a batch; equal texts are tagged once."""
        coded = text.dictionary_encode()
        found = pa.array([self._of(t) for t in coded.dictionary.to_pylist()], pa.list_(NOUN))
        return found.take(coded.indices)

    def _of(self, text: str) -> list[dict[str, object]]:
        assert self._tags is not None  # noqa: S101 - functions are opened before they are called
        places = spans(text)
        words = [text[start:end] for start, end in places]
        tags = self._tags(words) if words else []
        rows = enumerate(zip(words, tags, places, strict=True))
        return [
            {"word": word, "tag": tag, "position": position, "start": start, "end": end}
            for position, (word, tag, (start, end)) in rows
            if tag in TAGS
        ]
