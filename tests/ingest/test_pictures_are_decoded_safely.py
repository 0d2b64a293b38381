"""Pixels of pictures that nobody has checked: RGB as stored, or one error."""

from __future__ import annotations

import numpy as np
import pytest
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.images import ImageError, decode, encode

PIXELS = np.arange(40 * 30 * 3, dtype=np.uint32).reshape(40, 30, 3).astype(np.uint8)


@pytest.mark.parametrize("kind", ["PNG", "BMP", "WEBP"])
def test_pixels_are_those_that_were_saved(kind):
    options = {"lossless": True} if kind == "WEBP" else {}
    assert (np.asarray(decode(image_bytes(Image.fromarray(PIXELS), kind, **options))) == PIXELS).all()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK"])
def test_every_mode_of_eight_bits_comes_as_rgb(mode):
    picture = decode(image_bytes(Image.fromarray(PIXELS).convert(mode), "JPEG" if mode == "CMYK" else "PNG"))
    assert (picture.mode, picture.size) == ("RGB", (30, 40))


def test_sixteen_bits_are_refused_for_they_would_be_clipped():
    deep = Image.fromarray(np.full((4, 4), 300, np.uint16))
    with pytest.raises(ImageError, match="eight bits"):
        decode(image_bytes(deep, "PNG"))


def test_a_picture_is_not_turned():
    exif = Image.Exif()
    exif[0x0112] = 6
    assert decode(image_bytes(Image.fromarray(PIXELS), "JPEG", exif=exif)).size == (30, 40)


def test_of_an_animation_the_first_frame_is_taken():
    frames = [Image.fromarray(np.full((4, 4, 3), v, np.uint8)) for v in (0, 255)]
    assert np.asarray(decode(image_bytes(frames[0], "GIF", save_all=True, append_images=frames[1:]))).max() == 0


@pytest.mark.parametrize(
    ("side", "size"), [(150, (150, 200)), (200, (150, 200)), (201, (300, 400)), (2000, (600, 800))]
)
def test_a_large_jpeg_may_come_smaller(side, size):
    large = image_bytes(Image.fromarray(np.zeros((800, 600, 3), np.uint8)), "JPEG")
    assert decode(large, side=side).size == size


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_a_cut_picture_is_an_error(kind):
    whole = image_bytes(Image.fromarray(np.random.default_rng(0).integers(0, 255, (60, 60, 3), np.uint8)), kind)
    with pytest.raises(ImageError):
        decode(whole[: len(whole) // 2])


def test_encoding_keeps_pixels_and_nothing_else():
    picture = Image.fromarray(PIXELS)
    picture.info["comment"] = "where it was taken"
    data = encode(picture)
    assert (np.asarray(decode(data)) == PIXELS).all()
    assert b"taken" not in data
