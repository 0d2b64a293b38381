"""Find and replace gendered words in texts: ``gender_words``, ``gender_label``, ``neutralize``, ``swap_gender``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import RequestError, did_you_mean
from counterbalance.engine.functions import Parameter, udf
from counterbalance.engine.sql.parse import as_text
from counterbalance.udfs import persons, published, rewriting, wordlists
from counterbalance.udfs.rows import BATCH_ROWS, Rows, apply
from counterbalance.udfs.tokens import SPACES, WORDS, Cutter, cut
from counterbalance.udfs.word_pattern import matching, pattern, where_matching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_COUNTS: Final = pa.struct([pa.field("male", pa.int32()), pa.field("female", pa.int32())])
_TEXT: Final = Parameter("text", pa.string())
_RULE: Final = Parameter("rule", pa.string(), "words", constant=True)

_GENDERS: Final[dict[str | None, int]] = {"male": 1, "female": 2}
_NOT_ASCII: Final = r"[^\x00-\x7F]"
_SHORT: Final = 2048
"""Texts of ASCII, of so many bytes together, are read one by one: cutting a batch into words takes as long as reading some twenty."""
RULES: Final[dict[str, tuple[str, Cutter]]] = {
    "words": ("gender_words", WORDS),
    "gensynth": ("gender_gensynth", SPACES),
    "gensynth_paper": ("gender_gensynth_paper", WORDS),
}
"""For each rule its word list and how it cuts texts."""


@udf(
    returns=_COUNTS,
    parameters=[_TEXT, _RULE],
    version="8",
    batch_size=BATCH_ROWS,
    in_sql=lambda rule: _in_sql(rule, "gender_words(text)", "{'male': 0, 'female': 0}"),
)
def gender_words(text: pa.Array | pa.ChunkedArray, rule: str = "words") -> pa.Array:
    r"""Return the numbers of masculine and of feminine words in a text.

    Args:
        text: Texts; NULL gives NULL.
        rule: ``'words'``: words by ``\w+``, list ``gender_words``, that name people: a man-made lake, king crabs, a mother
            giraffe and a dog with his ball have none (``persons.py``). ``'gensynth'``: as the released code of GenSynth, cut at
            white space with punctuation attached ("man." does not count), list ``gender_gensynth``. ``'gensynth_paper'``:
            words by ``\w+``, the 14 pairs of the paper. All in lower case.

    Returns:
        A struct of two int32, ``male`` and ``female``.

    Raises:
        RequestError: There is no such rule (``E3051``).

    Source:
        Smith et al., Balancing the Picture (2023), and its code.

    Example:
        >>> gender_words(pa.array(["A man and his wife.", "a dog"])).to_pylist()
        [{'male': 2, 'female': 1}, {'male': 0, 'female': 0}]
        >>> gender_words(pa.array(["A man and his wife."]), "gensynth").to_pylist()
        [{'male': 2, 'female': 0}]
    """

    def call(rows: Rows) -> pa.Array:
        male, female = _counts(rows, rule)
        columns = [pa.array(male, pa.int32()), pa.array(female, pa.int32())]
        return pa.StructArray.from_arrays(columns, fields=list(_COUNTS), mask=rows.mask())

    _rule(rule)
    return apply(text, call, _COUNTS)


def _label_in_sql(rule: str) -> str | None:
    """Return ``gender_label`` in SQL: a call where phrases, or people and animals with pronouns behind, need a closer look."""
    call = "gender_label(text)"
    if rule == "words":
        says, by_class = persons.patterns(), persons.classes().items()
        male, female = (
            matching(pattern((word for word, own in by_class if own == gender), fold=False).pattern)
            for gender in ("male", "female")
        )
        label = f"WHEN NOT {female} THEN 'male' WHEN NOT {male} THEN 'female' WHEN text IS NOT NULL THEN 'both' END"
        first = f"regexp_extract(text, {as_text(says['first'])}, 0, 'i')"
        doubtful, odd = "|".join([says["phrase"], says["perhaps"], _NOT_ASCII]), "|".join([says["phrase"], _NOT_ASCII])
        its_own = matching(says["animal"], first)
        call = (
            f"CASE WHEN {matching(doubtful)} THEN CASE WHEN {matching(odd)} OR ({its_own} AND {matching(says['company'])}) "
            f"THEN {call} WHEN {its_own} THEN NULL {label} {label}"
        )
    return _in_sql(rule, call, "NULL")


@udf(
    returns=pa.string(),
    parameters=[_TEXT, _RULE],
    version="8",
    batch_size=BATCH_ROWS,
    in_sql=_label_in_sql,
)
def gender_label(text: pa.Array | pa.ChunkedArray, rule: str = "words") -> pa.Array:
    """Return ``'male'``, ``'female'`` or ``'both'`` by the gendered words of a text; NULL where it has none.

    Args:
        text: Texts; NULL gives NULL.
        rule: As for ``gender_words``.

    Raises:
        RequestError: There is no such rule (``E3051``).

    Example:
        >>> gender_label(pa.array(["a man", "her dog", "a man and a woman", "a dog"])).to_pylist()
        ['male', 'female', 'both', None]
    """
    labels = pa.array([None, "male", "female", "both"], pa.string())

    def call(rows: Rows) -> pa.Array:
        male, female = _counts(rows, rule)
        return labels.take(pa.array((male > 0) + 2 * (female > 0)))

    _rule(rule)
    return apply(text, call, pa.string())


@udf(
    returns=pa.string(),
    parameters=[_TEXT, Parameter("mode", pa.string(), "replace", constant=True)],
    version="11",
    batch_size=BATCH_ROWS,
)
def neutralize(text: pa.Array | pa.ChunkedArray, mode: str = "replace") -> pa.Array:
    """Return the text without its gendered words.

    Args:
        text: Texts; NULL gives NULL.
        mode: ``'replace'`` by neutral words (man: person, her: their or them), ``'delete'``, or ``'mask'`` (by ``[MASK]``):
            the words of ``lists.gender_words`` that name people in any case, all else as it is (a deleted word takes the space
            before it and a possessive *'s* along; verbs are not adapted). "an actress" is a performer, "his or her" is their, "men and women" people,
            and "a male nurse" a nurse. ``'published'``, ``'published_delete'`` and
            ``'published_mask'`` give exactly what GenSynth's code gives for its CLIP, TF-IDF and BERT runs: lower case, 44
            words, her always their, and (but for the mask) white space and punctuation tidied.

    Raises:
        RequestError: There is no such mode (``E3051``).

    Source:
        Smith et al., Balancing the Picture (2023), Table 3 and its code.

    Example:
        >>> neutralize(pa.array(["A Man hands her  dog to her ."])).to_pylist()
        ['A Person hands their  dog to them .']
        >>> neutralize(pa.array(["A Man hands her  dog to her ."]), "published").to_pylist()
        ['a person hands their dog to their.']
    """
    if mode in _PUBLISHED:
        return published.neutralized(text, _PUBLISHED[mode](), frozenset(published.words()))
    if mode not in _MODES:
        known = [*_MODES, *_PUBLISHED]
        raise _unknown("mode", "neutralize", mode, known, "E3051")
    return rewriting.rewrite(text, rewriting.table("neutral"), _MODES[mode]())


@udf(
    returns=pa.string(),
    parameters=[_TEXT, Parameter("to", pa.string(), constant=True)],
    version="10",
    batch_size=BATCH_ROWS,
)
def swap_gender(text: pa.Array | pa.ChunkedArray, to: str) -> pa.Array:
    """Return the text with the gendered words of the other gender replaced by their counterparts, in their case.

    Args:
        text: Texts; NULL gives NULL.
        to: ``'male'`` or ``'female'``: words of this gender stay as they are.

    Raises:
        RequestError: Another value for ``to`` (``E3051``).

    Example:
        >>> swap_gender(pa.array(["A Man and his wife saw HIM"]), "female").to_pylist()
        ['A Woman and her wife saw HER']
        >>> swap_gender(pa.array(["She gave her hat to her."]), "male").to_pylist()
        ['He gave his hat to him.']
    """
    if to not in ("male", "female"):
        raise _unknown("to", "swap_gender", to, ["male", "female"], "E3051")
    words = rewriting.table("counterpart", "female" if to == "male" else "male")
    return rewriting.rewrite(text, words, _swapper(to))


def _in_sql(rule: str, call: str, otherwise: str) -> str | None:
    """Return a function of gendered words in SQL, for texts without any."""
    return where_matching(_any_of(_classes(RULES[rule][0])), call, otherwise) if rule in RULES else None


def _any_of(words: Iterable[str]) -> str:
    return f"{pattern(words, fold=False).pattern}|{_NOT_ASCII}"


def _rule(rule: str) -> tuple[Mapping[str, str], Cutter]:
    """Return the class of each word of a rule, and how it cuts."""
    if rule not in RULES:
        raise _unknown("rule", "gender_words", rule, RULES, "E3051")
    return _classes(RULES[rule][0]), RULES[rule][1]


@cache
def _classes(name: str) -> Mapping[str, str]:
    return {row["term"]: row["class"] for row in wordlists.wordlist(name).to_pylist()}


def _counts(rows: Rows, rule: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return masculine and feminine words of each row."""
    classes, cutter = _rule(rule)
    is_short = rule == "words" and len(rows.data) <= _SHORT and not len(rows.non_ascii())
    count, closely = len(rows), np.arange(len(rows) if is_short else 0)
    male, female = np.zeros(count, np.int64), np.zeros(count, np.int64)
    if not len(closely):
        tokens = cut(rows, cutter).exact(cutter)
        genders = np.array([_GENDERS.get(classes.get(word), 0) for word in tokens.chunks], np.int64)
        male, female = tokens.row_sums(genders == 1), tokens.row_sums(genders == 2)
        if rule == "words":
            closely = np.flatnonzero((male + female > 0) & persons.doubt().of(tokens))
    for row in closely.tolist():
        found = [classes[m[0].lower()] for m in persons.named(rows.text[row].as_py())]
        male[row], female[row] = found.count("male"), found.count("female")
    return male, female


def _unknown(parameter: str, function: str, value: object, known: Iterable[str], code: str) -> RequestError:
    known = list(known)
    return RequestError(
        f"{parameter!r} of {function}() cannot be {value!r}{did_you_mean(str(value), known)}",
        code=code,
        hint=f"one of {', '.join(known)}",
    )


@cache
def _replacer() -> Callable[[str, rewriting.Finder], str]:
    return rewriting.replacer(rewriting.table("neutral"), neutral=True)


@cache
def _swapper(to: str) -> Callable[[str, rewriting.Finder], str]:
    return rewriting.replacer(rewriting.table("counterpart", "female" if to == "male" else "male"), neutral=False)


_MODES: Final[dict[str, Callable[[], Callable[[str, rewriting.Finder], str]]]] = {
    "replace": _replacer,
    "delete": lambda: rewriting.blanked(persons.classes(), ""),
    "mask": lambda: rewriting.blanked(persons.classes(), "[MASK]"),
}
_PUBLISHED: Final[dict[str, Callable[[], Callable[[str], str]]]] = {
    "published": published.replacer,
    "published_delete": published.deleter,
    "published_mask": published.masker,
}
