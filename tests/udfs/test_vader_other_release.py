"""With another release of vaderSentiment its own analyzer is asked: its rules may have changed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.udfs import vader as module
from counterbalance.udfs import vader_words
from counterbalance.udfs.vader import vader, vader_scores, vader_tokens


class OtherRelease:
    """Scores that no rule would give."""

    def polarity_scores(self, text):
        return {"neg": 0.25, "neu": 0.5, "pos": 0.25, "compound": len(text) / 100}


@pytest.fixture
def other_release(monkeypatch):
    monkeypatch.setattr(module, "package_is_known", lambda: False)
    monkeypatch.setattr(module, "reference", OtherRelease)


def test_the_installed_release_is_known():
    assert vader_words.package_is_known()


def test_another_release_is_asked_itself(other_release):
    texts = pa.array(["good dog", None, ""])
    assert vader(texts).to_pylist() == [0.08, None, 0.0]
    assert vader_scores(texts).to_pylist()[0] == {"neg": 0.25, "neu": 0.5, "pos": 0.25, "compound": 0.08}
    assert vader_tokens(pa.array([["good", "dog"], None, []])).to_pylist() == [0.08, None, 0.0]
    assert vader(pa.array([], pa.string())).to_pylist() == []


def test_the_rules_of_nltk_are_ours_with_any_release(other_release):
    assert vader(pa.array(["no good"]), "nltk").to_pylist() == [0.1779]


def test_the_version_is_compared(monkeypatch):
    monkeypatch.setattr(vader_words, "version", lambda name: "3.9.9")
    assert vader_words.package_is_known.__wrapped__() is False
