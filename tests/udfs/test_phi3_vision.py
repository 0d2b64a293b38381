"""Checkpoints of Phi-3.5-vision, with names as they are published, against transformers' own CLIP and Phi3 and plain loops."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import function
from counterbalance.udfs.models import ask as ask_module
from counterbalance.udfs.models import phi3_vision, transformer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
safetensors_torch = pytest.importorskip("safetensors.torch")

WIDTH, TOWER, PATCH, LAYERS, DEEP = 32, 16, 84, 2, 3
SIDE = 336 // PATCH // 2
"""Vectors along a side of a crop."""
TEMPLATE = (
    "{% for message in messages %}{{'<|' + message['role'] + '|>' + '\n' + message['content'] + '<|end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)
SIZES = [(60, 40), (40, 61), (101, 30), (64, 64), (7, 90), (1, 1)]
CODE = "raise SystemExit('this must never run')"


def tokenizer():
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

    made = Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made.add_special_tokens(["<s>", "<|endoftext|>"])
    made.add_special_tokens([AddedToken(f"<|{n}|>", rstrip=True) for n in ("user", "end", "assistant")])
    start = [("<s>", made.token_to_id("<s>"))]
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=start)
    names = {"bos_token": "<s>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, chat_template=TEMPLATE, **names)


def config(vocabulary, short):
    """As published, but small; ``short`` positions are told by the short factors."""
    own = {"hidden_size": TOWER, "intermediate_size": 24, "num_hidden_layers": DEEP, "num_attention_heads": 2}
    published = {"image_dim_out": TOWER, "model_name": "openai/clip-vit-large-patch14-336", "name": "clip_vision_model"}
    return {
        "_attn_implementation": "flash_attention_2",
        "architectures": ["Phi3VForCausalLM"],
        "auto_map": {"AutoConfig": "code.Phi3VConfig", "AutoModelForCausalLM": "code.Phi3VForCausalLM"},
        "bos_token_id": 1,
        "embd_layer": {"embedding_cls": "image", "hd_transform_order": "sub_glb", "projection_cls": "mlp"},
        "eos_token_id": 2,
        "hidden_act": "silu",
        "hidden_size": WIDTH,
        "img_processor": {**published, "num_img_tokens": SIDE**2, "patch_size": PATCH, **own},
        "intermediate_size": 48,
        "max_position_embeddings": 131072,
        "model_type": "phi3_v",
        "num_attention_heads": 4,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": 4,
        "original_max_position_embeddings": short,
        "pad_token_id": None,
        "rms_norm_eps": 1e-5,
        "rope_scaling": {"type": "su", "short_factor": [1.05, 1.1, 1.2, 1.5], "long_factor": [1.1, 2.0, 9.0, 30.0]},
        "rope_theta": 10000.0,
        "sliding_window": 262144,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "vocab_size": vocabulary,
    }


def shapes(vocabulary):
    """Tensors of a published file."""
    decoder = {
        "input_layernorm.weight": [WIDTH],
        "mlp.down_proj.weight": [WIDTH, 48],
        "mlp.gate_up_proj.weight": [96, WIDTH],
        "post_attention_layernorm.weight": [WIDTH],
        "self_attn.o_proj.weight": [WIDTH, WIDTH],
        "self_attn.qkv_proj.weight": [3 * WIDTH, WIDTH],
    }
    layer = {
        "mlp.fc1.weight": [24, TOWER],
        "mlp.fc1.bias": [24],
        "mlp.fc2.weight": [TOWER, 24],
        "mlp.fc2.bias": [TOWER],
    }
    for name in ("layer_norm1", "layer_norm2"):
        layer |= {f"{name}.weight": [TOWER], f"{name}.bias": [TOWER]}
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        layer |= {f"self_attn.{name}.weight": [TOWER, TOWER], f"self_attn.{name}.bias": [TOWER]}
    tower = {
        "embeddings.class_embedding": [TOWER],
        "embeddings.patch_embedding.weight": [TOWER, 3, PATCH, PATCH],
        "embeddings.position_embedding.weight": [(336 // PATCH) ** 2 + 1, TOWER],
        **{f"encoder.layers.{i}.{name}": shape for i in range(DEEP) for name, shape in layer.items()},
        **{f"{n}.{part}": [TOWER] for n in ("pre_layrnorm", "post_layernorm") for part in ("weight", "bias")},
    }
    pictures = {
        "glb_GN": [1, 1, 4 * TOWER],
        "sub_GN": [1, 1, 1, 4 * TOWER],
        "img_projection.0.weight": [WIDTH, 4 * TOWER],
        "img_projection.0.bias": [WIDTH],
        "img_projection.2.weight": [WIDTH, WIDTH],
        "img_projection.2.bias": [WIDTH],
        **{f"img_processor.vision_model.{name}": shape for name, shape in tower.items()},
    }
    return {
        "lm_head.weight": [vocabulary, WIDTH],
        "model.embed_tokens.weight": [vocabulary, WIDTH],
        "model.norm.weight": [WIDTH],
        **{f"model.layers.{i}.{name}": shape for i in range(LAYERS) for name, shape in decoder.items()},
        **{f"model.vision_embed_tokens.{name}": shape for name, shape in pictures.items()},
    }


def published(folder, short=4096):
    """A folder as the hub has it: configuration, code that must not run, weights under their names, vocabulary."""
    folder.mkdir()
    tokens = tokenizer()
    tokens.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(config(len(tokens), short)))
    (folder / "code.py").write_text(CODE)
    pictures = {"num_crops": 4, "num_img_tokens": SIDE**2, "processor_class": "Phi3VProcessor"}
    remote = {"AutoProcessor": "code.Phi3VProcessor", "AutoImageProcessor": "code.Phi3VImageProcessor"}
    told = {**pictures, "image_processor_type": "Phi3VImageProcessor", "auto_map": remote}
    (folder / "preprocessor_config.json").write_text(json.dumps(told))
    chance = torch.Generator().manual_seed(5)
    weights = {}
    for name, shape in shapes(len(tokens)).items():
        values = torch.randn(shape, generator=chance)
        norm = name.endswith("weight") and len(shape) == 1
        weights[name] = values * 0.3 + 1 if norm else values * (1 if "embed_tokens.w" in name else 0.4)
    safetensors_torch.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def weights_of(folder):
    return safetensors_torch.load_file(folder / "model.safetensors")


def rewrite_head(folder, head, stops):
    weights = weights_of(folder)
    safetensors_torch.save_file(
        {**weights, "lm_head.weight": head}, folder / "model.safetensors", metadata={"format": "pt"}
    )
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": stops, "do_sample": True}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return published(tmp_path_factory.mktemp("phi") / "phi")


def picture(number):
    values = np.random.default_rng(number).integers(0, 255, (6, 6, 3), dtype=np.uint8)
    return Image.fromarray(values).resize(SIZES[number % len(SIZES)], Image.Resampling.BICUBIC)


def opened(name, folder, **constants):
    declared = function(name)
    defaults = {p.name: p.default for p in declared.parameters if p.constant and not p.required}
    return declared.open({**defaults, "model": str(folder), **constants})


def processor_of(folder):
    transformer.load(folder, "IMAGE_TEXT_TO_TEXT", "cpu")  # makes the architecture known
    return transformers.AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def clip_of(weights):
    """The library's own tower with these weights."""
    made = transformers.CLIPVisionModel(
        transformers.CLIPVisionConfig(
            hidden_act="quick_gelu",
            hidden_size=TOWER,
            image_size=336,
            intermediate_size=24,
            num_attention_heads=2,
            num_hidden_layers=DEEP,
            patch_size=PATCH,
        )
    )
    start = "model.vision_embed_tokens.img_processor.vision_model."
    made.load_state_dict({k.removeprefix(start): v for k, v in weights.items() if k.startswith(start)})
    return made.eval()


