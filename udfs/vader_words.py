"""Pack what VADER's rules ask about one word in one integer.

Most captions hold no word of the lexicon, and the same words come again and again. So each distinct token is looked at
once, in Python, with Python's own idea of case, punctuation and white space; everything after that works on the
integers. Codes of short words are looked up for a whole column of strings, without making Python strings of them
(``ShortWords``). The bits of a word code:

========  =======================================================================
LEXICON   the word, in lower case, is in the lexicon
SCORES    so it is, and it is not a booster: the only words that get a valence
NEGATES   it is a negation or holds ``n't``
UPPER     it is in capitals
EXACT     it is written in lower case
DROPPED   it is not a word of the text (empty; for NLTK also one character)
REWRITE   it must be rewritten first (holds an emoji or white space)
STEP      which booster step it is, 0 for none
MARKS     exclamation and question marks, up to four of each
SPECIAL   which word of the idioms and special rules it is, 0 for none
VALUE     which of the lexicon's values it has
========  =======================================================================
"""

from __future__ import annotations

import string
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from itertools import compress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy.typing as npt

    Codes = npt.NDArray[np.int32]
    Words = npt.NDArray[np.uint64]

LEXICON: Final = 1
SCORES: Final = 2
NEGATES: Final = 4
UPPER: Final = 8
EXACT: Final = 16
DROPPED: Final = 32
REWRITE: Final = 64
STEP: Final = 7
EXCLAMATIONS: Final = 9
QUESTIONS: Final = 12
SPECIAL: Final = 15
VALUE: Final = 21
SPECIALS: Final = 64
"""Codes of special words are below this."""

MEMO_WORDS: Final = 1 << 17
"""A rule set remembers so many tokens at most, besides the short ones of ``ShortWords``; about 25 MB."""
MEMO_LENGTH: Final = 48
"""Longer tokens are not remembered."""

KNOWN_VERSION: Final = "3.3.2"
"""The release of vaderSentiment whose rules are written here."""

_RULE_WORDS: Final = "but no or nor never so this without doubt least at very kind of".split()  # noqa: SIM905 - shorter
_ONLY_IN_THE_PACKAGE: Final = frozenset(
    "considerable enormous exceptional extreme frackin fracking fuckin fuggin fugging incredible major marginal "  # noqa: SIM905
    "occasional scarce slight total tremendous utter".split()
)
_NLTK_IDIOMS: Final = {
    "the shit": 3,
    "the bomb": 3,
    "bad ass": 1.5,
    "yeah right": -2,
    "cut the mustard": 2,
    "kiss of death": -1.5,
    "hand to mouth": -2,
}
_NLTK_MARKS: Final = frozenset(". ! ? , ; : - ' \" !! !!! ?? ??? ?!? !?! ?!?! !?!?".split())  # noqa: SIM905 - as above
_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


LONGEST: Final = 16
"""Bytes of the longest word that is remembered."""
_FIRST_BITS: Final = 13
_MOST_BITS: Final = 19
"""The table has 2^13 places at first, 0.2 MB, and grows to 2^19, 12.6 MB."""
_SIZES: Final = range(LONGEST + 2)
_LOW: Final = np.array([(1 << 8 * min(size, 8)) - 1 for size in _SIZES], np.uint64)
_HIGH: Final = np.array([(1 << 8 * min(max(size - 8, 0), 8)) - 1 for size in _SIZES], np.uint64)
_ODD: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_CODE: Final = np.uint64((1 << 32) - 1)
_SHIFT: Final = np.uint64(32)


class _Keys(NamedTuple):
    """First and second eight bytes of each word, one more than its size (18 for a longer one), and their hash."""

    low: Words
    high: Words
    size: Words
    hash: Words


