"""What a data file holds, kept beside it: how many rows have each combination of codes, and whether images come in order.

A data file never changes, so neither does its tally: it is taken at the end of the ingest that wrote the file, and
found again by the file's name at any version. Counting labels then reads no labels. Those of a table in the closed folder
lie there, too. Files that have none (rows that were
updated since, and sensitive labels, whose counts do not leave their folder) are counted when it is asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.catalog import meta
from counterbalance.engine.errors import StorageError
from counterbalance.engine.schema import BASE_TABLES, CODE_SUFFIX, IMAGES
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import lance
    from numpy.typing import NDArray

    from counterbalance.engine.schema import Table
    from counterbalance.engine.store.location import Location

    Passed = Mapping[str, NDArray[np.bool_]]
    """By column, whether a row passes: of NULL first, then of each code."""
    Combinations = tuple[NDArray[np.int16], NDArray[np.int64]]
    """Codes, -1 for NULL, a row a combination, and how many rows have each."""

ROWS: Final = "rows__"
"""The column that says how many rows a combination stands for."""
_BATCH: Final = 131_072
_DENSE: Final = 1 << 16
"""So many combinations that could be are counted by place."""
_FEW: Final = 1 << 20
"""So many rows are counted whatever they hold."""
_known: Final[dict[tuple[str, int, str, int], list[Mapping[str, Any] | None]]] = {}
"""Of each file of a version, read once a process: a version never changes."""
_MOST_KNOWN: Final = 32
_UNREADABLE: Final = (OSError, ValueError, StorageError)
"""What reading a damaged table raises."""
_FEWER: Final = 64
"""A tally is worth its reading when it has at most a 64th of the rows."""


def keep(location: Location, stored: str) -> None:
    """Take and store the tallies that files of the newest version of a base table lack."""
    base, dataset = BASE_TABLES[stored], tables.open_table(location, stored)
    if dataset is None or not {c + CODE_SUFFIX for c in base.coded} <= {*dataset.schema.names}:
        return
    closed = location.encloses(stored)
    try:
        known = {
            *meta.read(location, "tallies", closed=closed, columns=["file"], where=_of(stored))["file"].to_pylist()
        }
    except _UNREADABLE:  # it is made of what is there: begin anew
        tables.drop(location, meta.stored("tallies", closed=closed))
        known = set()
    new = [_taken(stored, base, file, fragment) for file, fragment in _files(dataset, base) if file not in known]
    if new:
        meta.write(location, "tallies", new, closed=closed)


def _of(stored: str) -> str:
    return f"table_name = '{stored}'"


def _taken(stored: str, base: Table, file: str, fragment: Any) -> dict[str, Any]:
    names = [c + CODE_SUFFIX for c in base.coded]
    images = [] if base.parent is None else [IMAGES.key]
    rows = fragment.to_table(columns=[*names, *images])
    codes, counts = _counted(rows.select(names).to_batches(), len(names))
    is_small = len(counts) <= max(_FEWER, len(rows) // _FEWER)
    ids = rows[IMAGES.key] if images and len(rows) and not rows[IMAGES.key].null_count else None
    rises = ids is not None and bool((np.diff(ids.to_numpy()) >= 0).all())
    return {
        "table_name": stored,
        "file": file,
        "codes": codes.ravel().tolist() if is_small else None,
        "rows": counts.tolist() if is_small else None,
        "first_image": ids[0].as_py() if ids is not None and rises else None,
        "last_image": ids[-1].as_py() if ids is not None and rises else None,
    }


@dataclass(frozen=True)
class Tallies:
    """What is kept of the files of a table at a version.

    Args:
        dataset: The table; its codes hold.
        base: What kind of table it is.
        codes: Dictionaries of the columns that are asked about.
        fragments: Its fragments.
        kept: The rows that were kept of them, in the same order; ``None`` where there is none.
    """

    dataset: lance.LanceDataset
    base: Table
    codes: Mapping[str, Sequence[str | None]]
    fragments: Sequence[Any]
    kept: Sequence[Mapping[str, Any] | None]

    @property
    def schema(self) -> pa.Schema:
        """Return the columns that are asked about as they are named, and ``ROWS``."""
        kind = pa.dictionary(pa.int16(), pa.string())
        return pa.schema([*(pa.field(c, kind) for c in self.codes), pa.field(ROWS, pa.int64())])

    @property
    def fits(self) -> bool:
        """Return whether ``run`` gives far fewer rows than there are, and has not many to read."""
        if any(own is not None and own["rows"] is None for own in self.kept):
            return False
        could_be = math.prod(len(values) + 1 for values in self.codes.values())
        return could_be <= _DENSE or sum(f.physical_rows for f in self._left) <= _FEW

    @cached_property
    def _left(self) -> list[Any]:
        return [f for f, own in zip(self.fragments, self.kept, strict=True) if own is None]

    def run(self) -> pa.Table:
        """Return the rows by the values of their coded columns: a row a combination."""
        width, parts = len(self.base.coded), [own for own in self.kept if own is not None]
        codes = np.concatenate([np.zeros(0, np.int16), *(own["codes"] for own in parts)]).reshape(-1, width)
        counts = np.concatenate([np.zeros(0, np.int64), *(own["rows"] for own in parts)])
        if self._left:
            names = [c + CODE_SUFFIX for c in self.base.coded]
            batches = self.dataset.scanner(columns=names, fragments=self._left, batch_size=_BATCH).to_reader()
            more = _counted(batches, width)
            codes, counts = np.concatenate([codes, more[0]]), np.concatenate([counts, more[1]])
        codes, counts = _summed(codes, counts)
        arrays: list[pa.Array] = []
        for name, values in self.codes.items():
            own = codes[:, self.base.coded.index(name)]
            arrays.append(pa.DictionaryArray.from_arrays(pa.array(own, mask=own < 0), pa.array(values, pa.string())))
        return pa.table([*arrays, pa.array(counts)], schema=self.schema)

    @property
    def rises(self) -> bool:
        """Return whether each file is known to hold its rows image by image, with rising ids."""
        return all(own is not None and own["first_image"] is not None for own in self.kept)

    def in_order(self, passed: Passed) -> list[Any] | None:
        """Return the fragments that may hold rows whose codes pass, if together these lie image by image, with rising ids."""
        found = self._holding(passed)
        last = None
        for _, own in found:
            if own is None or own["first_image"] is None or (last is not None and own["first_image"] < last):
                return None
            last = own["last_image"]
        return [fragment for fragment, _ in found]

    def holding(self, passed: Passed) -> list[Any]:
        """Return the fragments that may hold rows whose codes pass."""
        return [fragment for fragment, _ in self._holding(passed)]

    def _holding(self, passed: Passed) -> list[tuple[Any, Mapping[str, Any] | None]]:
        places = [(self.base.coded.index(column), own) for column, own in passed.items()]

        def may(kept: Mapping[str, Any] | None) -> bool:
            if kept is None or kept["codes"] is None or not places:
                return True
            codes = kept["codes"].reshape(-1, len(self.base.coded)).astype(np.intp) + 1
            return bool(np.logical_and.reduce([passes[codes[:, place]] for place, passes in places]).any())

        return [pair for pair in zip(self.fragments, self.kept, strict=True) if may(pair[1])]


def of_table(
    location: Location, stored: str, dataset: lance.LanceDataset, codes: Mapping[str, Sequence[str | None]]
) -> Tallies | None:
    """Return what is kept of a base table or of its sensitive part; ``None`` for any other.

    Args:
        location: The lake.
        stored: The table's name, with its folder.
        dataset: The table at a version whose codes hold.
        codes: Dictionaries of its coded columns.
    """
    base = BASE_TABLES.get(stored.rpartition("/")[2])
    fragments = dataset.get_fragments()
    if base is None or not codes or not fragments:
        return None
    newest = str(fragments[-1].metadata.files[-1].path)
    key = (str(dataset.uri), int(dataset.version), newest, int(dataset.count_rows()))
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        kept = _read(location, stored)
        _known[key] = [kept.get(file) for file, _ in _files(dataset, base)]
    return Tallies(dataset, base, codes, fragments, _known[key])


def holding(
    location: Location,
    stored: str,
    dataset: lance.LanceDataset,
    codes: Mapping[str, Sequence[str | None]],
    passed: Passed,
) -> list[Any] | None:
    """Return fragments of a table that may hold rows whose codes pass; ``None`` where that is not known."""
    known = of_table(location, stored, dataset, codes)
    return None if known is None else known.holding(passed)


def highest_codes(location: Location, stored: str, dataset: lance.LanceDataset) -> tuple[dict[str, int], list[Any]]:
    """Return the highest code of each coded column in files whose codes are kept, and the fragments of all others.

    Args:
        location: The lake.
        stored: Name of a base table, or of its sensitive part.
        dataset: The table at some version.
    """
    base, kept = BASE_TABLES[stored.rpartition("/")[2]], _read(location, stored)
    highest, unread = np.full(len(base.coded), -1), []
    for file, fragment in _files(dataset, base):
        codes = kept[file]["codes"] if file in kept else None
        if codes is None:
            unread.append(fragment)
        elif len(codes):
            highest = np.maximum(highest, codes.reshape(-1, len(base.coded)).max(axis=0))
    return dict(zip(base.coded, highest.tolist(), strict=True)), unread


def _read(location: Location, stored: str) -> dict[str, Mapping[str, Any]]:
    """Return what is kept of a table's files, by their names."""
    columns = ("file", "codes", "rows", "first_image", "last_image")
    try:
        closed = location.encloses(stored)
        read = meta.read(location, "tallies", closed=closed, columns=columns, where=_of(stored))
    except _UNREADABLE:
        return {}
    codes, rows = (_split(read[c]) for c in ("codes", "rows"))
    rest = read.select(["file", "first_image", "last_image"]).to_pylist()
    return {own["file"]: {**own, "codes": c, "rows": n} for own, c, n in zip(rest, codes, rows, strict=True)}


