"""instruct_pix2pix and inpaint change what they are told to, as diffusers does, and not a pixel more."""

from __future__ import annotations

import io

import numpy as np
import pytest
from function_calls import called
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.errors import FunctionError, RequestError

torch = pytest.importorskip("torch")
diffusers = pytest.importorskip("diffusers")

EDIT = ("image", "x", "y", "width", "height", "instruction", "guidance", "image_guidance", "steps", "seed")
PAINT = ("image", "mask", "prompt", "guidance", "steps", "seed")
LANCZOS = Image.Resampling.LANCZOS


@pytest.fixture(scope="module")
def editor(tiny_diffusion):
    return tiny_diffusion("StableDiffusionInstructPix2PixPipeline", channels=8)


@pytest.fixture(scope="module")
def painter(tiny_diffusion):
    return tiny_diffusion("StableDiffusionInpaintPipeline", channels=9)


def picture(width=150, height=110, seed=0):
    noise = np.random.default_rng(seed).integers(0, 256, (7, 9, 3), np.uint8)
    return Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC)


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def mask_of(size, *box):
    """White in a box of left, top, right, bottom."""
    mask = Image.new("L", size)
    mask.paste(255, box)
    return mask


def result_of(name, names, folder, *rows, size=64, **more):
    constants = {"model": str(folder), "size": size, **more}
    return called(name, constants, *([row[n] for row in rows] for n in names))


def edited(folder, *rows, size=64):
    plain = {"image": image_bytes(picture()), "x": 20.0, "y": 10.0, "width": 50.0, "height": 80.0, "instruction": "a woman",
             "guidance": 7.5, "image_guidance": 1.5, "steps": 2, "seed": 3}  # fmt: skip
    return result_of("instruct_pix2pix", EDIT, folder, *({**plain, **row} for row in rows), size=size)


def painted(folder, *rows, size=64, **more):
    plain = {"image": image_bytes(picture()), "mask": image_bytes(mask_of((150, 110), 20, 10, 70, 90)), "prompt": "a woman",
             "guidance": 7.5, "steps": 2, "seed": 3}  # fmt: skip
    return result_of("inpaint", PAINT, folder, *({**plain, **row} for row in rows), size=size, **more)


def pipeline_of(kind, folder):
    pipeline = getattr(diffusers, kind).from_pretrained(folder)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def noise(seed):
    return torch.Generator("cpu").manual_seed(seed)


def test_a_box_is_edited_as_diffusers_edits_its_crop(editor):
    source = picture()
    crop = source.crop((20, 10, 70, 90)).resize((64, 128), LANCZOS)
    direct = pipeline_of("StableDiffusionInstructPix2PixPipeline", editor)(
        "a woman", image=crop, guidance_scale=7.5, image_guidance_scale=1.5, num_inference_steps=2, generator=noise(3)
    ).images[0]
    wanted = source.copy()
    wanted.paste(direct.resize((50, 80), LANCZOS), (20, 10))
    result = edited(editor, {}, size=128)
    assert result.errors == {}
    np.testing.assert_array_equal(pixels(result.values[0].as_py()), np.asarray(wanted).astype(int))


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_outside_of_the_box_nothing_changes(editor, kind):
    source = image_bytes(picture(), kind)
    boxes = [(20.0, 10.0, 50.0, 80.0), (-30.0, 60.5, 60.0, 400.0), (0.0, 0.0, 150.0, 110.0), (149.0, 109.0, 9.0, 9.0)]
    rows = [{"image": source, **dict(zip(EDIT[1:5], box, strict=True))} for box in boxes]
    results = edited(editor, *rows)
    assert results.errors == {}
    for (x, y, width, height), data in zip(boxes, results.values.to_pylist(), strict=True):
        across, down = np.arange(150), np.arange(110)
        inside = ((down + 1 > y) & (down < y + height))[:, None] & ((across + 1 > x) & (across < x + width))
        difference = np.abs(pixels(data) - pixels(source)).max(2)
        assert difference[~inside].max(initial=0) == 0
        assert difference[inside].max() > 5


def test_edits_do_not_depend_on_their_company(editor):
    rows = [{}, {"guidance": 15.0}, {"seed": 4}, {"x": 70.0, "width": 30.0}, {"image_guidance": 1.2}, {"steps": 3}]
    together = [pixels(v) for v in edited(editor, *rows).values.to_pylist()]
    for row, found in list(zip(rows, together, strict=True))[1::2]:
        assert np.abs(found - pixels(edited(editor, row).values[0].as_py())).max() <= 1
    assert all(np.abs(together[0] - other).max() > 2 for other in together[1:])


def test_edits_that_cannot_be_fail_alone(editor):
    rows = [{"image": b"GIF89a no picture"}, {"x": 151.0}, {"width": 0.0}, {"x": float("nan")}, {"image_guidance": 0.5},
            {"guidance": float("inf")}, {"instruction": None}, {"image": None}, {"height": None}, {}]  # fmt: skip
    result = edited(editor, *rows)
    assert sorted(result.errors) == [0, 1, 2, 3, 4, 5]
    assert [v.is_valid for v in result.values] == 9 * [False] + [True]
    assert "no box" in result.errors[1]
    assert "image_guidance" in result.errors[4]


