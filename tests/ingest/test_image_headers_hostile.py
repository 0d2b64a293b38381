"""Bytes that only pretend to be a picture give one kind of error, in little time and memory."""

from __future__ import annotations

import contextlib
import io
import resource
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from image_files import image_bytes
from PIL import Image

from counterbalance.engine import images
from counterbalance.engine.images import ImageError, read_file_header, read_header


def picture(kind, size=(31, 17)):
    return image_bytes(Image.new("RGB", size), kind)


def png(width, height, chunks=b""):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunks + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def webp(kind, payload):
    body = b"WEBP" + kind + struct.pack("<I", len(payload)) + payload
    return b"RIFF" + struct.pack("<I", len(body)) + body


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_image"),
        (b"<html>", "not_an_image"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not_an_image"),
        (b"%PDF-1.7", "not_an_image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0", "not_an_image"),
        (b"II*\0\x08\0\0\0", "not_an_image"),
        (b"\0\0\0\x0cjP  \r\n\x87\n", "not_an_image"),
        (b"SIMPLE  =                    T", "not_an_image"),
        (b"\xff\xd8\xff", "bad_image"),
        (b"\x89PNG\r\n\x1a\n", "bad_image"),
        (b"GIF89a", "bad_image"),
        (b"BM", "bad_image"),
        (b"RIFF\0\0\0\0WEBP", "bad_image"),
        (png(100_000, 100_000), "too_big"),
        (png(2**31 - 1, 2**31 - 1), "too_big"),
        (png(0, 5), "bad_image"),
        (webp(b"VP8X", b"\0" * 4 + b"\xff" * 6), "too_big"),
        (webp(b"VP8L", b"\x2f" + b"\xff" * 8), "too_big"),
        (webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + b"\xff" * 8), "too_big"),
        (b"GIF89a" + b"\xff\xff\xff\xff" + b"\0" * 20, "bad_image"),
        (b"BM" + b"\0" * 8 + struct.pack("<IIiiHH", 54, 40, 60_000, 60_000, 1, 24) + b"\0" * 60, "too_big"),
    ],
)
def test_refused_with_its_code(data, code, record_property):
    record_property("pictures", 1)
    with pytest.raises(ImageError) as caught:
        read_header(data)
    assert caught.value.code == code


def test_too_many_bytes(monkeypatch):
    monkeypatch.setattr(images, "MAX_BYTES", 100)
    for attempt in (read_header, lambda d: read_file_header(io.BytesIO(d), len(d))):
        with pytest.raises(ImageError) as caught:
            attempt(picture("JPEG"))
        assert caught.value.code == "too_big"


def test_a_text_chunk_that_unpacks_to_a_gigabyte_costs_nothing():
    bomb = zlib.compress(bytes(1 << 20), 9)
    packed = b"Comment\0\0" + bomb
    chunk = struct.pack(">I", len(packed)) + b"zTXt" + packed + struct.pack(">I", zlib.crc32(b"zTXt" + packed))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ImageError) as caught:
        read_header(png(5, 5, chunk * 80))
    assert caught.value.code == "bad_image"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


@given(data=st.data(), kind=st.sampled_from(["JPEG", "PNG", "WEBP", "GIF", "BMP"]))
def test_damage_gives_a_header_or_an_image_error(data, kind):
    whole = bytearray(picture(kind))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    with contextlib.suppress(ImageError):
        header = read_header(cut)
        assert 0 < header.width * header.height <= images.MAX_PIXELS
