"""gelda: image_attributes and object_attributes on tiny BLIP and OWLv2 models, against transformers called directly; the recipe."""

from __future__ import annotations

import io
import os
from types import SimpleNamespace

import numpy as np
import pytest
from function_calls import called
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import FunctionError, NotFoundError, RequestError, SensitiveError
from counterbalance.engine.functions import function

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

CAPTION = "a photo of a street"
TABLE = """term,class,level,caption
foggy,weather,image,
sunny,weather,image,a sunny street
rainy,weather,image,
red,colour,image,
blue,colour,image,
car,vehicle,object,
old bus,vehicle,object,an old bus
bike,vehicle,object,
tree,plant,object,
"""
IMAGE = {"weather": ["foggy", "sunny", "rainy"], "colour": ["red", "blue"]}
OBJECT = {"vehicle": ["car", "old bus", "bike"], "plant": ["tree"]}
TEXTS = {
    "foggy": "a photo of a street, weather: foggy",
    "sunny": "a sunny street",
    "rainy": "a photo of a street, weather: rainy",
    "red": "a photo of a street, colour: red",
    "blue": "a photo of a street, colour: blue",
    "old bus": "an old bus",
}
WORDS = "a photo of street , weather : foggy sunny rainy colour red blue car an old bus bike tree".split()  # noqa: SIM905
COUNT = 24
SIZES = [(60, 40), (40, 60), (32, 32), (90, 30)]
CHATS = "{% for m in messages %}user: {{ m.content }}\n{% endfor %}assistant: "


def picture(number):
    width, height = SIZES[number % len(SIZES)]
    noise = np.random.default_rng(number).integers(0, 256, (height, width, 3), np.uint8)
    return image_bytes(Image.fromarray(noise))


