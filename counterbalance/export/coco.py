"""COCO documents and their pictures: ``annotations/captions_SPLIT.json``, ``instances_SPLIT.json``, ``images/SPLIT/``.

A row is about an image (``image_id``; of edits ``edit_id``, or an integer column named as key) and may hold captions (``text``, or a list) and a box (``x``, ``y``, ``width``,
``height``, ``category`` beside ``detection_id``) or a list of boxes (``objects``, of the type that ``detect`` gives), and a picture ``mask``, whose white pixels
go along as run lengths; an image that comes again is written once. Of the table ``images``, captions and boxes of the lake come along. Documents are put together from parts on the disk, however long they are.
"""

from __future__ import annotations

import glob
import json
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import numpy as np
import orjson
import pyarrow as pa

from counterbalance.engine.errors import RequestError
from counterbalance.engine.images import ImageError, decode, read_header
from counterbalance.export import names, rows
from counterbalance.export.run import export as run
from counterbalance.export.shards import Form, Limit, Records
from counterbalance.udfs import masks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterbalance.export.shards import Output

_ALL: Final = "all"
"""Stands for the split where rows tell none."""
_KINDS: Final = ("captions", "instances")
_RECORDS: Final = {
    "images": {"id": pa.int64(), "file_name": pa.string(), "width": pa.int64(), "height": pa.int64()},
    "captions": {"id": pa.int64(), "image_id": pa.int64(), "caption": pa.string()},
    "instances": {"id": pa.int64(), "image_id": pa.int64(), "bbox": pa.list_(pa.float64())},
}
"""Columns that every entry of a document has, for its description."""
_BOX: Final = ("x", "y", "width", "height")
_OWN: Final = frozenset(
    {*_BOX, "caption_id", "detection_id", "category", "area", "is_crowd", "mask", "keypoints", "score"}
)
_MASK: Final = "mask"
_GREY: Final = 127
"""Pixels that are lighter are in a mask."""
_KNOWN: Final = frozenset({"image_id", "key", "split", "license", "width", "height", "file_name", "id"})
_OF_IMAGES: Final = (
    "SELECT * FROM images",
    "SELECT caption_id, image_id, text FROM captions WHERE text IS NOT NULL ORDER BY caption_id",
    (
        "SELECT detection_id, image_id, category, x, y, width, height, area, is_crowd, mask, keypoints FROM detections "
        "ORDER BY detection_id"
    ),
)


