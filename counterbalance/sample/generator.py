"""Write the sample: pictures, COCO files, shards, labels, and what was planted."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import RequestError
from counterbalance.sample import annotate, files, words
from counterbalance.sample.plan import make_plan
from counterbalance.sample.shapes import render
from counterbalance.sample.stage import stage
from counterbalance.sample.truth import Planted, planted

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

MARK: Final = "planted.json"
_MOST: Final = 999_999


def generate(
    directory: str | os.PathLike[str],
    images: int = 400,
    seed: int = 0,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Planted:
    """Write the sample dataset into a folder; equal arguments give equal bytes.

    Args:
        directory: A folder that is empty, absent, or holds an earlier sample (which is replaced).
        images: How many pictures.
        seed: Another seed gives another sample of the same population.
        progress: Called with pictures done and their number.

    Returns:
        What was planted, as in ``planted.json``.

    Raises:
        RequestError: ``images`` is not in 1 to 999,999 (``E3070``), or the folder holds something else (``E3071``).
    """
    if not 1 <= images <= _MOST:
        raise RequestError(f"a sample has 1 to {_MOST:,} images, not {images}", code="E3070")
    folder = _prepared(Path(directory))
    scenes = make_plan(images, seed)
    staged = [stage(scene) for scene in scenes]
    items = [found for _, found in staged]
    pictures = []
    (folder / "images").mkdir(exist_ok=True)
    for scene, (parts, _) in zip(scenes, staged, strict=True):
        pictures.append(render(parts))
        (folder / "images" / files.file_name(scene)).write_bytes(pictures[-1])
        if progress is not None:
            progress(scene.number, images)
    said, alts = [words.captions(s) for s in scenes], [words.alt_text(s) for s in scenes]
    files.write_texts(folder / "annotations" / "captions_sample.json", scenes, said, 1)
    files.write_texts(folder / "alt_text" / "captions_sample.json", scenes, [[a] for a in alts], 4, pictures=False)
    files.write_instances(folder / "annotations" / "instances_sample.json", scenes, items)
    files.write_shards(folder / "shards", scenes, pictures, alts)
    labels = annotate.labels(scenes, items, seed)
    _write_labels(folder / "labels.csv", labels)
    found = planted(scenes, items, labels, seed)
    (folder / "README.txt").write_text(files.readme(found), encoding="utf-8")
    (folder / MARK).write_text(json.dumps(found.to_dict(), indent=2) + "\n", encoding="utf-8")
    return found


def _prepared(folder: Path) -> Path:
    """Return the folder without an earlier sample in it."""
    if folder.exists() and not folder.is_dir():
        raise RequestError(f"{folder} is a file, not a folder", code="E3071", hint="name another folder")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / MARK).is_file():
            raise RequestError(
                f"{folder} is not empty and holds no sample; nothing was written",
                code="E3071",
                hint="name a new folder; only an earlier sample is replaced",
            )
        _clear(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


_OWN: Final = {
    "images": ("*.jpg",),
    "annotations": ("captions_sample.json", "instances_sample.json"),
    "alt_text": ("captions_sample.json",),
    "shards": ("?????.tar", "?????.parquet", "?????_stats.json"),
    ".": ("labels.csv", "README.txt", MARK),
}
"""What an earlier sample wrote; nothing else is ever removed."""


def _clear(folder: Path) -> None:
    for name, patterns in _OWN.items():
        for pattern in patterns:
            for file in sorted((folder / name).glob(pattern)):
                file.unlink()
        if name != "." and (folder / name).is_dir() and not any((folder / name).iterdir()):
            (folder / name).rmdir()


def _write_labels(path: Path, labels: Sequence[annotate.Label]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["image_id", "detection_id", "attribute", "value", "score", "annotator"])
        for row in labels:
            writer.writerow([row.image_id, row.detection_id, row.attribute, row.value, row.score, row.annotator])
