"""Pictures and prompts as Phi-3.5-vision takes them: crops, the view of the whole picture, places in the prompt."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PIL import Image

from counterbalance.udfs.models import phi3_pictures

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

MEAN = np.array([0.48145466, 0.4578275, 0.40821073])
STD = np.array([0.26862954, 0.26130258, 0.27577711])
SIZES = [(60, 40), (40, 60), (336, 336), (500, 101), (101, 500), (1, 1), (3, 700), (2000, 1)]
PROMPT = "<|user|>\n<|image_1|>\n{}<|end|>\n<|assistant|>\n"


@pytest.fixture(scope="module")
def tokenizer():
    """One token a byte, with a start token before every text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    made = Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens(["<s>", "<|end|>", "<pad>"])
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", made.token_to_id("<s>"))]
    )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", pad_token="<pad>")


def picture(width, height):
    values = np.random.default_rng(width * height).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(values)


def expected_grid(width, height, crops):
    """By trying every number of crops along the longer side."""
    ratio = max(width, height) / min(width, height)
    across = max(n for n in range(1, crops + 1) if n * math.ceil(n / ratio) <= crops)
    down = math.ceil(max(1, math.floor(across * 336 / ratio)) / 336)
    return (down, across) if width >= height else (across, down)


def whole(pixels, rows, columns):
    """Crops put together again, as values in [0, 1], (height, width, 3)."""
    lines = [torch.cat(list(pixels[1 + r * columns : 1 + (r + 1) * columns]), dim=2) for r in range(rows)]
    return torch.cat(lines, dim=1).permute(1, 2, 0).double().numpy() * STD + MEAN


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_crops_are_the_scaled_picture_padded_with_white(tokenizer, size):
    crops = 4
    shown = picture(*size)
    made = phi3_pictures.Phi3VProcessor(tokenizer, crops)([[shown]], [PROMPT])
    assert made.pixel_values.shape == (1, 1 + crops, 3, 336, 336)
    rows, columns = expected_grid(*size, crops)
    assert made.image_sizes.tolist() == [[rows * 336, columns * 336]]
    assert not made.pixel_values[0, 1 + rows * columns :].any()
    found = whole(made.pixel_values[0], rows, columns)
    tall = size[0] < size[1]
    if tall:
        found, shown = found.transpose(1, 0, 2), shown.transpose(Image.Transpose.TRANSPOSE)
    long = max(rows, columns) * 336
    short = max(1, int(long / (max(size) / min(size))))
    above = (len(found) - short) // 2
    scaled = np.asarray(shown.resize((long, short), Image.Resampling.BILINEAR)) / 255
    np.testing.assert_allclose(found[above : above + short], scaled, atol=1e-6)
    np.testing.assert_allclose(np.delete(found, np.s_[above : above + short], 0), 1, atol=1e-6)


def test_the_view_is_the_padded_picture_by_cubic_interpolation(tokenizer):
    """From 672 to 336 pixels every value has the same four neighbours a side, with known weights."""
    [pixels] = phi3_pictures.Phi3VProcessor(tokenizer)([[picture(50, 40)]], [PROMPT]).pixel_values
    weights = (-0.09375, 0.59375, 0.59375, -0.09375)
    there = [np.clip(2 * np.arange(336) + shift, 0, 671) for shift in (-1, 0, 1, 2)]
    padded = whole(pixels, 2, 2)
    lines = sum(w * padded[i] for w, i in zip(weights, there, strict=True))
    view = sum(w * lines[:, i] for w, i in zip(weights, there, strict=True))
    np.testing.assert_allclose(pixels[0].permute(1, 2, 0).double().numpy() * STD + MEAN, view, atol=1e-5)


@pytest.mark.parametrize(
    ("size", "crops", "count"),
    [((90, 90), 1, 313), ((90, 90), 4, 757), ((90, 90), 16, 2509), ((400, 100), 4, 745), ((100, 400), 4, 781)],
)
def test_as_many_places_as_the_published_model_has_vectors(tokenizer, size, crops, count):
    processor = phi3_pictures.Phi3VProcessor(tokenizer, crops)
    ids = processor([[picture(*size)]], [PROMPT]).input_ids[0].tolist()
    assert ids.count(-1) == count
    width, height = size
    assert processor._get_num_multimodal_tokens(image_sizes=[(height, width)]) == {"num_image_tokens": [count]}


def test_text_left_and_right_of_the_picture_has_its_own_start(tokenizer):
    """A second mark is text: what somebody asks cannot ask for more pictures."""
    prompts = [PROMPT.format("What?"), PROMPT.format("<|image_1|>")]
    processor = phi3_pictures.Phi3VProcessor(tokenizer, 1)
    made = processor([[picture(9, 9)]] * 2, prompts)
    start, pad = tokenizer.bos_token_id, tokenizer.pad_token_id

    def plain(text):
        return tokenizer(text, add_special_tokens=False).input_ids

    rows = [
        [start, *plain("<|user|>\n"), *[-1] * 313, start, *plain(f"\n{asked}<|end|>\n<|assistant|>\n")]
        for asked in ("What?", "<|image_1|>")
    ]
    missing = len(rows[1]) - len(rows[0])
    assert made.input_ids.tolist() == [[pad] * missing + rows[0], rows[1]]
    assert made.attention_mask.sum(1).tolist() == [len(row) for row in rows]
    assert made.attention_mask[0, :missing].tolist() == [0] * missing
    bare = processor([[picture(9, 9)]], prompts[:1], add_special_tokens=False).input_ids[0].tolist()
    assert bare == [i for i in rows[0] if i != start]
    with pytest.raises(ValueError, match=r"no <\|image_1\|>"):
        processor([[picture(9, 9)]], ["nothing to see"])