class Coco(Form):
    """Write one COCO document of each kind for each split."""

    name = "coco"

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._documents: dict[str, _Document] = {}
        self._seen: dict[int, tuple[str, int]] = {}
        self._categories: dict[str, int] = {}
        self._once = names.Once()
        self._unseen: set[int] = set()

    @staticmethod
    def statements(what: str) -> list[str]:
        """Return one query; of ``images`` those of its captions and boxes, too."""
        return list(_OF_IMAGES) if rows.table_name(what) == "images" else [rows.query_of(what)]

    @classmethod
    def check(cls, columns: Sequence[rows.ColumnRoles], limit: Limit) -> None:
        """Refuse rows without pictures or integer ids; a document has no shards.

        Raises:
            RequestError: They are not there, or shards were asked for (E3675).
        """
        super().check(columns, limit)
        if limit != Limit():
            raise RequestError(
                "a COCO document has no shards", code="E3675", hint="leave --shard-size out, or export parts by split"
            )
        for given in columns:
            number_of(given)

    def add(self, batch: pa.RecordBatch, columns: rows.ColumnRoles, first: int) -> None:
        """Write pictures, captions and boxes."""
        column = number_of(columns)
        for sample in rows.samples(batch, columns, first):
            number = sample.row[column]
            is_new = not self._known(number, sample)
            if is_new and not self._image(number, sample, columns):
                continue
            document = self._document(self._seen[number][0])
            for box in _objects(sample.row) if is_new else []:
                document.box(number, box)
            for text in sample.texts:
                document.caption(number, text, sample.row.get("caption_id"))
            if sample.row.get("detection_id") is not None or _is_box(sample.row):
                document.box(number, sample.row)

    def _known(self, number: Any, sample: rows.Sample) -> bool:
        """Return whether the image was written before.

        Raises:
            RequestError: With another picture (E3675).
        """
        if number not in self._seen:
            return False
        if sample.picture is not None and hash(sample.picture) != self._seen[number][1]:
            raise RequestError(
                f"two pictures are called {number}", code="E3675", hint="name a column that tells them apart with --key"
            )
        return True

    def records(self, columns: rows.ColumnRoles) -> list[Records]:
        """Return the images, captions and boxes of the documents that there are."""
        del columns
        kinds = {kind for d in self._documents.values() for kind in d.kinds()}
        first = {split: d.kinds()[0] for split, d in sorted(self._documents.items())} or {_ALL: "image_info"}
        alike = set(first.values())  # else each split's images stand in a document of its own kind, and once each
        named = [f"annotations/{glob.escape(f'{kind}_{split}')}.json" for split, kind in first.items()]
        files = f"annotations/{alike.pop()}_*.json" if len(alike) == 1 else named
        return [Records("images", files, _RECORDS["images"], "$.images[*]")] + [
            Records(kind, f"annotations/{kind}_*.json", _RECORDS[kind], "$.annotations[*]")
            for kind in _KINDS
            if kind in kinds
        ]

    def close(self) -> None:
        """Put the documents together."""
        for split in sorted(self._documents) or [_ALL]:
            for name, count, size in self._document(split).finish():
                self._output.shards.append({"name": name, "rows": count, "bytes": size})

    def _document(self, split: str) -> _Document:
        if split not in self._documents:
            self._documents[split] = _Document(self._output, split, self._categories)
        return self._documents[split]

    def _image(self, number: Any, sample: rows.Sample, columns: rows.ColumnRoles) -> bool:
        """Write the picture of an image that is new; whether there is one."""
        if sample.picture is None or number is None:
            if columns.picture is not None and number not in self._unseen:
                self._unseen.add(number)
                self._output.skipped += 1
            return False
        split = str(sample.row.get("split") or _ALL)
        key = number if columns.key is None or columns.key in _OWN else sample.key
        stem = names.stem(names.stem(split) + "/" + names.stem(key))
        self._once.check(stem)
        file = f"{stem}.{names.ending(key, sample.picture)}"
        self._output.folder.draft(f"images/{file}").write_bytes(sample.picture)
        self._output.folder.publish(f"images/{file}")
        document = self._document(split)
        document.image(number, file.partition("/")[2], sample)
        document.size += len(sample.picture)
        self._output.rows += 1
        self._seen[number] = (split, hash(sample.picture))
        return True


def number_of(columns: rows.ColumnRoles) -> str:
    """Return the column of integers that names images.

    Raises:
        RequestError: There is none (E3675).
    """
    names_ = [columns.key] if columns.key not in _OWN else []
    for name in [*names_, "image_id"]:
        if name in columns.schema.names and str(columns.schema.field(name).type) in {"int32", "int64"}:
            return str(name)
    raise RequestError("COCO names images by integers", code="E3675", hint="select a column image_id of integers")


def _is_box(row: Mapping[str, Any]) -> bool:
    return row.get("category") is not None and all(row.get(side) is not None for side in _BOX)


