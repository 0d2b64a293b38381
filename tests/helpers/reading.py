"""Rows that readers of sources make, with checks of what holds of all of them; and tables to read, in three formats."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from counterbalance.engine.schema import BASE_TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from counterbalance.engine.ingest_types import Chunk

    Row = dict[str, Any]


def tables_of(chunks: Sequence[Chunk]) -> dict[str, pa.Table]:
    """Return the base tables that chunks have rows of: columns are the tables' own, and every row has a position."""
    found = {}
    for name, base in BASE_TABLES.items():
        having = [c for c in chunks if name in c.tables]
        wanted = {f.name: f.type for f in base.schema(blobs=True)}
        for chunk in having:
            assert {f.name: f.type for f in chunk.tables[name].schema}.items() <= wanted.items()
            assert len(chunk.positions[name]) == len(chunk.tables[name])
        if having:
            found[name] = pa.concat_tables([c.tables[name] for c in having], promote_options="default")
    return found


def rows_of(chunks: Sequence[Chunk]) -> dict[str, list[Row]]:
    """Return the rows of every base table, perhaps none."""
    found = tables_of(chunks)
    return {name: found[name].to_pylist() if name in found else [] for name in BASE_TABLES}


def rejects_of(chunks: Sequence[Chunk]) -> list[tuple[str, str]]:
    """Return the position and code of every row that was refused."""
    return [(r.position, r.code) for c in chunks for r in c.rejects]


def write_rows(path: Path, rows: Sequence[Row]) -> Path:
    """Write rows as CSV, JSON lines or Parquet, as the suffix says; lists and structs in CSV are JSON."""
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            out = csv.DictWriter(file, list(rows[0]))
            out.writeheader()
            flat = [{k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in r.items()} for r in rows]
            out.writerows(flat)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    else:
        pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path
