"""Tiny models with random weights, as the libraries that read them store them: CLIP, an image classifier, YOLO, a multimodal model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TEMPLATE = (
    "{% for m in messages %}{{ m.role }}: {% for c in m.content %}{% if c.type == 'image' %}<IMG_CONTEXT>\n"
    "{% else %}{{ c.text }}{% endif %}{% endfor %}<end>{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)


def save_clip(folder: Path, seed: int = 0, preprocess: Mapping[str, Any] | None = None, **vision: Any) -> Path:
    """Save a CLIP model of 16 dimensions, 32 x 32 pixels and 16 tokens, weights by seed, into a folder, which is returned."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    config = {
        "embed_dim": 16,
        "vision_cfg": {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8, **vision},
        "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
    }
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        save_file(open_clip.CLIP(**config).state_dict(), folder / "open_clip_model.safetensors")
    described = {"model_cfg": config, "preprocess_cfg": dict(preprocess or {})}
    (folder / "open_clip_config.json").write_text(json.dumps(described))
    return folder


def save_safety(folder: Path) -> str:
    """Save a tiny image classifier, normal or nsfw, with random weights that differ from picture to picture, into a folder, which is returned."""
    import torch
    import transformers

    torch.manual_seed(0)
    layers = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 32}
    labels = {0: "normal", 1: "nsfw"}
    made = transformers.ViTForImageClassification(
        transformers.ViTConfig(image_size=32, patch_size=8, **layers, id2label=labels)
    )
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(8 if weight.ndim > 1 else 1)
    made.save_pretrained(folder)
    transformers.ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(folder)
    return str(folder)


def save_detector(file: Path, *, spread: float, bias: float, people: float | None = None, width: float = 0.25) -> None:
    """Save a YOLO, as wide as the smallest one or less, whose scores come of weights of that spread and of that bias, of people of another one."""
    from counterbalance.udfs.models import yolo

    held = yolo.library()
    import torch
    import yaml
    from ultralytics import YOLO

    described = yaml.safe_load((held.root / "cfg" / "models" / "11" / "yolo11.yaml").read_text())
    described["scales"] = {"n": [0.5, width, 1024]}
    (file.parent / "yolo11n.yaml").write_text(yaml.safe_dump(described))
    torch.manual_seed(1)
    model = YOLO(file.parent / "yolo11n.yaml")
    for module in model.model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    model.model.train()
    with torch.no_grad():
        model.model(torch.rand(4, 3, 5, 5).repeat_interleave(32, 2).repeat_interleave(32, 3))
        for layers in model.model.model[-1].cv3:
            torch.nn.init.normal_(layers[-1].weight, std=spread)
            torch.nn.init.constant_(layers[-1].bias, bias)
            if people is not None:
                layers[-1].bias[0] = people
    model.model.eval()
    model.model.names = yaml.safe_load((held.root / "cfg" / "datasets" / "coco.yaml").read_text())["names"]
    model.save(file)


def save_asker(folder: Path) -> Path:
    """Save a multimodal model that answers A to everything, into a folder, which is returned; options come in an order of each picture's own."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = ["A", *sorted(set(pre_tokenizers.ByteLevel.alphabet()) - {"A"})]
    made = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    signs = {"context_image_token": "<IMG_CONTEXT>", "video_token": "<video>"}
    tokens = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        eos_token="<end>",
        pad_token="<pad>",
        extra_special_tokens={**signs, "start_image_token": "<img>", "end_image_token": "</img>"},
    )
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {**small, "num_key_value_heads": 1, "bos_token_id": None, "eos_token_id": None}
    config = transformers.InternVLConfig(
        text_config=transformers.Qwen2Config(vocab_size=len(tokens), max_position_embeddings=2048, **text),
        vision_config={**small, "image_size": [28, 28], "patch_size": [14, 14]},
        image_token_id=tokens.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=1,
    )
    pictures = transformers.GotOcr2ImageProcessor(size={"height": 28, "width": 28}, crop_to_patches=False)
    processor = transformers.InternVLProcessor(
        pictures, tokens, transformers.InternVLVideoProcessor(), image_seq_length=1, chat_template=TEMPLATE
    )
    torch.manual_seed(0)
    model = transformers.InternVLForConditionalGeneration(config)
    with torch.no_grad():
        model.model.language_model.norm.weight.zero_()
    model.generation_config = transformers.GenerationConfig(eos_token_id=[0])
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def save_tower(folder: Path) -> str:
    """Save a CLIP model whose words are few, with random weights, into a folder, which is returned."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    vision = {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16}
    text = {"context_length": 8, "vocab_size": 16, "width": 8, "heads": 1, "layers": 1}
    config = {"embed_dim": 16, "vision_cfg": vision, "text_cfg": text}
    torch.manual_seed(0)
    model = open_clip.CLIP(**config)
    folder.mkdir(exist_ok=True)
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, "preprocess_cfg": {}}))
    state = {k: v.contiguous() for k, v in model.state_dict().items()}
    save_file(state, folder / "open_clip_model.safetensors")
    return str(folder)


def save_encoder(folder: Path, labels: Sequence[str] | None = None) -> None:
    """Save a small RoBERTa with random weights into a folder: a classifier with labels, or what makes vectors."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {w: i for i, w in enumerate(["<s>", "<pad>", "</s>", "<unk>", "<mask>", "A", "man", "woman", "the"])}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    named = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
    tokens = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", pad_token="<pad>", model_max_length=128, **named
    )
    numbered = dict(enumerate(labels or ["a", "b"]))
    config = transformers.RobertaConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=132,
        id2label=numbered,
        label2id={v: k for k, v in numbered.items()},
    )
    torch.manual_seed(0)
    kind = transformers.RobertaForSequenceClassification if labels else transformers.RobertaModel
    kind(config).save_pretrained(folder)
    tokens.save_pretrained(folder)


def save_segmenter(folder: Path) -> None:
    """Save a tiny SAM with random weights into a folder."""
    import torch
    import transformers

    torch.manual_seed(0)
    side = {"image_size": 64, "patch_size": 8}
    layers = {"num_hidden_layers": 1, "mlp_dim": 32, "hidden_size": 32}
    vision = {"output_channels": 32, "num_attention_heads": 4, "window_size": 4, "global_attn_indexes": [0]}
    config = transformers.SamConfig(
        vision_config={**side, **layers, **vision, "num_pos_feats": 16},
        prompt_encoder_config={**side, "hidden_size": 32, "mask_input_channels": 4},
        mask_decoder_config={**layers, "num_attention_heads": 4, "iou_head_hidden_dim": 32},
    )
    transformers.SamModel(config).save_pretrained(folder)
    size = {"size": {"longest_edge": 64}, "pad_size": {"height": 64, "width": 64}}
    transformers.SamProcessor(transformers.SamImageProcessor(**size)).save_pretrained(folder)
