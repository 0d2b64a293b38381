"""segment_person: the masks that SAM 2 of transformers, called directly, gives for the same boxes."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from function_calls import called
from image_files import image_bytes
from PIL import Image
from pycocotools import mask as coco_masks

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of pycocotools

BOXES = [(10.0, 5.0, 50.0, 45.0), (30.5, 20.25, 40.0, 29.0), (0.0, 0.0, 20.0, 20.0)]


@pytest.fixture(scope="module")
def sam2(tmp_path_factory):
    """A folder with a tiny SAM 2."""
    torch.manual_seed(2)
    hiera = {"hidden_size": 16, "num_attention_heads": 1, "image_size": [64, 64], "blocks_per_stage": [1, 1, 2, 1],
             "embed_dim_per_stage": [16, 32, 64, 128], "num_attention_heads_per_stage": [1, 1, 1, 1],
             "global_attention_blocks": [3], "window_positional_embedding_background_size": [7, 7]}  # fmt: skip
    config = transformers.Sam2Config(
        vision_config=transformers.Sam2VisionConfig(
            backbone_config=transformers.Sam2HieraDetConfig(**hiera), backbone_channel_list=[128, 64, 32, 16],
            backbone_feature_sizes=[[16, 16], [8, 8], [4, 4]], fpn_hidden_size=32,
        ),
        prompt_encoder_config={"hidden_size": 32, "image_size": 64, "patch_size": 16, "mask_input_channels": 8},
        mask_decoder_config={"hidden_size": 32, "mlp_dim": 64, "num_attention_heads": 4, "iou_head_hidden_dim": 32},
    )  # fmt: skip
    made = transformers.Sam2Model(config).eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(4 if weight.ndim > 1 else 1)
    processor = transformers.Sam2Processor(
        transformers.Sam2ImageProcessor(size={"height": 64, "width": 64}, mask_size={"height": 16, "width": 16}),
        target_size=64,
    )
    folder = tmp_path_factory.mktemp("sam2")
    made.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def png(size, seed):
    pixels = np.random.default_rng(seed).integers(0, 255, (5, 5, 3), np.uint8)
    return image_bytes(Image.fromarray(pixels).resize(size, Image.Resampling.BICUBIC))


def direct(folder, data):
    """Best masks by transformers alone."""
    model = transformers.Sam2Model.from_pretrained(folder).eval()
    processor = transformers.Sam2Processor.from_pretrained(folder)
    picture = Image.open(io.BytesIO(data))
    corners = [[x, y, x + w, y + h] for x, y, w, h in BOXES]
    inputs = processor(picture, input_boxes=[corners], return_tensors="pt")
    with torch.no_grad():
        answer = model(**inputs, multimask_output=True)
    masks = processor.post_process_masks(answer.pred_masks, inputs["original_sizes"])[0]
    best = answer.iou_scores[0].argmax(-1)
    return [masks[box, which].numpy() for box, which in enumerate(best)]


def test_masks_are_those_of_transformers(sam2):
    images = [png((90, 60), 0), png((75, 110), 1)]
    rows = [(image, *box) for image in images for box in BOXES]
    found = called("segment_person", {"model": str(sam2)}, *zip(*rows, strict=True))
    wanted = [mask for image in images for mask in direct(sam2, image)]
    assert any(mask.any() for mask in wanted)
    for row, (text, mask) in enumerate(zip(found.values.to_pylist(), wanted, strict=True)):
        assert (text is None) == (row in found.errors) == (not mask.any())
        if text is not None:
            assert (coco_masks.decode(json.loads(text)).astype(bool) != mask).mean() < 0.002
