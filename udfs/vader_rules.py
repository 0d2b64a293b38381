"""Score a batch of texts by the rules of VADER, in their order of floating-point operations.

Each step of ``valences`` is one rule of ``sentiment_valence`` in the vaderSentiment package or of NLTK's port, applied to all
scoring words at once; beyond the ends of a text the code is 0, which no rule answers to. ``totals`` makes the four scores of
a text of them; every sum is taken from left to right, as in the reference.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from counterbalance.udfs.vader_words import (
    EXACT,
    LEXICON,
    NEGATES,
    SPECIAL,
    SPECIALS,
    STEP,
    UPPER,
    VALUE,
    Rules,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Codes = npt.NDArray[np.int32]
    Numbers = npt.NDArray[np.float64]
    Flags = npt.NDArray[np.bool_]
    Integers = npt.NDArray[np.int64]

NEGATION: Final = -0.74
CAPITALS: Final = 0.733
NEVER: Final = 1.25
FADING: Final = (1.0, 0.95, 0.9)
"""Weight of a booster one, two and three words before."""
COMPENSATED: Final = sum([0.1] * 10) == 1.0
"""Whether this Python's ``sum`` makes up for rounding (3.12 and later); the reference uses it."""
_sum = sum  # a name of its own, so that a test can put another Python's sum here


class Window(NamedTuple):
    """Codes around each scoring word.

    Args:
        place: Position of the word in its text, from 0.
        here: Its code.
        before: Codes of the words one, two and three places before it.
        after: Codes of the words one and two places after it.
        mixed: Whether its text mixes capitals with other words.
    """

    place: npt.NDArray[np.int64]
    here: Codes
    before: tuple[Codes, Codes, Codes]
    after: tuple[Codes, Codes]
    mixed: Flags


class Named(NamedTuple):
    """Numbers of the special words in a window, 0 where there is none."""

    here: Codes
    one: Codes
    two: Codes
    three: Codes
    next_one: Codes
    next_two: Codes


class Valences(NamedTuple):
    """Valences, and which of them Python would hold as ``int`` (they add up differently from Python 3.12 on)."""

    value: Numbers
    whole: Flags


def valences(rules: Rules, window: Window) -> Valences:
    """Return the valence of each scoring word.

    Args:
        rules: The rule set.
        window: Words around each scoring word.

    Returns:
        Valences, float64, before any effect of "but".
    """
    words, written = _named(rules, window)
    value = _own_valence(rules, window, words)
    whole = np.zeros(len(value), dtype=bool)
    for back, code in enumerate(window.before):
        active = (window.place > back) & (code & LEXICON == 0)
        value = np.where(active, value + _boost(rules, window, value, back), value)
        value = _negation(rules, window, written, value, back, active)
    _idioms(rules, written, value, whole, active)
    _least(rules, window, words, value, whole)
    kind_of = np.flatnonzero((words.here == rules.special["kind"]) & (words.next_one == rules.special["of"]))
    value[kind_of] = 0.0
    whole[kind_of] = True
    return Valences(value, whole)


def _named(rules: Rules, window: Window) -> tuple[Named, Named]:
    """Return special words whatever their case, and those that are seen; NLTK sees some of them only in lower case."""
    codes = np.stack([window.here, *window.before, *window.after])
    words = (codes >> SPECIAL) & (SPECIALS - 1)
    return Named(*words), Named(*(np.where(codes & EXACT, words, 0) if rules.nltk else words))


def _own_valence(rules: Rules, window: Window, words: Named) -> Numbers:
    """Return the lexicon value, changed by a "no" nearby (not in NLTK) and by capitals."""
    value: Numbers = rules.values[window.here >> VALUE]
    if not rules.nltk:
        no, own = rules.special["no"], value
        negated = (words.one == no) | (words.two == no)
        negated |= (words.three == no) & ((words.one == rules.special["or"]) | (words.one == rules.special["nor"]))
        value = np.where((words.here == no) & (window.after[0] & LEXICON != 0), 0.0, value)
        value = np.where(negated, own * NEGATION, value)
    loud = (window.here & UPPER != 0) & window.mixed
    return np.where(loud, np.where(value > 0, value + CAPITALS, value - CAPITALS), value)