@pytest.mark.parametrize(("kind", "channels"), [("StableDiffusionInpaintPipeline", 9), ("StableDiffusionPipeline", 4)])
def test_a_mask_is_painted_as_diffusers_paints_it(tiny_diffusion, painter, kind, channels):
    folder = painter if channels == 9 else tiny_diffusion(kind, channels=channels)
    source, mask = picture(128, 128), mask_of((128, 128), 32, 16, 96, 80)
    direct = pipeline_of("StableDiffusionInpaintPipeline", folder)(
        "a woman", image=source, mask_image=mask, width=128, height=128, guidance_scale=7.5, num_inference_steps=2,
        generator=noise(3),
    ).images[0]  # fmt: skip
    wanted = Image.composite(direct, source, mask)
    result = painted(folder, {"image": image_bytes(source), "mask": image_bytes(mask)}, size=128)
    assert result.errors == {}
    np.testing.assert_array_equal(pixels(result.values[0].as_py()), np.asarray(wanted).astype(int))


def test_outside_of_the_mask_nothing_changes(painter):
    ragged = Image.fromarray(np.random.default_rng(1).integers(0, 256, (110, 150), np.uint8))
    for kind in ("PNG", "JPEG"):
        mask = image_bytes(ragged, kind)
        source = image_bytes(picture(), "JPEG", quality=60)
        found = painted(painter, {"image": source, "mask": mask}).values[0].as_py()
        white = np.asarray(Image.open(io.BytesIO(mask))) >= 128
        difference = np.abs(pixels(found) - pixels(source)).max(2)
        assert difference[~white].max() == 0
        assert difference[white].mean() > 5


def test_a_crop_around_the_mask_is_painted_as_diffusers_paints_it(painter):
    source, mask = picture(), mask_of((150, 110), 40, 30, 80, 70)
    direct = pipeline_of("StableDiffusionInpaintPipeline", painter)(
        "a woman", image=source, mask_image=mask, width=64, height=64, padding_mask_crop=12, guidance_scale=7.5,
        num_inference_steps=2, generator=noise(3),
    ).images[0]  # fmt: skip
    found = pixels(painted(painter, {"mask": image_bytes(mask)}, padding_mask_crop=12).values[0].as_py())
    white = np.asarray(mask) > 0
    assert np.abs(found - np.asarray(direct).astype(int))[white].max() <= 1
    np.testing.assert_array_equal(found[~white], np.asarray(source)[~white])
    assert np.abs(found - pixels(painted(painter, {"mask": image_bytes(mask)}).values[0].as_py())).max() > 2


def test_a_strength_keeps_more_of_what_was_there_as_diffusers_does(painter):
    source, mask = picture(128, 128), mask_of((128, 128), 32, 16, 96, 80)
    direct = pipeline_of("StableDiffusionInpaintPipeline", painter)(
        "a woman", image=source, mask_image=mask, width=128, height=128, strength=0.5, guidance_scale=7.5,
        num_inference_steps=4, generator=noise(3),
    ).images[0]  # fmt: skip
    row = {"image": image_bytes(source), "mask": image_bytes(mask), "steps": 4}
    result = painted(painter, row, {**row, "steps": 1}, size=128, strength=0.5)
    np.testing.assert_array_equal(
        pixels(result.values[0].as_py()), np.asarray(Image.composite(direct, source, mask)).astype(int)
    )
    assert "too few" in result.errors[1]


@pytest.mark.parametrize("wrong", [{"padding_mask_crop": -1}, {"strength": 0.0}, {"strength": 1.5}])
def test_settings_of_painting_out_of_range_are_refused(painter, wrong):
    with pytest.raises(FunctionError) as error:
        painted(painter, {}, **wrong)
    assert error.value.code == "E8116"


def test_painting_does_not_depend_on_its_company(painter):
    rows = [{}, {"guidance": 9.5}, {"mask": image_bytes(mask_of((150, 110), 0, 0, 40, 40))}, {"image": image_bytes(picture(64, 64)),
             "mask": image_bytes(mask_of((64, 64), 8, 8, 60, 60))}]  # fmt: skip
    together = [pixels(v) for v in painted(painter, *rows).values.to_pylist()]
    for row, found in list(zip(rows, together, strict=True))[1::2]:
        assert np.abs(found - pixels(painted(painter, row).values[0].as_py())).max() <= 1


def test_painting_that_cannot_be_fails_alone(painter):
    rows = [{"mask": image_bytes(mask_of((150, 109), 0, 0, 9, 9))}, {"mask": image_bytes(Image.new("L", (150, 110), 127))},
            {"mask": b"\xff\xd8\xff"}, {"image": b""}, {"steps": 0}, {"mask": None}, {}]  # fmt: skip
    result = painted(painter, *rows)
    assert sorted(result.errors) == [0, 1, 2, 3, 4]
    assert [v.is_valid for v in result.values] == 6 * [False] + [True]
    assert "mask of 150 x 109" in result.errors[0]
    assert "nothing" in result.errors[1]
    assert result.errors[2].startswith("mask: ")


def test_a_flagged_edit_is_an_error(tiny_diffusion):
    folder = tiny_diffusion("StableDiffusionInpaintPipeline", channels=9, flags=True)
    result = painted(folder, {})
    assert not result.values[0].is_valid
    assert result.errors[0].startswith("nsfw")


def test_a_checkpoint_for_something_else_is_refused(editor, painter):
    for call, folder in ((edited, painter), (painted, editor)):
        with pytest.raises(RequestError) as error:
            call(folder, {})
        assert error.value.code == "E3601"


def test_sizes_are_multiples_of_64(editor):
    with pytest.raises(FunctionError) as error:
        edited(editor, {}, size=72)
    assert error.value.code == "E8116"
