"""Why a row of a source was refused tells nothing of the row: everybody may read ``meta.errors``, and rows may hold labels of people."""

from __future__ import annotations

import json

import pytest

import counterbalance as cb

HEADER = "file,age,gender,race"
SOURCES = {
    "a cell too many": ("a.csv", f"{HEADER}\n1.jpg,20-29,Feminine,Xish,True\n2.jpg,1,f,r\n"),
    "a quote that is open": ("a.csv", f'{HEADER}\n1.jpg,20-29,"Fem"inine,Xish\n2.jpg,1,f,r\n'),
    "no UTF-8": ("a.csv", f"{HEADER}\n1.jpg,20-29,Feminine\udcff,Xish\n2.jpg,1,f,r\n"),
    "cells that are shifted": (
        "a.csv",
        "key,attribute,value,score\n1,perceived_gender,0.5,Feminine\n2,scene,sea,0.5\n",
    ),
    "a line that is no object": ("a.jsonl", '{"file": "2.jpg", "gender": "f"}\n["Feminine"]\n'),
    "a line that is broken": ("a.jsonl", '{"file": "2.jpg", "gender": "f"}\n{"file": "1.jpg", "gender": "Feminine"\n'),
    "a name twice": ("a.jsonl", '{"file": "2.jpg", "gender": "f"}\n{"gender": "Feminine", "gender": "Feminine"}\n'),
}


@pytest.mark.parametrize("what", SOURCES)
def test_no_value(tmp_path, what):
    name, text = SOURCES[what]
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    lake = cb.connect(tmp_path / "a.lake")
    report = lake.ingest(tmp_path / name)
    assert report.rejected == 2  # the other one names an image that is not there
    told = json.dumps(lake.sql("FROM meta.errors").to_arrow().to_pylist(), default=str)
    assert told != "[]"
    assert "Fem" not in told
    assert not [note for note in report.notes if "Fem" in note]
