"""segment_person: the masks that SAM of transformers, called directly, gives for the same boxes."""

from __future__ import annotations

import io
import json

import numpy as np
import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image
from pycocotools import mask as coco_masks

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.functions import function

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of pycocotools

SIDES = ["x", "y", "width", "height"]
BOXES = [(10, 5, 50, 45), (30.5, 30.25, 49, 29), (0, 0, 20, 20), (5, 40, 60, 12)]


def png(size, seed):
    pixels = np.random.default_rng(seed).integers(0, 255, (5, 5, 3), np.uint8)
    return image_bytes(Image.fromarray(pixels).resize(size, Image.Resampling.BICUBIC))


WIDE, TALL = png((90, 60), 0), png((70, 110), 1)


@pytest.fixture(scope="module")
def sam(tmp_path_factory):
    """A folder with a small SAM whose masks differ from box to box, the model and its processor."""
    torch.manual_seed(2)
    side = {"image_size": 64, "patch_size": 8}
    layers = {"num_hidden_layers": 2, "mlp_dim": 64, "hidden_size": 32}
    vision = {"output_channels": 32, "num_attention_heads": 4, "window_size": 4, "global_attn_indexes": [1]}
    config = transformers.SamConfig(
        vision_config={**side, **layers, **vision, "num_pos_feats": 16},
        prompt_encoder_config={**side, "hidden_size": 32, "mask_input_channels": 4},
        mask_decoder_config={**layers, "num_attention_heads": 4, "iou_head_hidden_dim": 32},
    )
    made = transformers.SamModel(config).eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(8 if weight.ndim > 1 else 1)
    size = {"size": {"longest_edge": 64}, "pad_size": {"height": 64, "width": 64}}
    processor = transformers.SamProcessor(transformers.SamImageProcessor(**size))
    _undecided(made, processor)
    folder = tmp_path_factory.mktemp("sam")
    made.save_pretrained(folder)
    processor.save_pretrained(folder)
    return str(folder), made, processor


def _undecided(model, processor):
    """Each of the three masks is rated the best now and then."""
    inputs = prompts(processor, WIDE)
    head = model.mask_decoder.iou_prediction_head.proj_out
    with torch.no_grad():
        head.bias[1:] -= model(**inputs).iou_scores[0].mean(0)


def run(folder, images, boxes):
    opened = function("segment_person").open({"model": folder})
    sides = [pa.array([None if b is None else b[i] for b in boxes], pa.float64()) for i in range(4)]
    found = opened([pa.array(images, pa.binary()), *sides])
    opened.close()
    return found.values.to_pylist(), found.errors


def pixels(text):
    return coco_masks.decode(json.loads(text)).astype(bool)


def prompts(processor, data):
    """The boxes as transformers takes them, cut to the picture."""
    picture = Image.open(io.BytesIO(data))
    corners = [[x, y, min(x + w, picture.width), min(y + h, picture.height)] for x, y, w, h in BOXES]
    return processor(picture, input_boxes=[corners], return_tensors="pt")


def direct(model, processor, data):
    """Best masks by transformers alone, for all boxes at once."""
    inputs = prompts(processor, data)
    with torch.inference_mode():
        answer = model(**inputs)
    (stack,) = processor.post_process_masks(answer.pred_masks, inputs["original_sizes"], inputs["reshaped_input_sizes"])
    best = answer.iou_scores[0].argmax(-1).tolist()
    assert len(set(best)) > 1, "one of three masks is always the best, so that the choice is not tested"
    return [stack[i, b].numpy() for i, b in enumerate(best)]


def test_masks_are_those_of_transformers(sam):
    folder, model, processor = sam
    images, boxes = [WIDE, TALL] * len(BOXES), [b for b in BOXES for _ in range(2)]
    found, errors = run(folder, images, boxes)
    assert not errors
    differ = []
    for place, data in enumerate([WIDE, TALL]):
        wanted = direct(model, processor, data)
        assert {tuple(w.shape) for w in wanted} == {(60, 90) if data is WIDE else (110, 70)}
        assert all(0 < w.mean() < 1 for w in wanted)
        differ += [(pixels(t) != w).mean() for t, w in zip(found[place::2], wanted, strict=True)]
    assert max(differ) < 0.001  # of a mask that is nearly undecided, where float32 adds up in another order
    assert len(set(found)) == len(found)


