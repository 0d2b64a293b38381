"""retrieval_bias of real captions, prepared as GenSynth's code does, is that of a ranking by scikit-learn, query by query."""

from __future__ import annotations

import json
import os
import re

import numpy as np
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

import counterbalance as cb
from counterbalance.udfs.wordlists import terms


@pytest.fixture(scope="module")
def captions(data_dir):
    path = data_dir / "coco" / "captions_val2017.json"
    return sorted(json.loads(path.read_text(encoding="utf-8"))["annotations"], key=lambda c: c["id"])


@pytest.fixture(scope="module")
def coco(captions, build):
    lake = cb.connect(f"memory://gensynth-{os.getpid()}")
    lake.ingest(
        {
            "images": build.images(image_id=sorted({c["image_id"] for c in captions})),
            "captions": build.captions(
                caption_id=[c["id"] for c in captions],
                image_id=[c["image_id"] for c in captions],
                text=[c["caption"] for c in captions],
            ),
        }
    )
    return lake


def values(lake, **options):
    rows = lake.audit("retrieval_bias", **options).to_arrow().to_pylist()
    return {(r["metric"], r["k"]): r["value"] for r in rows}


def published_text(text):
    """The text as the released code prepares it: word after word is deleted."""
    text = text.lower()
    for word in terms("gender_gensynth"):
        text = re.sub(rf"\b{word}\b", "", text)
        text = re.sub(r"\s+", " ", text)
        text = re.sub(r'\s([?.!,"](?:\s|$))', r"\1", text).strip()
    return text


def naive_ranking(scores, ids, own, allowed, k):
    rows = []
    for q in range(len(ids)):
        candidates = [i for i in np.flatnonzero(allowed) if own[i] != own[q]]
        best = sorted(candidates, key=lambda i: (-scores[q, i], ids[i]))[:k]
        rows += [(ids[q], ids[i], rank, scores[q, i]) for rank, i in enumerate(best, 1)]
    types = [pa.int64(), pa.int64(), pa.int32(), pa.float64()]
    columns = [pa.array(c, t) for c, t in zip(zip(*rows, strict=True), types, strict=True)]
    return pa.table(columns, ["query_id", "item_id", "rank", "score"])


def test_naive_scikit_learn_hits_give_the_same(coco, captions):
    """The first 600 captions, ranked query by query with scikit-learn's scores, against the whole road through top_k."""
    chosen = captions[:600]
    ids, own = (np.array([c[k] for c in chosen]) for k in ("id", "image_id"))
    matrix = TfidfVectorizer().fit_transform([published_text(c["caption"]) for c in chosen])
    scores = (matrix @ matrix.T).toarray()
    labels = dict(coco.sql("SELECT image_id, label FROM caption_gender_gensynth").fetchall())
    label = np.array([labels[i] for i in own])
    everything, clear = np.ones(len(ids), bool), np.isin(label, ["male", "female"])
    naive = values(
        coco,
        hits=naive_ranking(scores, ids, own, everything, 10),
        labelled_hits=naive_ranking(scores, ids, own, clear, 100),
        item_groups=pa.table({"item_id": pa.array(ids), "label": pa.array(label.tolist())}),
        query_images="(SELECT caption_id AS query_id, image_id FROM captions)",
    )
    found = values(coco, items=f"(SELECT * FROM captions WHERE caption_id <= {ids.max()})")
    assert set(found) == set(naive)
    for key, value in naive.items():
        assert found[key] == pytest.approx(value, abs=1e-12)
