"""Whether relations of an audit that are matched by name have any name in common, and labels that it was given are there."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import CounterbalanceError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    import pyarrow as pa
    from sqlglot import exp

_SHOWN: Final = 4


@dataclass(frozen=True, slots=True)
class Meeting:
    """What the front matter of an audit says of two of its relations.

    Args:
        left: Relation parameter, and the column of names.
        right: The other one.
        watched: Column of the result that is NULL or 0 throughout where no name is shared.
    """

    left: tuple[str, str]
    right: tuple[str, str]
    watched: str


@dataclass(frozen=True, slots=True)
class Held:
    """A meeting of one call: the audit, and queries of the names on either side.

    Args:
        audit: Its name.
        meeting: What its front matter says.
        names: Queries of the distinct names, left and right.
        closed: The names must not be shown.
    """

    audit: str
    meeting: Meeting
    names: tuple[exp.Query, exp.Query]
    closed: bool


@dataclass(frozen=True, slots=True)
class Among:
    """What the front matter of an audit says of parameters that are labels.

    Args:
        labels: These parameters.
        relations: Relation parameters whose ``label`` they are; the first that is given counts, else the last.
    """

    labels: tuple[str, ...]
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """Labels that a call was given, and a query of those that there are; ``closed`` ones must not be shown."""

    audit: str
    labels: tuple[tuple[str, str], ...]
    there: exp.Query
    closed: bool


@dataclass(frozen=True, slots=True)
class Pooled:
    """Labels of an attribute whose annotators are taken together, and a query of these."""

    attribute: str
    annotators: exp.Query


def together(attribute: str, annotators: int) -> str:
    """What becomes of labels on which annotators disagree.

    Example:
        >>> together("scene", 2)[:56]
        'labels of scene by 2 annotators are taken together: wher'
    """
    return (
        f"labels of {attribute} by {annotators} annotators are taken together: where they disagree it is 'mixed'; "
        "annotator := '…' takes those of one"
    )


def missing(asked: Asked, there: Collection[Any]) -> list[str]:
    """Notes of labels that nothing has."""
    shown = "" if asked.closed else f"; labels are {_few(there)}"
    near = () if asked.closed else there
    return [
        f"{asked.audit}() counts nothing as {name!r}: no label is {value!r}{did_you_mean(value, near)}{shown}"
        for name, value in asked.labels
        if there and value not in there
    ]


def watched(
    batches: Iterable[pa.RecordBatch],
    held: Iterable[Held],
    asked: Iterable[Asked],
    pooled: Iterable[Pooled],
    evaluate: Callable[[exp.Query], pa.Table],
    notes: list[str],
    without_rows: Callable[[], list[str]],
) -> Iterator[pa.RecordBatch]:
    """The batches of a result, and notes of what explains them: meetings, labels that nothing has, tables without rows.

    Names are looked at after the last batch; those of meetings only when nothing was found.
    """
    rows, said, seen = 0, set[str](), set[str]()
    for batch in batches:
        rows += batch.num_rows
        seen.update(batch.schema.names)
        said.update(m.meeting.watched for m in held if _says(batch, m.meeting.watched))
        yield batch
    if rows == 0:
        told = (f"{table} has no rows" for table in without_rows())
        notes += [text for text in told if text not in notes]
    for question in asked:
        with contextlib.suppress(CounterbalanceError):  # what was asked was answered
            there = [str(name) for name in evaluate(question.there).column(0).to_pylist()]
            notes += [text for text in missing(question, there) if text not in notes]
    for mixed in pooled:
        with contextlib.suppress(CounterbalanceError):  # what was asked was answered
            several = evaluate(mixed.annotators).num_rows
            told_of = together(mixed.attribute, several)
            notes += [told_of] if several > 1 and told_of not in notes else []
    for one in held:
        column = one.meeting.watched
        if (rows == 0 or column in seen) and column not in said:
            try:
                left, right = ({*evaluate(q).column(0).to_pylist()} for q in one.names)
            except CounterbalanceError:  # what was asked was answered
                continue
            text = note(one, left, right)
            if text is not None and text not in notes:
                notes.append(text)


def _says(batch: pa.RecordBatch, column: str) -> bool:
    import pyarrow.compute as pc

    if column not in batch.schema.names:
        return False
    values = batch.column(column)
    return bool(pc.any(pc.fill_null(pc.not_equal(values, 0), fill_value=False)).as_py())


def note(held: Held, left: Collection[Any], right: Collection[Any]) -> str | None:
    """That nothing is shared, or ``None``."""
    if not {*left}.isdisjoint(right):
        return None
    (one, column), (other, its) = held.meeting.left, held.meeting.right
    empty = [name for name, names in ((one, left), (other, right)) if not names]
    if empty:
        return f"{held.audit}() has nothing to compare: {' and '.join(map(repr, empty))} gave no rows"
    shown = "" if held.closed else f": {_few(left)}, but {_few(right)}"
    return f"{held.audit}() has nothing to compare: no {column} of {one!r} is a {its} of {other!r}{shown}"


def _few(names: Collection[Any]) -> str:
    first = sorted(map(str, names))
    return ", ".join(map(repr, first[:_SHOWN])) + (" …" if len(first) > _SHOWN else "")
