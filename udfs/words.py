"""Functions over the words of texts: ``lemmas``, ``matches``, ``match_terms``, ``country_mentions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine import lists
from counterbalance.engine.errors import NotFoundError, RequestError, did_you_mean
from counterbalance.engine.functions import Function, Parameter, udf
from counterbalance.engine.sql.postings import Through, answered_from
from counterbalance.udfs import countries, wordlists
from counterbalance.udfs.lemma import lemmatized
from counterbalance.udfs.matching import forms_of, matcher
from counterbalance.udfs.rows import BATCH_ROWS, Rows, apply
from counterbalance.udfs.word_pattern import where_matching

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterbalance.udfs.matching import Integers

_STRINGS: Final = pa.list_(pa.string())
_TEXT: Final = Parameter("text", pa.string())
_TERMS: Final = Parameter("terms", _STRINGS, constant=True)


@udf(returns=_STRINGS, parameters=[_TEXT], version="1", batch_size=BATCH_ROWS)
def lemmas(text: pa.Array | pa.ChunkedArray) -> pa.Array:
    r"""Return the lemmas of the words of a text, in order, function words left out.

    Lower-case, cut by ``\w+``, lemmatised by simplemma's English rules; ``lists.stop_words`` are left out, before and
    after. NULL gives NULL.

    Args:
        text: Texts.

    Returns:
        A list of strings for each text.

    Example:
        >>> lemmas(pa.array(["The men are looting shops", "", None])).to_pylist()
        [['man', 'loot', 'shop'], [], None]
    """
    return apply(text, _lemmas, _STRINGS)


def _lemmas(rows: Rows) -> pa.Array:
    tokens, own = lemmatized(rows)
    counts = np.fromiter(map(len, own), np.int64, len(own))
    starts = np.cumsum(counts) - counts
    repeats = counts[tokens.codes] if len(counts) else np.zeros(0, np.int64)
    ends = np.zeros(len(repeats) + 1, np.int64)
    np.cumsum(repeats, out=ends[1:])
    places = np.repeat(starts[tokens.codes] - ends[:-1], repeats) + np.arange(ends[-1])
    distinct = pa.array([lemma for group in own for lemma in group], pa.string())
    offsets = pa.array(ends[tokens.rows], pa.int32())
    return pa.ListArray.from_arrays(offsets, distinct.take(pa.array(places)), type=_STRINGS, mask=rows.mask())


@udf(
    returns=pa.bool_(),
    parameters=[_TEXT, _TERMS],
    version="1",
    batch_size=BATCH_ROWS,
    in_sql=lambda terms: _in_sql(terms, "false", "matches(text)"),
)
def matches(text: pa.Array | pa.ChunkedArray, terms: Sequence[str | None] | str | None) -> pa.Array:
    """Return whether any of the terms occurs in a text.

    Texts and terms are compared by their lemmas, function words left out. A term of several words occurs when all its
    lemmas do, in any order; a hyphenated one in its hyphenated, joined and spaced forms.

    Args:
        text: Texts; NULL gives NULL.
        terms: The terms, or the name of a word list; a NULL term never occurs, NULL for all gives NULL.

    Raises:
        RequestError: A term has no word, or function words only (``E3050``).
        NotFoundError: There is no such list (``E1011``).

    Source:
        Girrbach et al., Person-Centric Annotations of LAION-400M (2025), crime words.

    Example:
        >>> texts = pa.array(["A looted shop", "money from laundering", "a cyberattack", "a dog", None])
        >>> matches(texts, ["looting", "money laundering", "cyber-attack"]).to_pylist()
        [True, True, True, False, None]
    """
    known = _terms(terms)
    if known is None:
        return pa.nulls(len(text), pa.bool_())
    find = matcher(known).find

    def call(rows: Rows) -> pa.Array:
        found = np.zeros(len(rows), np.bool_)
        found[find(rows)[0]] = True
        return pa.array(found, mask=rows.null)

    return apply(text, call, pa.bool_())


@udf(
    returns=_STRINGS,
    parameters=[_TEXT, _TERMS],
    version="1",
    batch_size=BATCH_ROWS,
    in_sql=lambda terms: _in_sql(terms, "[]::VARCHAR[]", "match_terms(text)"),
)
def match_terms(text: pa.Array | pa.ChunkedArray, terms: Sequence[str | None] | str | None) -> pa.Array:
    """Return the terms that occur in a text, each once, in the order of the terms.

    Args:
        text: Texts; NULL gives NULL.
        terms: As for ``matches``.

    Raises:
        RequestError: A term has no word, or function words only (``E3050``).
        NotFoundError: There is no such list (``E1011``).

    Example:
        >>> match_terms(pa.array(["thefts and a murder", "a dog"]), ["murder", "theft"]).to_pylist()
        [['murder', 'theft'], []]
    """
    known = _terms(terms)
    if known is None:
        return pa.nulls(len(text), _STRINGS)
    find, names = matcher(known).find, pa.array(known, pa.string())
    return apply(text, lambda rows: _named(rows, *find(rows), names), _STRINGS)


def _country_in_sql(matching: str, output: str) -> str | None:
    """Return ``country_mentions`` in SQL, for texts without any country."""
    if matching not in countries.MATCHING or output not in countries.OUTPUTS:
        return None
    return where_matching(countries.pattern(matching), "country_mentions(text)", "[]::VARCHAR[]")


@udf(
    returns=_STRINGS,
    parameters=[
        _TEXT,
        Parameter("matching", pa.string(), "lemmas", constant=True),
        Parameter("output", pa.string(), "country", constant=True),
    ],
    version="1",
    batch_size=BATCH_ROWS,
    in_sql=_country_in_sql,
)
def country_mentions(text: pa.Array | pa.ChunkedArray, matching: str = "lemmas", output: str = "country") -> pa.Array:
    """Return countries that a text names, by their names, adjectives and demonyms, each once, in order of their names.

    Args:
        text: Texts; NULL gives NULL.
        matching: ``'lemmas'`` as ``matches()`` does, whatever the case: so the bird is Turkey, nail polish is Poland, Papua
            New Guinea is also Guinea, and "US" (a pronoun then) is nothing. ``'cased'`` takes terms only as
            ``lists.countries`` writes them, one word after the other, and of overlapping ones the first and longest:
            "Turkey" and "US" count, "turkey" and "TURKEY" do not; Michael Jordan still does.
        output: ``'country'`` for English short names, ``'iso2'`` or ``'iso3'`` for ISO 3166-1 codes.

    Raises:
        RequestError: Another value for ``matching`` or ``output`` (``E3051``).

    Source:
        Girrbach et al., Person-Centric Annotations of LAION-400M (2025), for the matching; the terms are our own.

    Example:
        >>> texts = pa.array(["Roast turkey in the US", "Germans in South Africa"])
        >>> country_mentions(texts).to_pylist()
        [['Turkey'], ['Germany', 'South Africa']]
        >>> country_mentions(texts, "cased", "iso2").to_pylist()
        [['US'], ['DE', 'ZA']]
    """
    if output not in countries.OUTPUTS:
        raise RequestError(f"output of country_mentions() is one of {', '.join(countries.OUTPUTS)}", code="E3051")
    if matching not in countries.MATCHING:
        raise RequestError("matching of country_mentions() is 'lemmas' or 'cased'", code="E3051")
    find = countries.by_lemmas().find if matching == "lemmas" else countries.as_written
    names = pa.array(countries.labels(output), pa.string())
    return apply(text, lambda rows: _named(rows, *find(rows), names), _STRINGS)


def _in_sql(terms: Sequence[str | None] | str | None, otherwise: str, call: str) -> str | None:
    """Return a search for terms in SQL, for texts without any of them."""
    known = _terms(terms)
    return where_matching(matcher(known).pattern(), call, otherwise) if known else None


def _matches_in(words: pa.Array, terms: Sequence[str | None] | str | None) -> pa.Array:
    """Return ``matches`` of texts whose lemmas are given."""
    found = np.zeros(len(words), np.bool_)
    found[matcher(_terms(terms) or ()).find_in(words)[0]] = True
    return pa.array(found, mask=words.is_null().to_numpy(zero_copy_only=False))


def _match_terms_in(words: pa.Array, terms: Sequence[str | None] | str | None) -> pa.Array:
    """Return ``match_terms`` of texts whose lemmas are given."""
    known = _terms(terms) or ()
    at, places = matcher(known).find_in(words)
    return _lists(len(words), at, places, pa.array(known, pa.string()), words.is_null() if words.null_count else None)


def _forms(terms: Sequence[str | None] | str | None) -> list[tuple[str, frozenset[str]]] | None:
    """Return what is looked for in lemmas; ``None`` when a term can never occur, which the function itself shall say."""
    found = [(term, form) for term in _terms(terms) or () for form in forms_of(term)]
    return found if all(form for _, form in found) else None


_WORDS: Final = [Parameter("words", _STRINGS), _TERMS]
answered_from("matches", Through("lemmas", Function("matches_in", _matches_in, tuple(_WORDS), pa.bool_(), "1"), _forms))
answered_from(
    "match_terms",
    Through("lemmas", Function("match_terms_in", _match_terms_in, tuple(_WORDS), _STRINGS, "1"), _forms),
)


def _terms(terms: Sequence[str | None] | str | None) -> tuple[str, ...] | None:
    """Return the terms, each once; a list's where a name is given."""
    if isinstance(terms, str):
        terms = _listed(terms)["term"].to_pylist()
    return None if terms is None else tuple(dict.fromkeys(term for term in terms if term is not None))


def _listed(name: str) -> pa.Table:
    """Return a shipped list, or one of another package."""
    if name in wordlists.names():
        return wordlists.wordlist(name)
    if name in lists.names():
        return lists.wordlist(name)
    known = sorted({*wordlists.names(), *lists.names()})
    hint = "give the name of a list, or the terms themselves: ['murder', 'theft']"
    raise NotFoundError(f"no word list {name!r}{did_you_mean(name, known)}", code="E1011", hint=hint)


def _named(rows: Rows, at: Integers, places: Integers, names: pa.StringArray) -> pa.Array:
    """Return a list for each row of the names at its places."""
    return _lists(len(rows), at, places, names, rows.mask())


def _lists(count: int, at: Integers, places: Integers, names: pa.StringArray, mask: pa.Array | None) -> pa.Array:
    offsets = pa.array(np.searchsorted(at, np.arange(count + 1)), pa.int32())
    return pa.ListArray.from_arrays(offsets, names.take(pa.array(places)), type=_STRINGS, mask=mask)
