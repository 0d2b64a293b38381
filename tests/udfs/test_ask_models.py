"""``ask`` and ``caption_person`` on small models of real architectures, against transformers called directly."""

from __future__ import annotations

import json
from functools import partial
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image, ImageDraw

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.functions import function
from counterbalance.udfs.models import ahead
from counterbalance.udfs.models import ask as ask_module

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEMPLATE = (
    "{% for m in messages %}{{ m.role }}: {% for c in m.content %}{% if c.type == 'image' %}IMAGE{% else %}{{ c.text }}"
    "{% endif %}{% endfor %}<end>{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)
TEXT = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "bos_token_id": None,
    "eos_token_id": None,
}
VISION = {"hidden_size": 16, "intermediate_size": 32}
SIZES = [(60, 40), (40, 60), (100, 30), (64, 64), (33, 90), (60, 40)]
BOX = {"x": 4.0, "y": 5.0, "width": 20.0, "height": 15.0}
DAY = ["day", "night"]


def tokenizer(bos=None, **named):
    """One token a byte; with a start token, it puts that before every text by itself."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    if bos:
        made.add_special_tokens([bos])
        start = [(bos, made.token_to_id(bos))]
        made.post_processor = processors.TemplateProcessing(single=f"{bos} $A", special_tokens=start)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token=bos, eos_token="<end>", pad_token="<pad>", extra_special_tokens=named
    )


def llava_next(folder):
    tokens = tokenizer("<s>", image_token="<image>")
    points = [[28, 56], [56, 28], [56, 56]]
    vision = {**VISION, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 28, "patch_size": 7}
    config = transformers.LlavaNextConfig(
        vision_config=transformers.CLIPVisionConfig(**vision),
        text_config=transformers.LlamaConfig(vocab_size=len(tokens), **TEXT),
        image_token_index=tokens.convert_tokens_to_ids("<image>"),
        image_grid_pinpoints=points,
    )
    processor = transformers.LlavaNextProcessor(
        transformers.LlavaNextImageProcessor(
            size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}, image_grid_pinpoints=points
        ),
        tokens,
        patch_size=7,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template="<s>" + TEMPLATE.replace("IMAGE", "<image>"),
    )
    return save(folder, transformers.LlavaNextForConditionalGeneration, config, processor)


def qwen2_5_vl(folder):
    names = {"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"}
    tokens = tokenizer(**names, vision_bos_token="<|vision_start|>", vision_eos_token="<|vision_end|>")
    ids = tokens.convert_tokens_to_ids
    rope = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 1e4}
    windows = {"window_size": 56, "fullatt_block_indexes": [1], "out_hidden_size": 32, "patch_size": 14}
    config = transformers.Qwen2_5_VLConfig(
        text_config={"vocab_size": len(tokens), **TEXT, "rope_parameters": rope},
        vision_config={**VISION, "depth": 2, "num_heads": 2, **windows},
        image_token_id=ids("<|image_pad|>"),
        video_token_id=ids("<|video_pad|>"),
        vision_start_token_id=ids("<|vision_start|>"),
        vision_end_token_id=ids("<|vision_end|>"),
    )
    processor = transformers.Qwen2_5_VLProcessor(
        transformers.Qwen2VLImageProcessor(size={"shortest_edge": 56 * 56, "longest_edge": 112 * 112}),
        tokens,
        transformers.Qwen2VLVideoProcessor(),
        chat_template=TEMPLATE.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>"),
    )
    return save(folder, transformers.Qwen2_5_VLForConditionalGeneration, config, processor)


def internvl(folder):
    names = {"context_image_token": "<IMG_CONTEXT>", "video_token": "<video>"}
    tokens = tokenizer(**names, start_image_token="<img>", end_image_token="</img>")
    vision = {**VISION, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": [28, 28], "patch_size": [7, 7]}
    config = transformers.InternVLConfig(
        text_config=transformers.Qwen2Config(vocab_size=len(tokens), **TEXT),
        vision_config=vision,
        image_token_id=tokens.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
    )
    processor = transformers.InternVLProcessor(
        transformers.GotOcr2ImageProcessor(size={"height": 28, "width": 28}, crop_to_patches=True, max_patches=4),
        tokens,
        transformers.InternVLVideoProcessor(),
        image_seq_length=4,
        chat_template=TEMPLATE.replace("IMAGE", "<IMG_CONTEXT>\n"),
    )
    return save(folder, transformers.InternVLForConditionalGeneration, config, processor)


def save(folder, architecture, config, processor):
    """A seeded model that says A or B, as the picture and the question have it, and stops there."""
    torch.manual_seed(3)
    model = architecture(config)
    a, b = processor.tokenizer.convert_tokens_to_ids(["A", "B"])
    head = model.get_output_embeddings().weight
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(4 if weight.ndim > 1 else 1)
        asked_for = [asking(f"Day or night, in row {i}?", DAY[:: 1 - 2 * (i % 2)]) for i in range(6)]
        states = torch.stack([last_state(model, processor, picture(i), asked_for[i]) for i in range(6)])
        widest = torch.linalg.svd(states - states.mean(0)).Vh[0]
        direction = across(widest, states.mean(0))
        head.zero_()
        head[a], head[b] = direction, -direction
    stops = [a, b, processor.tokenizer.eos_token_id]
    model.generation_config = transformers.GenerationConfig(eos_token_id=stops)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def last_state(model, processor, shown, prompt):
    """What the head of a model sees at the end of a question."""
    content = [{"type": "image"}, {"type": "text", "text": prompt}]
    text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    inputs = processor(images=shown, text=text, return_tensors="pt", add_special_tokens=False)
    return model(**inputs, output_hidden_states=True).hidden_states[-1][0, -1]


def across(vectors, common):
    """The part of vectors that is at right angles to what all states have in common: no sign is always the likeliest."""
    common = common / common.norm()
    return vectors - (vectors @ common)[..., None] * common


def talkative(folder):
    """The same model in a folder beside it that says all kinds of letters and signs."""
    beside = folder.with_name(folder.name + "-talks")
    if beside.is_dir():
        return beside
    processor = transformers.AutoProcessor.from_pretrained(folder)
    model = transformers.AutoModelForImageTextToText.from_pretrained(folder)
    signs = processor.tokenizer.convert_tokens_to_ids([*map(chr, range(33, 127)), processor.tokenizer.eos_token])
    torch.manual_seed(4)
    head = model.get_output_embeddings().weight
    with torch.no_grad():
        states = torch.stack([last_state(model, processor, picture(i), "Who is in the frame?") for i in range(4)])
        head.zero_()
        head[signs] = across(torch.randn(len(signs), head.shape[1]), states.mean(0))
    model.generation_config = transformers.GenerationConfig(
        eos_token_id=processor.tokenizer.eos_token_id, do_sample=True, temperature=3.0, repetition_penalty=1.5
    )
    model.save_pretrained(beside)
    processor.save_pretrained(beside)
    return beside


@pytest.fixture(scope="module", params=[llava_next, qwen2_5_vl, internvl], ids=lambda make: make.__name__)
def model(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp("models") / request.param.__name__)


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return qwen2_5_vl(tmp_path_factory.mktemp("one") / "qwen")


def picture(number):
    width, height = SIZES[number % len(SIZES)]
    values = np.random.default_rng(number).integers(0, 255, (6, 6, 3), dtype=np.uint8)
    return Image.fromarray(values).resize((width, height), Image.Resampling.BICUBIC)


def asking(prompt, shown):
    return f"{prompt}\nA. {shown[0]}\nB. {shown[1]}\n\nReply with one letter only."


def framed_in_red(shown):
    """Two pixels of red around the box of these small pictures, none inside of it."""
    x, y, width, height = (int(side) for side in BOX.values())
    ImageDraw.Draw(shown).rectangle((x - 2, y - 2, x + width + 1, y + height + 1), outline="red", width=2)
    return shown


def direct(folder, pictures, prompts, tokens):
    """What transformers itself says, one row after the other."""
    processor = transformers.AutoProcessor.from_pretrained(folder)
    library = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    said = []
    for shown, prompt in zip(pictures, prompts, strict=True):
        content = [{"type": "image", "image": shown}, {"type": "text", "text": prompt}]
        inputs = processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
        with torch.no_grad():
            out = library.generate(
                **inputs, do_sample=False, temperature=None, repetition_penalty=1.0, max_new_tokens=tokens
            )
        ids = out[0, inputs["input_ids"].shape[1] :]
        said.append(processor.tokenizer.decode(ids, skip_special_tokens=True).strip())
    return said


def opened(name, **constants):
    declared = function(name)
    defaults = {p.name: p.default for p in declared.parameters if p.constant and not p.required}
    return declared.open({**defaults, **{k: str(v) if k == "model" else v for k, v in constants.items()}})


def asked(call, pictures, prompts, options):
    arrays = [
        pa.array(pictures, pa.binary()),
        pa.array(prompts, pa.string()),
        pa.array(options, pa.list_(pa.string())),
    ]
    return call(arrays)


def test_answers_are_those_of_the_library(model):
    count = 12
    pictures = [picture(i) for i in range(count)]
    prompts = [f"Day or night, in row {i}?" + "?" * (i % 5) * 9 for i in range(count)]
    call = opened("ask", model=model, seed=7)
    found = asked(call, [image_bytes(p) for p in pictures], prompts, [DAY] * count)
    assert found.errors == {}
    rows = found.values.to_pylist()
    questions = [asking(prompt, row["shown"]) for prompt, row in zip(prompts, rows, strict=True)]
    letters = direct(model, pictures, questions, 4)
    assert set(letters) == {"A", "B"}
    assert [row["reply"] for row in rows] == letters
    assert [row["answer"] for row in rows] == [
        row["shown"]["AB".index(letter)] for row, letter in zip(rows, letters, strict=True)
    ]
    assert {tuple(row["shown"]) for row in rows} == {("day", "night"), ("night", "day")}
    for row, alone in zip(rows, range(count), strict=True):
        again = asked(call, [image_bytes(pictures[alone])], [prompts[alone]], [DAY])
        assert again.values.to_pylist() == [row]


def test_long_replies_are_the_same_alone_and_among_others(model, monkeypatch):
    """Token by token, though rows of several lengths are padded to share a batch; 12 tokens are enough to tell."""
    assert ask_module.CAPTION_TOKENS == 256
    monkeypatch.setattr(ask_module, "CAPTION_TOKENS", 12)
    talks = talkative(model)
    count = 6
    framed = [framed_in_red(picture(i)) for i in range(count)]
    call = opened("caption_person", model=talks, prompt="Who is in the frame?")
    arrays = [pa.array([image_bytes(picture(i)) for i in range(count)]), *(pa.array([v] * count) for v in BOX.values())]
    many = call(arrays)
    captions = many.values.to_pylist()
    assert len(set(captions)) > count // 2
    assert captions == [reply or None for reply in direct(talks, framed, ["Who is in the frame?"] * count, 12)]
    assert many.errors == {row: "the model said nothing" for row, caption in enumerate(captions) if caption is None}
    for row in range(0, count, 4):
        assert call([array.slice(row, 1) for array in arrays]).values.to_pylist() == [captions[row]]


@pytest.mark.parametrize("name", ["ask", "caption_person"])
def test_pictures_decoded_by_processes_get_the_same_replies(one, monkeypatch, name):
    """Bit for bit, and the same errors: while the model speaks about four, others decode the next."""
    monkeypatch.setattr(ask_module, "_AT_ONCE", 4)
    monkeypatch.setattr(ask_module, "CAPTION_TOKENS", 8)
    count = 11
    pictures = [image_bytes(picture(i)) for i in range(count)]
    pictures[2], pictures[5] = None, b"no picture"
    if name == "ask":
        columns = [pa.array(["Which?"] * count), pa.array([DAY] * count)]
    else:
        edges = [None if i == 3 else 900.0 if i == 7 else 1.0 for i in range(count)]
        columns = [pa.array(edges), *(pa.array([9.0] * count) for _ in range(3))]
    arrays = [pa.array(pictures, pa.binary()), *columns]
    model = one if name == "ask" else talkative(one)
    in_place = opened(name, model=model)(arrays)
    monkeypatch.setattr(ask_module, "Ahead", partial(ahead.Ahead, processes=2))
    monkeypatch.setattr(ahead, "_FEW", 1)
    monkeypatch.setattr(ahead, "decode", None)  # here; processes have their own
    call = opened(name, model=model)
    try:
        found = call(arrays)
    finally:
        call.close()
    assert found.values.equals(in_place.values)
    assert found.errors == in_place.errors
    assert set(found.errors) == ({5} if name == "ask" else {5, 7})
    assert found.values.null_count == (2 if name == "ask" else 4)


def test_a_reply_that_names_no_option_is_an_error_of_its_row(one):
    call = opened("ask", model=talkative(one))
    pictures = [image_bytes(picture(0)), None]
    found = asked(call, pictures, ["What?"] * 2, [DAY] * 2)
    assert found.values.to_pylist() == [None, None]
    assert list(found.errors) == [0]
    assert found.errors[0].startswith("the reply names not one option of A to B: ")
    assert len(found.errors[0]) < 300


def test_rows_that_cannot_be_asked(one):
    good = image_bytes(picture(0))
    call = opened("ask", model=one)
    options = [DAY, None, ["day"], ["day", None], ["day", " day"], [str(i) for i in range(27)], [], DAY, DAY, DAY]
    prompts = ["Which?"] * 7 + [None, "Which?", "Which?"]
    pictures = [good] * 8 + [b"no picture", None]
    found = asked(call, pictures, prompts, options)
    assert found.values.is_valid().to_pylist() == [True] + [False] * 9
    assert {row: message.split(";")[0] for row, message in found.errors.items() if row != 8} == {
        2: "1 options",
        3: "an option is empty",
        4: "the option 'day' is there twice",
        5: "27 options",
        6: "0 options",
    }
    assert "begins with" in found.errors[8]


def test_the_order_depends_on_row_and_seed_only(one):
    pictures = [image_bytes(picture(i)) for i in range(6)]
    options = [["w", "x", "y", "z"]] * 6

    def orders(rows, seed):
        call = opened("ask", model=one, seed=seed)
        found = asked(call, [pictures[i] for i in rows], ["Which?"] * len(rows), [options[i] for i in rows])
        return dict(zip(rows, [row["shown"] for row in found.values.to_pylist()], strict=True))

    first = orders([0, 1, 2, 3, 4, 5], 0)
    assert orders([5, 3, 1], 0) == {i: first[i] for i in (5, 3, 1)}
    assert orders([0, 1, 2, 3, 4, 5], 1) != first
    assert len({tuple(order) for order in first.values()}) > 3


def test_boxes_that_are_null_or_outside_give_no_caption(one):
    call = opened("caption_person", model=one)
    edges = [pa.array([1.0, None, 1.0, 900.0]), *(pa.array([9.0] * 4) for _ in range(3))]
    found = call([pa.array([image_bytes(picture(0)), image_bytes(picture(1)), None, image_bytes(picture(0))]), *edges])
    assert found.values.is_valid().to_pylist() == [True, False, False, False]
    assert list(found.errors) == [3]


@pytest.mark.parametrize(("kind", "code"), [("molmo", "E3540"), ("internvl_chat", "E3540"), ("bert", "E3541")])
def test_models_that_need_their_own_code_are_refused(tmp_path, kind, code):
    config = {"model_type": kind, "auto_map": {"AutoConfig": "configuration.Config"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "configuration.py").write_text("raise SystemExit('this must never run')")
    with pytest.raises(RequestError) as error:
        opened("ask", model=tmp_path)
    assert error.value.code == code
    assert "InternVL3-8B-hf" in error.value.message
    assert "Phi-3.5-vision" in error.value.message


def test_a_model_without_a_chat_template(one, tmp_path):
    for file in one.iterdir():
        if file.suffix != ".jinja":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with pytest.raises(RequestError) as error:
        opened("ask", model=tmp_path)
    assert error.value.code == "E3542"


def test_weights_that_are_not_there(tmp_path):
    with pytest.raises(NotFoundError) as error:
        opened("ask", model=tmp_path / "nowhere")
    assert error.value.code == "E1102"


def test_the_chat_template_is_part_of_the_fingerprint(one, tmp_path):
    for file in one.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    digest = function("ask").digest
    before = digest({"model": str(one), "seed": 0})
    assert digest({"model": str(tmp_path), "seed": 0}) == before
    template = next(tmp_path.glob("*.jinja"))
    template.write_text(template.read_text() + " ")
    assert digest({"model": str(tmp_path), "seed": 0}) != before


def test_a_column_of_answers(one, tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(5):
        picture(i).save(folder / f"{i}.png")
    lake = cb.connect(tmp_path / "asked.lake")
    lake.ingest(str(folder), format="imagefolder", store_images=True)
    prompt, options = "label_prompt('perceived_gender')", "label_options('perceived_gender')"
    expression = f"ask(image, {prompt}, {options}, '{one}', seed := 3)"
    lake.add_column("images", "perceived_gender", expression)
    lake.refresh(executor="inline")
    with lake.session(sensitive="a test") as session:
        stored = session.sql("SELECT key, perceived_gender FROM images ORDER BY key").fetchall()
    terms = lake.sql("SELECT term FROM lists.label_options WHERE class = 'perceived_gender'").fetchall()
    call = opened("ask", model=one, seed=3)
    data = [(folder / name).read_bytes() for name, _ in stored]
    text = lake.sql(f"SELECT {prompt}").fetchall()[0][0]
    found = asked(call, data, [text] * 5, [[term for (term,) in terms]] * 5)
    assert [value for _, value in stored] == found.values.to_pylist()
    assert all(value["answer"] in {term for (term,) in terms} for _, value in stored)
    assert sha256(data[0]).hexdigest() != sha256(data[1]).hexdigest()
