"""Vectors that autoencoders learn from, read in blocks as often as training asks, never kept whole: a stored column, or a query's.

A query runs once; its vectors are kept in a file while training lasts.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine import temp_dirs
from counterbalance.engine.errors import NotFoundError, RequestError, did_you_mean
from counterbalance.engine.sql.parse import quoted
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from counterbalance.engine.session import Session
    from counterbalance.engine.store.location import Location

    Floats = NDArray[np.float32]

BLOCK: Final = 1024
"""Rows that are read together."""
POOL: Final = 64
"""Blocks that are shuffled together: what bounds the memory."""
HELD_OUT: Final = 20
"""Every so manieth row is not learned from, but shows how well vectors are put together again."""
LEAST: Final = 100
"""Vectors below which there is nothing to learn."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """A column of vectors.

    Args:
        column: Its name.
        take: Rows from one on, ``BLOCK`` of them or those that are left, as fixed-size lists of float32.
        rows: All rows, those without a vector too.
        width: Numbers of a vector.
        learned: Vectors that are learned from.
        held_out: Vectors that are not.
        center: Mean of those that are learned from, float64 (width).
        variance: Mean squared distance from it.
        digest: Of all vectors, in whatever order they lie.
    """

    column: str
    take: Callable[[int], pa.ChunkedArray]
    rows: int
    width: int
    learned: int = 0
    held_out: int = 0
    center: NDArray[np.float64] | None = None
    variance: float = 0.0
    digest: str = ""

    def block(self, number: int) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the vectors of a block without NULLs, and which of them are held out."""
        first = number * BLOCK
        rows = self.take(first)
        there = np.flatnonzero(rows.is_valid().to_numpy())
        flat = rows.combine_chunks().drop_null().flatten().to_numpy(zero_copy_only=False)
        found: Floats = np.array(flat, np.float32).reshape(len(there), self.width)  # a copy that may be written to
        return found, (first + there) % HELD_OUT == HELD_OUT - 1

    def blocks(self) -> range:
        """Return the numbers of the blocks."""
        return range(-(-self.rows // BLOCK))

    def batches(self, seed: int, size: int) -> Iterator[Floats]:
        """Yield vectors to learn from in seeded random order, epoch after epoch without end, float32 (size, width).

        Blocks are drawn at random, and rows among those of ``POOL`` blocks; what is left of one pool joins the next.
        """
        size = min(size, self.learned)
        left: Floats = np.empty((0, self.width), np.float32)
        epoch = 0
        while True:
            random = np.random.default_rng([seed, epoch])
            order = random.permutation(len(self.blocks()))
            for start in range(0, len(order), POOL):
                parts = [left]
                for number in order[start : start + POOL]:
                    vectors, kept = self.block(int(number))
                    parts.append(vectors[~kept])
                pool = np.concatenate(parts)
                pool = pool[random.permutation(len(pool))]
                whole = len(pool) // size * size
                for at in range(0, whole, size):
                    yield pool[at : at + size]
                left = pool[whole:]
            epoch += 1


@contextlib.contextmanager
def spool() -> Iterator[Path]:
    """Lend a folder for the vectors of a query, gone in the end; what a killed process left goes later."""
    folder = temp_dirs.folder()
    try:
        yield Path(folder)
    finally:
        temp_dirs.remove(folder)


def read(session: Session, location: Location, relation: str, column: str, folder: Path) -> Vectors:
    """Find a column of vectors, and read it once for its sums.

    Args:
        session: Whose version of a table is read, and whose purpose decides whether it may be.
        location: The lake.
        relation: A table, a materialized view, a call or ``(SELECT …)``.
        column: Its column.
        folder: Where the vectors of a query are kept; it must outlive what is returned.

    Raises:
        NotFoundError: There is no such table or column (E1311).
        RequestError: It is not a column of vectors (E3713), vectors are too few (E3714) or hold what is not a number (E3702).
    """
    name = relation.strip().strip('"').lower()
    if name in session.versions:
        dataset = tables.open_table(location, name, session.versions[name])
        if dataset is not None:
            kind = _kind(session, f'"{name}"', name, column)
            given = Vectors(column, partial(_stored, dataset, column), dataset.count_rows(), kind.list_size)
            return _summed(given, f"{name}.{column}", f"refresh it first: REFRESH {name}.{column}")
    if "(" not in relation:
        stored = sorted(n for n in session.versions if "." not in n and "/" not in n)
        raise NotFoundError(
            f"there is no table or view {relation!r}{did_you_mean(name, stored)}",
            code="E1311",
            hint="vectors are those of a table, a materialized view or (SELECT …)",
        )
    kind = _kind(session, relation, "the query", column)
    return _summed(_queried(session, relation, column, kind, folder), f"{column} of the query", None)


def _stored(dataset: Any, column: str, first: int) -> pa.ChunkedArray:
    return dataset.scanner(columns=[column], offset=first, limit=BLOCK).to_table()[column]


def _queried(session: Session, relation: str, column: str, kind: pa.DataType, folder: Path) -> Vectors:
    """Return the vectors of a query, in a file that is mapped into memory."""
    file = folder / "vectors.arrow"
    schema = pa.schema([("vector", kind)])
    with pa.ipc.new_file(file, schema) as writer:
        for batch in session.sql(f"SELECT {quoted(column)} FROM {relation}").to_batches():
            writer.write_batch(pa.record_batch(batch.columns, schema))
    found = pa.ipc.open_file(pa.memory_map(str(file))).read_all()["vector"]
    return Vectors(column, partial(_mapped, found), len(found), kind.list_size)


def _mapped(vectors: pa.ChunkedArray, first: int) -> pa.ChunkedArray:
    return vectors.slice(first, BLOCK)


def _kind(session: Session, relation: str, shown: str, column: str) -> pa.FixedSizeListType:
    schema = session.sql(f"SELECT * FROM {relation}").schema
    if column not in schema.names:
        raise NotFoundError(
            f"{shown} has no column {column!r}{did_you_mean(column, schema.names)}",
            code="E1311",
            hint=f"columns: {', '.join(schema.names)}",
        )
    kind = schema.field(column).type
    if not (pa.types.is_fixed_size_list(kind) and kind.value_type == pa.float32()):
        raise RequestError(
            f"column {column!r} of {shown} is {kind}, no column of vectors",
            code="E3713",
            hint="vectors are fixed-size lists of float32, such as embed_sentence() makes",
        )
    return kind


def _summed(given: Vectors, shown: str, hint: str | None) -> Vectors:
    """Return them with counts, mean, variance and digest; sums are exact enough not to depend on blocks beyond float64 rounding."""
    learned = held_out = 0
    total, squares = np.zeros(given.width), 0.0
    digest = np.zeros(2, np.uint64)
    weights = np.random.default_rng(0).integers(1, 1 << 63, (2, given.width), np.uint64) | np.uint64(1)
    for number in given.blocks():
        vectors, kept = given.block(number)
        if not np.isfinite(vectors).all():
            raise RequestError(
                f"some vectors of {shown} hold what is not a number", code="E3702", hint="make them NULL"
            )
        digest += _hashed(vectors, weights)
        part = vectors[~kept].astype(np.float64)
        learned, held_out = learned + len(part), held_out + int(kept.sum())
        total += part.sum(0)
        squares += float((part**2).sum())
    if learned + held_out < LEAST:
        raise RequestError(
            f"{shown} has {learned + held_out} vectors; {LEAST} at least are needed", code="E3714", hint=hint
        )
    center = total / learned
    variance = squares / learned - float((center**2).sum())
    if variance <= 1e-12:
        raise RequestError(f"all vectors of {shown} are equal", code="E3714")
    told = f"{learned + held_out}-{given.width}-{digest[0]:016x}{digest[1]:016x}"
    return Vectors(given.column, given.take, given.rows, given.width, learned, held_out, center, variance, told)


def _hashed(vectors: Floats, weights: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return sum over rows of two mixed hashes of their bits: the same in whatever order rows come."""
    bits = vectors.view(np.uint32).astype(np.uint64)
    found = []
    for row in weights:
        mixed = bits @ row
        mixed ^= mixed >> np.uint64(31)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        found.append(mixed.sum(dtype=np.uint64))
    return np.array(found, np.uint64)
