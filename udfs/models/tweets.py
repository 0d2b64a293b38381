"""Texts as pysentimiento's models saw them in training: what is done to a text before it is cut into tokens.

Results depend on it, so this gives what ``preprocess_tweet`` of pysentimiento 0.7.3 gives, written anew: hashtags are told
and cut into words, some characters replaced or left out, handles and addresses become one token each, long repetitions
three characters, emoji their names, and laughter one laugh. Names of emoji come from the library ``emoji``, as there.

Source: J. M. Pérez et al., pysentimiento: A Python Toolkit for Opinion Mining and Social NLP tasks (2021).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from counterbalance.udfs.models.weights import need

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
    """A text as the models saw texts.

    Args:
        text: As it was written.
        language: One of ``LANGUAGES``.

    Example:
        >>> prepared("@jane see http://bit.ly/x “so gooooood” #CatVideo hahahahah")
        '@USER see HTTPURL "so goood" hashtag cat video haha'
    """
    rules = LANGUAGES[language]
    text = _HASHTAG.sub(_told, text).translate(_CHARACTERS)
    text = _ADDRESS.sub(rules.address, _HANDLE.sub(rules.handle, text))
    text = _REPEATED.sub(r"\1\1\1", text)
    if not text.isascii():
        emoji: Any = need("emoji", "models")
        text = emoji.demojize(text, language=language, delimiters=("|", "|"))
    if "|" in text:
        text = _BETWEEN_BARS.sub(_named, text)
    return rules.laughter.sub(rules.laugh, text).strip()


def _told(found: re.Match[str]) -> str:
    return "hashtag " + _CAPITALS.sub(r" \1", found[1]).strip().lower()


def _named(found: re.Match[str]) -> str:
    return f" emoji {found[1].replace('_', ' ')} emoji "
