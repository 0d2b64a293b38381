"""Complete what Tab offers: relations, columns, parameters of audits, functions, keywords, dot commands."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

from prompt_toolkit.completion import Completer, Completion

from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.sql import queries
from counterbalance.shell.describe import columns_of, full_name
from counterbalance.shell.dots import COMMANDS
from counterbalance.shell.output import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from counterbalance.engine.information_schema import Relation
    from counterbalance.engine.session import Session

Offer = tuple[str, str]
"""A word and what it is."""

KEYWORDS: Final = tuple(
    """ADD ALL ALTER AND ANTI ANY AS ASC BETWEEN BY CASE CAST COLUMN COUNT CREATE CROSS DESC DESCRIBE DISTINCT DROP
    ELSE END EXCEPT EXCLUDE EXISTS EXPLAIN FILTER FROM FULL GROUP HAVING ILIKE IN INDEX INNER INTERSECT IS JOIN
    LATERAL LEFT LIKE LIMIT MATERIALIZED NOT NULL NULLS OFFSET ON OR ORDER OVER PARTITION PIVOT POSITIONAL QUALIFY
    REFRESH RIGHT SELECT SEMI SHOW SUMMARIZE TABLE TABLES THEN UNION UNNEST UNPIVOT USING VALUES VIEW WHEN WHERE
    WINDOW WITH""".split()  # noqa: SIM905 - a list of words reads best as words
)
_WORD: Final = re.compile(r"[\w.]*$")
_OPEN_CALL: Final = re.compile(r"(\w+)\s*\([^()]*$")
_SOURCE: Final = re.compile(
    rf"\b(?:from|join)\s+([\w.]+)(?:\s*\([^()]*\))?(?:\s+(?:as\s+)?(?!(?:{'|'.join(KEYWORDS)})\b)(\w+))?", re.IGNORECASE
)
_AFTER_SOURCE: Final = re.compile(r"(?:\b(?:from|join|alter\s+table|refresh)\s+|:=\s*)[\w.]*$", re.IGNORECASE)


class SqlCompleter(Completer):
    """Complete SQL from what a session can name.

    Args:
        session: Asked at the first Tab, and again after ``forget``.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def forget(self) -> None:
        """Ask the session again at the next Tab: a statement may have changed what there is."""
        for name in ("_known", "_by_name", "_columns"):
            self.__dict__.pop(name, None)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield completions of the word before the cursor."""
        del complete_event
        before = document.text_before_cursor
        match = _WORD.search(before)
        word = match[0] if match is not None else ""
        if before.lstrip().startswith("."):
            yield from self._dots(before.lstrip())
            return
        for text, kind in self._offers(document.text, before, word):
            yield Completion(text, start_position=-len(word), display_meta=kind)

    def _dots(self, before: str) -> Iterator[Completion]:
        name, space, rest = before.partition(" ")
        if not space:
            offers = [(n, d.doc) for n, d in COMMANDS.items()]
            rest = name
        elif name == ".mode":
            offers = [(f, "format") for f in FORMATS]
        elif name in {".audits", ".schema"}:
            kinds = {"audit"} if name == ".audits" else {"table", "materialized view", "view"}
            offers = [(full_name(r), r.kind) for r in self._known if r.kind in kinds]
        else:
            return
        for text, doc in offers:
            if text.startswith(rest):
                yield Completion(text, start_position=-len(rest), display_meta=doc)

    def _offers(self, whole: str, before: str, word: str) -> Iterator[Offer]:
        low = word.lower()
        everything = self._columns_of(whole, word) if "." in word else self._words(whole, before, word)
        seen = set()
        for text, kind in everything:
            if text.lower().startswith(low) and text not in seen:
                seen.add(text)
                yield text, kind

    def _columns_of(self, whole: str, word: str) -> Iterator[Offer]:
        """Return columns after ``alias.`` (all, as long as the alias is unknown), and relations after ``schema.``."""
        prefix = word.rpartition(".")[0]
        schema = [(full_name(r), r.kind) for r in self._known if (r.schema or "").lower() == prefix.lower()]
        if schema:
            yield from schema
            return
        aliases = {m[2].lower(): m[1] for m in _SOURCE.finditer(whole) if m[2]}
        relation = self._by_name.get(aliases.get(prefix.lower(), prefix).lower())
        named = [relation] if relation is not None else [] if prefix.lower() in aliases else self._known
        columns = self._of(relation) if relation is not None else [c for r in named for c in r.columns]
        yield from ((f"{prefix}.{name}", kind) for name, kind in columns)

    def _words(self, whole: str, before: str, word: str) -> Iterator[Offer]:
        tables = [(full_name(r), r.kind) for r in self._known if r.kind != "function"]
        if _AFTER_SOURCE.search(before):
            yield from tables
            return
        call = _OPEN_CALL.search(before[: len(before) - len(word)])
        if call is not None:
            yield from self._parameters.get(call[1].lower(), ())
        named = [m[1].lower() for m in _SOURCE.finditer(whole)]
        for name in named:
            if name in self._by_name:
                yield from self._of(self._by_name[name])
        if word:
            if not named:
                yield from (c for r in self._known for c in r.columns)
            yield from ((r.name, "function") for r in self._known if r.kind == "function")
            yield from ((k if word[0].isupper() else k.lower(), "") for k in KEYWORDS)
            yield from tables

    def _of(self, relation: Relation) -> Sequence[Offer]:
        """Return columns of a relation; those of an audit would take as long as it."""
        if relation.kind == "audit":
            return ()
        if relation not in self._columns:
            self._columns[relation] = columns_of(self._session, relation)
        return self._columns[relation]

    @cached_property
    def _known(self) -> Sequence[Relation]:
        return self._session.relations()

    @cached_property
    def _columns(self) -> dict[Relation, Sequence[Offer]]:
        return {}

    @cached_property
    def _by_name(self) -> dict[str, Relation]:
        return {full_name(r).lower(): r for r in self._known}

    @cached_property
    def _parameters(self) -> dict[str, list[Offer]]:
        known = {q.name: q.parameters for q in queries.sound()} | SIGNATURES
        return {
            name.lower(): [(f"{p.name} := ", f"{p.type}, {p.doc}".rstrip(", ")) for p in parameters]
            for name, parameters in known.items()
        }
