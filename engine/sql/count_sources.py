"""Relations that stand for stored ones where rows are only counted (``sql/rewrites/count_from_statistics.py``, ``sql/rewrites/count_by_sorted_key.py``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from counterbalance.engine.catalog import file_statistics
from counterbalance.engine.sql import dictionary_predicates
from counterbalance.engine.sql.rewrites import view_kernels
from counterbalance.engine.sql.rewrites.count_from_statistics import Tallied
from counterbalance.engine.sql.single_table import Columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    import duckdb
    import lance

    from counterbalance.engine.catalog.file_statistics import Tallies
    from counterbalance.engine.catalog.pinned import Pinned
    from counterbalance.engine.sql.rewrites.count_by_sorted_key import Conditions


@dataclass(frozen=True, slots=True)
class Counts:
    """What is known of the files of a session's stored relations.

    Args:
        stored: The lake, the table's name there and its version, of each registered relation.
        codes: Dictionaries of the coded columns of those whose codes hold.
        parts: Relations that are several stored ones together.
        attached: Other lakes by name.
        sources: Where relations are registered.
        named: A name of the session's own, for a relation and a way to read it.
    """

    stored: Mapping[str, tuple[Pinned, str, lance.LanceDataset]]
    codes: Mapping[str, Mapping[str, list[str | None]]]
    parts: Mapping[str, list[str]]
    attached: Mapping[str, Pinned]
    sources: dict[str, Callable[[duckdb.DuckDBPyConnection], object]]
    named: Callable[[str, str], str]
    _tallied: dict[str, Tallied | None] = field(default_factory=dict)
    _kept: dict[str, Tallies | None] = field(default_factory=dict)
    _by_image: dict[tuple[Any, ...], str] = field(default_factory=dict)

    def clear(self) -> None:
        """Other versions are read from here on."""
        self._tallied.clear()
        self._kept.clear()
        self._by_image.clear()

    def tallied(self, name: str) -> Tallied | None:
        """What stands for a registered relation where only the values of its coded columns are counted, if anything does."""
        if name not in self._tallied:
            self._tallied[name] = self._tally(name)
        return self._tallied[name]

    def _tally(self, name: str) -> Tallied | None:
        parts = self.parts.get(name, [name])
        known = [t for t in map(self._tallies, parts) if t is not None and t.fits]
        if len(known) < len(parts) or any(t.schema != known[0].schema for t in known):
            return None
        if name in self.parts and any(self.stored[p][0] is lake for p in parts for lake in self.attached.values()):
            return None  # what is read of others' closed labels is logged, by the name it is read under
        later = view_kernels.Later(
            known[0].schema, lambda: pa.concat_tables([t.run() for t in known]).unify_dictionaries()
        )
        return Tallied(self._register(name, "tally", later), self._columns(parts))

    def lies_by_image(self, name: str) -> Columns | None:
        """The columns of a registered relation whose rows lie image by image in each file; ``None`` of any other."""
        known = self._tallies(name)
        return self._columns([name]) if known is not None and known.rises else None

    def by_image(
        self,
        cursor: Callable[[], AbstractContextManager[duckdb.DuckDBPyConnection]],
        name: str,
        where: Conditions,
        counts: Sequence[Conditions],
        given: Mapping[str, Any],
    ) -> str | None:
        """Registered name of counts of such a relation's rows by image; ``None`` where they are not to be had.

        Args:
            cursor: Opens what answers the conditions.
            name: The relation.
            where: Conditions of the rows that count at all.
            counts: Of these, what each count is of.
            given: Values of ``$name``.
        """
        from counterbalance.engine.search.by_image import ByImage

        kept = self._tallies(name)
        looked_up = [dictionary_predicates.passed(cursor, c, self.codes[name], given) for c in (where, *counts)]
        passed = [own for own in looked_up if own is not None]
        fragments = kept.in_order(passed[0]) if kept is not None and len(passed) == len(looked_up) else None
        if kept is None or fragments is None:
            return None
        key = (name, *(tuple((column, values.tobytes()) for column, values in own.items()) for own in passed))
        if key not in self._by_image:
            work = ByImage(kept.dataset, fragments, passed[0], passed[1:])
            self._by_image[key] = self._register(name, f"by_image_{len(self.sources)}", work)
        return self._by_image[key]

    def _tallies(self, name: str) -> Tallies | None:
        """What is kept of the files of a stored relation whose codes hold."""
        if name not in self._kept:
            own = self.stored[name] if name in self.codes and name in self.stored else None
            kept = None if own is None else file_statistics.of_table(own[0].location, own[1], own[2], self.codes[name])
            self._kept[name] = kept
        return self._kept[name]

    def _columns(self, parts: Sequence[str]) -> Columns:
        coded = self.codes[parts[0]].keys()
        return Columns(coded, {c for p in parts for c in self.stored[p][2].schema.names} - {*coded})

    def _register(self, name: str, way: str, rows: Any) -> str:
        shown = self.named(name, way)
        self.sources[shown] = lambda connection: connection.register(shown, rows)
        return shown
