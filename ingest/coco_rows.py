"""Rows of the base tables from pieces of a COCO file's arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.ingest.chunking import Piece
from counterbalance.ingest.coco_masks import keypoints, masks
from counterbalance.ingest.files import relative_name
from counterbalance.ingest.labelrows import LabelRows
from counterbalance.ingest.rows import MAX_KEY, shorten
from counterbalance.ingest.validate import ObjectSieve, outside

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from counterbalance.engine.ingest_types import Reject
    from counterbalance.ingest.rows import Places
    from counterbalance.ingest.validate import Floats, Ints

_ODD_NAME: Final = r"^[/~]|//|(^|/)\.{1,2}(/|$)|/$|^$|[\\:]|[^\x20-\x7e]"
_WEB: Final = ("http://", "https://")
_REMOTE: Final = (*_WEB, "s3://", "gs://")
_MAX_AREA: Final = 1e18


@dataclass(slots=True)
class Frames:
    """Sizes of the images seen so far; the first one counts where an id comes twice."""

    _ids: list[Ints] = field(default_factory=list)
    _sizes: list[Floats] = field(default_factory=list)

    def add(self, ids: Ints, width: Floats, height: Floats) -> None:
        """Note sizes in pixels, infinite where unknown; shapes (n,)."""
        self._ids.append(ids)
        self._sizes.append(np.stack([width, height]))

    def of(self, ids: Ints) -> Floats:
        """Return widths and heights of images, infinite where unknown; shape (2, n)."""
        if not self._ids:
            return np.full((2, len(ids)), np.inf)
        if len(self._ids) > 1 or not (np.diff(self._ids[0]) > 0).all():
            known, first = np.unique(np.concatenate(self._ids), return_index=True)
            self._ids, self._sizes = [known], [np.concatenate(self._sizes, axis=1)[:, first]]
        known, sizes = self._ids[0], self._sizes[0]
        at = np.minimum(np.searchsorted(known, ids), max(len(known) - 1, 0))
        return np.where(known[at] == ids, sizes[:, at], np.inf) if len(known) else np.full((2, len(ids)), np.inf)


@dataclass(frozen=True, slots=True)
class FileContext:
    """Describe what the rows of one file have in common.

    Args:
        uri: URI of the file.
        split: Name of the split, if known.
        title: Name of the dataset.
        licenses: Names by id.
        base: Folder that file names are joined to, if pictures have one.
        origin: Origin of captions and boxes, when the user says it.
        annotator: Origin of boxes with a score, and annotator of labels, when the user says it.
    """

    uri: str
    split: str | None
    title: str
    licenses: Mapping[object, str]
    base: str | None = None
    origin: str | None = None
    annotator: str | None = None


def images(
    context: FileContext,
    numbers: Ints,
    items: list[Any],
    frames: Frames,
    read: int,
    kept: Mapping[str, list[str | None]],
) -> tuple[Piece, Piece]:
    """Return rows of ``images``, whose sizes go to ``frames``, and their labels.

    Args:
        context: Of the file.
        numbers: Index of each item.
        items: Objects of the file.
        frames: Takes the sizes.
        read: Bytes behind them.
        kept: Texts of the items to store as labels, by name.
    """
    sieve = ObjectSieve(context.uri, "images", numbers, items)
    ids = sieve.ids("id")
    width, height = sieve.pixels("width"), sieve.pixels("height")
    columns = {
        "key": _keys(sieve, ids),
        "uri": _uris(sieve, context.base),
        "width": width,
        "height": height,
        "license": _look_up(sieve.values("license"), context.licenses),
        "source": pa.repeat(pa.scalar(context.title), len(sieve)),
    }
    if context.split is not None:
        columns["split"] = pa.repeat(pa.scalar(context.split), len(sieve))
    texts = {name: sieve.stored(name, values) for name, values in kept.items()}
    table, positions = sieve.rows({"image_id": pa.array(ids), **columns}, "image_id")
    sizes = [table[c].to_numpy().astype(np.float64) for c in ("width", "height")]
    frames.add(table["image_id"].to_numpy(), *(np.where(np.isnan(s), np.inf, s) for s in sizes))
    part = Piece({"images": table}, {"images": positions}, sieve.rejects, len(sieve), read)
    if not texts:
        return part, Piece()
    labels = LabelRows.of_columns(sieve, texts, columns["key"], context.annotator or "source")
    return part, Piece(labels.tables(), labels.positions())


def _keys(sieve: ObjectSieve, ids: Ints) -> pa.Array:
    """Return the source's own ids as texts."""
    values = sieve.values("id")
    if set(map(type, values)) == {int}:
        return pa.array(ids).cast(pa.string())
    return pa.array([str(v) if k else None for v, k in zip(values, sieve.keep, strict=True)], pa.string())


