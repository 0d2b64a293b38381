"""Which option a model's reply means, and in which order options are shown."""

from __future__ import annotations

from collections import Counter

import pytest

from counterbalance.udfs.models.replies import meant, question, shuffled

FOUR = ["only men", "only women", "both men and women", "unclear: nobody can be seen"]


@pytest.mark.parametrize(
    "reply",
    [
        "B",
        "b",
        "(B)",
        "(b)",
        "B.",
        "B)",
        "B:",
        " B \n",
        "**B**",
        '"B"',
        "\\boxed{B}",
        "B, B",
        "The answer is B",
        "The answer is B.",
        "the answer is b",
        "Answer: B",
        "Option B",
        "My final answer is (B).",
        "I think B",
        "B because A woman is seen",
        "B. only women",
        "B) Only women",
        "B only women",
        "only women",
        "Only women.",
        "ONLY WOMEN",
        "It is only women.",
        "B\n\nExplanation: there is one.",
    ],
)
def test_the_second_option(reply):
    assert meant(reply, FOUR) == "only women"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " ",
        "?",
        "A or B",
        "A and B",
        "A, B",
        "A/B",
        "Either A or C.",
        "B. only men",
        "A: only women",
        "Z",
        "E",
        "The answer is E",
        "AB",
        "only",
        "men and women",
        "not only women",
        "A person is standing there",
        "I see a dog",
        "I cannot tell",
        "Sorry, as a language model …",
    ],
)
def test_replies_without_one_meaning(reply):
    assert meant(reply, FOUR) is None


def test_words_that_are_also_letters():
    assert meant("A", FOUR) == "only men"
    assert meant("a", FOUR) == "only men"
    assert meant("The answer is a", FOUR) == "only men"
    assert meant("A is right", FOUR) == "only men"
    assert meant("A woman", ["man", "woman"]) == "woman"
    assert meant("It's a woman", ["man", "woman"]) == "woman"
    nine = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    assert meant("I", nine) == "nine"
    assert meant("I guess three", nine) is None


def test_the_first_words_of_an_option():
    assert meant("unclear", FOUR) == FOUR[3]
    assert meant("Both", FOUR) == FOUR[2]
    assert meant("D. unclear: nobody", FOUR) == FOUR[3]
    assert (
        meant("East Asian", ["Southeast Asian", "East Asian, for example Japanese"])
        == "East Asian, for example Japanese"
    )
    assert meant("no", ["no", "no idea"]) == "no"
    assert meant("unc", FOUR) is None


def test_options_that_look_like_letters():
    """Shown as A. B and B. A, a reply of one letter cannot be told."""
    assert meant("A", ["B", "A"]) is None
    assert meant("A", ["A", "B"]) == "A"
    assert meant("2", ["1", "2"]) == "2"


def test_other_scripts():
    assert meant("да", ["да", "нет"]) == "да"
    assert meant("B: нет", ["да", "нет"]) == "нет"


def test_the_question():
    expected = "Is anybody there?\nA. no\nB. yes\n\nReply with one letter only."
    assert question("Is anybody there?", ["no", "yes"]) == expected


def test_the_order_belongs_to_the_content_and_the_seed():
    assert shuffled(FOUR, 0, "x") == shuffled(FOUR, 0, "x")
    orders = {tuple(shuffled(FOUR, seed, "x")) for seed in range(300)}
    assert len(orders) == 24
    assert len({tuple(shuffled(FOUR, 0, str(content))) for content in range(300)}) == 24
    assert all(sorted(order) == sorted(FOUR) for order in orders)


def test_every_option_comes_first_as_often():
    first = Counter(shuffled(FOUR, 0, content)[0] for content in range(4000))
    assert set(first) == set(FOUR)
    assert all(abs(count - 1000) < 5 * (4000 * 0.25 * 0.75) ** 0.5 for count in first.values())
