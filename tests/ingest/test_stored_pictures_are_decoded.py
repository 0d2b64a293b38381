"""A picture whose bytes are stored was decoded whole: one that is cut off, damaged or too deep is refused, with a reason."""

from __future__ import annotations

import io
import json
import zlib

import numpy as np
import pytest
from archives import tar_bytes
from image_files import image_bytes
from PIL import Image

NOISE = np.random.default_rng(0).integers(0, 255, (90, 120, 3), dtype=np.uint8)


def saved(kind, pixels=NOISE, **options):
    return image_bytes(Image.fromarray(pixels), kind, **options)


def with_bad_checksum():
    data = bytearray(saved("PNG"))
    at = data.index(b"IDAT")
    data[at + 4 + int.from_bytes(data[at - 4 : at], "big")] ^= 1
    return bytes(data)


GOOD = {
    "a.jpg": saved("JPEG"),
    "b.png": saved("PNG"),
    "c.webp": saved("WEBP"),
    "d.gif": saved("GIF"),
    "e.bmp": saved("BMP"),
}
CUT = {
    f"cut{part}-{name}": data[: int(len(data) * part)] for name, data in GOOD.items() for part in (0.3, 0.7, 0.95)
} | {f"end-{name}": data[:-1] for name, data in GOOD.items() if not name.endswith("gif")}


def with_sixteen_bits():
    """RGB of 16 bits a channel, which Pillow reads as eight without a word."""

    def chunk(kind, data):
        return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)

    head = (1).to_bytes(4) + (1).to_bytes(4) + bytes([16, 2, 0, 0, 0])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(7))) + chunk(b"IEND", b"")


DEEP = {
    "grey.png": saved("PNG", np.full((9, 9), 300, np.uint16)),
    "rgb.png": with_sixteen_bits(),
}


def with_few_rows():
    """A PNG whose chunks are sound, and whose pixels end before the last row."""
    data = saved("PNG")
    at = data.index(b"IDAT")
    size = int.from_bytes(data[at - 4 : at])
    packed = b"IDAT" + zlib.compress(zlib.decompress(data[at + 4 : at + 4 + size])[:-400])
    chunk = (len(packed) - 4).to_bytes(4) + packed + zlib.crc32(packed).to_bytes(4)
    return data[: at - 4] + chunk + data[at + 8 + size :]


HOLES = {
    "zeros.jpg": GOOD["a.jpg"][: len(GOOD["a.jpg"]) // 2].ljust(len(GOOD["a.jpg"]), b"\0"),
    "rows.png": with_few_rows(),
    "checksum.png": with_bad_checksum(),
}
BAD = {**CUT, **DEEP, **HOLES}


@pytest.fixture(params=["imagefolder", "webdataset", "coco"])
def source(request, tmp_path):
    """All pictures as a source of each format that stores some: its URI, and options of the ingest."""
    folder = tmp_path / "data"
    folder.mkdir()
    every = GOOD | BAD
    if request.param == "webdataset":
        path = folder / "0.tar"
        members = enumerate(every.items())
        path.write_bytes(tar_bytes((f"{n:03}.{name.rpartition('.')[2]}", data) for n, (name, data) in members))
        return str(path), {"format": "webdataset"}
    for name, data in every.items():
        (folder / name).write_bytes(data)
    if request.param == "imagefolder":
        return str(folder), {"format": "imagefolder"}
    path = tmp_path / "instances.json"
    images = [{"id": i + 1, "file_name": name, "width": 9, "height": 9} for i, name in enumerate(every)]
    path.write_text(json.dumps({"images": images, "annotations": [], "categories": []}))
    return str(path), {"format": "coco", "images": str(folder)}


def test_what_cannot_be_decoded_is_refused_with_a_reason(source, disk_lake):
    uri, options = source
    report = disk_lake.ingest(uri, store_images=True, **options)
    [(count,)] = disk_lake.sql("SELECT count(*) FROM images WHERE sha256 IS NOT NULL").fetchall()
    codes = disk_lake.sql("SELECT code, count(*) FROM meta.errors GROUP BY 1 ORDER BY 1").fetchall()
    assert count == len(GOOD)
    assert codes == [("bad_image", len(CUT) + len(HOLES)), ("too_deep", len(DEEP))]
    assert report.rows_read == len(GOOD) + len(BAD)
    messages = [m for (m,) in disk_lake.sql("SELECT message FROM meta.errors").fetchall()]
    assert all("cannot be decoded" in m or "eight bits" in m or "header" in m for m in messages)


def test_pictures_that_are_not_stored_are_known_by_their_headers(tmp_path, disk_lake):
    for name, data in {"a.jpg": GOOD["a.jpg"], "cut.jpg": GOOD["a.jpg"][:-200]}.items():
        (tmp_path / name).write_bytes(data)
    disk_lake.ingest(str(tmp_path), format="imagefolder")
    assert disk_lake.sql("SELECT key, width FROM images ORDER BY 1").fetchall() == [("a.jpg", 120), ("cut.jpg", 120)]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
@pytest.mark.parametrize("size", [(1, 1), (3, 2), (5, 9), (121, 90)])
def test_whole_pngs_of_every_kind_are_taken(mode, size):
    """Written by Pillow, and interlaced by hand: seven passes, each row behind a filter of 0 (PNG, section 8.2)."""
    from counterbalance.engine.images import _PASSES, check

    picture = Image.effect_noise(size, 90).convert(mode)
    data = image_bytes(picture)
    assert check(data).width == size[0]
    if mode not in {"L", "RGB", "RGBA"}:
        return
    pixels = np.asarray(picture)
    rows = [b"\0" + r.tobytes() for x, y, dx, dy in _PASSES for r in pixels[y::dy, x::dx] if r.size]
    kinds = {"L": 0, "RGB": 2, "RGBA": 6}

    def chunk(kind, held):
        return len(held).to_bytes(4) + kind + held + zlib.crc32(kind + held).to_bytes(4)

    head = size[0].to_bytes(4) + size[1].to_bytes(4) + bytes([8, kinds[mode], 0, 0, 1])
    for cut in (0, 1):
        packed = zlib.compress(b"".join(rows)[: -cut or None])
        made = data[:8] + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")
        if cut:
            with pytest.raises(ValueError, match="cut off"):
                check(made)
        else:
            assert check(made).height == size[1]
            assert np.array_equal(np.asarray(Image.open(io.BytesIO(made))), pixels)