def _split(lists: pa.ChunkedArray) -> list[NDArray[Any] | None]:
    """Return lists of numbers as arrays, ``None`` for NULL."""
    ends = np.cumsum(pc.fill_null(pc.list_value_length(lists), 0).to_numpy())
    parts = np.split(pc.list_flatten(lists).to_numpy(), ends)[:-1]
    return [part if there else None for part, there in zip(parts, pc.is_valid(lists).to_pylist(), strict=True)]


def _files(dataset: lance.LanceDataset, base: Table) -> list[tuple[str, Any]]:
    """Return each fragment, with a name of what it holds of its codes and images: another one whenever that changes."""
    named = {c + CODE_SUFFIX for c in base.coded} | {IMAGES.key}
    wanted = {f.id() for f in dataset.lance_schema.fields() if f.name() in named}
    found = []
    for fragment in dataset.get_fragments():
        about = fragment.metadata
        names = sorted(str(f.path) for f in about.files if wanted & {*f.fields})
        gone = about.deletion_file
        found.append(("+".join([*names, *([] if gone is None else [f"{gone.read_version}.{gone.id}"])]), fragment))
    return found


def _counted(batches: Iterable[pa.RecordBatch], columns: int) -> Combinations:
    """Return which combinations of codes there are, and how often each comes."""
    parts = []
    for batch in batches:
        codes = [(c.fill_null(-1) if c.null_count else c).to_numpy().astype(np.int64) + 1 for c in batch.columns]
        parts.append(_unique(codes))
    if not parts:
        return np.zeros((0, columns), np.int16), np.zeros(0, np.int64)
    return _summed(np.concatenate([c for c, _ in parts]), np.concatenate([n for _, n in parts]))


def _summed(codes: NDArray[np.int16], counts: NDArray[np.int64]) -> Combinations:
    """Return the same with each combination once."""
    return _unique([c.astype(np.int64) + 1 for c in codes.T], counts) if len(codes) else (codes, counts)


def _unique(codes: Sequence[NDArray[np.int64]], counts: NDArray[np.int64] | None = None) -> Combinations:
    """Return combinations of codes, given as one more than each, with the sums of their counts, or how often each comes."""
    sizes = [int(c.max(initial=0)) + 1 for c in codes]
    whole = np.zeros(len(codes[0]), np.int64)
    for column, size in zip(codes, sizes, strict=True):
        whole = whole * size + column
    if math.prod(sizes) <= _DENSE:
        sums = np.bincount(whole, counts)
        found = np.flatnonzero(sums)
        numbers = sums[found].astype(np.int64)
    else:
        found, places = np.unique(whole, return_inverse=True)
        numbers = np.bincount(places, counts).astype(np.int64)
    return np.stack(np.unravel_index(found, sizes), axis=1).astype(np.int16) - np.int16(1), numbers