def _boost(rules: Rules, window: Window, value: Numbers, back: int) -> Numbers:
    """Return what a booster so many words before adds; 0 where there is none."""
    code = window.before[back]
    step = rules.steps[(code >> STEP) & 3]
    loud = (step != 0) & (code & UPPER != 0) & window.mixed
    step = np.where(value < 0, step * -1, step)
    step = np.where(loud, np.where(value > 0, step + CAPITALS, step - CAPITALS), step)
    faded: Numbers = step * FADING[back]
    return faded


def _negation(rules: Rules, window: Window, written: Named, value: Numbers, back: int, active: Flags) -> Numbers:
    """Apply negation by a word one, two or three places before."""
    negated = active & (window.before[back] & NEGATES != 0)
    if back == 0:
        return np.where(negated, value * NEGATION, value)
    special, (_, one, two, three, *_) = rules.special, written
    one_so = (one == special["so"]) | (one == special["this"])
    if back == 1:
        never = active & (two == special["never"]) & one_so
        doubt = (two == special["without"]) & (one == special["doubt"])
        factor = 1.5 if rules.nltk else NEVER
    else:
        two_so = (two == special["so"]) | (two == special["this"])
        never = active & ((three == special["never"]) & two_so | one_so)
        doubt = (three == special["without"]) & ((two == special["doubt"]) | (one == special["doubt"]))
        factor = NEVER
    if not rules.nltk:
        negated &= ~doubt
    return np.where(never, value * factor, np.where(negated, value * NEGATION, value))


def _idioms(rules: Rules, written: Named, value: Numbers, whole: Flags, active: Flags) -> None:
    """Apply idioms and two-word boosters around the active words, in place; few are, so word by word."""
    here, one, two, three, next_one, next_two = written
    begun = rules.begins[one, here] | rules.begins[two, one] | rules.begins[three, two] | rules.begins[here, next_one]
    for row in np.flatnonzero(active & begun).tolist():
        around = (rules.names[words[row]] for words in (three, two, one, here, next_one, next_two))
        result = _with_idiom(rules, float(value[row]), *around)
        value[row] = result
        whole[row] = isinstance(result, int)


def _with_idiom(
    rules: Rules, value: float, three: str, two: str, one: str, here: str, next_one: str, next_two: str
) -> float:
    """Return the valence of one word: that of an idiom it is in or near, if any, and the two-word boosters before it."""
    behind = (f"{one} {here}", f"{two} {one} {here}", f"{two} {one}", f"{three} {two} {one}", f"{three} {two}")
    value = next((rules.idioms[phrase] for phrase in behind if phrase in rules.idioms), value)
    for phrase in (f"{here} {next_one}", f"{here} {next_one} {next_two}"):
        value = rules.idioms.get(phrase, value)
    for phrase in (f"{three} {two}", f"{two} {one}"):
        if phrase in rules.boosters:
            value = value + rules.boosters[phrase]
    return value


def _least(rules: Rules, window: Window, words: Named, value: Numbers, whole: Flags) -> None:
    """Apply negation by "least" right before, in place."""
    spared = (words.two == rules.special["at"]) | (words.two == rules.special["very"])
    least = np.flatnonzero((words.one == rules.special["least"]) & (window.before[0] & LEXICON == 0) & ~spared)
    value[least] *= NEGATION
    whole[least] = False


class Scores(NamedTuple):
    """The four scores of each text, float64 each; only the compound where shares were not asked for."""

    negative: Numbers
    neutral: Numbers
    positive: Numbers
    compound: Numbers


