"""Keep what people say of edits, as labels that name them, and tell which set all found good."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.errors import RefusedError, RequestError
from counterbalance.engine.schema import LABELS
from counterbalance.ingest.hashing import hash_rows
from counterbalance.report.sheet.questions import FIT
from counterbalance.report.sheet.review import Edits, attribute_of, is_closed

if TYPE_CHECKING:
    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session

VALUES: Final = tuple(FIT.answers)
GOOD: Final = VALUES[0]
_WAIT: Final = 10.0
"""Seconds that an answer waits for another writer."""


def annotator_of(annotator: str | None) -> str:
    """Return who writes labels.

    Raises:
        RefusedError: These pages only read.
    """
    if annotator is None:
        raise RefusedError(
            "these pages keep no answers and no tags",
            code="E3225",
            hint="start `counterbalance ui` with --annotator NAME",
        )
    return annotator


def asked(annotator: str | None, body: Any) -> tuple[str, str]:
    """Return who answers what.

    Raises:
        RefusedError: These pages only read.
        RequestError: What was sent is no answer.
    """
    who = annotator_of(annotator)
    value = body.get("value") if isinstance(body, dict) else None
    if value not in VALUES:
        raise RequestError(
            "what was sent is no answer about an edit",
            code="E3775",
            hint=f'{{"value": "…"}}, one of {", ".join(VALUES)}',
        )
    return who, value


def _answered(edits: Edits) -> str:
    return (
        f"{edits.view} AS e JOIN labels AS l ON l.detection_id = e.edit_id AND l.image_id = e.image_id "
        f"AND l.attribute = '{attribute_of(edits.view)}'"
    )


def given(session: Session, edits: Edits, image_id: int) -> dict[int, dict[str, str]]:
    """Return by edit of a source who answered what."""
    rows = session.sql(
        f"SELECT e.edit_id, l.annotator, l.value FROM {_answered(edits)} "
        f"WHERE e.image_id = {image_id} AND l.annotator IS NOT NULL ORDER BY e.edit_id, l.annotator"
    )
    found: dict[int, dict[str, str]] = {}
    for edit, who, value in rows.fetchall():
        found.setdefault(edit, {})[who] = value
    return found


def progress(session: Session, edits: Edits, annotator: str) -> tuple[int, int | None]:
    """Return how many edits somebody has answered, and the first source of which an edit is still open."""
    mine = f"SELECT e.edit_id FROM {_answered(edits)} WHERE l.annotator = $annotator"
    done = session.sql(f"SELECT count(DISTINCT edit_id) FROM ({mine}) AS m", annotator=annotator).fetchall()[0][0]
    first = session.sql(
        f"SELECT image_id FROM {edits.view} WHERE image_id IS NOT NULL AND edit_id NOT IN ({mine}) "
        "ORDER BY md5(CAST(image_id AS VARCHAR)), image_id LIMIT 1",
        annotator=annotator,
    ).fetchall()
    return done, first[0][0] if first else None


def refuse_closed(lake: Lake, session: Session, edits: Edits) -> None:
    """Refuse to keep answers about a view that is read for a purpose only: which images have one would tell its rows.

    Raises:
        RefusedError: It is such a view.
    """
    if session.purpose is not None and is_closed(lake, edits.view):
        raise RefusedError(
            f"{edits.view} is read for a purpose only, and pages keep no answers about it",
            code="E3227",
            hint="`counterbalance review` writes a sheet of it, whose answers are kept closed",
        )


def keep(lake: Lake, images: pa.Array, named: str, value: str, annotator: str, edit: int | None = None) -> None:
    """Write one label for each image; an earlier one of the same annotator and attribute is changed.

    Args:
        lake: The lake.
        images: Their ids: the source of an edit, or what is tagged.
        named: The attribute, which names the edit or the tag.
        value: The answer.
        annotator: Who says so.
        edit: The edit that it is about; none where it is about the images.

    Raises:
        SourceError: The lake does not have one of them.
        BusyError: Somebody else is writing.
    """
    count = len(images)
    who, what, said = (pa.repeat(text, count) for text in (annotator, named, value))
    columns = {"image_id": images, "attribute": what, "value": said, "annotator": who}
    columns["detection_id"] = pa.array([edit] * count, pa.int64())
    columns["label_id"] = hash_rows(images, columns["detection_id"], what, who)  # as answers of a sheet have it
    schema = LABELS.schema()
    rows = [columns.get(field.name, pa.nulls(count, field.type)) for field in schema]
    lake.ingest({"labels": pa.Table.from_arrays(rows, schema=schema)}, strict=True, wait=_WAIT)


def accepted(name: str, edits: Edits) -> list[str]:
    """Return the commands that keep as a view the edits that every annotator who answered found good.

    Args:
        name: The lake, as its pages call it.
        edits: The view.
    """
    columns = ["edit_id", "image_id", *(["label"] if edits.has_label else []), *(f'"{c}"' for c in edits.shown)]
    sql = (
        f"CREATE MATERIALIZED VIEW {edits.view}_accepted WITH (key = 'edit_id') AS SELECT {', '.join(columns)}, "
        f'list_first(["{edits.picture}"]) AS "{edits.picture}" FROM {edits.view} WHERE edit_id IN ('
        f"SELECT e.edit_id FROM {_answered(edits)} GROUP BY e.edit_id HAVING bool_and(l.value = '{GOOD}'))"
    )
    return [
        shlex.join(["cbal", "sql", name, sql]),
        shlex.join(["cbal", "refresh", name, f"{edits.view}_accepted"]),
    ]