class ShortWords:
    """A table of codes, safe to use from several threads.

    Example:
        >>> table = ShortWords()
        >>> sizes = lambda words: np.array([len(word) for word in words], np.int32)
        >>> table.codes(pa.array(["a", "dog", "a"]), sizes).tolist()
        [1, 3, 1]
        >>> table.codes(pa.array(["dog", "bird"]), lambda words: np.zeros(len(words), np.int32)).tolist()
        [3, 0]
    """

    def __init__(self) -> None:
        self._rows = np.zeros((1 << _FIRST_BITS, 3), np.uint64)
        self._bits, self._kept = _FIRST_BITS, 0
        self._turn = threading.Lock()

    def codes(self, words: pa.Array, work_out: Callable[[list[str]], Codes]) -> Codes:
        """Return the code of each word.

        Args:
            words: ``string`` or ``large_string`` without NULL, of any length.
            work_out: Codes, not negative, of distinct words that are not remembered.

        Returns:
            int32, one code a word.
        """
        keys = _keys(words)
        with self._turn:
            rows = self._rows.take(_places(keys.hash, self._bits), axis=0)
        known = (rows[:, 0] == keys.low) & (rows[:, 1] == keys.high) & (rows[:, 2] >> _SHIFT == keys.size)
        codes = (rows[:, 2] & _CODE).astype(np.int32)
        missing = np.flatnonzero(~known)
        if len(missing):
            found = (words if len(missing) == len(words) else words.take(pa.array(missing))).dictionary_encode()
            new = work_out(found.dictionary.to_pylist())
            codes[missing] = new[found.indices.to_numpy()]
            self._keep(_keys(found.dictionary), new)
        return codes

    def _keep(self, keys: _Keys, codes: Codes) -> None:
        rows = np.stack([keys.low, keys.high, keys.size << _SHIFT | codes.astype(np.uint64)], axis=1)
        which = keys.size <= LONGEST + 1
        rows = rows[which]
        with self._turn:
            self._kept += len(rows)
            while self._bits < _MOST_BITS and self._kept > 1 << (self._bits - 1):
                self._grow()
            self._rows[_places(keys.hash[which], self._bits)] = rows

    def _grow(self) -> None:
        """Make four times the places, and a place there for each word."""
        old = self._rows[self._rows[:, 2] != 0]
        self._bits, self._kept = self._bits + 2, len(old)
        self._rows = np.zeros((1 << self._bits, 3), np.uint64)
        self._rows[_places(_hash(old[:, 0], old[:, 1]), self._bits)] = old


def _keys(words: pa.Array) -> _Keys:
    wide = pa.types.is_large_string(words.type)
    kind, width = (np.int64, 8) if wide else (np.int32, 4)
    _, offsets, data = words.buffers()
    if not len(words) or data is None:
        ends, used = np.zeros(len(words) + 1, np.int64), np.zeros(0, np.uint8)
    else:
        ends = np.frombuffer(offsets, kind, len(words) + 1, words.offset * width).astype(np.int64)
        used = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    padded = np.zeros(len(used) + LONGEST, np.uint8)
    padded[: len(used)] = used
    eight = np.ndarray(len(used) + 9, "<u8", padded, 0, (1,))  # the eight bytes from each byte on
    starts, sizes = ends[:-1] - ends[0], np.minimum(np.diff(ends), LONGEST + 1)
    low, high = eight.take(starts) & _LOW.take(sizes), eight.take(starts + 8) & _HIGH.take(sizes)
    return _Keys(low, high, (sizes + 1).astype(np.uint64), _hash(low, high))


def _hash(low: Words, high: Words) -> Words:
    mixed = low * _ODD[0] ^ high * _ODD[1]
    mixed ^= mixed >> np.uint64(29)
    mixed *= _ODD[1]
    return mixed


def _places(hashed: Words, bits: int) -> npt.NDArray[np.intp]:
    return (hashed >> np.uint64(64 - bits)).astype(np.intp)