def test_a_picture_is_encoded_once_for_all_of_its_boxes(sam):
    folder, _, _ = sam
    opened = function("segment_person").open({"model": folder})
    seen = []
    encoder = opened._instance._model.vision_encoder
    handle = encoder.register_forward_hook(lambda _m, inputs, _o: seen.append(len(inputs[0])))
    sides = [pa.array([b[i] for b in BOXES * 2], pa.float64()) for i in range(4)]
    opened([pa.array([WIDE] * 4 + [TALL] * 4, pa.binary()), *sides])
    handle.remove()
    opened.close()
    assert sum(seen) == 2


def test_the_same_twice_and_in_any_company(sam):
    folder, _, _ = sam
    together, _ = run(folder, [WIDE, TALL, WIDE], [BOXES[0], BOXES[1], BOXES[3]])
    assert run(folder, [WIDE, TALL, WIDE], [BOXES[0], BOXES[1], BOXES[3]])[0] == together
    (alone,), _ = run(folder, [WIDE], [BOXES[3]])
    assert (pixels(alone) != pixels(together[2])).mean() < 0.001


def test_a_box_that_reaches_out_is_cut_to_the_picture(sam):
    folder, _, _ = sam
    (out, cut), errors = run(folder, [WIDE] * 2, [(-30, 20, 60, 300), (0, 20, 30, 40)])
    assert not errors
    assert out == cut


def test_rows_without_a_mask(sam):
    folder, _, _ = sam
    images = [None, b"no picture", WIDE, WIDE, WIDE, WIDE, b"no picture"]
    boxes = [BOXES[0], BOXES[0], None, (200, 0, 9, 9), (0, 0, float("nan"), 9), BOXES[0], BOXES[1]]
    values, errors = run(folder, images, boxes)
    assert [v is None for v in values] == [True] * 5 + [False, True]
    assert set(errors) == {1, 3, 4, 6}
    assert errors[3] == "no box in a picture of 90 x 60: x 200, y 0, width 9, height 9"
    assert run(folder, [None], [None]) == ([None], {})


def test_nothing_found_is_an_error_of_the_row(sam, tmp_path):
    _, model, processor = sam
    empty = transformers.SamModel(model.config)
    empty.load_state_dict(model.state_dict())
    with torch.no_grad():
        for weight in empty.mask_decoder.output_hypernetworks_mlps.parameters():
            weight.zero_()
    empty.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    assert run(str(tmp_path), [WIDE], BOXES[:1]) == ([None], {0: "nothing is found in the box"})


@pytest.mark.parametrize("kind", ["vit", "sam_hq", None])
def test_other_models_are_refused(tmp_path, kind):
    if kind:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    with pytest.raises(RequestError, match=f"its model type is {kind!r}") as caught:
        run(str(tmp_path), [WIDE], BOXES[:1])
    assert caught.value.code == "E3541"


def test_weights_that_are_not_there():
    with pytest.raises(NotFoundError, match="no weights") as caught:
        run("nobody/no-sam", [WIDE], BOXES[:1])
    assert caught.value.code == "E1102"


def test_mask_people_paints_what_segment_person_found(sam):
    """In SQL, with a list that is made there: the mask that ``inpaint`` takes."""
    folder, _, _ = sam
    boxes = {s: pa.array(v, pa.float32()) for s, v in zip(SIDES, zip(*BOXES[:2], strict=True), strict=True)}
    lake = cb.connect("memory://segmented")
    lake.ingest(
        {
            "images": pa.table({"image_id": [1, 2], "image": pa.array([WIDE, TALL], pa.binary())}),
            "detections": pa.table({"detection_id": [1, 2], "image_id": [1, 2], "category": ["person"] * 2, **boxes}),
        }
    )
    text = """
        WITH found AS (
          SELECT d.image_id, d.x, d.y, d.width, d.height, i.image, segment_person(i.image, d.x, d.y, d.width, d.height, model := $model) AS found
          FROM images AS i JOIN detections AS d ON d.image_id = i.image_id
        )
        SELECT
          found,
          mask_people(image, [{'category': 'person', 'score': NULL, 'x': x, 'y': y, 'width': width, 'height': height,
            'mask': found}], fill := 'mask')
        FROM found ORDER BY image_id
    """
    rows = lake.sql(text.replace("$model", f"'{folder}'")).fetchall()
    for (found, painted), shape in zip(rows, [(60, 90), (110, 70)], strict=True):
        white = np.asarray(Image.open(io.BytesIO(painted)).convert("L"))
        assert white.shape == shape
        assert (white == np.where(pixels(found), 255, 0)).all()
