"""Parquet as a stream of ``Rows`` within a byte budget.

A file of a few megabytes can stand for many gigabytes of equal strings: its dictionary is short, the rows only point into
it. So the longest text in the dictionaries is looked up first, and no more rows are decoded at a time than fit
``DECODED`` if all of them were that long. Page checksums are verified.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.ingest_types import CHUNK_BYTES, CHUNK_ROWS
from counterbalance.ingest.batches import damage, is_text, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow.parquet as pq

    from counterbalance.ingest.files import File
    from counterbalance.ingest.rows import Rows

DECODED: Final = 256 << 20
"""Bytes that the rows of one step may have in the worst case."""
PICTURES: Final = 256
"""Rows with pictures that are read at once."""
_BUFFER: Final = 4 << 20
_FOOTER: Final = 64 << 20


@contextmanager
def _opened(file: File, texts: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
    import pyarrow.parquet as pq

    with file.open() as raw, damage(file, "Parquet file"):
        yield pq.ParquetFile(
            raw,
            read_dictionary=list(texts),
            buffer_size=_BUFFER,
            pre_buffer=False,  # else a row group is held whole
            page_checksum_verification=True,
            thrift_string_size_limit=_FOOTER,
            thrift_container_size_limit=1_000_000,
        )


def schema(file: File) -> pa.Schema:
    """Return the columns of the outermost level, with their types and what the file's writer noted of them.

    Raises:
        SourceError: If the footer is not that of a Parquet file (``E4012``).
    """
    with _opened(file) as opened:
        return opened.schema_arrow


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
    yield from rows_of(batches(file, list(dict.fromkeys(columns.values()))), columns, file)


def batches(file: File, wanted: Sequence[str], pictures: Sequence[str] = ()) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield columns in batches of bounded size, and the bytes of the file behind each.

    Args:
        file: The file.
        wanted: Columns of the outermost level.
        pictures: Paths to those of bytes that are long (``"image.bytes"``): they come as dictionaries, and few rows at a
            time.

    Raises:
        SourceError: If the file is damaged (``E4012``).
    """
    with _opened(file) as opened:
        kinds, sizes = opened.schema_arrow, _sizes(opened, file.size)
    texts = [c for c in wanted if is_text(kinds.field(c).type) and c not in pictures]
    with _opened(file, texts) as probe, _opened(file, pictures) as opened:
        for group, size in enumerate(sizes):
            count, done = opened.metadata.row_group(group).num_rows, 0
            at_once = max(min(DECODED // max(_longest(probe, group, texts), 1), CHUNK_ROWS), 1)
            if pictures:
                most = _decoded(opened, group, pictures) // max(count, 1)
                at_once = min(at_once, PICTURES, max(CHUNK_BYTES // max(most, 1), 1))
            for batch in opened.iter_batches(at_once, [group], wanted):
                before, done = done, done + batch.num_rows
                yield batch, size * done // count - size * before // count


def _decoded(opened: pq.ParquetFile, group: int, paths: Sequence[str]) -> int:
    """Return bytes of some columns of a row group when they are no longer compressed."""
    found = opened.metadata.row_group(group)
    columns = (found.column(j) for j in range(found.num_columns))
    return int(sum(c.total_uncompressed_size for c in columns if c.path_in_schema in paths))


def _longest(probe: pq.ParquetFile, group: int, texts: Sequence[str]) -> int:
    """Return bytes of the longest dictionary entries of a row group, all text columns together."""
    batch = next(probe.iter_batches(1, [group], texts), None) if texts else None
    if batch is None:
        return 0
    found = [pc.max(pc.binary_length(c.dictionary)).as_py() or 0 for c in batch.columns if _is_dictionary(c)]
    return int(sum(found))


def _is_dictionary(array: pa.Array) -> bool:
    return bool(pa.types.is_dictionary(array.type) and is_text(array.type.value_type))


def _sizes(opened: pq.ParquetFile, total: int | None) -> list[int]:
    """Return compressed bytes of each row group; what the file has besides is counted with the first."""
    meta = opened.metadata
    groups = (meta.row_group(i) for i in range(meta.num_row_groups))
    sizes = [sum(g.column(j).total_compressed_size for j in range(g.num_columns)) for g in groups]
    if sizes and total is not None:
        sizes[0] += max(total - sum(sizes), 0)
    return sizes
