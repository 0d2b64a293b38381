"""Score a generated caption by what people wrote of the same picture: ``meteor``."""

from __future__ import annotations

import hashlib
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import Parameter, udf
from counterbalance.udfs.models.weights import need
from counterbalance.udfs.taggers import digest_of_folder, nltk_data, version_of

if TYPE_CHECKING:
    from collections.abc import Sequence

WORDNET: Final = "wordnet"
NONE: Final = "none"
_PLACES: Final = ("corpora/wordnet", "corpora/wordnet.zip/wordnet/")
_WORD: Final = re.compile(r"\w+(?:'\w+)*")


class _NoSynonyms:
    """Stands in the place of WordNet where words match by themselves and their stems only."""

    def synsets(self, word: str) -> list[Any]:
        """Return none."""
        del word
        return []


def _wordnet() -> Any:
    return nltk_data("NLTK's WordNet", WORDNET, _PLACES, "synonyms := 'none'")


def digest(synonyms: str = WORDNET) -> str:
    """Return what scores depend on: the version of NLTK, and WordNet where it is used.

    Raises:
        RequestError: NLTK is missing (E3501).
        NotFoundError: WordNet is not there (E1220).
    """
    if synonyms != WORDNET:
        return version_of("nltk")
    found = _wordnet()
    archive = getattr(found, "zipfile", None)  # as NLTK fetches it
    if archive is None:
        return f"{version_of('nltk')} {digest_of_folder(Path(str(found)))}"
    return f"{version_of('nltk')} {hashlib.sha256(Path(archive.filename).read_bytes()).hexdigest()[:16]}"


@udf(
    returns=pa.float64(),
    parameters=[
        Parameter("text", pa.string()),
        Parameter("references", pa.list_(pa.string())),
        Parameter("synonyms", pa.string(), WORDNET, constant=True),
    ],
    version="1",
    batch_size=1024,
    weights=digest,
)
class meteor:  # noqa: N801 - its name in SQL
    """METEOR of a text beside its references, from 0 to 1: how many words they share, and in how few pieces.

    Words match as they are, by their stems (Porter), and as synonyms of WordNet; of several references the best counts. By
    NLTK, with the weights of 2007 (alpha .9, beta 3, gamma .5); values of the Java program that pycocoevalcap calls (version
    1.5, which knows paraphrases) are others. Words are runs of letters and digits, in lower case.

    Args:
        synonyms: ``'wordnet'``, whose data the user has (``python -m nltk.downloader wordnet``); or ``'none'``.

    Call with:
        text: A caption; NULL gives NULL, and so does NULL or nothing in ``references``.
        references: What people wrote, list<string>; NULLs in it are passed over.

    Returns:
        float64; 0 where no word matches.

    Raises:
        RequestError: There are no such synonyms (E3051), or NLTK is missing (E3501).
        NotFoundError: WordNet is not there (E1220).

    Source:
        Lavie and Agarwal, METEOR (2007); Bird et al., NLTK: translate.meteor_score.

    Example:
        ``SELECT avg(meteor(g.text, h.texts)) FROM generated AS g JOIN (SELECT image_id, list(text) AS texts FROM captions GROUP BY image_id) AS h USING (image_id)``
    """

    def __init__(self, synonyms: str = WORDNET) -> None:
        if synonyms not in {WORDNET, NONE}:
            raise RequestError(f"no synonyms {synonyms!r}", code="E3051", hint="'wordnet' or 'none'")
        self._synonyms = synonyms
        self._score: Any = None
        self._known: Any = None

    def open(self, device: str) -> None:
        """Load WordNet."""
        del device
        self._score = need("nltk.translate.meteor_score", "models").meteor_score
        if self._synonyms == WORDNET:
            reader: Any = need("nltk.corpus.reader.wordnet", "models")
            with warnings.catch_warnings():  # of languages that are not asked for
                warnings.simplefilter("ignore", UserWarning)
                self._known = reader.WordNetCorpusReader(_wordnet(), None)
        else:
            self._known = _NoSynonyms()

    def close(self) -> None:
        """Let it go."""
        self._score = self._known = None

    def __call__(self, text: pa.Array, references: pa.Array) -> pa.Array:
        """Return the scores of a batch."""
        pairs = zip(text.to_pylist(), references.to_pylist(), strict=True)
        return pa.array([self._of(said, others) for said, others in pairs], pa.float64())

    def _of(self, said: str | None, others: Sequence[str | None] | None) -> float | None:
        known = [_WORD.findall(other.lower()) for other in others or () if other is not None]
        if said is None or not known:
            return None
        return float(self._score(known, _WORD.findall(said.lower()), wordnet=self._known))
