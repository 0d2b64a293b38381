"""No file that is written drives the terminal it is shown on later, whatever its format; JSON means the same."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from counterbalance.shell.output import OutputOptions, write

HOSTILE = [
    "\x1b[31mred",
    "\x9b2J",
    "bell\x07",
    "\x00nul",
    "\x7fdel",
    "back\x08",
    "\x1b]0;title\x07",
    "plain é",
    "two\nlines",
]
CONTROLS = {*range(0x20), *range(0x7F, 0xA0)} - {0x09, 0x0A, 0x0D}


def table():
    columns = {"t": HOSTILE, "l": [[text] for text in HOSTILE], "\x1bname": HOSTILE}
    return pa.table(columns)


@pytest.mark.parametrize("format_", ["csv", "tsv", "markdown", "table", "record", "json", "jsonl", "html"])
def test_no_control_character_is_left(format_, tmp_path, record_property):
    record_property("texts", len(HOSTILE))
    path = tmp_path / "out"
    write(table().to_reader(), OutputOptions(format_, path))
    text = path.read_text(encoding="utf-8")
    assert "red" in text
    assert not {c for c in text if ord(c) in CONTROLS}


@pytest.mark.parametrize("format_", ["json", "jsonl"])
def test_json_gives_back_every_character(format_, tmp_path):
    path = tmp_path / "out"
    write(table().to_reader(), OutputOptions(format_, path))
    text = path.read_text(encoding="utf-8")
    rows = json.loads(text) if format_ == "json" else [json.loads(line) for line in text.splitlines()]
    assert rows == table().to_pylist()
