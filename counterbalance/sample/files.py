"""The files of the sample: COCO's layout, webdataset shards as img2dataset makes them, and the text that says what is in it."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import textwrap
from typing import TYPE_CHECKING, Any, Final

from counterbalance.sample.annotate import detection_id
from counterbalance.sample.objects import THINGS
from counterbalance.sample.shapes import HEIGHT, WIDTH, run_lengths

if TYPE_CHECKING:
    from pathlib import Path

    from counterbalance.sample.plan import Scene
    from counterbalance.sample.stage import Item
    from counterbalance.sample.truth import Planted, Quantity

TITLE: Final = "counterbalance sample"
CATEGORIES: Final = ("person", *THINGS)
_SUPER: Final = {"person": "person"}
_LICENSE: Final = {"id": 1, "name": "CC0 1.0", "url": "https://creativecommons.org/publicdomain/zero/1.0/"}
SHARD: Final = 100
_URL: Final = "https://sample.invalid/{:06d}.jpg"
_HEAD: Final = """\
counterbalance sample: {images} drawn pictures with planted biases (seed {seed})

Everything here was made by counterbalance: no photograph, no real person, no text of
anybody else. Take it as CC0 1.0.

The people are drawn toys. Their perceived race or ethnicity is one of three invented
groups, amber, teal and violet, told by a skin colour that nobody has: the sample shows
what a bias looks like in numbers and says nothing about anybody.

  images/          320 x 240 JPEG
  annotations/     COCO: captions_sample.json (three a picture) and instances_sample.json
                   (boxes, polygon masks, some crowds as run-length masks)
  alt_text/        COCO captions file with one alt-text a picture, as web pages have them
  labels.csv       perceived gender and perceived race or ethnicity of every figure by two
                   annotators who do not always agree, the scene, and a made-up 'hateful' score
  shards/          the same pictures and alt-texts as webdataset shards (img2dataset's layout);
                   their keys have nine digits, so take them into a lake of their own
  planted.json     the numbers below, exactly

To take it in:

  counterbalance ingest sample.lake annotations --images images --store-images
  counterbalance ingest sample.lake alt_text --origin alt_text
  counterbalance ingest sample.lake labels.csv

What was planted. 'population' is the value that the sample is drawn from, 'here' the value in
these very files, counted without the engine. An audit's value is the second, and its 95 %
interval holds the first, as a rule 19 times in 20.

"""


def file_name(scene: Scene) -> str:
    """Return the name of the picture."""
    return f"{scene.number:06d}.jpg"


def write_texts(path: Path, scenes: list[Scene], texts: list[list[str]], first: int, *, pictures: bool = True) -> None:
    """Write a captions file.

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
    """Write the boxes with their masks; a crowd's is run-length coded."""
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


def write_shards(folder: Path, scenes: list[Scene], pictures: list[bytes], alts: list[str]) -> None:
    """Write shards of a hundred samples: ``KEY.jpg``, ``KEY.txt`` (the alt-text), ``KEY.json``; keys have nine digits."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, len(scenes), SHARD)):
        rows = [
            _row(number, i, scene, picture, alt)
            for i, (scene, picture, alt) in enumerate(
                zip(
                    scenes[start : start + SHARD],
                    pictures[start : start + SHARD],
                    alts[start : start + SHARD],
                    strict=True,
                )
            )
        ]
        _write_tar(folder / f"{number:05d}.tar", rows, pictures[start : start + SHARD])
        _write_sidecar(folder / f"{number:05d}.parquet", rows)
        statistics = {"count": len(rows), "failed_to_download": 0, "failed_to_resize": 0, "successes": len(rows)}
        (folder / f"{number:05d}_stats.json").write_text(json.dumps(statistics, indent=4) + "\n", encoding="utf-8")


def _row(shard: int, position: int, scene: Scene, picture: bytes, alt: str) -> dict[str, Any]:
    return {
        "url": _URL.format(scene.number),
        "caption": alt,
        "key": f"{shard:05d}{position:04d}",
        "status": "success",
        "width": WIDTH,
        "height": HEIGHT,
        "original_width": WIDTH,
        "original_height": HEIGHT,
        "sha256": hashlib.sha256(picture).hexdigest(),
    }


def _write_tar(path: Path, rows: list[dict[str, Any]], pictures: list[bytes]) -> None:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for row, picture in zip(rows, pictures, strict=True):
            told = json.dumps(row, indent=4).encode()
            for ending, data in (("jpg", picture), ("json", told), ("txt", row["caption"].encode())):
                member = tarfile.TarInfo(f"{row['key']}.{ending}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))


def _write_sidecar(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows), path)


def readme(planted: Planted) -> str:
    """Return the text."""
    head = _HEAD.format(images=f"{planted.images:,}", seed=planted.seed)
    return head + "\n".join(_quantity(q) for q in planted.quantities)


def _quantity(q: Quantity) -> str:
    here = "not counted" if q.sample is None else f"{q.sample:.4f}"
    says = textwrap.fill(f"{q.says} ({q.made})", 88, initial_indent="  ", subsequent_indent="  ")
    given = " ".join([f'{k}="{v}"' if " " in str(v) or "'" in str(v) else f"{k}={v}" for k, v in q.parameters.items()])
    rows = ", ".join(f"{k} = {v}" for k, v in q.where.items())
    how = f"  counterbalance audit sample.lake {q.audit} {given}".rstrip()
    return f"{q.name}\n{says}\n  population {q.population:.4f}   here {here}\n{how}\n  -> {q.column}{' where ' + rows if rows else ''}\n"