def _look_up(keys: list[Any], names: Mapping[object, str]) -> pa.Array:
    """Return names of ids; NULL for one that has none."""
    return pa.array([names.get(k) if isinstance(k, (int, str)) else None for k in keys], pa.string())


def _uris(sieve: ObjectSieve, base: str | None) -> pa.Array:
    """Return where the pictures are: below ``base``, else ``coco_url``, else ``file_name``.

    Refuses ``bad_file_name``: absolute, ``..``, backslashes, control characters; URLs, too, when they would be joined.
    Refuses ``bad_url``: a ``coco_url`` that is neither http nor https.
    """
    names, urls = sieve.text("file_name", limit=MAX_KEY), sieve.text("coco_url", limit=MAX_KEY)
    odd = pc.fill_null(pc.match_substring_regex(names, _ODD_NAME), False).to_numpy(zero_copy_only=False)
    if odd.any():
        texts = names.to_pylist()
        bad = [bool(o) and not _good_name(t, joined=base is not None) for o, t in zip(odd, texts, strict=True)]
        message = "file_name must be a plain relative name, not {}"
        sieve.refuse(bad, "bad_file_name", lambda i: message.format(shorten(texts[i])))
    if base is not None:
        return pc.binary_join_element_wise(pa.scalar(base.rstrip("/")), names, "/")
    urls = pc.if_else(pc.equal(urls, ""), None, urls)
    web = pc.or_(pc.starts_with(urls, _WEB[0]), pc.starts_with(urls, _WEB[1]))
    strange = ~pc.fill_null(web, True).to_numpy(zero_copy_only=False)
    if strange.any():
        sieve.refuse(strange, "bad_url", lambda i: f"coco_url is not a web address: {shorten(urls[i].as_py())}")
    return pc.coalesce(urls, names)


def _good_name(name: str, *, joined: bool) -> bool:
    if relative_name(name) is not None:
        return True
    return not joined and name.startswith(_REMOTE) and name.isprintable()


def captions(context: FileContext, numbers: Ints, items: list[Any]) -> tuple[pa.Table, Places, list[Reject]]:
    """Return rows of ``captions`` from annotations that have one."""
    sieve = ObjectSieve(context.uri, "annotations", numbers, items)
    columns = {"caption_id": pa.array(sieve.ids("id")), "image_id": pa.array(sieve.ids("image_id"))}
    text = sieve.text("caption")
    if text.null_count:
        sieve.refuse(text.is_null().to_numpy(zero_copy_only=False), "missing_text", lambda _: "caption is null")
    columns |= {"text": text, "origin": pa.repeat(pa.scalar(context.origin or "human"), len(sieve))}
    return *sieve.rows(columns, "caption_id"), sieve.rejects


def detections(
    context: FileContext,
    numbers: Ints,
    items: list[Any],
    frames: Frames,
    categories: Mapping[object, str],
    kept: Mapping[str, list[str | None]],
) -> tuple[pa.Table, Places, list[Reject], LabelRows]:
    """Return rows of ``detections`` from annotations that have a box or a category, and labels of what is ``kept`` of them."""
    sieve = ObjectSieve(context.uri, "annotations", numbers, items)
    ids, image_ids = sieve.ids("id"), sieve.ids("image_id")
    boxes = _boxes(sieve, frames.of(image_ids))
    columns: dict[str, Any] = {
        "detection_id": pa.array(ids),
        "image_id": pa.array(image_ids),
        "category": _categories(sieve, categories),
        **{c: boxes[:, i].astype(np.float32) for i, c in enumerate(("x", "y", "width", "height"))},
        "area": _area(sieve, boxes),
        "is_crowd": _crowd(sieve),
        "mask": masks(sieve),
        **_scores(sieve, context),
    }
    points = keypoints(sieve)
    if points is not None:
        columns["keypoints"] = points
    texts = {name: sieve.stored(name, values) for name, values in kept.items()}
    table, places = sieve.rows(columns, "detection_id")
    annotator = pa.repeat(context.annotator or "source", len(sieve))
    labels = LabelRows(
        sieve, columns["image_id"], columns["detection_id"], annotator, columns["image_id"].cast(pa.string())
    )
    for name, text in texts.items():
        labels.add(name, text)
    return table, places, sieve.rejects, labels


