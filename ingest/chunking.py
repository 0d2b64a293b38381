"""Put what a reader makes of small windows together into chunks worth a commit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.ingest_types import CHUNK_BYTES, CHUNK_ROWS, Chunk, Reject
from counterbalance.ingest.rows import Places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_MOST_REJECTS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Piece:
    """Describe what became of some consecutive items of a source.

    Args:
        tables: Base-table name to rows.
        positions: Base-table name to the place of each row in its array.
        rejects: What was refused.
        rows_read: Items behind this piece, refused ones included.
        bytes_read: Bytes of the file behind it.
    """

    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    positions: Mapping[str, Places] = field(default_factory=dict)
    rejects: Sequence[Reject] = ()
    rows_read: int = 0
    bytes_read: int = 0

    @property
    def rows(self) -> int:
        """Return rows of all tables."""
        return sum(t.num_rows for t in self.tables.values())

    @property
    def size(self) -> int:
        """Return bytes of all tables."""
        return sum(t.nbytes for t in self.tables.values())


def merge_pieces(pieces: Iterator[Piece], source: str) -> Iterator[Chunk]:
    """Yield chunks of at most ``CHUNK_ROWS`` rows and ``CHUNK_BYTES`` bytes, unless one piece alone is larger.

    Args:
        pieces: In the order of the source.
        source: URI of the file.
    """
    held: list[Piece] = []
    rows = size = rejects = 0
    for piece in pieces:
        over = rows + piece.rows > CHUNK_ROWS or size + piece.size > CHUNK_BYTES or rejects > _MOST_REJECTS
        if held and over:
            yield _chunk(held, source)
            held, rows, size, rejects = [], 0, 0, 0
        held.append(piece)
        rows, size, rejects = rows + piece.rows, size + piece.size, rejects + len(piece.rejects)
    if held:
        yield _chunk(held, source)


def _chunk(pieces: list[Piece], source: str) -> Chunk:
    names = list(dict.fromkeys(name for piece in pieces for name in piece.tables))
    tables, positions = {}, {}
    for name in names:
        having = [p for p in pieces if name in p.tables and p.tables[name].num_rows]
        if not having:
            continue
        tables[name] = pa.concat_tables([p.tables[name] for p in having], promote_options="default")
        places = [p.positions[name] for p in having]
        positions[name] = Places(places[0].words, np.concatenate([p.numbers for p in places]))
    return Chunk(
        tables,
        [r for p in pieces for r in p.rejects],
        sum(p.rows_read for p in pieces),
        sum(p.bytes_read for p in pieces),
        positions,
        source,
    )