def _objects(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the boxes that a row lists, none where its objects are something else."""
    listed = row.get("objects")
    return [o for o in listed if isinstance(o, dict) and _is_box(o)] if isinstance(listed, list) else []


def _run_lengths(picture: bytes) -> dict[str, Any] | None:
    """Return the white pixels of a picture as COCO's packed run lengths; ``None`` of one that cannot be read."""
    try:
        white = np.asarray(decode(picture))[:, :, 0] > _GREY
    except ImageError:
        return None
    lengths: dict[str, Any] = orjson.loads(masks.encode(white))
    return lengths


class _Document:
    """The documents of a split, in parts."""

    def __init__(self, output: Output, split: str, categories: dict[str, int]) -> None:
        self._categories = categories
        self._output, self._split = output, names.stem(split).replace("/", "-")
        self._files: dict[str, BinaryIO] = {}
        self._counts = dict.fromkeys(("images", *_KINDS), 0)
        self._licenses: dict[str, int] = {}
        self.size = 0

    def _line(self, part: str, value: Mapping[str, Any]) -> None:
        if part not in self._files:
            self._files[part] = self._output.folder.open(f"parts/{self._split}.{part}")
        self._files[part].write((b",\n" if self._counts[part] else b"") + orjson.dumps(value))
        self._counts[part] += 1

    def image(self, number: int, file: str, sample: rows.Sample) -> None:
        """Write an image; what the row says of it goes along."""
        width, height = _size(sample)
        said: dict[str, Any] = {"id": number, "file_name": file, "width": width, "height": height}
        if number != sample.row.get("image_id"):
            said["source_image_id"] = sample.row.get("image_id")
        if "category" not in sample.row and all(sample.row.get(side) is not None for side in _BOX):
            said["box"] = [rows.plain(sample.row[side]) for side in _BOX]  # where it was edited
        if _MASK in sample.others:
            said[_MASK] = _run_lengths(sample.others[_MASK])
            self._output.unread_masks += said[_MASK] is None
        license_ = sample.row.get("license")
        if license_ is not None:
            said["license"] = self._licenses.setdefault(str(license_), len(self._licenses) + 1)
        told = _KNOWN | _OWN | ({"objects"} if _objects(sample.row) else set())
        self._line("images", {**said, **{n: v for n, v in sample.meta.items() if v is not None and n not in told}})

    def caption(self, image: int, text: str, number: Any) -> None:
        """Write a caption; it is numbered where the rows do not give its id."""
        own = self._counts["captions"] + 1 if number is None else number
        self._line("captions", {"id": own, "image_id": image, "caption": text})

    def box(self, image: int, row: Mapping[str, Any]) -> None:
        """Write a box with its mask."""
        own = row.get("detection_id")
        said: dict[str, Any] = {"id": self._counts["instances"] + 1 if own is None else own, "image_id": image}
        if row.get("category") is not None:
            said["category_id"] = self._category(str(row["category"]))
        box = [rows.plain(row.get(side)) for side in _BOX]
        area = row.get("area")
        said |= {"bbox": box, "area": box[2] * box[3] if area is None and None not in box else rows.plain(area)}
        said["iscrowd"] = int(bool(row.get("is_crowd")))
        if row.get("mask"):
            try:
                said["segmentation"] = json.loads(row["mask"])
            except ValueError:
                self._output.unread_masks += 1
        if row.get("keypoints"):
            said["keypoints"] = rows.plain(row["keypoints"])
            said["num_keypoints"] = sum(seen > 0 for seen in row["keypoints"][2::3])
        if row.get("score") is not None:
            said["score"] = rows.plain(row["score"])
        self._line("instances", said)

    def _category(self, name: str) -> int:
        """Return COCO's own number where it has one, else a number from 1001."""
        if name not in self._categories:
            official = official_categories().get(name)
            others = sum(n > 1000 for n in self._categories.values())
            self._categories[name] = official or 1001 + others
        return self._categories[name]

    def finish(self) -> list[tuple[str, int, int]]:
        """Write the documents; return name, entries and bytes of each."""
        for part in self._files.values():
            part.close()
        return [self._put_together(kind) for kind in self.kinds()]

    def kinds(self) -> list[str]:
        """Return the kinds of documents that there are to write."""
        return [k for k in _KINDS if self._counts[k]] or ["image_info"]

    def _put_together(self, kind: str) -> tuple[str, int, int]:
        name = f"annotations/{kind}_{self._split}.json"
        licenses = [{"id": n, "name": text, "url": ""} for text, n in self._licenses.items()]
        categories = [{"id": n, "name": text} for text, n in sorted(self._categories.items(), key=lambda c: c[1])]
        with self._output.folder.file(name) as out:
            info = {"description": "exported by counterbalance; see DATASHEET.md"}
            out.write(b'{"info": ' + orjson.dumps(info) + b', "licenses": ' + orjson.dumps(licenses))
            if kind == "instances":
                out.write(b', "categories": ' + orjson.dumps(categories))
            for title, part in (("images", "images"), ("annotations", kind)):
                out.write(f', "{title}": [\n'.encode())
                if self._counts.get(part):
                    with self._output.folder.draft(f"parts/{self._split}.{part}").open("rb") as lines:
                        shutil.copyfileobj(lines, out)
                out.write(b"\n]")
            out.write(b"}\n")
            size = out.tell()
        pictures, self.size = self.size, 0
        return name, self._counts.get(kind, 0), size + pictures


def official_categories() -> dict[str, int]:
    """Return COCO's 80 categories by name, with the numbers of its annotations (91, of which 11 are not used)."""
    from counterbalance.udfs.wordlists import wordlist

    unused = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83, 91}
    numbers = [n for n in range(1, 92) if n not in unused]
    return dict(zip(wordlist("coco_categories")["term"].to_pylist(), numbers, strict=True))


def _size(sample: rows.Sample) -> tuple[int | None, int | None]:
    """Return width and height of the picture itself: those of a row may be of a box."""
    try:
        header = read_header(sample.picture or b"")
    except ImageError:
        return None, None
    return header.width, header.height


export = partial(run, Coco)
