"""Headers of every format are read as Pillow reads the picture, without decoding it."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from image_files import image_bytes
from PIL import Image, JpegImagePlugin

from counterbalance.engine import images
from counterbalance.engine.images import HEAD_BYTES, Header, read_file_header, read_header, sha256

DATA = Path(os.environ.get("COUNTERBALANCE_DATA") or Path(__file__).parents[3] / "shared" / "data")
FORMATS = ["JPEG", "PNG", "WEBP", "GIF", "BMP"]


def picture(kind, size=(31, 17), mode="RGB", **options):
    return image_bytes(Image.new(mode, size, 7 if mode in {"L", "P"} else None), kind, **options)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("size", [(1, 1), (31, 17), (3000, 2)])
def test_size_and_format(kind, size):
    assert read_header(picture(kind, size)) == Header(kind, *size)


@pytest.mark.parametrize(
    ("kind", "mode", "options"),
    [
        ("JPEG", "L", {}),
        ("JPEG", "CMYK", {}),
        ("JPEG", "RGB", {"progressive": True}),
        ("PNG", "RGBA", {}),
        ("PNG", "I;16", {}),
        ("PNG", "P", {}),
        ("WEBP", "RGB", {"lossless": True}),
        ("WEBP", "RGBA", {}),
        ("GIF", "P", {}),
        ("GIF", "RGB", {"save_all": True, "append_images": [Image.new("RGB", (31, 17), 9)]}),
        ("WEBP", "RGB", {"save_all": True, "append_images": [Image.new("RGB", (31, 17), 9)]}),
    ],
)
def test_kinds_of_a_format(kind, mode, options):
    assert read_header(picture(kind, mode=mode, **options)) == Header(kind, 31, 17)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("turn", range(10))
def test_orientation_is_noted_and_the_size_stays_as_stored(kind, turn):
    exif = Image.Exif()
    exif[0x0112] = turn
    header = read_header(picture(kind, exif=exif))
    assert (header.width, header.height) == (31, 17)
    assert header.orientation == (turn if 1 <= turn <= 8 else 1)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_is_read_no_further_than_needed(kind):
    noise = Image.effect_noise((700, 500), 90)
    data = image_bytes(noise, kind)
    file = io.BytesIO(data)
    assert read_file_header(file, len(data)) == Header(kind, 700, 500)
    if kind in {"JPEG", "PNG", "GIF", "BMP"}:
        assert file.tell() == HEAD_BYTES < len(data)


def test_a_header_behind_a_large_comment_is_found():
    data = picture("JPEG")
    comment = b"\xff\xfe" + (60_002).to_bytes(2, "big") + b"c" * 60_000
    data = data[:2] + comment * 3 + data[2:]
    assert read_file_header(io.BytesIO(data)) == Header("JPEG", 31, 17)


def test_digest():
    assert sha256(b"abc") == hashlib.sha256(b"abc").hexdigest()


def test_real_photographs():
    paths = sorted((DATA / "coco-mini").glob("*2017/*.jpg"))
    if not paths:
        pytest.skip(f"no real data at {DATA}; set COUNTERBALANCE_DATA")
    for path in paths:
        with Image.open(path) as opened:
            assert read_header(path.read_bytes()) == Header("JPEG", *opened.size)


@pytest.mark.parametrize("mode", ["RGB", "L"])
@given(flips=st.lists(st.tuples(st.integers(0, 700), st.integers(0, 255)), max_size=3))
def test_the_short_way_through_a_jpeg_says_what_pillow_says(mode, flips):
    data = bytearray(picture("JPEG", mode=mode))
    for at, value in flips:
        data[at % len(data)] = value
    short = images._plain_jpeg(bytes(data)) if data[:3] == b"\xff\xd8\xff" else None
    assert short is not None or flips
    if short is None:
        return
    opened = None
    with contextlib.suppress(Exception):  # Pillow may refuse what only a decoder needs
        opened = JpegImagePlugin.JpegImageFile(io.BytesIO(bytes(data)))
    assert opened is not None or flips
    if opened is not None:
        assert opened.size == (short.width, short.height)
