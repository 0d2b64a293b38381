"""A review sheet: people look at edits beside the pictures they were made of, and say whether they are fit for use."""

from __future__ import annotations

import csv
import glob
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine import atomic_write
from counterbalance.engine.errors import NotFoundError, RequestError, did_you_mean
from counterbalance.engine.images import ImageError
from counterbalance.report import pictures
from counterbalance.report.sheet import base, crops
from counterbalance.report.svg import plain

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session
    from counterbalance.engine.write.ingest import IngestReport

ANSWERS: Final = ("good", "flawed", "harmful")
MOST_EDITS: Final = 8
"""Edits of one source on a sheet."""
_AT_ONCE: Final = 16
_PICTURES: Final = ("edited", "image")
_NEEDED: Final = ("edit_id", "image_id")
_SILENT: Final = frozenset({*_NEEDED, "label", "x", "y", "width", "height", "detection_id", "key", "caption_id"})
_TEXT: Final = 160


@dataclass(frozen=True, slots=True)
class Edits:
    """The view under review: which of its columns is the picture, and which are shown."""

    view: str
    picture: str
    shown: tuple[str, ...]


def attribute_of(view: str) -> str:
    """Return the attribute of the labels that answers become.

    Example:
        >>> attribute_of("gensynth_set")
        'review:gensynth_set'
    """
    return f"review:{view.lower()}"


def take_in(lake: Lake, view: str, answers: str) -> IngestReport:
    """Ingest answers of annotators as labels of the sources.

    Args:
        lake: The lake.
        view: What the sheet was of.
        answers: A CSV file that a sheet saved, or a glob of them.

    Raises:
        RequestError: A file holds something else (E3680).
        SourceError: There is no such file, or it cannot be read.
    """
    wanted = attribute_of(view)
    for path in sorted(glob.glob(answers)):  # noqa: PTH207 - a pattern with a folder before it
        with Path(path).open(encoding="utf-8-sig", newline="", errors="replace") as file:
            for number, row in enumerate(csv.DictReader(file), 2):
                if row.get("attribute") != wanted:
                    raise RequestError(
                        f"{path}, line {number}: no answer about {view}, for its attribute is {row.get('attribute')!r}",
                        code="E3680",
                        hint=f"a sheet of {view} saves answers of attribute {wanted!r}; other labels: ingest --format labels",
                    )
    return lake.ingest(answers, format="labels")


