"""VADER's scores of real captions equal those of the vaderSentiment package and of NLTK, bit for bit."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
import vader_peers
from repeats import again
from vader_peers import bits

from counterbalance.udfs.vader import vader, vader_scores, vader_tokens

DATA = Path(os.environ.get("COUNTERBALANCE_DATA") or Path(__file__).parents[3] / "shared" / "data")


def coco():
    path = DATA / "coco" / "captions_val2017.json"
    return [row["caption"] for row in json.loads(path.read_text(encoding="utf-8"))["annotations"]]


def conceptual():
    lines = (DATA / "gcc" / "validation-8000.tsv").read_text(encoding="utf-8").split("\n")
    return [line.split("\t")[0] for line in lines if line]


def counterfactuals():
    lines = (DATA / "coco-counterfactuals" / "captions.jsonl").read_text(encoding="utf-8").split("\n")
    pairs = [json.loads(line) for line in lines if line]
    return [pair[name] for pair in pairs for name in ("original_caption", "counterfactual_caption")]


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    return vader_peers.references(tmp_path_factory.mktemp("nltk"))


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no real data at {DATA}; set COUNTERBALANCE_DATA")
@pytest.mark.parametrize("rules", ["vader", "nltk"])
@pytest.mark.parametrize(("read", "least"), [(conceptual, 8_000), *again((coco, 25_014), (counterfactuals, 34_820))])
def test_scores_equal_the_reference(references, read, least, rules):
    texts = read()
    assert len(texts) == least
    reference = references[rules]
    wanted = [reference.polarity_scores(text) for text in texts]

    got = vader_scores(pa.array(texts), rules).to_pylist()

    wrong = [(text, w, g) for text, w, g in zip(texts, wanted, got, strict=True) if bits(w) != bits(g)]
    assert wrong == []
    compound = [w["compound"] for w in wanted]
    assert vader(pa.array(texts), rules).to_pylist() == compound
    assert vader_tokens(pa.array([text.split() for text in texts]), rules).to_pylist() == compound
    assert sum(value != 0 for value in compound) > least / 10
