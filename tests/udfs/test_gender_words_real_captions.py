"""Rule 'gensynth' gives the image labels of GenSynth's released code on COCO val2017."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa

from counterbalance.udfs.gender import gender_label, gender_words


def image_label(labels):
    if "both" in labels or {"male", "female"} <= labels:
        return "both"
    return next(iter(labels - {None}), None)


def test_coco_images(data_dir):
    path = data_dir / "coco" / "captions_val2017.json"
    captions = json.loads(path.read_text(encoding="utf-8"))["annotations"]
    images = {}
    labels = gender_label(pa.array([c["caption"] for c in captions]), "gensynth").to_pylist()
    for caption, label in zip(captions, labels, strict=True):
        images.setdefault(caption["image_id"], set()).add(label)
    assert Counter(map(image_label, images.values())) == {"male": 1_205, "female": 513, None: 3_055, "both": 227}


def test_labels_agree_with_counts(data_dir):
    lines = (data_dir / "gcc" / "validation-8000.tsv").read_text(encoding="utf-8").splitlines()
    texts = pa.array([line.split("\t")[0] for line in lines])
    names = {(False, False): None, (True, False): "male", (False, True): "female", (True, True): "both"}
    for rule in ("words", "gensynth", "gensynth_paper"):
        counts = gender_words(texts, rule).to_pylist()
        wanted = [names[c["male"] > 0, c["female"] > 0] for c in counts]
        assert gender_label(texts, rule).to_pylist() == wanted
        assert 1_000 < sum(label is not None for label in wanted) < 4_000
