"""``sentiment`` and ``hate_scores`` on small classifiers of real architectures, against transformers called directly."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import function

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("emoji")

SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
FEELINGS = ["NEG", "NEU", "POS"]
ASPECTS = ["hateful", "targeted", "aggressive"]
TEXTS = [
    "a lovely day at the beach",
    "",
    None,
    "@jane I hate this, hahahahaha! http://bit.ly/x1",
    "I ♥ #CatVideos 🤣",
    "word " * 300,
    "two horses",
    "   ",
    "été à la plage | photo | 10",
]
PREPARED = {
    3: "@USER I hate this, haha! HTTPURL",
    4: "I  emoji red heart emoji  hashtag cat videos  emoji rolling on the floor laughing emoji",
    7: "",
    8: "été à la plage  emoji  photo  emoji  10",
}


def bertweet_tokenizer(folder):
    """A tokenizer of BERTweet's own class, with merges of some words' letters."""
    words = [word for text in TEXTS if text for word in re.findall(r"\S+", text)]
    merges, units = [], Counter(letter for word in words for letter in (*word, word[-1] + "</w>"))
    for word in ("the", "beach", "day", "hate"):
        parts = [*word[:-1], word[-1] + "</w>"]
        while len(parts) > 1:
            merges.append(f"{parts[0]} {parts[1]} 1")
            parts = [parts[0] + parts[1], *parts[2:]]
            units[parts[0]] += 1
    folder.mkdir(parents=True, exist_ok=True)
    names = [unit.removesuffix("</w>") if unit.endswith("</w>") else unit + "@@" for unit in sorted(units)]
    (folder / "vocab.txt").write_text("".join(f"{name} 1\n" for name in dict.fromkeys(names)))
    (folder / "bpe.codes").write_text("#version: 0.2\n" + "\n".join(dict.fromkeys(merges)) + "\n")
    return transformers.BertweetTokenizer(
        str(folder / "vocab.txt"), str(folder / "bpe.codes"), normalization=True, model_max_length=128
    )


def bert_tokenizer(_folder):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    letters = sorted({letter for text in TEXTS if text for letter in text.lower()} - {" "})
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *("##" + letter for letter in letters)]
    made = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(known)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    )


def classifier(folder, kind, labels, problem, **options):
    """A seeded classifier, saved."""
    tokens = {"roberta": bertweet_tokenizer, "bert": bert_tokenizer}[kind](folder)
    config, model = {
        "roberta": (transformers.RobertaConfig, transformers.RobertaForSequenceClassification),
        "bert": (transformers.BertConfig, transformers.BertForSequenceClassification),
    }[kind]
    torch.manual_seed(5)
    made = model(
        config(
            vocab_size=len(tokens),
            **SMALL,
            max_position_embeddings={"roberta": 130, "bert": 64}[kind],
            pad_token_id=tokens.pad_token_id,
            id2label=dict(enumerate(labels)),
            problem_type=problem,
        )
    )
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(9 if weight.ndim > 1 else 1)
    made.save_pretrained(folder, **options)
    tokens.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=["roberta", "bert"])
def each(request, tmp_path_factory):
    """A classifier of feelings of each architecture, for what depends on that."""
    path = tmp_path_factory.mktemp("sentiment") / request.param
    return classifier(path, request.param, FEELINGS, "single_label_classification")


@pytest.fixture(scope="module")
def feelings(tmp_path_factory):
    path = tmp_path_factory.mktemp("feelings") / "roberta"
    return classifier(path, "roberta", FEELINGS, "single_label_classification")


@pytest.fixture(scope="module")
def hate(tmp_path_factory):
    """Its labels in another order than the result's."""
    path = tmp_path_factory.mktemp("hate") / "model"
    return classifier(path, "roberta", ["aggressive", "hateful", "targeted"], "multi_label_classification")


def opened(name, model, **constants):
    declared = function(name)
    defaults = {p.name: p.default for p in declared.parameters if p.constant}
    return declared.open({**defaults, "model": str(model), **constants})


