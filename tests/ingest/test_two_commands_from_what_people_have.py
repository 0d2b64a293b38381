"""What people have becomes a first audit with two commands: nothing but the source, the lake and the audit is typed."""

from __future__ import annotations

import csv
import importlib.util
import io
from pathlib import Path

import pytest
from repeats import chosen

from counterbalance.__main__ import main

_SPEC = importlib.util.spec_from_file_location("first_audit", Path(__file__).parents[2] / "bench" / "first_audit.py")
first_audit = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(first_audit)


FORMATS = "saved_splits shards imagefolder coco captions_alone laion yolo open_images fairface phase".split()  # noqa: SIM905
"""Of each kind of source one; tests/ingest/test_formats_are_told_by_content.py tells the others apart."""


@pytest.mark.parametrize(
    "make",
    chosen(
        [make for make in first_audit.MAKERS if make is not first_audit.dataset_object],
        *(getattr(first_audit, name) for name in FORMATS),
    ),
    ids=lambda make: make.__name__,
)
def test_two_commands(tmp_path, make, capsys):
    source = make(tmp_path, first_audit.ROWS)
    capsys.readouterr()
    assert [main(words) for words in first_audit.commands(source, tmp_path / "a.lake")] == [0, 0]
    counted(capsys.readouterr().out)


def counted(text):
    written = "label,count" + text.partition("label,count")[2]
    rows = {row["label"].lower(): int(row["count"]) for row in csv.DictReader(io.StringIO(written))}
    assert rows.keys() >= {"male", "female"} or rows.keys() == {"mixed"}
    assert sum(rows.values()) in {first_audit.ROWS, first_audit.ROWS - 1}


def test_a_dataset_in_python(tmp_path):
    written, seconds = first_audit.first_audit(
        first_audit.dataset_object(tmp_path, first_audit.ROWS), tmp_path / "a.lake"
    )
    counted(written)
    assert seconds > 0


def test_the_page_names_every_kind_that_is_tried():
    page = (Path(__file__).parents[2] / "docs" / "first-audit.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0].removeprefix("| ") for line in page.splitlines() if line.startswith("| ")][1:]
    assert rows == [make.__doc__.splitlines()[0].rstrip(".") for make in first_audit.MAKERS]
