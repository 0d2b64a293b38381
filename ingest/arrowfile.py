"""Arrow IPC files and streams as ``Rows``: what ``datasets`` and Arrow itself write to disk.

Every batch is validated in full before anything is made of it: offsets that point elsewhere would read foreign memory.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from counterbalance.ingest.batches import damage, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from counterbalance.ingest.files import File
    from counterbalance.ingest.rows import Rows

_MAGIC: Final = b"ARROW1"
_CONTINUATION: Final = b"\xff\xff\xff\xff"


def is_arrow(head: bytes) -> bool:
    r"""Return whether the first bytes of a file are those of an Arrow file or stream.

    Example:
        >>> is_arrow(b"ARROW1\x00\x00"), is_arrow(b"PAR1")
        (True, False)
    """
    return head.startswith(_MAGIC) or (head.startswith(_CONTINUATION) and head[6:8] == b"\0\0")


@contextmanager
def _opened(file: File) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    with file.open() as raw, damage(file, "Arrow file"):
        if raw.read(len(_MAGIC)) == _MAGIC:
            whole = pa.ipc.open_file(raw)
            yield whole.schema, (whole.get_batch(i) for i in range(whole.num_record_batches))
        else:
            raw.seek(0)
            with pa.ipc.open_stream(raw) as stream:
                yield stream.schema, iter(stream)


def schema(file: File) -> pa.Schema:
    """Return the columns of the outermost level, with their types and what the file's writer noted of them.

    Raises:
        SourceError: If the file is damaged (``E4012``).
    """
    with _opened(file) as (found, _):
        _check_names(found)
        return found


def _check_names(fields: Iterable[pa.Field]) -> None:
    """Raise where a name, of whatever level, is no UTF-8: Arrow would when it is asked for."""
    for field in fields:
        _ = field.name
        _check_names(field.type.field(i) for i in range(field.type.num_fields))


def batches(file: File, wanted: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield columns as they were written, and the bytes of the file behind each batch.

    Args:
        file: The file.
        wanted: Columns of the outermost level.

    Raises:
        SourceError: If the file is damaged (``E4012``).
    """
    left = file.size or 0
    with _opened(file) as (_, found):
        for batch in found:
            batch.validate(full=True)
            share = min(left, batch.nbytes)
            left -= share
            yield batch.select(list(wanted)), share


def read(file: File, columns: Mapping[str, str]) -> Iterator[Rows]:
    """Yield the rows of a file, as ``parquet.read`` does.

    Args:
        file: The file.
        columns: Name to give a column, to its name in the file.

    Raises:
        SourceError: If the file is damaged (``E4012``).
    """
    yield from rows_of(batches(file, list(dict.fromkeys(columns.values()))), columns, file)
