"""Parquet as a stream of ``Rows`` within a byte budget.

A file of a few megabytes can stand for many gigabytes of equal strings: its dictionary is short, the rows only point into
it. So the longest text in the dictionaries is looked up first, and no more rows are decoded at a time than fit
``DECODED`` if all of them were that long. Page checksums are verified.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import CounterbalanceError, SourceError
from counterbalance.engine.ingest_types import CHUNK_BYTES, CHUNK_ROWS
from counterbalance.ingest.files import reading
from counterbalance.ingest.rows import MAX_TEXT, Refusal, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt
    import pyarrow.parquet as pq

    from counterbalance.ingest.files import File

DECODED: Final = 256 << 20
"""Bytes that the rows of one step may have in the worst case."""
_BUFFER: Final = 4 << 20
_FOOTER: Final = 64 << 20


@contextmanager
def _opened(file: File, texts: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
    import pyarrow.parquet as pq

    with file.open() as raw, _damage(file):
        yield pq.ParquetFile(
            raw,
            read_dictionary=list(texts),
            buffer_size=_BUFFER,
            pre_buffer=False,  # else a row group is held whole
            page_checksum_verification=True,
            thrift_string_size_limit=_FOOTER,
            thrift_container_size_limit=1_000_000,
        )


@contextmanager
def _damage(file: File) -> Iterator[None]:
    """Turn what Arrow raises about a broken file into one error; it also says ``OSError``, but without a number."""
    try:
        yield
    except CounterbalanceError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        if getattr(error, "errno", None):
            with reading(file.uri):
                raise
        why = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise SourceError(f"{file.uri} is a damaged Parquet file: {why}", code="E4012") from error


def names(file: File) -> list[str]:
    """Return columns of the outermost level.

    Raises:
        SourceError: If the footer is not that of a Parquet file (``E4012``).
    """
    with _opened(file) as opened:
        return list(opened.schema_arrow.names)


def read(file: File, columns: Mapping[str, str]) -> Iterator[Rows]:
    """Yield the rows of a file.

    Args:
        file: The file.
        columns: Name to give a column, to its name in the file.

    Returns:
        About ``CHUNK_ROWS`` rows or ``CHUNK_BYTES`` of text at a time; rows with a text of more than
        ``MAX_TEXT`` bytes are refused.

    Raises:
        SourceError: If the file is damaged (``E4012``).
    """
    wanted = list(dict.fromkeys(columns.values()))
    waiting: list[pa.RecordBatch] = []
    first, size = 1, 0
    for batch, share in _batches(file, wanted):
        waiting.append(batch)
        size += share
        if sum(b.num_rows for b in waiting) >= CHUNK_ROWS or sum(b.nbytes for b in waiting) >= CHUNK_BYTES:
            yield from _pieces(waiting, columns, first, file.uri, size)
            first, size, waiting = first + sum(b.num_rows for b in waiting), 0, []
    if waiting:
        yield from _pieces(waiting, columns, first, file.uri, size)


def _batches(file: File, wanted: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield the columns in batches of bounded size, and the bytes of the file behind each."""
    with _opened(file) as opened:
        schema, sizes = opened.schema_arrow, _sizes(opened, file.size)
    texts = [c for c in wanted if _is_text(schema.field(c).type)]
    with _opened(file, texts) as probe, _opened(file) as opened:
        for group, size in enumerate(sizes):
            count, done = opened.metadata.row_group(group).num_rows, 0
            at_once = max(min(DECODED // max(_longest(probe, group, texts), 1), CHUNK_ROWS), 1)
            for batch in opened.iter_batches(at_once, [group], wanted):
                before, done = done, done + batch.num_rows
                yield batch, size * done // count - size * before // count


def _longest(probe: pq.ParquetFile, group: int, texts: Sequence[str]) -> int:
    """Return bytes of the longest dictionary entries of a row group, all text columns together."""
    batch = next(probe.iter_batches(1, [group], texts), None) if texts else None
    if batch is None:
        return 0
    found = [pc.max(pc.binary_length(c.dictionary)).as_py() or 0 for c in batch.columns if _is_dictionary(c)]
    return int(sum(found))


def _is_dictionary(array: pa.Array) -> bool:
    return bool(pa.types.is_dictionary(array.type) and _is_text(array.type.value_type))


def _sizes(opened: pq.ParquetFile, total: int | None) -> list[int]:
    """Return compressed bytes of each row group; what the file has besides is counted with the first."""
    meta = opened.metadata
    groups = (meta.row_group(i) for i in range(meta.num_row_groups))
    sizes = [sum(g.column(j).total_compressed_size for j in range(g.num_columns)) for g in groups]
    if sizes and total is not None:
        sizes[0] += max(total - sum(sizes), 0)
    return sizes


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_large_binary(kind)
        or (pa.types.is_dictionary(kind) and _is_text(kind.value_type))
    )


def _pieces(
    batches: Sequence[pa.RecordBatch], columns: Mapping[str, str], first: int, uri: str, size: int
) -> Iterator[Rows]:
    """Yield the rows of some batches, in pieces of about ``CHUNK_BYTES``."""
    table = pa.Table.from_batches(batches).combine_chunks()
    numbers = np.arange(first, first + table.num_rows, dtype=np.int64)
    total, long = np.zeros(table.num_rows, dtype=np.int64), np.zeros(table.num_rows, dtype=bool)
    for column in table.columns:
        lengths = _lengths(column)
        total += lengths
        long |= lengths > MAX_TEXT
    refused = [Refusal(int(n), "too_long", f"a text of more than {MAX_TEXT:,} bytes") for n in numbers[long]]
    if refused:
        table, numbers, total = table.filter(pa.array(~long)), numbers[~long], total[~long]
    cuts = np.flatnonzero(np.diff(np.cumsum(total) // CHUNK_BYTES)) + 1
    begin = 0
    for i, end in enumerate([*cuts, table.num_rows]):
        piece = table.slice(begin, end - begin)
        named = pa.table({name: piece[c] for name, c in columns.items()})
        yield Rows(named, numbers[begin:end], "row", uri, () if i else refused, 0 if i else size)
        begin = int(end)


def _lengths(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return bytes of each text; 0 for other types."""
    if not _is_text(column.type):
        return np.zeros(len(column), dtype=np.int64)
    if pa.types.is_dictionary(column.type):
        parts = [pc.take(pc.binary_length(c.dictionary), c.indices) for c in column.chunks]
    else:
        parts = [pc.binary_length(c) for c in column.chunks]
    found = [pc.fill_null(p, 0).to_numpy(zero_copy_only=False) for p in parts]
    return np.concatenate(found).astype(np.int64) if found else np.empty(0, dtype=np.int64)
