"""From Python 3.12 on ``sum`` makes up for rounding, and the references use it: so do the scores here."""

from __future__ import annotations

import functools
import itertools
import random

import pyarrow as pa
import pytest
import vader_peers
from nltk.sentiment import vader as nltk_vader
from vaderSentiment import vaderSentiment as package  # noqa: N813 - the module, not a class

from counterbalance.udfs import vader_rules
from counterbalance.udfs.vader import vader_scores

WORDS = [
    "good",
    "bad",
    "bad!",
    "happy",
    "sad",
    "not",
    "very",
    "no",
    "GOOD",
    "nice",
    "fine",
    "kind",
    "of",
    "the",
    "shit",
]
WORDS += ["a", "b", "yeah", "right", "but", "so", "awful", "hardly", "least"]


def modern_sum(values):
    """``sum`` of Python 3.12: exact for integers, then Neumaier's compensation for every ``float`` added to a ``float``."""
    values = list(values)
    total, start = 0, 0
    while start < len(values) and type(values[start]) is int:
        total += values[start]
        start += 1
    if start == len(values):
        return total
    total, lost = total + values[start], 0.0
    for value in values[start + 1 :]:
        after = total + value
        if type(value) is float:
            lost += (total - after) + value if abs(total) >= abs(value) else (value - after) + total
        total = after
    return total + lost


def plain_sum(values):
    total = 0
    for value in values:
        total += value
    return total


@pytest.fixture
def references(tmp_path):
    return vader_peers.references(tmp_path)


@functools.cache
def texts():
    draw = random.Random(3)
    return [" ".join(draw.choices(WORDS, k=draw.randrange(3, 14))) for _ in range(2_000)]


def test_the_model_of_the_new_sum():
    assert modern_sum([0.1] * 10) == 1.0
    assert modern_sum([1.0, 1e100, 1.0, -1e100]) == 2.0
    assert modern_sum([]) == 0
    assert modern_sum([2, 3]) == 5
    if vader_rules.COMPENSATED:
        draw = random.Random(1)
        for _ in range(1_000):
            values = draw.choices([0, 3, -2, 0.1, 1.9, -2.5, -0.74 * 1.9, 0.95], k=8)
            assert modern_sum(values) == sum(values)


@pytest.mark.parametrize("rules", ["vader", "nltk"])
@pytest.mark.parametrize("add", [modern_sum, plain_sum])
def test_scores_follow_the_sum_of_the_python_they_run_on(references, monkeypatch, rules, add):
    given = texts()
    monkeypatch.setattr(vader_rules, "COMPENSATED", add is modern_sum)
    monkeypatch.setattr(vader_rules, "_sum", add)
    for reference in (package, nltk_vader):
        monkeypatch.setattr(reference, "sum", add, raising=False)
    wanted = [references[rules].polarity_scores(text) for text in given]

    assert vader_scores(pa.array(given), rules).to_pylist() == wanted


@functools.cache
def near_zero():
    """Texts whose valences add up to zero or not by how they are added: compensated, with whole numbers or without."""
    found = []
    lexicon = package.SentimentIntensityAnalyzer().lexicon
    words = {valence: word for word, valence in lexicon.items() if word.isalpha() and len(word) > 3}
    for one, two, three in itertools.product(words, repeat=3):
        if sign([one, two, three]) != sign([one, two, three], plain_sum):
            found.append(f"q q q {words[one]} q q q {words[two]} q q q {words[three]} !")
        if sign([one, two, -2, three]) != sign([one, two, -2.0, three]):
            found.append(f"q q q {words[one]} q q q {words[two]} q q q yeah right q q q {words[three]} !")
        # Of equal valences after "but" the package changes the first again: a whole number stays as it is.
        if sign([one / 2, 4.5, 3, two * 1.5, three * 1.5]) != sign([one / 2, 4.5, 3.0, two * 1.5, three * 1.5]):
            spaced = " q q q ".join([words[one], "but", words[2.0], "the shit", words[two], words[three]])
            found.append(f"q q q {spaced} !")
    for one, two in itertools.product(words, repeat=2):
        if sign([0, -2, one, two]) != sign([0.0, -2, one, two]):
            found.append(f"q q q kind of q q q yeah right q q q {words[one]} q q q {words[two]} !")
    found.append("q q q the shit least good q q q bad q q q happy")
    return found


def sign(values, add=modern_sum):
    total = add(values)
    return (total > 0) - (total < 0)


@pytest.mark.parametrize("rules", ["vader", "nltk"])
def test_whole_numbers_are_added_as_such(references, monkeypatch, rules):
    given = near_zero()
    assert len({len(text.split()) for text in given}) == 5
    monkeypatch.setattr(vader_rules, "COMPENSATED", True)
    monkeypatch.setattr(vader_rules, "_sum", modern_sum)
    for reference in (package, nltk_vader):
        monkeypatch.setattr(reference, "sum", modern_sum, raising=False)
    wanted = [references[rules].polarity_scores(text) for text in given]

    assert vader_scores(pa.array(given), rules).to_pylist() == wanted


def test_the_sum_matters(references, monkeypatch):
    given = texts()
    scores = []
    for add in (modern_sum, plain_sum):
        monkeypatch.setattr(package, "sum", add, raising=False)
        scores.append([references["vader"].polarity_scores(text) for text in given])
    assert scores[0] != scores[1]
