"""distinctive_words: log-odds of words with an informative Dirichlet prior, as the formulas of the paper give them."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest


def rows(lake, texts, given=""):
    table = ", ".join(f"({part}, '{text}')" for part, text in texts)
    query = f"SELECT * FROM distinctive_words((SELECT * FROM (VALUES {table}) AS t(part, text)){given})"
    return lake.sql(query).to_arrow().to_pylist()


def test_one_word_by_hand(lake):
    """board: 2 of 4 words here, 1 of 6 there, 3 of 10 in all; 5 words of the prior are 1.5 board and 3.5 others."""
    texts = [(1, "board, BOARD wave. tree"), (2, "board oven pan pan pan tree")]
    found = rows(lake, texts, ", prior := 5, min_count := 1, without := lists.gender_words")
    board = next(r for r in found if r["word"] == "board")
    delta = math.log(3.5 / 5.5) - math.log(2.5 / 8.5)
    error = math.sqrt(1 / 3.5 + 1 / 2.5)
    assert (board["part"], board["count"], board["n"], board["rest"], board["rest_n"]) == (1, 2, 4, 1, 6)
    assert board["log_odds"] == pytest.approx(delta, rel=1e-12)
    assert board["z"] == pytest.approx(delta / error, rel=1e-12)
    assert (board["high"] - board["low"]) / 2 == pytest.approx(1.959963984540054 * error, rel=1e-12)


def naive(texts, prior, least, top):
    counts = {}
    for part, text in texts:
        counts.setdefault(part, Counter()).update(text.split())
    every = sum(counts.values(), Counter())
    whole = every.total()
    found = {}
    for part, own in counts.items():
        scored = []
        for word, count in own.items():
            a = prior * every[word] / whole
            rest, rest_n = every[word] - count, whole - own.total()
            delta = math.log((count + a) / (own.total() + prior - count - a))
            delta -= math.log((rest + a) / (rest_n + prior - rest - a))
            z = delta / math.sqrt(1 / (count + a) + 1 / (rest + a))
            if count >= least and delta > 0:
                scored.append((-z, word))
        found[part] = [(w, -z) for z, w in sorted(scored)][:top]
    return found


def test_all_words_of_random_texts(lake):
    draw = np.random.default_rng(0)
    words = [f"word{i}" for i in range(40)]
    chance = {part: draw.dirichlet(np.full(40, 0.3)) for part in range(4)}
    texts = [(part, " ".join(draw.choice(words, 12, p=chance[part]))) for part in range(4) for _ in range(30)]
    wanted = naive(texts, prior=100, least=3, top=6)
    found = rows(lake, texts, ", prior := 100, min_count := 3, top := 6")
    assert [(r["part"], r["place"], r["word"]) for r in found] == [
        (part, i + 1, w) for part, own in sorted(wanted.items()) for i, (w, _) in enumerate(own)
    ]
    assert [r["z"] for r in found] == pytest.approx([z for _, own in sorted(wanted.items()) for _, z in own], rel=1e-9)


def test_stop_words_and_rare_words_stand_nowhere(lake):
    found = rows(lake, [(1, "the the the boat boat"), (2, "the oven oven rare")], ", min_count := 2")
    assert [(r["part"], r["word"], r["n"], r["rest_n"]) for r in found] == [(1, "boat", 2, 3), (2, "oven", 3, 2)]


def test_a_single_part_has_no_others_to_differ_from(lake):
    assert rows(lake, [(1, "boat boat boat")], ", min_count := 1") == []