def _boxes(sieve: ObjectSieve, sizes: Floats) -> Floats:
    boxes = sieve.boxes("bbox")
    bad = outside(boxes, *sizes)
    if bad.any():

        def why(i: int) -> str:
            return f"bbox {shorten(boxes[i].tolist())} reaches out of its image of {sizes[0, i]:g} x {sizes[1, i]:g}"

        sieve.refuse(bad, "bad_box", why)
    return boxes


def _categories(sieve: ObjectSieve, names: Mapping[object, str]) -> pa.Array:
    keys = sieve.values("category_id")
    if set(map(type, keys)) - {int, str}:
        odd = [isinstance(k, bool) or not isinstance(k, (int, str)) for k in keys]
        sieve.refuse(odd, "bad_category", lambda i: f"category_id must be an integer, not {shorten(keys[i])}")
        keys = [None if bad else k for k, bad in zip(keys, odd, strict=True)]
    array = pa.array([names.get(k) for k in keys], pa.string())
    if array.null_count:
        unknown = array.is_null().to_numpy(zero_copy_only=False)
        sieve.refuse(unknown, "unknown_category", lambda i: f"no category has the id {shorten(keys[i])}")
    return array


def _area(sieve: ObjectSieve, boxes: Floats) -> npt.NDArray[np.float32]:
    """Return areas in square pixels: as given, or those of the boxes; refuses ``bad_area``.

    Rounded to the fifth decimal: COCO's own instances and keypoints files differ beyond the tenth for the same box.
    """
    area = sieve.numbers_of("area", "bad_area")
    bad = (area < 0) | (area > _MAX_AREA)
    if bad.any():
        sieve.refuse(bad, "bad_area", lambda i: f"area cannot be {area[i]:g}")
    area = np.where(bad | np.isnan(area), boxes[:, 2] * boxes[:, 3], area)
    return area.round(5).astype(np.float32)


def _crowd(sieve: ObjectSieve) -> npt.NDArray[np.bool_]:
    """Return ``iscrowd`` of 0, 1, true or false, false where missing; refuses ``bad_crowd``."""
    values = sieve.values("iscrowd")
    if set(map(type, values)) - {int, bool, type(None)} or not set(values) <= {0, 1, None}:
        bad = [not (v is None or (isinstance(v, int) and v in {0, 1})) for v in values]
        sieve.refuse(bad, "bad_crowd", lambda i: f"iscrowd must be 0 or 1, not {shorten(values[i])}")
        values = [not b and bool(v) for v, b in zip(values, bad, strict=True)]
    return np.array(values, dtype=bool)


def _scores(sieve: ObjectSieve, context: FileContext) -> dict[str, pa.Array]:
    """Return the columns ``score`` and ``origin``: a box without a score is a human's; refuses ``bad_score``."""
    score = sieve.numbers_of("score", "bad_score")
    none = np.isnan(score)
    bad = (score < 0) | (score > 1)
    if bad.any():
        sieve.refuse(bad, "bad_score", lambda i: f"score must be from 0 to 1, not {score[i]:g}")
    machine = pa.scalar(context.annotator, pa.string())
    told = pa.scalar(context.origin, pa.string())
    human = pc.if_else(pa.array(none), pa.scalar("human"), machine)
    origin = pa.repeat(told, len(sieve)) if context.origin else human
    return {"score": pa.array(score.astype(np.float32), mask=none), "origin": origin}
