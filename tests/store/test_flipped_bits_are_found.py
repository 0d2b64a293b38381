"""``verify`` finds every bit that was flipped in any file that a version of a table consists of."""

from __future__ import annotations

import random
from collections import Counter

import pytest

KINDS = ("_versions", "_deletions", "_indices", "data")
EACH = 50


def flip(path, rng):
    content = bytearray(path.read_bytes())
    bit = rng.randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def test_200_flips(copied, files_of, record_property):
    lake, rng = copied(), random.Random(22)
    folder = lake.location.path
    assert lake.verify().sound
    found: Counter[str] = Counter()
    for kind in KINDS:
        chosen = [f for f in files_of(folder) if kind in f.relative_to(folder).parts]
        for path in rng.choices(chosen, k=EACH):
            before = path.read_bytes()
            flip(path, rng)
            told = [(f.kind, f"{f.table}.lance/{f.file}") for f in lake.verify().findings]
            found[kind] += told == [("damaged", str(path.relative_to(folder)))]
            path.write_bytes(before)
    record_property("flips", EACH * len(KINDS))
    record_property("flips found", found.total())
    assert found == dict.fromkeys(KINDS, EACH)
    assert lake.verify().findings == []


@pytest.mark.thorough
def test_flips_in_system_tables_and_closed_ones_too(copied, files_of, record_property):
    lake, rng = copied(), random.Random(7)
    folder = lake.location.path
    tables = Counter()
    for path in files_of(folder):
        before = path.read_bytes()
        flip(path, rng)
        (told,) = lake.verify().findings
        assert f"{told.table}.lance/{told.file}" == str(path.relative_to(folder))
        tables[told.table] += 1
        path.write_bytes(before)
    record_property("flips", tables.total())
    record_property("flips found", tables.total())
    assert {
        "meta/runs",
        "meta/codes",
        "meta/definitions",
        "sensitive/labels",
        "sensitive/access",
        "per_image",
    } <= tables.keys()


def test_versions_that_need_the_file_are_told(copied):
    lake = copied()
    folder = lake.location.path / "images.lance"
    first = min((folder / "data").glob("*.lance"), key=lambda p: p.stat().st_mtime_ns)
    size = first.stat().st_size
    first.write_bytes(first.read_bytes()[:-1])
    (told,) = lake.verify().findings
    assert (told.version, told.problem) == ("1-2", f"it has {size - 1:,} bytes, not {size:,}")
    manifest = max((folder / "_versions").glob("*.manifest"))
    manifest.write_bytes(b"")
    assert {f.file: f.version for f in lake.verify().findings}[f"_versions/{manifest.name}"] == "1"
