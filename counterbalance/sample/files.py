"""The sample in COCO's layout."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from counterbalance.sample.annotate import detection_id
from counterbalance.sample.objects import THINGS
from counterbalance.sample.shapes import HEIGHT, WIDTH, run_lengths

if TYPE_CHECKING:
    from pathlib import Path

    from counterbalance.sample.plan import Scene
    from counterbalance.sample.stage import Item

TITLE: Final = "counterbalance sample"
CATEGORIES: Final = ("person", *THINGS)
_SUPER: Final = {"person": "person"}
_LICENSE: Final = {"id": 1, "name": "CC0 1.0", "url": "https://creativecommons.org/publicdomain/zero/1.0/"}


def file_name(scene: Scene) -> str:
    """Name of the picture."""
    return f"{scene.number:06d}.jpg"


def write_texts(path: Path, scenes: list[Scene], texts: list[list[str]], first: int, *, pictures: bool = True) -> None:
    """A captions file.

    Args:
        path: Where.
        scenes: The images.
        texts: For each image, its texts.
        first: Ids are ten times the image's, plus this and the text's position.
        pictures: Say file names and sizes as well.
    """
    rows = [
        {"id": scene.number * 10 + first + i, "image_id": scene.number, "caption": text}
        for scene, some in zip(scenes, texts, strict=True)
        for i, text in enumerate(some)
    ]
    _write(path, scenes, rows, {}, pictures=pictures)


def write_instances(path: Path, scenes: list[Scene], staged: list[list[Item]]) -> None:
    """The boxes with their masks; a crowd's is run-length coded."""
    rows = [
        row
        for scene, items in zip(scenes, staged, strict=True)
        for i, item in enumerate(items, start=1)
        if (row := _box(scene, i, item)) is not None
    ]
    categories = [
        {"id": i, "name": n, "supercategory": _SUPER.get(n, "thing")} for i, n in enumerate(CATEGORIES, start=1)
    ]
    _write(path, scenes, rows, {"categories": categories})


def _box(scene: Scene, position: int, item: Item) -> dict[str, Any] | None:
    found = item.outline
    if found is None:
        return None
    return {
        "id": detection_id(scene, position),
        "image_id": scene.number,
        "category_id": CATEGORIES.index(item.category) + 1,
        "bbox": list(found.box),
        "area": found.area,
        "iscrowd": int(item.crowd),
        "segmentation": run_lengths(item.drawing) if item.crowd else found.polygons,
    }


def _write(
    path: Path, scenes: list[Scene], rows: list[dict[str, Any]], more: dict[str, Any], *, pictures: bool = True
) -> None:
    images = [
        {"id": s.number, "file_name": file_name(s), "width": WIDTH, "height": HEIGHT, "license": 1}
        if pictures
        else {"id": s.number}
        for s in scenes
    ]
    document = {"info": {"description": TITLE}, "licenses": [_LICENSE], "images": images, **more, "annotations": rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")