@dataclass(eq=False)
class Rules:
    """One rule set: its tables, and the codes of the words seen so far.

    Args:
        nltk: Whether these are the rules of NLTK's port.
        lexicon: Valence of each word.
        boosters: Step of each booster word or word pair.
        negations: Words that negate.
        idioms: Valence of word pairs and triples that have their own.
        emojis: Description of each character that is replaced by words.

    Attributes:
        values: The distinct values of the lexicon, float64; a word code holds a place in it.
        steps: 0 and the distinct steps of the boosters, float64; likewise.
        special: Number, from 1, of each word that some rule or phrase names.
        names: The special words by number.
        begins: Whether the words of two numbers begin an idiom or a two-word booster, bool (64, 64).
        memo: Codes of tokens seen before, where a table of short words does not hold them.
    """

    nltk: bool
    lexicon: Mapping[str, float]
    boosters: Mapping[str, float]
    negations: frozenset[str]
    idioms: Mapping[str, float]
    emojis: Mapping[str, str]
    values: npt.NDArray[np.float64] = field(init=False)
    steps: npt.NDArray[np.float64] = field(init=False)
    special: dict[str, int] = field(init=False)
    names: list[str] = field(init=False, repr=False)
    begins: npt.NDArray[np.bool_] = field(init=False, repr=False)
    memo: dict[str, int] = field(init=False, default_factory=dict, repr=False)
    _short: ShortWords = field(init=False, default_factory=ShortWords, repr=False)
    _turn: threading.Lock = field(init=False, default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.values = np.unique(np.array(list(self.lexicon.values()), dtype=np.float64))
        self.steps = np.array([0.0, *sorted(set(self.boosters.values()))])
        self.special = _number_from_one(_RULE_WORDS, self.idioms, self.boosters)
        self.names = ["", *self.special]
        self.begins = np.zeros((SPECIALS, SPECIALS), dtype=bool)
        for phrase in (*self.idioms, *self.boosters):
            first, _, rest = phrase.partition(" ")
            if rest:
                self.begins[self.special[first], self.special[rest.split()[0]]] = True
        self._code_of_lower = self._table()
        self._emoji_characters = frozenset(self.emojis)
        self.bare: Callable[[str], str] = _bare_in_nltk if self.nltk else _bare_in_package

    def _table(self) -> dict[str, int]:
        """Return the code of each lower-case word that some table holds, but for how it is written."""
        table: defaultdict[str, int] = defaultdict(int)
        for word, value in self.lexicon.items():
            scores = 0 if word in self.boosters else SCORES
            table[word] |= LEXICON | scores | int(np.searchsorted(self.values, value)) << VALUE
        for word, step in self.boosters.items():
            table[word] |= int(np.searchsorted(self.steps[1:], step) + 1) << STEP
        for word in self.negations:
            table[word] |= NEGATES
        for word, number in self.special.items():
            table[word] |= number << SPECIAL
        return dict(table)

    def codes(self, tokens: list[str]) -> npt.NDArray[np.int32]:
        """Return the code of each token, from memory where it was seen before; safe to call from several threads.

        Args:
            tokens: Distinct tokens.

        Returns:
            int32, one code a token.
        """
        try:
            return np.fromiter(map(self.memo.__getitem__, tokens), np.int32, len(tokens))
        except KeyError:
            return self._learned(tokens)

    def codes_of(self, tokens: pa.Array) -> npt.NDArray[np.int32]:
        """Return the code of each token of a ``string`` or ``large_string`` array without NULL; safe to call from several threads."""
        return self._short.codes(tokens, self._worked_out)

    def _worked_out(self, tokens: list[str]) -> npt.NDArray[np.int32]:
        """Return the code of each distinct token; only those that the table of short words cannot hold are remembered here."""
        short = [len(token) <= LONGEST for token in tokens]
        if all(short):
            return np.fromiter(map(self.code, tokens), np.int32, len(tokens))
        codes = np.zeros(len(tokens), np.int32)
        is_short = np.array(short)
        codes[is_short] = list(map(self.code, compress(tokens, short)))
        codes[~is_short] = self.codes([token for token in tokens if len(token) > LONGEST])
        return codes

    def _learned(self, tokens: list[str]) -> npt.NDArray[np.int32]:
        codes: list[Any] = list(map(self.memo.get, tokens))
        fresh = {}
        for place in [place for place, code in enumerate(codes) if code is None]:
            token = tokens[place]
            codes[place] = code = self.code(token)
            if len(token) <= MEMO_LENGTH:
                fresh[token] = code
        self._remember(fresh)
        return np.fromiter(codes, np.int32, len(codes))

    def _remember(self, fresh: dict[str, int]) -> None:
        with self._turn:
            if len(self.memo) + len(fresh) > MEMO_WORDS:
                self.memo = {}  # others may still read the old one; frequent words are soon back
            if len(fresh) <= MEMO_WORDS:
                self.memo.update(fresh)

    def forget(self) -> None:
        """Empty the memory of words."""
        with self._turn:
            self.memo, self._short = {}, ShortWords()

    def code(self, token: str) -> int:
        """Return the code of one token, worked out."""
        if token.isalpha() and token.isascii() and not (self.nltk and len(token) == 1):
            return self._code_of_word(token)  # as below, for most tokens, without the detours
        if not (token.isascii() and token.isprintable()) or " " in token or not token:
            parts = token.split()
            if not parts:
                return DROPPED
            if parts[0] != token or not self._emoji_characters.isdisjoint(token):
                return REWRITE
        code = 0
        if "!" in token or "?" in token:
            code = min(token.count("!"), 4) << EXCLAMATIONS | min(token.count("?"), 4) << QUESTIONS
        if self.nltk and len(token) == 1:
            return code | DROPPED
        word = self.bare(token)
        code |= self._code_of_word(word)
        return code | NEGATES if "'" in word and "n't" in word.lower() else code

    def _code_of_word(self, word: str) -> int:
        lower = word.lower()
        code = self._code_of_lower.get(lower, 0)
        return code | EXACT * (word == lower) | UPPER * word.isupper()  # both, for capitals without a small form

    def rewritten(self, text: str) -> list[str]:
        """Return the words of a text or token whose emoji have been replaced by their descriptions.

        Example:
            >>> load("vader").rewritten("ok😀ay 💘")
            ['ok', 'grinning', 'faceay', 'heart', 'with', 'arrow']
        """
        spaced = (f" {self.emojis[character]}" if character in self.emojis else character for character in text)
        return "".join(spaced).split()


def _bare_in_package(token: str) -> str:
    """Return a token without punctuation around it; left alone when only two characters or fewer would stay (an emoticon)."""
    bare = token.strip(string.punctuation)
    return token if len(bare) <= 2 else bare


def _bare_in_nltk(token: str) -> str:
    """Return a token without one of NLTK's marks before or after it, where no other punctuation is in it."""
    bare = token.translate(_NO_PUNCTUATION)
    if len(bare) < 2 or len(bare) == len(token):
        return token
    before, found, after = token.partition(bare)
    marked = bool(found) and not (before and after) and before + after in _NLTK_MARKS
    return bare if marked else token


def _number_from_one(*groups: Iterable[str]) -> dict[str, int]:
    """Return numbers from 1 for the given words; of the phrases, for each of their words."""
    rule_words, *phrases = groups
    words = [*rule_words, *(word for group in phrases for phrase in group if " " in phrase for word in phrase.split())]
    return {word: number for number, word in enumerate(dict.fromkeys(words), 1)}


@cache
def load(name: str) -> Rules:
    """Return the rule set ``'vader'`` (the vaderSentiment package's) or ``'nltk'``; both with the package's lexicon.

    Sources: C. J. Hutto and E. Gilbert, VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media
    Text, ICWSM 2014; vaderSentiment 3.3.2; NLTK 3.10 (``nltk.sentiment.vader``), which has fewer boosters, other idioms
    and no emoji.
    """
    from vaderSentiment import vaderSentiment as package  # noqa: N813 - the module, not a class

    analyzer = reference()
    if name == "vader":
        boosters, idioms, emojis = package.BOOSTER_DICT, package.SPECIAL_CASES, analyzer.emojis
    else:
        boosters = {word: step for word, step in package.BOOSTER_DICT.items() if word not in _ONLY_IN_THE_PACKAGE}
        idioms, emojis = _NLTK_IDIOMS, {}
    return Rules(name == "nltk", analyzer.lexicon, boosters, frozenset(package.NEGATE), idioms, emojis)


@cache
def reference() -> Any:
    """Return the package's own analyzer."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return SentimentIntensityAnalyzer()


@cache
def package_is_known() -> bool:
    """Return whether the installed vaderSentiment is the release whose rules are written here."""
    return version("vaderSentiment") == KNOWN_VERSION