def scatter(model, spread):
    """Weights so wide that texts and pictures matter; the library's own are too small for that."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.ndim > 1:
                weights.normal_(0, spread, generator=generator)
    return model.eval()


@pytest.fixture(scope="module")
def blip(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blip")
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.BlipConfig(
        text_config={
            **size,
            "vocab_size": 64,
            "encoder_hidden_size": 16,
            "max_position_embeddings": 32,
            "projection_dim": 8,
        },
        vision_config={**size, "image_size": 32, "patch_size": 8},
        image_text_hidden_size=8,
    )
    torch.manual_seed(0)
    scatter(transformers.BlipForImageTextRetrieval(config), 0.5).save_pretrained(folder)
    tokens = transformers.BertTokenizer(str(folder / "vocab.txt"))
    pictures = transformers.BlipImageProcessor(size={"height": 32, "width": 32})
    transformers.BlipProcessor(pictures, tokens).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def owl(tmp_path_factory):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("owl")
    names = ["!", "<s>", "<e>", "<unk>", *WORDS]
    tokens = Tokenizer(models.WordLevel({w: i for i, w in enumerate(names)}, "<unk>"))
    tokens.pre_tokenizer = pre_tokenizers.Whitespace()
    tokens.post_processor = processors.TemplateProcessing(single="<s> $A <e>", special_tokens=[("<s>", 1), ("<e>", 2)])
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokens, pad_token="!", bos_token="<s>", eos_token="<e>", unk_token="<unk>", model_max_length=8
    )
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.Owlv2Config(
        text_config={**size, "vocab_size": 64, "max_position_embeddings": 8, "bos_token_id": 1, "eos_token_id": 2},
        vision_config={**size, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )
    torch.manual_seed(0)
    scatter(transformers.Owlv2ForObjectDetection(config), 0.5).save_pretrained(folder)
    pictures = transformers.Owlv2ImageProcessor(size={"height": 32, "width": 32})
    transformers.Owlv2Processor(pictures, fast).save_pretrained(folder)
    return str(folder)


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "street.csv"
    file.write_text(TABLE)
    return str(file)


def attributes_of(name, constants, images):
    found = called(name, constants, images)
    return found.values.to_pylist(), dict(found.errors)


def opened_picture(data):
    return Image.open(io.BytesIO(data)).convert("RGB")


def test_image_attributes_are_those_of_blip(blip, table):
    images = [picture(i) for i in range(12)]
    given = {"caption": CAPTION, "attributes": table, "model": blip}
    found, errors = attributes_of("image_attributes", given, [*images, None, b"no picture"])
    assert found[12:] == [None, None]
    assert list(errors) == [13]
    model = transformers.BlipForImageTextRetrieval.from_pretrained(blip).eval()
    processor = transformers.BlipProcessor.from_pretrained(blip)

    def odds(data, text):
        inputs = processor(images=opened_picture(data), text=text, return_tensors="pt")
        with torch.inference_mode():
            logits = model(**inputs).itm_score[0]
        return float(logits[1] - logits[0])

    seen = set()
    for data, row in zip(images, found[:12], strict=True):
        base = odds(data, CAPTION)
        assert [c["category"] for c in row] == list(IMAGE)
        for category in row:
            wanted = {a: odds(data, TEXTS[a]) - base for a in IMAGE[category["category"]]}
            scores = {s["attribute"]: s["score"] for s in category["scores"]}
            assert scores == pytest.approx(wanted, abs=1e-4)
            best = max(wanted, key=wanted.get)
            assert category["attributes"] == ([best] if wanted[best] > 0 else [])
            seen.add(category["attributes"][0] if category["attributes"] else None)
    assert None in seen
    assert len(seen) > 2


def test_object_attributes_are_those_of_owlv2(owl, table):
    images = [picture(i) for i in range(8)]
    found, errors = attributes_of(
        "object_attributes", {"attributes": table, "model": owl, "score": 0.6}, [*images, None]
    )
    assert (found[8], errors) == (None, {})
    model = transformers.Owlv2ForObjectDetection.from_pretrained(owl).eval()
    processor = transformers.Owlv2Processor.from_pretrained(owl)
    counts = set()
    for data, row in zip(images, found[:8], strict=True):
        for category, (name, attributes) in zip(row, OBJECT.items(), strict=True):
            texts = [[TEXTS.get(a, a) for a in attributes]]
            inputs = processor(text=texts, images=opened_picture(data), return_tensors="pt", max_length=8)
            with torch.inference_mode():
                out = model(**inputs)
            boxes = processor.post_process_grounded_object_detection(out, threshold=0.6)[0]
            best = {}
            for label, score in zip(boxes["labels"].tolist(), boxes["scores"].tolist(), strict=True):
                best[attributes[label]] = max(score, best.get(attributes[label], 0))
            assert category["category"] == name
            assert category["attributes"] == sorted(best, key=lambda a: -best[a])
            whole = dict(zip(attributes, out.logits[0].sigmoid().amax(0).tolist(), strict=True))
            assert {s["attribute"]: s["score"] for s in category["scores"]} == pytest.approx(whole, abs=1e-5)
            counts.add(len(best))
    assert len(counts) > 1


def test_what_cannot_be_used_is_said(blip, owl, table, tmp_path):
    with pytest.raises(RequestError, match="of type 'owlv2'; a model of type 'blip'") as caught:
        function("image_attributes").open({"caption": CAPTION, "attributes": table, "model": owl})
    assert caught.value.code == "E3541"
    with pytest.raises(NotFoundError):
        function("object_attributes").open({"attributes": str(tmp_path / "none.csv"), "model": owl, "score": 0.3})
    with pytest.raises(FunctionError) as wrong:
        function("object_attributes").open({"attributes": table, "model": owl, "score": 1.5})
    assert wrong.value.code == "E8116"
    only = tmp_path / "only.csv"
    only.write_text("term,class\nfoggy,weather\n")
    assert attributes_of("object_attributes", {"attributes": str(only), "model": owl, "score": 0.3}, [picture(0)]) == (
        [[]],
        {},
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory, build, blip, owl):
    """The recipe run on some pictures with a table of one's own."""
    folder = tmp_path_factory.mktemp("gelda")
    (folder / "street.csv").write_text(TABLE)
    lake = cb.connect(f"memory://gelda-{os.getpid()}")
    ids = list(range(COUNT))
    lake.ingest({"images": build.images(image_id=ids, key=[str(i) for i in ids], image=[picture(i) for i in ids])})
    given = {
        "caption": CAPTION,
        "attributes": str(folder / "street.csv"),
        "matcher": blip,
        "detector": owl,
        "score": 0.6,
        "min_count": 1,
    }
    how = {"executor": "inline", "device": "cpu"}
    report = lake.recipe("gelda", given, refresh=how, sensitive="a test")
    return SimpleNamespace(lake=lake, report=report, given=given, how=how, file=folder / "street.csv")


