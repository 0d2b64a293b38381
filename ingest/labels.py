"""Labels from any table, by people or models: one a row (``attribute``, ``value``), or one attribute a column.

A label is about an image (``key``, ``image_id`` or a file name, as in ``detections``), a box (``detection_id``), or both;
with only a box named, the engine finds its image. Labels of several annotators are kept apart: the id is a hash of
image, box, attribute and annotator, so one annotator's second answer to the same question is the same label.

A table with columns for attribute and value is taken row by row. In any other, each column that names no target and no
annotator is an attribute, with its score in a column of the same name plus ``_score`` or ``_confidence``; an empty cell
there is no label and no error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import Chunk, Images
from counterbalance.ingest import columns, hashing, ignored_options, tabular, targets
from counterbalance.ingest.files import source_of
from counterbalance.ingest.labelrows import LabelRows, scores
from counterbalance.ingest.rows import MAX_KEY, Sieve, is_null

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterbalance.engine.ingest_types import ReadOptions, Source
    from counterbalance.ingest.rows import Rows
    from counterbalance.ingest.tabular import Layout

_TARGET: Final = {
    **targets.FIELDS,
    "detection_id": ("annotation_id", "box_id", "det_id"),
    "annotator": ("rater", "worker", "worker_id", "annotator_id", "model", "labeler", "coder"),
}
_LONG: Final = {
    "attribute": ("attribute_name", "question", "property", "task"),
    "value": ("label", "answer", "response", "class", "category"),
    "score": ("confidence", "conf", "probability", "prob"),
}
FIELDS: Final = {**_TARGET, **_LONG}
_SCORES: Final = ("score", "confidence", "prob", "probability")
_ADDRESSES: Final = frozenset({"url", "image_url"})
_TEXTS: Final = frozenset({"caption", "text", "top_caption", "alt_text", "alt"})
"""Columns of lists of captions, which are not attributes."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """Describe how a file is read: the columns to ask for, and in wide form attribute to the column of its score."""

    layout: Layout
    columns: Mapping[str, int]
    wide: Mapping[str, str | None]


def read(uri: str, options: ReadOptions) -> Source:
    """Return rows of ``labels``.

    Args:
        uri: File, folder, glob or brace range of Parquet, CSV, TSV or JSON lines, compressed or not.
        options: ``mapping`` (fields of ``FIELDS``), ``annotator`` where the source names none (default ``"source"``),
            ``limit`` (rows).

    Raises:
        NotFoundError: If there is no such file, or no such column in ``mapping``.
        RequestError: If ``mapping`` names no field.
        SourceError: If a file is not a table, names neither image nor box, or has no column to take as a label.
    """
    plans = [_plan(f, options) for f in tabular.layouts(uri, options)]
    images = Images()
    notes = ignored_options.describe("labels", options, "keep", "split", "images", "store_images", "origin")
    notes += tabular.left_out([p.layout for p in plans], [p.columns for p in plans], unkept="labels")
    return source_of(uri, [p.layout.file for p in plans], _chunks(plans, options, images), notes, images)


def _plan(layout: Layout, options: ReadOptions) -> _Plan:
    where = layout.file.uri
    found = columns.resolve(layout.names, FIELDS, options.mapping, where)
    if "attribute" in found and "value" in found:
        wide: dict[str, str | None] = {}
    else:
        narrow = {f: c for f, c in columns.asked(options.mapping, FIELDS).items() if f in _TARGET}
        found = columns.resolve(layout.names, _TARGET, narrow, where)
        found, wide = _widened(layout, found)
    if not targets.is_named(found) and "detection_id" not in found:
        columns.require(found, ["key"], layout.names, where)
    return _Plan(layout, found, wide)


def _widened(layout: Layout, found: dict[str, int]) -> tuple[dict[str, int], dict[str, str | None]]:
    """Return every other column as an attribute, or as the score of one."""
    others = {n: i for i, n in enumerate(layout.names) if i not in found.values() and not columns.INDEX.fullmatch(n)}
    if len(others) + len(found) < sum(not columns.INDEX.fullmatch(n) for n in layout.names):
        raise SourceError(f"{layout.file.uri} has two columns of one name: {', '.join(layout.names)}", code="E4011")
    plain = {columns.plain(n): n for n in others}
    wide: dict[str, str | None] = {}
    for name in others:
        score = next((plain[s] for e in _SCORES if (s := f"{columns.plain(name)}_{e}") in plain), None)
        wide[name] = score
    for score in [s for s in wide.values() if s]:
        wide.pop(score, None)
    names = {columns.plain(n) for n in layout.names}
    if not (_ADDRESSES.isdisjoint(names) or _TEXTS.isdisjoint(names)):
        raise SourceError(
            f"{layout.file.uri} looks like a list of captions: it has no columns attribute and value, but {', '.join(layout.names)}",
            code="E4010",
            hint="read it with --format laion",
        )
    if not wide:
        shown = ", ".join(layout.names)
        hint = "columns attribute and value are needed, or a column for each attribute"
        raise SourceError(f"{layout.file.uri} has no labels; its columns are: {shown}", code="E4010", hint=hint)
    return {**found, **{columns.LABEL + n: i for n, i in others.items()}}, wide


def _chunks(plans: list[_Plan], options: ReadOptions, images: Images) -> Iterator[Chunk]:
    plan_of = {p.layout.file.uri: p for p in plans}
    matters = columns.matters(FIELDS)
    parts = (r for p in plans for r in tabular.read(p.layout, p.columns, _any if p.wide else matters))
    for rows in tabular.limited(parts, options.limit):
        yield _chunk(rows, plan_of[rows.source], options, images)


def _any(_: str) -> bool:
    """Return true: in wide form every key is an attribute."""
    return True


def _chunk(rows: Rows, plan: _Plan, options: ReadOptions, images: Images) -> Chunk:
    sieve = Sieve(rows)
    keys = targets.image_keys(sieve, images)
    box = sieve.text("detection_id", MAX_KEY)
    sieve.refuse(is_null(keys) & is_null(box), "missing_key", "the row names neither image nor box")
    annotator = pc.fill_null(sieve.text("annotator"), options.annotator or "source")
    found = _wide(sieve, plan) if plan.wide else _long(sieve)
    labels = LabelRows(sieve, hashing.key_ids(keys), hashing.key_ids(box), annotator, pc.coalesce(keys, box))
    for attribute, value, score in found:
        labels.add(attribute, value, score)
    return Chunk(
        labels.tables(), sieve.rejects, rows.count, rows.bytes_read, labels.positions(), rows.source, labels.keys()
    )


def _long(sieve: Sieve) -> list[tuple[str | pa.Array, pa.Array, pa.Array]]:
    attribute, value, score = sieve.text("attribute", MAX_KEY), sieve.text("value"), scores(sieve, "score")
    sieve.refuse(is_null(attribute), "missing_attribute", "no attribute")
    sieve.refuse(is_null(value), "missing_value", "no value")
    return [(attribute, value, score)]


def _wide(sieve: Sieve, plan: _Plan) -> list[tuple[str | pa.Array, pa.Array, pa.Array]]:
    return [
        (name.strip(), sieve.text(columns.LABEL + name), scores(sieve, columns.LABEL + (score or "")))
        for name, score in plan.wide.items()
    ]