def direct(folder, activation):
    """What a pipeline of transformers gives for the prepared texts, one at a time; NULL for NULL."""
    longest = {"roberta": 128, "bert": 64}[transformers.AutoConfig.from_pretrained(folder).model_type]
    tokens = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    pipe = transformers.pipeline("text-classification", model=model, tokenizer=tokens, device="cpu")
    options = {"top_k": None, "function_to_apply": activation, "truncation": True, "max_length": longest}
    texts = [PREPARED.get(i, text and text.strip()) for i, text in enumerate(TEXTS)]
    return [None if text is None else {r["label"]: r["score"] for r in pipe(text, **options)} for text in texts]


def test_sentiment_is_the_library_s(each):
    found = opened("sentiment", each)([pa.array(TEXTS)]).to_pylist()
    for row, expected in zip(found, direct(each, "softmax"), strict=True):
        if expected is None:
            assert row is None
            continue
        assert row["probabilities"] == pytest.approx([expected[name] for name in FEELINGS], abs=2e-6)
        assert row["label"] == max(expected, key=expected.get)
        assert row["score"] == max(row["probabilities"])
        assert sum(row["probabilities"]) == pytest.approx(1, abs=1e-6)
    assert np.ptp([row["probabilities"] for row in found if row], axis=0).max() > 0.02


def test_hate_scores_are_the_library_s(hate):
    found = opened("hate_scores", hate)([pa.array(TEXTS)]).to_pylist()
    for row, expected in zip(found, direct(hate, "sigmoid"), strict=True):
        assert (row is None) == (expected is None)
        if row is not None:
            assert list(row) == ASPECTS
            assert row == {aspect: pytest.approx(expected[aspect], abs=2e-6) for aspect in ASPECTS}


def test_texts_of_one_batch_do_not_matter_to_each_other(each):
    texts = [f"day {i} at the beach " * (1 + i % 7) for i in range(60)]
    call = opened("sentiment", each)
    many = call([pa.array(texts)]).to_pylist()
    for row in range(0, 60, 13):
        alone = call([pa.array([texts[row]])]).to_pylist()[0]
        assert alone["label"] == many[row]["label"]
        assert alone["probabilities"] == pytest.approx(many[row]["probabilities"], abs=2e-6)
    assert call([pa.array(texts)]).to_pylist() == many


def test_nothing_and_null(hate):
    call = opened("hate_scores", hate)
    assert call([pa.array([], pa.string())]).to_pylist() == []
    assert call([pa.array([None, None], pa.string())]).to_pylist() == [None, None]


def test_the_language_decides_how_texts_are_prepared(feelings):
    text = pa.array(["@jane"])
    english = opened("sentiment", feelings)([text]).to_pylist()
    assert english == opened("sentiment", feelings)([pa.array(["@USER"])]).to_pylist()
    spanish = opened("sentiment", feelings, language="es")
    assert spanish([text]).to_pylist() == spanish([pa.array(["@usuario"])]).to_pylist()
    with pytest.raises(RequestError) as error:
        opened("sentiment", feelings, language="xx")
    assert error.value.code == "E3051"


def test_models_of_the_wrong_kind(feelings, hate):
    with pytest.raises(RequestError) as error:
        opened("sentiment", hate)
    assert error.value.code == "E3536"
    with pytest.raises(RequestError, match="no label 'hateful', but neg, neu, pos") as error:
        opened("hate_scores", feelings)
    assert error.value.code == "E3537"


def test_weights_without_safetensors(tmp_path, hate):
    """As of bertweet-base-sentiment-analysis: read by torch with weights_only; any object in them is refused unseen."""
    from safetensors.torch import load_file

    for file in hate.iterdir():
        if file.suffix != ".safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = load_file(hate / "model.safetensors")
    torch.save(weights, tmp_path / "pytorch_model.bin")
    texts = pa.array(TEXTS)
    assert opened("hate_scores", tmp_path)([texts]).to_pylist() == opened("hate_scores", hate)([texts]).to_pylist()
    mark = tmp_path / "ran"
    torch.save({**weights, "extra": Runs(str(mark))}, tmp_path / "pytorch_model.bin")
    with pytest.raises(RequestError, match=r"pytorch_model\.bin cannot be loaded: it would run io\.open"):
        opened("hate_scores", tmp_path)
    assert not mark.exists()


