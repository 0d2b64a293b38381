"""Each rule of VADER on a sentence made for it: against written-down scores, and against the references bit for bit."""

from __future__ import annotations

import pyarrow as pa
import pytest
import vader_peers
from vader_peers import bits

from counterbalance.udfs.vader import vader, vader_scores, vader_tokens

# The package's documented examples.
DOCUMENTED = {
    "VADER is smart, handsome, and funny.": 0.8316,
    "VADER is smart, handsome, and funny!": 0.8439,
    "VADER is very smart, handsome, and funny.": 0.8545,
    "VADER is VERY SMART, handsome, and FUNNY.": 0.9227,
    "VADER is VERY SMART, handsome, and FUNNY!!!": 0.9342,
    "VADER is VERY SMART, uber handsome, and FRIGGIN FUNNY!!!": 0.9469,
    "VADER is not smart, handsome, nor funny.": -0.7424,
    "The book was good.": 0.4404,
    "At least it isn't a horrible book.": 0.431,
    "The book was only kind of good.": 0.3832,
    "The plot was good, but the characters are uncompelling and the dialog is not great.": -0.7042,
    "Today SUX!": -0.5461,
    "Make sure you :) or :D today!": 0.8633,
    "Catch utf-8 emoji such as 💘 and 💋 and 😁": 0.875,
    "Not bad at all": 0.431,
}

CASES = """
at the bus stop a happy man
it is a bad bus stop
he is such a bad ass
she is a real BAD ASS
that was the shit
that was The Shit
it is the bomb and the kiss of death
cut the mustard and great
hand to mouth and great
a cake to die for
my beating heart
yeah right great
Yeah Right great
it is no good
no good
no
a no
no bad no good
no fun or good
no fun nor good at all
never so good
never this good and
I never was so good
Never so good
it is never ever good
without doubt good
without a doubt good
without any doubt this good
a doubt without good
least good
at least good
very least good
the least good
LEAST good
kind of good
not the kind of good
kind
a kind
KIND OF
sort of good
it was sort of very good
just enough good
a just enough good
good but bad
good but
but good
good bad good but bad bad good
good great but bad but awful
nice sweet but terrible nice sweet
good good good but good good
GOOD BAD BUT
GREAT
GREAT day
GREAT DAY
VERY good
VERY bad
a VERY GREAT day
hardly good
HARDLY good
really really really good
really, really good
very very bad not
not very good
isn't good
ISN'T good
isn't really that good
rarely, seldom, good
uh-uh good
n't good
good!
good!!
good!!!!
good!!!!!!!!
good ? ?
good???
good????
bad!? bad!?
!?!? good
good ! ! ! ! ! !
(good)
"good"
'good'
...good...
#good
good's
go-od
:) :( :D :P
:-) good
;-)
<3
</3 good
good:)
a b c
I
good good good
Good good GOOD good,
happy dog, happy cat, not happy dog
fucking great
effing great
total joy
a utter joy
slight pain
extreme joy
extremely joyful
😀
😀😀
ok😀ay
a 💋!
🆙 good
© good ™
good\u00a0bad
good\u2003bad
good\u200bbad
good\x1cbad\x1fbut\x85happy
İyi good
GOODİ good
ﬁne \u017fo good
\uff27\uff2f\uff2f\uff24 day
ÅNGSTROM good day
\U0001d406\U0001d40e GOOD
\U0001d406\U0001d40e GOOD day
KISS 🅰???
e\u0301 good
\ufeffgood
""".strip("\n").split("\n")
BLANK = [
    "",
    " ",
    "\t\n",
    "\u3000",
    "!",
    "???",
    "  leading good",
    "trailing good  ",
    "two\n\nlines good\r\n",
    "\x00good \x00",
]
LONG = [
    "good " * 5_000,
    "good but " * 2_000,
    "bad good great but awful " * 300,
    "x" * 100_000 + " good",
    "never so " * 1_000 + "good!",
]


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    return vader_peers.references(tmp_path_factory.mktemp("nltk"))


def test_documented_examples():
    assert vader(pa.array(DOCUMENTED)).to_pylist() == list(DOCUMENTED.values())


def test_the_shares_of_a_documented_example():
    scores = vader_scores(pa.array(["VADER is smart, handsome, and funny."])).to_pylist()
    assert scores == [{"neg": 0.0, "neu": 0.254, "pos": 0.746, "compound": 0.8316}]


@pytest.mark.parametrize("rules", ["vader", "nltk"])
@pytest.mark.parametrize("text", [*CASES, *BLANK])
def test_a_case_equals_the_reference(references, text, rules):
    wanted = references[rules].polarity_scores(text)
    assert bits(vader_scores(pa.array([text]), rules)[0].as_py()) == bits(wanted)
    assert vader(pa.array([text]), rules).to_pylist() == [wanted["compound"]]
    assert vader_tokens(pa.array([text.split()], pa.list_(pa.string())), rules).to_pylist() == [wanted["compound"]]


@pytest.mark.parametrize("rules", ["vader", "nltk"])
def test_all_cases_together_equal_the_reference(references, rules):
    texts = [*CASES, *BLANK]
    got = vader_scores(pa.array(texts), rules).to_pylist()
    assert [bits(scores) for scores in got] == [bits(references[rules].polarity_scores(text)) for text in texts]


def test_long_texts_equal_nltk(references):
    got = vader_scores(pa.array(LONG), "nltk").to_pylist()
    assert [bits(scores) for scores in got] == [bits(references["nltk"].polarity_scores(text)) for text in LONG]


def test_long_texts_equal_the_package(references):
    texts = [text[:6_000] for text in LONG]  # the package takes quadratic time
    got = vader_scores(pa.array(texts)).to_pylist()
    assert [bits(scores) for scores in got] == [bits(references["vader"].polarity_scores(text)) for text in texts]


def test_the_rule_sets_differ_where_they_should():
    texts = pa.array(["a total joy", "a b c bad bus stop", "no good", "it is never so good", "💘"])
    package, port = vader(texts).to_pylist(), vader(texts, "nltk").to_pylist()
    assert all(one != other for one, other in zip(package, port, strict=True))