def looked_at(weights, pixels, size):
    """Vectors of one picture, one after the other: four neighbouring patches, a separator after each line."""
    seen = clip_of(weights)(pixels, output_hidden_states=True).hidden_states[-2][:, 1:]
    own = {k.removeprefix("model.vision_embed_tokens."): v for k, v in weights.items()}
    line_end, between = own["sub_GN"].flatten(), own["glb_GN"].flatten()

    def lines(first, rows, columns):
        for y in range(rows * SIDE):
            for x in range(columns * SIDE):
                crop = seen[first + y // SIDE * columns + x // SIDE]
                top, left = 2 * (y % SIDE), 2 * (x % SIDE)
                yield torch.cat([crop[(top + dy) * 2 * SIDE + left + dx] for dy in (0, 1) for dx in (0, 1)])
            yield line_end

    rows, columns = size[0] // 336, size[1] // 336
    found = torch.stack([*lines(1, rows, columns), between, *lines(0, 1, 1)])
    hidden = torch.nn.functional.gelu(found @ own["img_projection.0.weight"].T + own["img_projection.0.bias"])
    return hidden @ own["img_projection.2.weight"].T + own["img_projection.2.bias"]


def decoder_of(folder, weights):
    """The library's own Phi3 with these weights."""
    told = json.loads((folder / "config.json").read_text())
    dropped = {"_attn_implementation", "architectures", "auto_map", "img_processor", "embd_layer", "model_type"}
    kept = {k: v for k, v in told.items() if k not in dropped}
    kept["rope_scaling"]["type"] = "longrope"  # as "su" is called today
    made = transformers.Phi3ForCausalLM(transformers.Phi3Config(**kept))
    made.load_state_dict({k: v for k, v in weights.items() if ".vision_embed_tokens." not in k})
    return made.eval()


def embedded(processor, weights, shown, prompt):
    """What goes into the decoder."""
    turns = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": prompt}]}]
    made = processor([[shown]], [processor.apply_chat_template(turns, add_generation_prompt=True)])
    ids = made.input_ids[0]
    found = weights["model.embed_tokens.weight"][ids.clamp(min=0)]
    found[ids < 0] = looked_at(weights, made.pixel_values[0], made.image_sizes[0].tolist())
    return found[None], made


def said(decoder, weights, states, count, stops):
    """The likeliest ids, everything computed anew for every one of them."""
    new = []
    while len(new) < count and not (new and new[-1] in stops):
        new.append(int(decoder(inputs_embeds=states).logits[0, -1].argmax()))
        states = torch.cat([states, weights["model.embed_tokens.weight"][new[-1]].view(1, 1, -1)], 1)
    return new


def test_every_published_tensor_has_its_place(folder):
    transformer.load(folder, "IMAGE_TEXT_TO_TEXT", "cpu")
    _, told = transformers.AutoModelForImageTextToText.from_pretrained(folder, output_loading_info=True)
    assert not any(told.values())
    assert {"missing_keys", "unexpected_keys", "mismatched_keys"} <= set(told)


def test_at_its_published_size_it_has_the_published_number_of_parameters(tmp_path):
    """4 146 621 440 by the hub's page of microsoft/Phi-3.5-vision-instruct; nothing is allocated."""
    small = config(32064, 4096)
    sizes = {"hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32}
    heads = {"num_attention_heads": 32, "num_key_value_heads": 32}
    scaling = {"type": "su", "short_factor": [1.0] * 48, "long_factor": [2.0] * 48}
    tower = {k: v for k, v in small["img_processor"].items() if k in {"model_name", "name"}}
    told = {**small, **sizes, **heads, "rope_scaling": scaling, "img_processor": tower}
    (tmp_path / "config.json").write_text(json.dumps(told))
    phi3_vision.register()
    with torch.device("meta"):
        model = transformers.AutoModelForImageTextToText.from_config(transformers.AutoConfig.from_pretrained(tmp_path))
    assert sum(weight.numel() for weight in model.parameters()) == 4_146_621_440


def test_logits_are_those_of_plain_loops_over_the_librarys_parts(folder):
    weights, processor = weights_of(folder), processor_of(folder)
    model, decoder = transformer.load(folder, "IMAGE_TEXT_TO_TEXT", "cpu"), decoder_of(folder, weights)
    grids = set()
    with torch.inference_mode():
        for i in range(len(SIZES)):
            states, made = embedded(processor, weights, picture(i), "What?")
            grids.add(tuple(made.image_sizes[0].tolist()))
            torch.testing.assert_close(model(**made).logits, decoder(inputs_embeds=states).logits, rtol=1e-4, atol=1e-3)
    assert len(grids) == 3


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_halves_are_enough(folder, kind):
    processor = processor_of(folder)
    dtype = getattr(torch, kind)
    _, made = embedded(processor, weights_of(folder), picture(0), "What?")
    exact = transformer.load(folder, "IMAGE_TEXT_TO_TEXT", "cpu")
    half = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype=dtype).eval()
    with torch.inference_mode():
        wanted, found = exact(**made).logits[0, -1], half(**made.to("cpu", dtype)).logits[0, -1]
    assert found.dtype == dtype
    assert torch.nn.functional.cosine_similarity(wanted, found.float(), dim=0) > 0.99


def test_ask_gives_its_answers(tmp_path):
    """Which letter a picture gets depends on it and the question, and on nothing beside it in the batch."""
    folder = published(tmp_path / "letters")
    weights, processor = weights_of(folder), processor_of(folder)
    a, b = processor.tokenizer.convert_tokens_to_ids(["A", "B"])
    decoder, count = decoder_of(folder, weights), len(SIZES)

    def state(row, shown):
        prompt = f"Day or night, in row {row}?\nA. {shown[0]}\nB. {shown[1]}\n\nReply with one letter only."
        states, _ = embedded(processor, weights, picture(row), prompt)
        return decoder.model(inputs_embeds=states).last_hidden_state[0, -1]

    with torch.inference_mode():
        orders = ["day", "night"], ["night", "day"]
        states = {(row, shown[0]): state(row, shown) for row in range(count) for shown in orders}
        every = torch.stack([*states.values()])
        middle = every.mean(0)
        widest = torch.linalg.svd(every - middle).Vh[0]
        direction = widest - (widest @ middle) / (middle @ middle) * middle
        head = torch.zeros_like(weights["lm_head.weight"])
        head[a], head[b] = direction, -direction
    rewrite_head(folder, head, [a, b])
    call = opened("ask", folder, seed=4)
    questions = [f"Day or night, in row {row}?" for row in range(count)]
    pictures = [image_bytes(picture(row)) for row in range(count)]
    found = call([pa.array(pictures), pa.array(questions), pa.array([["day", "night"]] * count)])
    assert found.errors == {}
    rows = found.values.to_pylist()
    letters = ["AB"[int(states[row, told["shown"][0]] @ direction < 0)] for row, told in enumerate(rows)]
    assert set(letters) == {"A", "B"}
    assert [told["reply"] for told in rows] == letters
    assert [told["answer"] for told in rows] == [t["shown"]["AB".index(x)] for t, x in zip(rows, letters, strict=True)]


def test_replies_cross_the_border_of_the_short_factors(tmp_path, monkeypatch):
    """There the whole conversation is computed anew, with its picture."""
    monkeypatch.setattr(ask_module, "CAPTION_TOKENS", 24)
    folder = published(tmp_path / "long", short=48)
    weights, processor = weights_of(folder), processor_of(folder)
    signs = [*range(33, 60)]
    end = processor.tokenizer.convert_tokens_to_ids("<|end|>")
    head = torch.zeros_like(weights["lm_head.weight"])
    head[[*signs, end]] = torch.randn(len(signs) + 1, WIDTH, generator=torch.Generator().manual_seed(1))
    rewrite_head(folder, head, [2])
    weights = weights_of(folder)
    decoder = decoder_of(folder, weights)
    shown = ask_module.framed(picture(3), 4, 5, 20, 15)
    with torch.inference_mode():
        states, made = embedded(processor, weights, Image.fromarray(shown), "Who is it?")
        ids = said(decoder, weights, states, 24, {end})
    assert made.input_ids.shape[1] < 48 < made.input_ids.shape[1] + len(ids)
    call = opened("caption_person", folder, prompt="Who is it?")
    found = call([pa.array([image_bytes(picture(3))]), *(pa.array([v]) for v in (4.0, 5.0, 20.0, 15.0))])
    assert found.values.to_pylist() == [processor.tokenizer.decode(ids, skip_special_tokens=True).strip()]


def test_it_is_no_model_of_another_kind(folder):
    with pytest.raises(RequestError) as error:
        transformer.load(folder, "SEQUENCE_CLASSIFICATION", "cpu")
    assert error.value.code == "E3541"