class Runs:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_the_merges_are_part_of_the_fingerprint(hate, tmp_path):
    for file in hate.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    digest = function("hate_scores").digest
    constants = {"language": "en"}
    before = digest({"model": str(hate), **constants})
    assert digest({"model": str(tmp_path), **constants}) == before
    codes = tmp_path / "bpe.codes"
    codes.write_text(codes.read_text() + "b a 1\n")
    assert digest({"model": str(tmp_path), **constants}) != before


def test_columns_that_audits_read(feelings, hate, tmp_path, build):
    """From captions to the rate of hateful texts by group, and the mean of sentiments beside it."""
    texts = [
        f"{who} number {i} {what}" for i in range(15) for who, what in (("a man", "hates"), ("a woman", "is here"))
    ]
    lake = cb.connect(tmp_path / "scored.lake")
    count = len(texts)
    lake.ingest(
        {
            "images": build.images(image_id=list(range(count)), key=[str(i) for i in range(count)]),
            "captions": build.captions(caption_id=list(range(count)), image_id=list(range(count)), text=texts),
        }
    )
    lake.add_column("captions", "hate", f"hate_scores(text, model := '{hate}')")
    lake.add_column("captions", "mood", f"sentiment(text, model := '{feelings}')")
    lake.refresh(executor="inline")
    assert lake.sql("SELECT count(hate), count(mood) FROM captions").fetchall() == [(count, count)]
    lake.create_materialized_view(
        "hate_labels",
        "SELECT caption_id, image_id, 'hateful' AS attribute, NULL::VARCHAR AS value, hate.hateful AS score, "
        "'tiny' AS annotator FROM captions",
        key="caption_id",
    )
    lake.refresh(executor="inline")
    scores = opened("hate_scores", hate)([pa.array(texts)]).field("hateful").to_numpy()
    tau = float(np.median(scores))
    rows = (
        lake.audit("hate_content_rate", labels="hate_labels", groups="caption_gender", tau=[tau], min_count=0)
        .to_arrow()
        .to_pylist()
    )
    expected = {
        "male": int((scores[0::2] > np.float32(tau)).sum()),
        "female": int((scores[1::2] > np.float32(tau)).sum()),
    }
    assert {row["label"]: row["count"] for row in rows} == expected
    assert {row["n"] for row in rows} == {15}
    negative = opened("sentiment", feelings)([pa.array(texts)]).to_pylist()
    mean = lake.sql("SELECT avg(mood.probabilities[1]) FROM captions").fetchall()[0][0]
    assert mean == pytest.approx(np.mean([row["probabilities"][0] for row in negative]), rel=1e-6)


def test_the_audit_of_that_name_stays_beside_the_function(feelings, build, empty_lake):
    """A relation in FROM, a value elsewhere, also in one statement; VADER finds half of these texts negative."""
    texts = [f"a man {'hates' if i % 2 else 'loves'} this" for i in range(40)]
    captions = build.captions(caption_id=list(range(40)), image_id=list(range(40)), text=texts)
    empty_lake.ingest({"images": build.images(image_id=list(range(40))), "captions": captions})
    call = f"sentiment(text, model := '{feelings}')"
    both = f"FROM sentiment(texts := (SELECT image_id, text FROM captions WHERE ({call}).score >= 0))"
    rows = empty_lake.sql(f"SELECT label, n, negative {both}").fetchall()
    assert rows == empty_lake.sql("SELECT label, n, negative FROM sentiment()").fetchall() == [("male", 40, 20)]
    values = empty_lake.sql(f"SELECT {call} AS s FROM captions ORDER BY caption_id").to_arrow()["s"].to_pylist()
    assert values == opened("sentiment", feelings)([pa.array(texts)]).to_pylist()
