"""Sentiment and hatefulness of texts by pysentimiento's classifiers: ``sentiment``, ``hate_scores``.

Texts are prepared as those the models were trained on: handles, addresses, emoji, hashtags and laughter as
``preprocess_tweet`` of pysentimiento 0.7.3 has them, written anew. They are cut at the length of the model, 128 tokens for
BERTweet. An empty text gets what the model says of an empty text, as with
pysentimiento. Both were trained on posts of social media; of other texts, such as alt-texts, they know less.

Sources: J. M. Pérez et al., pysentimiento: A Python Toolkit for Opinion Mining and Social NLP tasks (2021); the use on
alt-texts: L. Girrbach et al., Person-Centric Annotations of LAION-400M (2025). Their published code prepares English texts
by the rules for Spanish (handles become ``@usuario``, emoji Spanish words); ``language := 'es'`` does the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import Parameter, udf
from counterbalance.udfs.models import transformer
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.running import by_budget, inference
from counterbalance.udfs.models.weights import digest, folder, need

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

SENTIMENT: Final = pa.struct(
    [("label", pa.string()), ("score", pa.float32()), ("probabilities", pa.list_(pa.float32()))]
)
ASPECTS: Final = ("hateful", "targeted", "aggressive")
HATE: Final = pa.struct([(aspect, pa.float32()) for aspect in ASPECTS])
_BUDGET: Final = {"cpu": 1 << 12, "cuda": 1 << 17}
_TEXT: Final = Parameter("text", pa.string())
_LANGUAGE: Final = Parameter("language", pa.string(), default="en", constant=True)


_ENDINGS: Final = "com co org edu gov uk net ca de jp fr au us ru ch it nl se no es mil iq io ac ly sm"
_HASHTAG: Final = re.compile(r"\B#(\w*[a-zA-Z]\w*)")
_CAPITALS: Final = re.compile(r"([A-Z]+)")
_HANDLE: Final = re.compile(r"@[a-zA-Z0-9_]{0,15}")
_ADDRESS: Final = re.compile(
    rf"(?<=[^a-zA-Z0-9])(?:https?://|[a-zA-Z0-9]+\.|\b)(?:\w+\.){{1,5}}(?:{_ENDINGS.replace(' ', '|')})(?:/[a-zA-Z0-9]+)*"
)
_REPEATED: Final = re.compile(r"(.)\1{2,}")
_BETWEEN_BARS: Final = re.compile(r"\|([^|]+)\|")
_LEFT_OUT: Final = "~£¥©°´¶·º×ا–—‘’•…™●☠☹☺♀♂⚰⛱⛹✈✓❤ー🕯🛰"  # noqa: RUF001 - the very characters
_INSTEAD: Final = {**dict.fromkeys("¨«»“”", '"'), "‼": "!", "€": "$", "☻": "😃", **dict.fromkeys("♡♥", "❤️")}
_CHARACTERS: Final = str.maketrans({**dict.fromkeys(_LEFT_OUT, ""), **_INSTEAD})


@dataclass(frozen=True, slots=True)
class _Language:
    handle: str
    address: str
    laughter: re.Pattern[str]
    laugh: str


LANGUAGES: Final = {
    "en": _Language("@USER", "HTTPURL", re.compile("[ha]{2,}ah[ha]+"), "haha"),
    "es": _Language("@usuario", "url", re.compile("[ja]{2,}aj[ja]+"), "jaja"),
}
"""Languages whose models are known; tokens that stand for handles and addresses differ, and names of emoji."""


def prepared(text: str, language: str = "en") -> str:
    """Return a text as the models saw texts.

    Args:
        text: As it was written.
        language: One of ``LANGUAGES``.

    Example:
        >>> prepared("@jane see http://bit.ly/x “so gooooood” #CatVideo hahahahah")
        '@USER see HTTPURL "so goood" hashtag cat video haha'
    """
    rules = LANGUAGES[language]
    text = _HASHTAG.sub(_spelled_hashtag, text).translate(_CHARACTERS)
    text = _ADDRESS.sub(rules.address, _HANDLE.sub(rules.handle, text))
    text = _REPEATED.sub(r"\1\1\1", text)
    if not text.isascii():
        emoji: Any = need("emoji", "models")
        text = emoji.demojize(text, language=language, delimiters=("|", "|"))
    if "|" in text:
        text = _BETWEEN_BARS.sub(_spelled_emoji, text)
    return rules.laughter.sub(rules.laugh, text).strip()


def _spelled_hashtag(found: re.Match[str]) -> str:
    return "hashtag " + _CAPITALS.sub(r" \1", found[1]).strip().lower()


def _spelled_emoji(found: re.Match[str]) -> str:
    return f" emoji {found[1].replace('_', ' ')} emoji "


def _model(default: str) -> Parameter:
    return Parameter("model", pa.string(), default=default, constant=True)


def _fingerprint(model: str, **_: Any) -> str:
    return digest(folder(model, transformer.TWEETS))


@udf(
    returns=SENTIMENT,
    parameters=[_TEXT, _model("finiteautomata/bertweet-base-sentiment-analysis"), _LANGUAGE],
    version="1",
    batch_size=2048,
    device="auto",
    memory="2GB",
    weights=_fingerprint,
)
class sentiment:  # noqa: N801 - its name in SQL
    """Sentiment of a text by a fine-tuned classifier: its likeliest label and the probabilities of all.

    Args:
        model: A folder or repository of the hub with a classifier of one label a text; for Spanish
            ``'pysentimiento/robertuito-sentiment-analysis'`` with ``language := 'es'``.
        language: How texts are prepared: ``'en'`` or ``'es'``.

    Call with:
        text: Strings of any length; NULL gives NULL, the empty text what the model says of it.

    Returns:
        struct<label: string, score: float32, probabilities: list<float32>>: the label and its probability, and those of all
        labels in the model's order (NEG, NEU, POS), which sum to 1. A text's batch mates change them by rounding only.

    Raises:
        NotFoundError: There are no such weights (E1102, E1103).
        RequestError: There are no rules for the language (E3051), the model gives independent scores (E3536), is of another
            kind (E3540, E3541), or an extra is missing (E3501).

    Source:
        Pérez et al. (2021); the softmax over the labels.

    Example:
        ``SELECT s.label, avg(s.score) FROM (SELECT sentiment(text) AS s FROM captions) GROUP BY ALL``
    """

    def __init__(self, model: str, language: str) -> None:
        self._classifier = _Classifier(model, language, "sentiment")

    def open(self, device: str) -> None:
        """Load the model."""
        config = self._classifier.open(device).config
        if config.problem_type == "multi_label_classification":
            raise RequestError(
                "the model of sentiment() gives scores that are independent of each other, no one label",
                code="E3536",
                hint="take a classifier of one label a text",
            )
        self._names = [str(config.id2label[i]) for i in range(config.num_labels)]

    def __call__(self, text: pa.Array) -> pa.Array:
        """Return the sentiments of a batch."""
        logits = self._classifier.logits(text)
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = shifted / shifted.sum(axis=1, keepdims=True)
        best = shares.argmax(axis=1)
        offsets = np.arange(0, shares.size + 1, shares.shape[1], dtype=np.int32)
        parts = [
            pa.array([self._names[i] for i in best], pa.string()),
            pa.array(shares.max(axis=1), pa.float32()),
            pa.ListArray.from_arrays(pa.array(offsets), pa.array(shares.ravel(), pa.float32())),
        ]
        return pa.StructArray.from_arrays(parts, fields=list(SENTIMENT), mask=_nulls(text))

    def close(self) -> None:
        """Let the model go."""
        self._classifier.close()


@udf(
    returns=HATE,
    parameters=[_TEXT, _model("pysentimiento/bertweet-hate-speech"), _LANGUAGE],
    version="1",
    batch_size=2048,
    device="auto",
    memory="2GB",
    weights=_fingerprint,
)
class hate_scores:  # noqa: N801 - its name in SQL
    """How hateful, how targeted at a person and how aggressive a classifier finds a text; for ``hate_content_rate``.

    Args:
        model: A folder or repository of the hub with a classifier that has the labels hateful, targeted, aggressive.
        language: As for ``sentiment``.

    Call with:
        text: Strings of any length; NULL gives NULL, the empty text what the model says of it.

    Returns:
        struct<hateful, targeted, aggressive: float32>, each in [0, 1] and independent of the others: the sigmoid of the
        model's logit. A text's batch mates change them by rounding only.

    Raises:
        NotFoundError: As ``sentiment``.
        RequestError: The model lacks one of the labels (E3537), or as ``sentiment``.

    Source:
        Pérez et al. (2021), trained on SemEval-2019 task 5 (hatEval): posts about immigrants and women.

    Example:
        ``SELECT avg(hate_scores(text).hateful) FROM captions``
    """

    def __init__(self, model: str, language: str) -> None:
        self._classifier = _Classifier(model, language, "hate_scores")

    def open(self, device: str) -> None:
        """Load the model."""
        config = self._classifier.open(device).config
        known = {str(name).lower(): int(place) for place, name in config.id2label.items()}
        if missing := [aspect for aspect in ASPECTS if aspect not in known]:
            raise RequestError(
                f"the model of hate_scores() has no label {missing[0]!r}, but {', '.join(sorted(known))}", code="E3537"
            )
        self._places = [known[aspect] for aspect in ASPECTS]

    def __call__(self, text: pa.Array) -> pa.Array:
        """Return the scores of a batch."""
        logits = self._classifier.logits(text)[:, self._places].astype(np.float64)
        scores = np.exp(-np.logaddexp(0, -logits)).astype(np.float32)
        return pa.StructArray.from_arrays(
            [pa.array(np.ascontiguousarray(column)) for column in scores.T], fields=list(HATE), mask=_nulls(text)
        )

    def close(self) -> None:
        """Let the model go."""
        self._classifier.close()


class _Classifier:
    """A sequence classifier with its tokenizer and the rules by which texts are prepared for it."""

    def __init__(self, name: str, language: str, role: str) -> None:
        if language not in LANGUAGES:
            known = " or ".join(map(repr, LANGUAGES))
            raise RequestError(f"no rules to prepare texts of language {language!r}: {known}", code="E3051")
        self._name, self._language, self._role = name, language, role
        self._meter: Meter | None = None

    def open(self, device: str) -> Any:
        """Load the model, which is returned."""
        transformers: Any = need("transformers", "models")
        path: Path = folder(self._name, transformer.TWEETS)
        self._device, self._budget = device, _BUDGET[device.partition(":")[0]]
        self._model = transformer.load(path, "SEQUENCE_CLASSIFICATION", device)
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(
            path, local_files_only=True, trust_remote_code=False
        )
        self._longest = min(_positions(self._model), self._tokenizer.model_max_length)
        self._meter = Meter(self._role, device)
        return self._model

    def logits(self, text: pa.Array) -> NDArray[np.float32]:
        """Return logits (rows, labels), float32; zeros in rows that are NULL."""
        given = [row for row, value in enumerate(text) if value.is_valid]
        found = np.zeros((len(text), self._model.config.num_labels), np.float32)
        if given:
            texts = [prepared(text[row].as_py(), self._language) for row in given]
            ids = self._tokenizer(texts, truncation=True, max_length=self._longest)["input_ids"]
            for part in by_budget([len(one) for one in ids], self._budget):
                found[[given[i] for i in part]] = self._batch([ids[i] for i in part])
        return found

    def _batch(self, ids: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        torch: Any = need("torch", "models")
        shape = len(ids), max(map(len, ids))
        tokens, there = np.full(shape, self._tokenizer.pad_token_id, np.int64), np.zeros(shape, np.int64)
        for row, one in enumerate(ids):
            tokens[row, : len(one)], there[row, : len(one)] = one, 1
        device = self._device
        with self._meter.batch(len(ids), tokens.size), inference(device):  # type: ignore[union-attr]
            logits = self._model(
                input_ids=torch.from_numpy(tokens).to(device), attention_mask=torch.from_numpy(there).to(device)
            ).logits
        result: NDArray[np.float32] = logits.float().cpu().numpy()
        return result

    def close(self) -> None:
        """Tell how fast it was, and let the model go."""
        if self._meter is not None:
            self._meter.close()
            del self._model
            self._meter = None


def _positions(model: Any) -> int:
    """Return how many tokens a model takes; RoBERTa's children count positions from behind that of padding."""
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    most = int(getattr(model.config, "max_position_embeddings", None) or 1 << 30)
    padding = getattr(table, "padding_idx", None)
    return most if padding is None else most - int(padding) - 1


def _nulls(text: pa.Array) -> pa.Array:
    return text.is_null()
