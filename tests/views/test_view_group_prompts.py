"""group_prompts: a caption asks for every group of a word list; lists can be crossed, and one's own be used."""

from __future__ import annotations

import pyarrow as pa
import pytest

GENDER, TONE = "lists.group_words_gender", "lists.group_words_skin_tone"


def prompts(session, texts, words=GENDER, neutral="true"):
    rows = pa.table(
        {
            "caption_id": pa.array(range(len(texts)), pa.int64()),
            "image_id": pa.array([7] * len(texts), pa.int64()),
            "text": pa.array(texts, pa.string()),
        }
    )
    call = f"SELECT * FROM group_prompts({session.bind('texts', rows)}, {words}, {neutral}) ORDER BY caption_id, label"
    return session.sql(call).fetchall()


@pytest.mark.parametrize(
    ("text", "female", "male", "named"),
    [
        ("a man rides a horse", "a woman rides a horse", "a man rides a horse", 1),
        ("A Woman hands him HIS hat.", "A Woman hands her HER hat.", "A Man hands him HIS hat.", 3),
        ("the children of two people", "the girls of two women", "the boys of two men", 2),
        ("a boy's dog; they run with their ball", "a girl's dog; they run with their ball", "a boy's dog; they run with their ball", 1),
        ("She is a mother", "She is a mother", "He is a father", 2),
        ("They say he rides.", "They say she rides.", "They say he rides.", 1),
        ("two dogs on the grass. ", "two dogs on the grass, a woman", "two dogs on the grass, a man", 0),
        ("un père près d'une fenêtre", "un père près d'une fenêtre, a woman", "un père près d'une fenêtre, a man", 0),
    ],
)  # fmt: skip
def test_a_caption_in_the_words_of_either_gender(session, text, female, male, named):
    assert prompts(session, [text]) == [(0, 7, "female", female, named), (0, 7, "male", male, named)]


def test_captions_without_words_have_no_prompts(session):
    assert prompts(session, [None, ""]) == []


def test_prompts_differ_in_the_words_of_the_group_only(session):
    rows = prompts(session, ["a man and his dog, by a red car"], TONE)
    assert [(r[2], r[3]) for r in rows] == [
        ("darker", "a darker-skinned person and their dog, by a red car"),
        ("lighter", "a lighter-skinned person and their dog, by a red car"),
    ]


@pytest.mark.parametrize(
    ("text", "darker"),
    [
        ("a woman and her dog", "a darker-skinned woman and her dog"),
        ("An Aunt sees two boys", "A Darker-skinned aunt sees two darker-skinned boys"),
        ("a person and his dog", "a darker-skinned person and his dog"),
        ("dogs", "dogs, a darker-skinned person"),
    ],
)
def test_the_gender_of_a_caption_may_stay(session, text, darker):
    rows = prompts(session, [text], TONE, "false")
    lighter = darker.replace("darker", "lighter").replace("Darker", "Lighter")
    assert [r[2:4] for r in rows] == [("darker", darker), ("lighter", lighter)]
    # of words that do not hold their term nothing changes
    assert prompts(session, [text], GENDER, "false") == prompts(session, [text], GENDER)


def test_crossed_lists_give_every_pair(session):
    rows = prompts(session, ["the man lost his hat", "a child"], "crossed_words()")
    assert [(r[0], r[2], r[3]) for r in rows] == [
        (0, "female & darker", "the darker-skinned woman lost her hat"),
        (0, "female & lighter", "the lighter-skinned woman lost her hat"),
        (0, "male & darker", "the darker-skinned man lost his hat"),
        (0, "male & lighter", "the lighter-skinned man lost his hat"),
        (1, "female & darker", "a darker-skinned girl"),
        (1, "female & lighter", "a lighter-skinned girl"),
        (1, "male & darker", "a darker-skinned boy"),
        (1, "male & lighter", "a lighter-skinned boy"),
    ]
    other_way = prompts(session, ["the man lost his hat", "a child"], f"crossed_words({TONE}, {GENDER})")
    assert [r[3] for r in other_way if r[2] == "darker & female"] == [
        "the darker-skinned woman lost her hat",
        "a darker-skinned girl",
    ]


def own(*rows):
    values = ", ".join(map(str, rows))
    return f"(SELECT * FROM (VALUES {values}) AS w(term, class, word))"


OLD = own(("person", "old", "elderly person"), ("person", "young", "young person"), ("people", "old", "elderly people"))


def test_a_list_of_ones_own(session):
    rows = prompts(session, ["A man with a dog", "two men", "a dog"], OLD)
    assert [(r[2], r[3], r[4]) for r in rows] == [
        ("old", "An elderly person with a dog", 1),
        ("young", "A young person with a dog", 1),
        ("old", "two elderly people", 1),
        ("young", "two people, a young person", 0),
        ("old", "a dog, an elderly person", 0),
        ("young", "a dog, a young person", 0),
    ]
    without = prompts(session, ["a dog"], own(("cat", "a", "lion")))
    assert [(r[2], r[3], r[4]) for r in without] == [("a", None, 0)]


def test_three_lists_crossed(session):
    rows = prompts(session, ["an aunt"], f"crossed_words(crossed_words(), {own(('relative', 'old', 'old relative'))})")
    assert [(r[2], r[3]) for r in rows] == [
        ("female & darker & old", "an old darker-skinned aunt"),
        ("female & lighter & old", "an old lighter-skinned aunt"),
        ("male & darker & old", "an old darker-skinned uncle"),
        ("male & lighter & old", "an old lighter-skinned uncle"),
    ]


OF_ANY = {"hero", "heroes", "host", "hosts", "performer", "performers", "dancer", "dancers", "cleric", "clerics"}
OF_ANY |= {"teacher", "teachers", "mx", "homemaker", "homemakers"}
OF_ANY |= {
    f"{word}{s}"
    for s in ("", "s")
    for word in (
        "author", "aviator", "bartender", "benefactor", "comedian", "enchanter", "entertainer", "headteacher", "hunter", "landlord",
        "murderer", "patron", "poet", "proprietor", "sculptor", "shepherd", "singer", "sorcerer", "tailor", "tempter", "tutor",
        "twirler", "usher", "villain",
    )
}  # fmt: skip
"""Neutral words that captions have without any gender: a prompt keeps them."""


def test_shipped_lists_cover_what_neutralising_leaves(session):
    from counterbalance.udfs import wordlists

    neutral = {row["neutral"] for row in wordlists.wordlist("gender_words").to_pylist()}
    for name, classes in (("gender", {"female", "male"}), ("skin_tone", {"lighter", "darker"})):
        rows = wordlists.wordlist(f"group_words_{name}").to_pylist()
        terms = {c: {r["term"] for r in rows if r["class"] == c} for c in classes}
        assert {r["class"] for r in rows} == classes
        assert len(rows) == sum(map(len, terms.values()))
        pronouns = {"they", "them", "their", "theirs", "themselves"}
        assert all(t == (neutral if name == "gender" else neutral - pronouns) - OF_ANY for t in terms.values())
