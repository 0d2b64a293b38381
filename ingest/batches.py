"""Record batches of a table file as ``Rows``: in pieces of bounded size, without texts that are too long."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import CounterbalanceError, SourceError, first_line
from counterbalance.engine.ingest_types import CHUNK_BYTES, CHUNK_ROWS
from counterbalance.ingest.files import reading
from counterbalance.ingest.rows import MAX_TEXT, Refusal, Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from counterbalance.ingest.files import File


@contextmanager
def damage(file: File | str, what: str) -> Iterator[None]:
    """Turn what Arrow raises about a broken file into one error; it also says ``OSError``, but without a number.

    Args:
        file: The file, or what is called so.
        what: What it should be: ``"Parquet file"``.

    Raises:
        SourceError: The file is damaged (``E4012``).
    """
    try:
        yield
    except CounterbalanceError:
        raise
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        MemoryError,
    ) as error:  # a length that was flipped asks for terabytes
        if getattr(error, "errno", None) and not isinstance(file, str):
            with reading(file.uri):
                raise
        name = file if isinstance(file, str) else file.uri
        raise SourceError(f"{name} is a damaged {what}: {first_line(error)[:200]}", code="E4012") from error


def rows_of(batches: Iterable[tuple[pa.RecordBatch, int]], columns: Mapping[str, str], file: File) -> Iterator[Rows]:
    """Yield the rows of some batches, numbered from 1.

    Args:
        batches: Each with the bytes of the file behind it.
        columns: Name to give a column, to its name in the batches.
        file: Where they come from.

    Returns:
        About ``CHUNK_ROWS`` rows or ``CHUNK_BYTES`` of text at a time; rows with a text of more than ``MAX_TEXT`` bytes
        are refused.
    """
    waiting: list[pa.RecordBatch] = []
    first, size = 1, 0
    for batch, share in batches:
        waiting.append(batch)
        size += share
        if sum(b.num_rows for b in waiting) >= CHUNK_ROWS or sum(b.nbytes for b in waiting) >= CHUNK_BYTES:
            yield from _pieces(waiting, columns, first, file.uri, size)
            first, size, waiting = first + sum(b.num_rows for b in waiting), 0, []
    if waiting:
        yield from _pieces(waiting, columns, first, file.uri, size)


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is of texts or bytes, dictionaries of these included."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_large_binary(kind)
        or (pa.types.is_dictionary(kind) and is_text(kind.value_type))
    )


def _pieces(
    batches: Sequence[pa.RecordBatch], columns: Mapping[str, str], first: int, uri: str, size: int
) -> Iterator[Rows]:
    """Yield the rows of some batches, in pieces of about ``CHUNK_BYTES``."""
    table = pa.Table.from_batches(batches).combine_chunks()
    numbers = np.arange(first, first + table.num_rows, dtype=np.int64)
    total, long = np.zeros(table.num_rows, dtype=np.int64), np.zeros(table.num_rows, dtype=bool)
    for column in table.columns:
        size_of = lengths(column)
        total += size_of
        long |= size_of > MAX_TEXT
    refused = [Refusal(int(n), "too_long", f"a text of more than {MAX_TEXT:,} bytes") for n in numbers[long]]
    if refused:
        table, numbers, total = table.filter(pa.array(~long)), numbers[~long], total[~long]
    begin = 0
    for i, end in enumerate(cuts(total)):
        piece = table.slice(begin, end - begin)
        named = pa.table({name: piece[c] for name, c in columns.items()})
        yield Rows(named, numbers[begin:end], "row", uri, () if i else refused, 0 if i else size)
        begin = int(end)


def lengths(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return bytes of each text; 0 for other types."""
    if not is_text(column.type):
        return np.zeros(len(column), dtype=np.int64)
    if pa.types.is_dictionary(column.type):
        parts = [pc.take(pc.binary_length(c.dictionary), c.indices) for c in column.chunks]
    else:
        parts = [pc.binary_length(c) for c in column.chunks]
    found = [pc.fill_null(p, 0).to_numpy(zero_copy_only=False) for p in parts]
    return np.concatenate(found).astype(np.int64) if found else np.empty(0, dtype=np.int64)


def cuts(sizes: npt.NDArray[np.int64]) -> list[int]:
    """Return where to cut rows so that no piece is much larger than ``CHUNK_BYTES``: the end of each.

    Args:
        sizes: Bytes of each row.

    Example:
        >>> cuts(np.array([40, 40, 40]) << 20), cuts(np.array([1, 1]))
        ([1, 3], [2])
    """
    inner = np.flatnonzero(np.diff(np.cumsum(sizes) // CHUNK_BYTES)) + 1
    return [*(int(end) for end in inner), len(sizes)]
