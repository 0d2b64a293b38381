"""Read all that another user of the machine can read of a folder. Arguments: folder, text to look for.

Prints JSON: ``files`` that hold the text, ``tables`` that open and hold it, and how many files and tables could be read.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import lance
import pyarrow as pa

NOBODY = 65534


def everything(folder):
    return [Path(place) / name for place, folders, files in os.walk(folder) for name in (*folders, *files)]


def rows_of(path):
    """All versions of a table as text; ``None`` where it cannot be opened."""
    try:
        newest = lance.dataset(str(path))
        versions = [lance.dataset(str(path), version=v["version"]) for v in newest.versions()]
        return " ".join(str(v.to_table(columns=plain(v)).to_pylist()) for v in versions)
    except (OSError, ValueError):
        return None


def plain(dataset):
    return [f.name for f in dataset.schema if not str(getattr(f.type, "extension_name", "")).startswith("lance.blob")]


def bytes_of(path):
    try:
        return path.read_bytes()
    except OSError:
        return None


def main(folder, text):
    lance.write_dataset(pa.table({"a": [1]}), "memory://warm").to_table()
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    paths = everything(folder)
    held = {p: bytes_of(p) for p in paths if not p.name.endswith(".lance") or p.is_file()}
    rows = {p: rows_of(p) for p in paths if p.name.endswith(".lance") and p.is_dir()}
    return {
        "files": sorted(str(p) for p, found in held.items() if found is not None and text.encode() in found),
        "tables": sorted(str(p) for p, found in rows.items() if found is not None and text in found),
        "read": [sum(f is not None for f in held.values()), sum(r is not None for r in rows.values())],
        "names": sorted(str(p) for p in paths),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:])))