def contrast(rules: Rules, found: Valences, row: Integers, places: Integers, first_but: Integers) -> None:
    """Count what comes before the first "but" half, and what comes after it one and a half times; in place.

    NLTK does just that. The package looks each valence up by its value, so that of equal ones the first is changed,
    changed ones included; that is followed here, text by text (words without valence cannot be met).

    Args:
        rules: The rule set.
        found: Valences of the scoring words.
        row: Of each one, which text it is of.
        places: Where each one stands.
        first_but: Where the first "but" of each text stands; the largest int64 in a text without.
    """
    before = places < first_but[row]
    touched = first_but[row] < np.iinfo(np.int64).max
    if rules.nltk:
        found.value[touched] *= np.where(before[touched], 0.5, 1.5)
        found.whole[touched] = False
        return
    rows = np.flatnonzero(touched & (found.value != 0))
    alone = np.bincount(row[rows])[row[rows]] == 1 if len(rows) else np.zeros(0, dtype=bool)
    found.value[rows[alone]] *= np.where(before[rows[alone]], 0.5, 1.5)
    found.whole[rows[alone]] = False
    rows = rows[~alone]
    for own in np.split(rows, np.flatnonzero(np.diff(row[rows])) + 1):
        values = _python_numbers(found, own)
        turn = int(before[own].sum())
        places_of: defaultdict[float, list[int]] = defaultdict(list)
        for at, value in enumerate(values):
            places_of[value].append(at)
        for index in range(len(values)):
            value = values[index]
            at = heappop(places_of[value])
            values[at] = value * (0.5 if at < turn else 1.5)
            heappush(places_of[values[at]], at)
        found.value[own] = values
        found.whole[own] = [isinstance(value, int) for value in values]


def _python_numbers(found: Valences, rows: Integers | slice) -> list[float]:
    values = found.value[rows].tolist()
    return [int(value) if whole else value for value, whole in zip(values, found.whole[rows].tolist(), strict=True)]


def totals(row: Integers, found: Valences, words: Integers, emphasis: Numbers, *, shares: bool) -> Scores:
    """Turn sums of the valences into the four scores.

    Args:
        row: Of each scoring word, which text it is of; from 0, rising, none left out.
        found: Valences of the scoring words.
        words: How many words each text has.
        emphasis: What each text's exclamation and question marks add.
        shares: Whether the three shares are wanted as well; zeros otherwise.

    Returns:
        Arrays of one float64 a text, rounded as the reference rounds.
    """
    count, value = len(words), found.value
    total = _sums(row, value, count)
    if COMPENSATED:
        ends = np.cumsum(np.bincount(row, minlength=count)).tolist()
        for text, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            if end - start > 2:
                total[text] = _sum(_python_numbers(found, slice(start, end)))
    total += np.sign(total) * emphasis
    compound = np.clip(total / np.sqrt(total * total + 15), -1.0, 1.0)
    zeros = np.zeros(count)
    if not shares:
        return Scores(zeros, zeros, zeros, _rounded(compound, 4))
    up, down = value > 0, value < 0
    positive = _sums(row[up], value[up] + 1, count)
    negative = np.abs(_sums(row[down], value[down] - 1, count))
    neutral = (words - np.bincount(row[up | down], minlength=count)).astype(np.float64)
    more, less = positive > negative, positive < negative
    positive[more] += emphasis[more]
    negative[less] += emphasis[less]
    whole = positive + negative + neutral
    negative, neutral, positive = (_rounded(part / whole, 3) for part in (negative, neutral, positive))
    return Scores(negative, neutral, positive, _rounded(compound, 4))


def _sums(row: Integers, value: Numbers, count: int) -> Numbers:
    """Return the sum of the values of each row, added one after the other."""
    sums: Numbers = np.zeros(count)
    if len(row):  # without weights numpy would count instead
        sums += np.bincount(row, value, count)
    return sums


def _rounded(values: Numbers, digits: int) -> Numbers:
    """Round as Python's ``round``, which looks at the exact decimal value, for numbers from -1 to 1."""
    scale = 10.0**digits
    scaled = values * scale
    rounded: Numbers = np.rint(scaled) / scale
    near_half = np.flatnonzero(np.abs(scaled - np.floor(scaled) - 0.5) < 1e-6)
    for place in near_half.tolist():
        rounded[place] = round(float(values[place]), digits)
    return rounded
