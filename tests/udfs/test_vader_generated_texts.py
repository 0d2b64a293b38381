"""VADER's scores equal the references' on generated texts: all short combinations of the rules' words, and random ones."""

from __future__ import annotations

import itertools
import os

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import vader_peers
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.sentiment import vader as nltk_vader
from repeats import again
from vader_peers import bits
from vaderSentiment import vaderSentiment as package  # noqa: N813 - the module, not a class

from counterbalance.udfs.vader import vader, vader_scores, vader_tokens

ANALYZER = package.SentimentIntensityAnalyzer()
EMOJIS = sorted(character for character in ANALYZER.emojis if len(character) == 1)
RULE_WORDS = (  # noqa: SIM905 - shorter
    "but no or nor never so this without doubt least at very kind of not hardly just enough sort "
    "the shit bomb bad ass bus stop yeah right kiss death to die for beating heart cut mustard hand mouth tree good"
).split()
SPACES = [" ", " ", " ", "  ", "\t", "\n", "\r\n", "\x0b", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u00a0", "\u1680"]
SPACES += ["\u2003", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"]
MARKS = [
    "",
    "",
    "",
    "",
    ".",
    ",",
    "!",
    "!!",
    "!!!",
    "?",
    "??",
    "???",
    "?!?",
    "!?!?",
    "...",
    "'",
    '"',
    "-",
    "#",
    "'s",
    "_",
]
ODD = [
    "\u017fo",
    "İ",
    "ß",
    "GOODİ",
    "ÅNGST",
    "\u200bgood",
    "ﬁne",
    "но",
    "\x00",
    "e\u0301",
    "\U0001d420\U0001d428\U0001d428\U0001d41d",
    "\U0001d406\U0001d40e",
    "\ufeffgood",
    "Good",
    ":)",
]


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    return vader_peers.references(tmp_path_factory.mktemp("nltk"))


def differences(texts, rules, references):
    """Texts whose scores are not the reference's, whichever function gives them."""
    wanted = [references[rules].polarity_scores(text) for text in texts]
    scores = vader_scores(pa.array(texts, pa.string()), rules).to_pylist()
    compound = vader(pa.array(texts, pa.string()), rules).to_pylist()
    tokens = vader_tokens(pa.array([text.split() for text in texts], pa.list_(pa.string())), rules).to_pylist()
    return [
        (text, want, got)
        for text, want, got, one, other in zip(texts, wanted, scores, compound, tokens, strict=True)
        if bits(want) != bits(got) or one != want["compound"] or other != want["compound"]
    ]


@st.composite
def tokens(draw):
    word = draw(
        st.one_of(
            st.sampled_from(RULE_WORDS),
            st.sampled_from(sorted(ANALYZER.lexicon)),
            st.sampled_from(sorted(package.BOOSTER_DICT)),
            st.sampled_from(package.NEGATE),
            st.sampled_from(sorted(package.SPECIAL_CASES)),
            st.sampled_from(sorted(nltk_vader.VaderConstants.SPECIAL_CASE_IDIOMS)),
            st.sampled_from(EMOJIS),
            st.sampled_from(ODD),
            st.text(max_size=4),
        )
    )
    shaped = draw(st.sampled_from([str, str, str, str.upper, str.capitalize, str.swapcase]))(word)
    return draw(st.sampled_from(MARKS[::-1])) + shaped + draw(st.sampled_from(MARKS)) if draw(st.booleans()) else shaped


def encodable(text):
    return text.encode("utf-8", "ignore").decode("utf-8")  # Arrow holds no lone surrogates


texts = st.lists(st.tuples(tokens(), st.sampled_from(SPACES)), max_size=12).map(
    lambda parts: encodable("".join(word + space for word, space in parts))
)


@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")))
@given(st.lists(texts, min_size=1, max_size=12))
@pytest.mark.parametrize("rules", ["vader", "nltk"])
def test_random_texts(references, rules, batch):
    assert differences(batch, rules, references) == []


@given(st.lists(st.lists(st.none() | tokens().map(encodable), max_size=8), max_size=6))
@pytest.mark.parametrize("rules", ["vader", "nltk"])
def test_any_tokens_score_as_their_text(rules, lists):
    joined = [" ".join(token for token in tokens if token is not None) for tokens in lists]
    wanted = vader(pa.array(joined, pa.string()), rules)
    assert vader_tokens(pa.array(lists, pa.list_(pa.string())), rules).equals(wanted)


@pytest.mark.parametrize("rules", ["vader", "nltk"])
def test_every_two_rule_words_in_any_case_before_a_scoring_word(references, rules):
    cased = [shape(word) for word in RULE_WORDS for shape in (str, str.upper)]
    every = [f"a {one} {two} good x" for one, two in itertools.product(cased, cased)]
    assert differences(every, rules, references) == []


@pytest.mark.parametrize(("rules", "step"), [("vader", 19), ("nltk", 19), *again(("vader", 2), ("nltk", 2))])
def test_three_rule_words_around_a_scoring_word(references, rules, step):
    triples = list(itertools.product(RULE_WORDS, repeat=3))
    every = [f"x {a} {b} bad {c}" if n % 2 else f"{a} {b} {c} good of" for n, (a, b, c) in enumerate(triples[::step])]
    assert differences(every, rules, references) == []


@pytest.mark.parametrize("rules", ["vader", "nltk"])
def test_every_word_of_the_lexicon(references, rules):
    every = [f"it was very {word} indeed! {word.upper()}" for word in ANALYZER.lexicon]
    assert differences(every, rules, references) == []


@pytest.mark.parametrize("rules", ["vader", "nltk"])
def test_every_booster_and_negation(references, rules):
    words = [*package.BOOSTER_DICT, *package.NEGATE]
    every = [form.format(word) for word in words for form in ("{} bad", "{} so good", "{} x y GOOD", "{}, Bad!")]
    assert differences([*every, *map(str.upper, every), *map(str.title, every)], rules, references) == []


@pytest.mark.parametrize("rules", ["vader", "nltk"])
def test_every_emoji(references, rules):
    every = [form.format(emoji) for emoji in EMOJIS for form in ("{0}", "no{0}{0}good", "x {0}\tGOOD {0}bad!")]
    assert differences(every, rules, references) == []


@pytest.mark.parametrize("rules", ["vader", "nltk"])
def test_every_character_with_a_case(references, rules):
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    cased = [character for character in characters if character.isupper() or character.lower() != character]
    assert len(cased) > 1_500
    every = [
        form.format(character) for character in cased for form in ("{0}{0}{0} GOOD", "GOOD {0}?? {0}{0}{0}n't good")
    ]
    assert differences(every, rules, references) == []


def test_arrow_and_python_see_the_same_white_space():
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    pieces = pc.list_value_length(
        pc.utf8_split_whitespace(pa.array(["a" + character + "b" for character in characters]))
    )
    arrow = {character for character, count in zip(characters, pieces.to_pylist(), strict=True) if count > 1}
    assert arrow == {character for character in characters if character.isspace()}