def review(
    lake: Lake,
    path: str | os.PathLike[str],
    *,
    view: str,
    count: int = 100,
    seed: int = 0,
    annotators: int = 2,
    answers: Sequence[str] = ANSWERS,
    image: str | None = None,
    blur: bool = False,
    sensitive: str | None = None,
) -> base.Sheet:
    """Write a sheet of sources beside their edits; ingest its answers with ``format="labels"``.

    An answer is about all edits of a source that the view holds: a label of the source, of attribute ``review:VIEW``.

    Args:
        lake: The lake; it is only read.
        path: The HTML file; it is replaced in one step.
        view: Edits: ``edit_id``, ``image_id`` (the source) and a picture; ``label``, scores and texts are shown.
        count: Sources of the sample, drawn by a hash of their ids.
        seed: Another seed draws another sample.
        annotators: How many people will answer; each has a name and an order of pictures.
        answers: What can be said; ``unclear`` is added.
        image: Column of the edited picture; ``edited`` or ``image`` by default.
        blur: Blur the upper part of persons' boxes, and whole pictures without boxes.
        sensitive: Purpose for which perceived labels are read; it is logged, and stands on the sheet.

    Raises:
        SensitiveError: The view needs a purpose.
        NotFoundError: A column is not there (E1270).
        RequestError: The view is not a view of edits (E3677), or there is nothing to show (E3571).
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", view):
        raise RequestError(
            f"{view!r} is not the name of a view", code="E3677", hint="keep a query as a view to review it"
        )
    with lake.session(sensitive=sensitive, with_bytes=True) as session:
        edits = _edits(session, view.lower(), image)
        found = session.sql(f"SELECT count(DISTINCT image_id), count(*) FROM {edits.view}").fetchall()[0]
        rows = _drawn(session, edits, count, seed)
        drawn = len({r["image_id"] for r in rows})
        items = list(_items(lake, session, edits, rows, blur=blur))
    if not items:
        raise RequestError(
            f"{view} holds no edit whose picture and source can be shown",
            code="E3571",
            hint=f"refresh {view}; sources need their pictures: ingest with --store-images",
        )
    options = [*dict.fromkeys(a for a in answers if a != base.UNCLEAR), base.UNCLEAR]
    attribute = attribute_of(view)
    sheet = base.identity([attribute, sorted(i["id"] for i in items), options, blur])
    data = base.questions(sheet, attribute, "image_id", options, annotators, items)
    words = {**base.about(lake, sensitive, seed=seed, blur=blur), "question": attribute, "unit": "image"}
    target = atomic_write.write(Path(path), base.render("review", data, words))
    return base.Sheet(target, sheet, {view: len(items)}, {view: found[0]}, _notes(drawn, len(items), rows))


def _edits(session: Session, view: str, image: str | None) -> Edits:
    schema = session.sql(f"SELECT * FROM {view}").schema
    missing = [c for c in _NEEDED if c not in schema.names]
    if missing:
        raise RequestError(
            f"{view} has no column {missing[0]!r}",
            code="E3677",
            hint="a view of edits has edit_id, image_id and a picture",
        )
    binary = [f.name for f in schema if pa.types.is_binary(f.type) or pa.types.is_large_binary(f.type)]
    if image is not None and image not in binary:
        raise NotFoundError(
            f"{view} has no column {image!r} of pictures{did_you_mean(image, binary)}",
            code="E1270",
            hint=", ".join(binary),
        )
    picture = image or next((c for c in (*_PICTURES, *binary) if c in binary), None)
    if picture is None:
        raise RequestError(f"{view} has no pictures", code="E3677", hint="join them from the view that made them")
    shown = [f.name for f in schema if f.name not in {*_SILENT, *binary} and not pa.types.is_nested(f.type)]
    return Edits(view, picture, tuple(shown))


def _drawn(session: Session, edits: Edits, count: int, seed: int) -> list[dict[str, Any]]:
    """Return all edits of the sources that a hash draws, without their pictures."""
    names = session.sql(f"SELECT * FROM {edits.view}").columns
    label = "label" if "label" in names else "NULL AS label"
    others = "".join(f', e."{c}"' for c in edits.shown)
    text = (
        f"WITH sources AS (SELECT DISTINCT image_id FROM {edits.view} WHERE image_id IS NOT NULL), drawn AS ("
        "SELECT image_id, row_number() OVER (ORDER BY md5(concat($seed, ':', CAST(image_id AS VARCHAR))), image_id) AS place "
        f"FROM sources QUALIFY place <= $most) SELECT e.edit_id, e.image_id, {label}{others} FROM {edits.view} AS e "
        "JOIN drawn AS d ON d.image_id = e.image_id ORDER BY d.place, 3 NULLS LAST, e.edit_id"
    )
    rows: list[dict[str, Any]] = session.sql(text, seed=str(seed), most=count).to_arrow().to_pylist()
    return rows


def _items(
    lake: Lake, session: Session, edits: Edits, rows: Sequence[Mapping[str, Any]], *, blur: bool
) -> Iterator[dict[str, Any]]:
    """Yield sources with their edits as the page holds them; those whose pictures cannot be decoded are left out."""
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["image_id"], []).append(row)
    ids = list(groups)
    for start in range(0, len(ids), _AT_ONCE):
        part = ids[start : start + _AT_ONCE]
        sources = pictures.stored_bytes(lake, session, part)
        boxes = pictures.boxes_of(session, part) if blur else None
        wanted = [r["edit_id"] for i in part for r in groups[i][:MOST_EDITS]]
        made = _pictures(session, edits, wanted)
        for number in part:
            people = None if boxes is None else boxes.get(number, [])
            source = _uri(sources.get(number), people)
            more = [
                {"picture": uri, "caption": format_value(r["label"]) or f"edit {n}", "facts": _facts(r, edits)}
                for n, r in enumerate(groups[number][:MOST_EDITS], 1)
                if (uri := _uri(made.get(r["edit_id"]), people)) is not None
            ]
            if source is not None and more:
                yield {"id": str(number), "picture": source, "more": more}


def _pictures(session: Session, edits: Edits, ids: Sequence[int]) -> dict[int, bytes | None]:
    listed = ", ".join(str(int(i)) for i in ids)
    text = f'SELECT edit_id, "{edits.picture}" FROM {edits.view} WHERE edit_id IN ({listed})'
    return dict(session.sql(text).fetchall())


def _uri(data: bytes | None, people: Sequence[Mapping[str, Any]] | None) -> str | None:
    try:
        return crops.as_uri(crops.picture(data or b"", None, people))
    except ImageError:
        return None


def _facts(row: Mapping[str, Any], edits: Edits) -> list[list[str]]:
    return [[name.replace("_", " "), text] for name in edits.shown if (text := format_value(row[name]))]


def format_value(value: Any) -> str:
    """Return a value for eyes; nothing for NULL.

    Example:
        >>> format_value(0.123456), format_value(None), format_value(3), format_value("make him a woman")
        ('0.123', '', '3', 'make him a woman')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}" if math.isfinite(value) else str(value)
    text = plain(str(value))
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def _notes(drawn: int, shown: int, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    counts: dict[int, int] = {}
    for row in rows:
        counts[row["image_id"]] = counts.get(row["image_id"], 0) + 1
    left = sum(n - MOST_EDITS for n in counts.values() if n > MOST_EDITS)
    notes = [f"{left:,} edits are left out: a source is shown with {MOST_EDITS} at most"] if left else []
    if shown < drawn:
        notes.append(
            f"{drawn - shown:,} sources are left out: the picture of the source or of its edits cannot be read"
        )
    return notes
