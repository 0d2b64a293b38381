"""A review sheet: people look at edits beside the pictures they were made of, and say of each whether it is fit for use."""

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
from counterbalance.engine.errors import NotFoundError, RequestError, SensitiveError, did_you_mean
from counterbalance.engine.images import ImageError
from counterbalance.report import pictures
from counterbalance.report.sheet import base, crops
from counterbalance.report.sheet.questions import FIT, Question, columns_of, filled, headed, load
from counterbalance.report.svg import plain

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session
    from counterbalance.engine.write.ingest import IngestReport

MOST_EDITS: Final = 8
"""Edits of one source on a sheet."""
_AT_ONCE: Final = 16
_PICTURES: Final = ("edited", "image")
_NEEDED: Final = ("edit_id", "image_id")
_SILENT: Final = frozenset({*_NEEDED, "label", "x", "y", "width", "height", "detection_id", "key", "caption_id"})
_TEXT: Final = 160


@dataclass(frozen=True, slots=True)
class Edits:
    """The view under review: which of its columns is the picture, which are shown, and whether its edits have labels."""

    view: str
    picture: str
    shown: tuple[str, ...]
    has_label: bool


def attribute_of(view: str, question: Question = FIT) -> str:
    """Return the attribute of the labels that answers become.

    Example:
        >>> attribute_of("gensynth_set")
        'review:gensynth_set'
    """
    return f"{question.name}:{view.lower()}"


def take_in(lake: Lake, view: str, answers: str) -> IngestReport:
    """Ingest answers of annotators as labels of the sources that name the edit.

    Args:
        lake: The lake.
        view: What the sheet was of.
        answers: A CSV file that a sheet saved, or a glob of them.

    Raises:
        RequestError: A file holds something else (E3680).
        SourceError: There is no such file, or it cannot be read.
    """
    found = set()
    for path in sorted(glob.glob(answers)):  # noqa: PTH207 - a pattern with a folder before it
        with Path(path).open(encoding="utf-8-sig", newline="", errors="replace") as file:
            for number, row in enumerate(csv.DictReader(file), 2):
                attribute = row.get("attribute") or ""
                if attribute.partition(":")[2] != view.lower():
                    raise RequestError(
                        f"{path}, line {number}: no answer about {view}, for its attribute is {attribute!r}",
                        code="E3680",
                        hint=f"a sheet of {view} saves answers of attributes such as {attribute_of(view)!r}; "
                        "other labels: ingest --format labels",
                    )
                found.add(attribute)
    apart = frozenset(found) if is_closed(lake, view) else frozenset()
    return lake.ingest(answers, format="labels", sensitive=apart)


def is_closed(lake: Lake, view: str) -> bool:
    """Tell whether a view is read for a purpose only: which images have answers would tell its rows."""
    with lake.session() as default:
        try:
            default.sql(f'SELECT edit_id FROM "{view.lower()}" LIMIT 0').fetchall()
        except SensitiveError:
            return True
        except NotFoundError:  # answers may come to another lake than the sheet was of
            return False
    return False


def review(
    lake: Lake,
    path: str | os.PathLike[str],
    *,
    view: str,
    question: str | Question = FIT,
    count: int = 100,
    seed: int = 0,
    annotators: int = 2,
    image: str | None = None,
    blur: bool = False,
    sensitive: str | None = None,
) -> base.Sheet:
    """Write a sheet of sources beside their edits; ingest its answers with ``format="labels"``.

    An answer is about one edit: a label of its source whose ``detection_id`` is the edit, of attribute ``review:VIEW`` or
    ``NAME:VIEW`` by the question. Where sources are asked about, too, answers about these have no ``detection_id``.

    Args:
        lake: The lake; it is only read.
        path: The HTML file; it is replaced in one step.
        view: Edits: ``edit_id``, ``image_id`` (the source) and a picture; ``label``, scores and texts are shown.
        question: One of ``questions.QUESTIONS`` by name, a path of JSON, or one of your own.
        count: Sources of the sample, drawn by a hash of their ids.
        seed: Another seed draws another sample.
        annotators: How many people will answer; each has a name and an order of pictures.
        image: Column of the edited picture; ``edited`` or ``image`` by default.
        blur: Blur the upper part of persons' boxes, and whole pictures without boxes.
        sensitive: Purpose for which perceived labels are read; it is logged, and stands on the sheet.

    Raises:
        SensitiveError: The view needs a purpose, or the question does.
        NotFoundError: A column is not there (E1270).
        RequestError: The view is not a view of edits (E3677), there is nothing to show (E3571), or the question is none (E3684).
    """
    question = load(question) if isinstance(question, str) else question
    attribute = attribute_of(view, question)
    with lake.session(sensitive=sensitive, with_bytes=True) as session:
        edits = edits_of(session, view, image)
        base.refuse_without_purpose(session, attribute)
        _require(edits, question)
        found = session.sql(f"SELECT count(DISTINCT image_id) FROM {edits.view}").fetchall()[0]
        rows = _drawn(session, edits, count, seed)
        told = [r for r in rows if all(r[c] is not None for c in question.columns)]
        items, sources = _items(lake, session, edits, told, question, blur=blur)
    if not items:
        raise RequestError(
            f"{view} holds no edit whose picture and source can be shown",
            code="E3571",
            hint=f"refresh {view}; sources need their pictures: ingest once more with --images FOLDER",
        )
    sheet = base.identity([attribute, sorted(i["id"] for i in items), [*question.answers], blur])
    beside = question.shows == "beside"
    columns = ["image_id", "detection_id"]
    options = {value: "…" if columns_of(shown) else shown for value, shown in question.answers.items()}
    data = base.questions(sheet, attribute, columns, options, annotators, items, sources if beside else ())
    data["colors"] = question.colors
    words = {**base.about(lake, sensitive, seed=seed, blur=blur), "asked": question, "question": headed(question.ask)}
    target = atomic_write.write(Path(path), base.render("review", data, words))
    return base.Sheet(target, sheet, {view: len(sources)}, {view: found[0]}, _notes(rows, told, items))