def test_the_recipe_makes_rows_of_attributes(made, blip, owl):
    rows = made.lake.sql("SELECT * FROM attributes ORDER BY ALL", sensitive="a test").to_arrow().to_pylist()
    images = [picture(i) for i in range(COUNT)]
    of_image, _ = attributes_of(
        "image_attributes", {"caption": CAPTION, "attributes": made.given["attributes"], "model": blip}, images
    )
    of_object, _ = attributes_of(
        "object_attributes", {"attributes": made.given["attributes"], "model": owl, "score": 0.6}, images
    )
    wanted = [
        (i, c["category"], a, level)
        for level, found in (("image", of_image), ("object", of_object))
        for i, row in enumerate(found)
        for c in row
        for a in c["attributes"] or ["unknown"]
    ]
    assert [tuple(r.values()) for r in rows] == sorted(wanted)
    scores = made.lake.sql("SELECT count(*), count(score) FROM attribute_scores", sensitive="a test").fetchall()
    assert scores == [(COUNT * 9, COUNT * 9)]


def test_the_recipe_counts_them(made):
    found = made.report.results["frequencies"].to_pylist()
    assert {(r["category"], r["n"]) for r in found} == {(c, COUNT) for c in (*IMAGE, *OBJECT)}
    assert [(r["category"], r["other"]) for r in made.report.results["confounding"].to_pylist()]


def test_rows_are_closed_and_audits_are_not(made):
    with pytest.raises(SensitiveError):
        made.lake.sql("SELECT * FROM attributes").to_arrow()
    assert "gelda_image" not in made.lake.sql("SELECT * FROM images").columns
    assert made.lake.sql("SELECT * FROM attribute_frequencies(attributes)").to_arrow().num_rows > 4
    labels = "(SELECT image_id, 'weather' AS category, 'foggy' AS attribute FROM images)"
    with pytest.raises(SensitiveError):
        made.lake.sql(f"SELECT * FROM attribute_auc(attribute_scores, {labels})").to_arrow()


@pytest.mark.thorough
def test_another_table_makes_the_columns_stale(made):
    again = made.lake.recipe("gelda", made.given, refresh=made.how, sensitive="a test")
    assert [s.rows for s in again.steps[1:3]] == [0, 0] or not any(s.rows for s in again.steps[1:3])
    made.file.write_text(TABLE.replace("blue,colour", "green,colour"))
    changed = made.lake.recipe("gelda", made.given, refresh=made.how, sensitive="a test")
    assert [s.rows for s in changed.steps[1:3]] == [COUNT, COUNT]
    found = made.lake.sql(
        "SELECT DISTINCT attribute FROM attribute_scores WHERE category = 'colour'", sensitive="a test"
    )
    assert sorted(r[0] for r in found.fetchall()) == ["green", "red"]
    made.file.write_text(TABLE)
    back = made.lake.recipe("gelda", made.given, refresh=made.how, sensitive="a test")
    assert [s.rows for s in back.steps[1:3]] == [COUNT, COUNT]


def test_a_local_language_model_is_asked(tmp_path):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    from counterbalance.udfs.models.writer import Writer
    from counterbalance.udfs.propose import propose_attributes

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytes_ = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    bytes_.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_.decoder = decoders.ByteLevel()
    tokens = transformers.PreTrainedTokenizerFast(tokenizer_object=bytes_, eos_token="<end>", pad_token="<pad>")
    tokens.chat_template = CHATS
    config = transformers.LlamaConfig(
        vocab_size=len(tokens),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        bos_token_id=None,
        eos_token_id=tokens.eos_token_id,
        pad_token_id=tokens.pad_token_id,
    )
    torch.manual_seed(0)
    model = scatter(transformers.LlamaForCausalLM(config), 0.3)
    model.save_pretrained(tmp_path / "lm")
    tokens.save_pretrained(tmp_path / "lm")
    ids = tokens("user: Well?\nassistant: ", return_tensors="pt").input_ids
    out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=64 - ids.shape[1])
    writer = Writer(str(tmp_path / "lm"), "cpu", 0.0)
    wanted = tokens.decode(out[0, ids.shape[1] :], skip_special_tokens=True).strip()
    assert [writer.ask("Well?", seed) for seed in (0, 1)] == [wanted] * 2
    writer.close()
    drawing = Writer(str(tmp_path / "lm"), "cpu", 1.0)
    state = torch.get_rng_state()
    replies = [drawing.ask("Well?", seed) for seed in (0, 0, 1)]
    assert replies[0] == replies[1] != replies[2]
    assert torch.equal(torch.get_rng_state(), state)
    drawing.close()
    given = {
        "caption": "a street",
        "output": str(tmp_path / "street.csv"),
        "model": str(tmp_path / "lm"),
        "device": "cpu",
    }
    with pytest.raises(RequestError, match="more than the model takes"):
        propose_attributes(None, **given)
    assert not (tmp_path / "street.csv").exists()
