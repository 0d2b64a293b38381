"""The command of the documentation gives the TF-IDF row of GenSynth's Table 1 on COCO val2017."""

from __future__ import annotations

import json

import pytest

from counterbalance.__main__ import main

PUBLISHED = {("bias", 5): 0.22, ("bias", 10): 0.24, ("maxskew", 25): 0.29, ("maxskew", 100): 0.22}
WORDS = "retrieval_bias ranker=tfidf items=captions groups=caption_gender_gensynth k=5,10 skew_k=25,100 --format json"


def test_table_1(data_dir, tmp_path, capsys):
    lake = str(tmp_path / "coco.lake")
    captions = str(data_dir / "coco" / "captions_val2017.json")
    assert main(["ingest", lake, captions, "--format", "coco", "--progress", "never"]) == 0
    capsys.readouterr()
    assert main(["audit", lake, *WORDS.split()]) == 0
    found = {(row["metric"], row["k"]): row for row in json.loads(capsys.readouterr().out)}
    assert {key: round(found[key]["value"], 2) for key in PUBLISHED} == pytest.approx(PUBLISHED)
    assert all(row["n"] == 25014 and json.loads(row["params"])["k"] == [5, 10] for row in found.values())
