"""Read what img2dataset writes beside a shard: ``00000.parquet`` with one row per download, ``00000_stats.json`` with counts."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import orjson

from counterbalance.engine.errors import CounterbalanceError, SourceError
from counterbalance.ingest import columns, parquet
from counterbalance.ingest.files import File, reading
from counterbalance.ingest.jsonobjects import repeated
from counterbalance.ingest.rows import MAX_KEY, Sieve

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LARGEST: Final = 1 << 28
"""Bytes of text that a sidecar may hold in memory."""
_STATS: Final = 1 << 20


@dataclass(slots=True)
class Sidecar:
    """Rows by key, and how many samples the shard should hold.

    Args:
        rows: Key to fields (text), of the rows that say ``success`` or nothing about it.
        successes: Number of samples in the shard, where it is said.
        uri: The file this comes from.
        problem: Why it could not be read, if it could not.
    """

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    successes: int | None = None
    uri: str = ""
    problem: str | None = None

    @property
    def name(self) -> str:
        """Return the name of the file."""
        return self.uri.rpartition("/")[2]


class FolderListings:
    """The files beside the shards, each folder listed once."""

    def __init__(self) -> None:
        self._listed: dict[str, frozenset[str]] = {}

    def beside(self, file: File, name: str) -> File | None:
        """Return the file of that name in the same folder, if there is one."""
        folder = posixpath.dirname(file.path)
        if folder not in self._listed:
            with reading(file.uri):
                names = file.fs.ls(folder, detail=False) if file.fs.isdir(folder) else []
            self._listed[folder] = frozenset(posixpath.basename(n.rstrip("/")) for n in names)
        if name not in self._listed[folder]:
            return None
        return File(file.uri[: len(file.uri) - len(file.name)] + name, None, file.fs, posixpath.join(folder, name))


def load(
    neighbours: FolderListings, shard: File, fields: Mapping[str, tuple[str, ...]], mapping: Mapping[str, str]
) -> Sidecar:
    """Return the sidecar of a shard, empty where there is none.

    Args:
        neighbours: Knows the folder.
        shard: ``00000.tar``.
        fields: Field to names it goes by, as for ``columns.resolve``; ``key`` and ``status`` are added.
        mapping: The user's own names.
    """
    stem = shard.name.removesuffix(".gz").removesuffix(".tar")
    beside = neighbours.beside(shard, f"{stem}.parquet")
    stats = neighbours.beside(shard, f"{stem}_stats.json")
    found = Sidecar(uri=beside.uri if beside else stats.uri if stats else "")
    try:
        if beside:
            found.rows = dict(_rows(beside, fields, mapping))
            found.successes = len(found.rows)
        elif stats:
            found.successes = _successes(stats)
    except CounterbalanceError as error:
        if error.code not in {"E4002", "E4010", "E4012"}:
            raise
        found.problem = error.message
    return found


def _rows(
    file: File, fields: Mapping[str, tuple[str, ...]], mapping: Mapping[str, str]
) -> Iterable[tuple[str, dict[str, Any]]]:
    names = parquet.schema(file).names
    wanted = {**fields, "key": (), "status": ()}
    asked = columns.asked(mapping, wanted)
    there = {f: n for f, n in asked.items() if columns.plain(n) in map(columns.plain, names)}
    wanted = {f: synonyms for f, synonyms in wanted.items() if f in there or f not in asked}
    found = columns.resolve(names, wanted, there, file.uri)
    if "key" not in found:
        raise SourceError(f"{file.uri} has no key column", code="E4010")
    total = 0
    for rows in parquet.read(file, {f: names[i] for f, i in found.items()}):
        total += rows.table.nbytes
        if total > _LARGEST:
            raise SourceError(f"{file.uri} holds more than {_LARGEST:,} bytes", code="E4002")
        sieve = Sieve(rows)
        texts = {f: sieve.text(f, MAX_KEY if f == "key" else _LARGEST).to_pylist() for f in found}
        for i, key in enumerate(texts["key"]):
            if key is not None and sieve.keep[i] and texts.get("status", ["success"] * (i + 1))[i] in {None, "success"}:
                yield key, {f: v[i] for f, v in texts.items()}


def _successes(file: File) -> int | None:
    text = file.read(_STATS)
    try:
        stats = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise SourceError(f"{file.uri} is not JSON: {error}", code="E4010") from error
    twice = repeated(text, stats)
    if twice is not None:
        raise SourceError(f"{file.uri} cannot be used: {twice.message}", code="E4010")
    value = stats.get("successes") if isinstance(stats, dict) else None
    return value if isinstance(value, int) else None
