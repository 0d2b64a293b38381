"""The references of VADER's scores: the package vaderSentiment, and NLTK with the lexicon of that package."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import nltk
from nltk.sentiment import vader as nltk_vader
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def references(folder: Path) -> dict[str, Any]:
    """Analyzers by rules; NLTK reads its lexicon from a file in an empty folder."""
    package = SentimentIntensityAnalyzer()
    (folder / "lexicon.txt").write_text(package.lexicon_full_filepath.rstrip("\n"), encoding="utf-8", newline="")
    nltk.data.path.insert(0, str(folder))
    try:
        port = nltk_vader.SentimentIntensityAnalyzer("lexicon.txt")
    finally:
        nltk.data.path.remove(str(folder))
    assert port.lexicon == package.lexicon
    return {"vader": package, "nltk": port}


def bits(scores: Mapping[str, float]) -> bytes:
    """The four scores of a text to the last bit."""
    return struct.pack("4d", *(scores[name] for name in ("neg", "neu", "pos", "compound")))
