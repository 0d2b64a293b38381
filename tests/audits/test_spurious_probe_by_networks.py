"""spurious_probe with networks: a BERT that is fine-tuned tells texts apart, and a perceptron vectors, beside it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import tiny_bert

pytest.importorskip("torch")
pytest.importorskip("transformers")

LABELS = ["male", "female"] * 60


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny_bert.save(tmp_path_factory.mktemp("bert"), "a", "tie", "scarf", "dog", "cat")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_bert_tells_texts_and_a_perceptron_vectors(session, bert):
    draw = np.random.default_rng(0)
    ids = list(range(len(LABELS)))
    said = [f"a {'tie' if own == 'male' else 'scarf'} a {draw.choice(['dog', 'cat'])}" for own in LABELS]
    seen = [[float(own == "male"), float(draw.normal())] for own in LABELS]
    given = {
        "groups": pa.table({"image_id": ids, "label": LABELS}),
        "texts": pa.table({"image_id": ids, "text": said}),
        "vectors": pa.table({"image_id": ids, "embedding": seen}),
    }
    how = {
        "attacker": "bert",
        "vector_attacker": "mlp",
        "model": bert,
        "epochs": 12,
        "learning_rate": 0.003,
        "seeds": 1,
    }
    rows = session.audit("spurious_probe", **given, **how).to_arrow().to_pylist()
    values = {(r["features"], r["metric"]): r["value"] for r in rows}
    assert values.keys() == {(f, m) for f in ("texts", "vectors") for m in ("auc", "accuracy")}
    assert min(values.values()) > 0.9
