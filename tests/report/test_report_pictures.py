"""Sample pictures: re-encoded, blurred where asked in the pixels themselves, and never a broken or unsafe one."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

import numpy as np
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.report import pictures

if TYPE_CHECKING:
    from pathlib import Path
    from types import SimpleNamespace

    from counterbalance.report.pictures import Thumbnail

BOX = (80.0, 20.0, 60.0, 200.0)


def encoded(kind: str = "PNG", comment: bytes = b"") -> bytes:
    """320 x 240 noise: blurring shows as a loss of contrast."""
    pixels = np.random.default_rng(0).integers(0, 256, (240, 320, 3), dtype=np.uint8)
    blocks = np.kron(pixels[:60, :80], np.ones((4, 4, 1), dtype=np.uint8))
    return image_bytes(Image.fromarray(blocks), kind, **({"comment": comment} if comment else {}))


def opened(picture: Thumbnail) -> np.ndarray:
    head, data = picture.uri.split(",")
    assert head == "data:image/jpeg;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("L")).astype(float)


def lake_of(build: SimpleNamespace, name: str, images: list[bytes], **columns: list[object]) -> cb.Lake:
    lake = cb.connect(f"memory://pictures-{name}")
    count = len(images)
    ids = list(range(1, count + 1))
    lake.ingest(
        {
            "images": build.images(
                image_id=ids,
                key=[str(i) for i in ids],
                width=[320] * count,
                height=[240] * count,
                sha256=["0" * 64] * count,
                image=images,
                **columns,
            )
        }
    )
    return lake


def taken(lake: cb.Lake, *, blur: bool = False) -> tuple[list[Thumbnail], list[str]]:
    with lake.session() as session:
        return pictures.sample(lake, session, blur=blur)


def with_person(build: SimpleNamespace, name: str, *, crowd: bool = False) -> cb.Lake:
    lake = lake_of(build, name, [encoded()])
    x, y, width, height = BOX
    columns = {"detection_id": [1], "image_id": [1], "category": ["person"], "is_crowd": [crowd]}
    lake.ingest({"detections": build.detections(**columns, x=[x], y=[y], width=[width], height=[height])})
    return lake


def region(pixels: np.ndarray, top: float, bottom: float) -> float:
    """Contrast of a part of the person's box, well inside it."""
    x, y, width, height = BOX
    return float(pixels[int(y + top * height) : int(y + bottom * height), int(x + 8) : int(x + width - 8)].std())


def test_the_head_is_blurred_and_the_rest_is_not(build: SimpleNamespace) -> None:
    lake = with_person(build, "head")
    clear, blurred = opened(taken(lake)[0][0]), opened(taken(lake, blur=True)[0][0])
    assert region(blurred, 0.02, 0.30) < 0.35 * region(clear, 0.02, 0.30)
    assert region(blurred, 0.45, 0.95) == pytest.approx(region(clear, 0.45, 0.95), rel=0.05)


def test_a_crowd_is_blurred_as_a_whole(build: SimpleNamespace) -> None:
    lake = with_person(build, "crowd", crowd=True)
    blurred = opened(taken(lake, blur=True)[0][0])
    assert region(blurred, 0.5, 0.95) < 30


def test_a_picture_without_boxes_is_blurred_as_a_whole(build: SimpleNamespace) -> None:
    lake = lake_of(build, "boxless", [encoded()])
    clear, blurred = opened(taken(lake)[0][0]), opened(taken(lake, blur=True)[0][0])
    assert blurred.std() < 0.35 * clear.std()
    assert "Blurred" in taken(lake, blur=True)[1][0]


def test_metadata_does_not_pass(build: SimpleNamespace) -> None:
    lake = lake_of(build, "metadata", [encoded("JPEG", b"secret place 52.52 N")])
    data = base64.b64decode(taken(lake)[0][0].uri.split(",")[1])
    assert b"secret" not in data


def test_broken_pictures_are_left_out_and_counted(build: SimpleNamespace) -> None:
    good = encoded("JPEG")
    lake = lake_of(build, "broken", [good, b"no picture", good[: len(good) // 2], b""])
    found, notes = taken(lake)
    assert [p.image_id for p in found] == [1]
    assert notes == ["3 pictures could not be read and are left out."]


def test_unsafe_pictures_are_not_shown(build: SimpleNamespace) -> None:
    lake = lake_of(build, "unsafe", [encoded("JPEG")] * 4, nsfw=["UNLIKELY", "NSFW", None, "UNSURE"])
    assert sorted(p.image_id for p in taken(lake)[0]) == [1, 3]


def test_frames_are_shares_of_the_picture(build: SimpleNamespace) -> None:
    frame = taken(with_person(build, "frames"))[0][0].frames[0]
    assert (frame.x * 320, frame.y * 240, frame.width * 320, frame.height * 240) == pytest.approx(BOX)


def test_real_photographs_with_people(data_dir: Path, tmp_path: Path) -> None:
    lake = cb.connect(tmp_path / "mini.lake")
    folder = data_dir / "coco-mini"
    lake.ingest(str(folder / "annotations"), format="coco", images=str(folder), store_images=True)
    clear, blurred = taken(lake)[0], taken(lake, blur=True)[0]
    assert [p.image_id for p in clear] == [p.image_id for p in blurred]
    peopled = [(a, b) for a, b in zip(clear, blurred, strict=True) if any(f.category == "person" for f in a.frames)]
    assert peopled
    for before, after in peopled:
        assert not np.array_equal(opened(before), opened(after))
