"""A tiny multimodal model that several recipes ask."""

from __future__ import annotations

import pytest

TEMPLATE = (
    "{% for m in messages %}{{ m.role }}: {% for c in m.content %}{% if c.type == 'image' %}<IMG_CONTEXT>\n"
    "{% else %}{{ c.text }}{% endif %}{% endfor %}<end>{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)


@pytest.fixture(scope="session")
def tiny_asker():
    """Write such a model into a folder."""
    return asker


def asker(folder):
    """A multimodal model that answers A to everything: the options come in another order for every picture."""
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
