"""spurious_probe with networks: a BERT that is fine-tuned tells texts apart, and a perceptron vectors, beside it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

LABELS = ["male", "female"] * 60


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "tie", "scarf", "dog", "cat"]
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizer(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.BertModel(config).save_pretrained(folder)
    return str(folder)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_bert_tells_texts_and_a_perceptron_vectors(session, tiny_bert):
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
        "model": tiny_bert,
        "epochs": 12,
        "learning_rate": 0.003,
        "seeds": 1,
    }
    rows = session.audit("spurious_probe", **given, **how).to_arrow().to_pylist()
    values = {(r["features"], r["metric"]): r["value"] for r in rows}
    assert values.keys() == {(f, m) for f in ("texts", "vectors") for m in ("auc", "accuracy")}
    assert min(values.values()) > 0.9