def edits_of(session: Session, view: str, image: str | None = None) -> Edits:
    """Return what a view of edits holds.

    Args:
        session: One whose stars stand for pictures, too.
        view: Its name.
        image: Column of the edited picture; ``edited`` or ``image`` by default.

    Raises:
        NotFoundError: A column is not there (E1270), or the view is not.
        RequestError: The view is not a view of edits (E3677).
        SensitiveError: The view needs a purpose.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", view):
        raise RequestError(
            f"{view[:80]!r} is not the name of a view", code="E3677", hint="keep a query as a view to review it"
        )
    view = view.lower()
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
    return Edits(view, picture, tuple(shown), "label" in schema.names)


def _drawn(session: Session, edits: Edits, count: int, seed: int) -> list[dict[str, Any]]:
    """Return all edits of the sources that a hash draws, without their pictures."""
    label = "label" if edits.has_label else "NULL AS label"
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
    lake: Lake, session: Session, edits: Edits, rows: Sequence[Mapping[str, Any]], question: Question, *, blur: bool
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return edits as the page holds them, and pictures of their sources; those that cannot be decoded are left out."""
    items: list[dict[str, Any]] = []
    pictured: list[str] = []
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
                {"id": str(r["edit_id"]), "image_id": str(number), "picture": uri, **_told(r, question)}
                | (_below(r, edits, n, question) | {"source": len(pictured)} if question.shows == "beside" else {})
                for n, r in enumerate(groups[number][:MOST_EDITS], 1)
                if (uri := _uri(made.get(r["edit_id"]), people)) is not None
            ]
            if source is not None and more:
                items += more
                pictured.append(source)
                if question.shows == "both":
                    its = {"id": f"source {number}", "image_id": str(number), "detection_id": "", "picture": source}
                    items.append(its | _told(groups[number][0], question) | {"part": 1})
    return items, pictured


def _told(row: Mapping[str, Any], question: Question) -> dict[str, Any]:
    """Return what a question says of one edit: its own words, and answers that name columns."""
    shown = {value: plain(filled(text, row)) for value, text in question.answers.items() if columns_of(text)}
    asked = {"ask": plain(filled(question.ask, row))} if columns_of(question.ask) else {}
    return asked | ({"shown": shown} if shown else {})


def _below(row: Mapping[str, Any], edits: Edits, number: int, question: Question) -> dict[str, Any]:
    """Return what stands below an edit: nothing that tells its label where only pictures are asked about."""
    if not question.facts:
        return {"caption": "edit", "facts": []}
    return {"caption": format_value(row["label"]) or f"edit {number}", "facts": facts(row, edits)}


def _require(edits: Edits, question: Question) -> None:
    known = [*edits.shown, *(["label"] if edits.has_label else [])]
    for column in question.columns:
        if column not in known:
            raise NotFoundError(
                f"{edits.view} has no column {column!r}, which the question names{did_you_mean(column, known)}",
                code="E1270",
                hint=f"{', '.join(known)}; add it to the view, or as a generated column",
            )


def _pictures(session: Session, edits: Edits, ids: Sequence[int]) -> dict[int, bytes | None]:
    listed = ", ".join(str(int(i)) for i in ids)
    text = f'SELECT edit_id, "{edits.picture}" FROM {edits.view} WHERE edit_id IN ({listed})'
    return dict(session.sql(text).fetchall())


def _uri(data: bytes | None, people: Sequence[Mapping[str, Any]] | None) -> str | None:
    try:
        return crops.as_uri(crops.picture(data or b"", None, people))
    except ImageError:
        return None


def facts(row: Mapping[str, Any], edits: Edits) -> list[list[str]]:
    """Return what a row of a view says of its edit, by name, as far as it says something."""
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


def _notes(
    rows: Sequence[Mapping[str, Any]], told: Sequence[Mapping[str, Any]], items: Sequence[Mapping[str, Any]]
) -> list[str]:
    shown = sum("part" not in i for i in items)
    counts: dict[int, int] = {}
    for row in told:
        counts[row["image_id"]] = counts.get(row["image_id"], 0) + 1
    left = sum(n - MOST_EDITS for n in counts.values() if n > MOST_EDITS)
    notes = [f"{left:,} edits are left out: a source is shown with {MOST_EDITS} at most"] if left else []
    if silent := len(rows) - len(told):
        notes.append(f"{silent:,} edits are left out: a column that the question names is NULL")
    if missing := len(told) - left - shown:
        notes.append(f"{missing:,} edits are left out: their picture or that of their source cannot be read")
    return notes
