"""Diagnose joins that match nothing: names that two relations of an audit should share, labels that nothing has."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from counterbalance.engine.errors import CounterbalanceError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import pyarrow as pa

    from counterbalance.engine.sql.plan import Asked, Held, Plan, Pooled

    Evaluate = Callable[[Plan], pa.Table]

_SHOWN: Final = 4


class Watch:
    """Watches rows for meetings of names that found nothing.

    Args:
        held: The meetings.
    """

    def __init__(self, held: Sequence[Held]) -> None:
        self._held = held
        self._found, self._columns = set[str](), set[str]()

    def see(self, batch: pa.RecordBatch) -> None:
        """Look at rows of the result."""
        self._columns.update(batch.schema.names)
        self._found.update(one.meeting.watched for one in self._held if _has_found(batch, one.meeting.watched))

    def notes(self, rows: int, evaluate: Evaluate) -> Iterator[str]:
        """Return a note for each meeting that found nothing because no name is shared."""
        for one in self._held:
            column = one.meeting.watched
            if column in self._found or (rows and column not in self._columns):
                continue
            with contextlib.suppress(CounterbalanceError):  # what was asked was answered
                left, right = ({*evaluate(plan).column(0).to_pylist()} for plan in one.names)
                if (text := note(one, left, right)) is not None:
                    yield text


def _has_found(batch: pa.RecordBatch, column: str) -> bool:
    if column not in batch.schema.names:
        return False
    values = batch.column(column)
    return bool(pc.any(pc.fill_null(pc.not_equal(values, 0), fill_value=False)).as_py())


def together(pooled: Pooled, evaluate: Evaluate) -> Iterator[str]:
    """Return a note on labels of several annotators that are taken together."""
    with contextlib.suppress(CounterbalanceError):  # what was asked was answered
        annotators = evaluate(pooled.annotators).num_rows
        if annotators > 1:
            yield (
                f"labels of {pooled.attribute} by {annotators} annotators are taken together: where they disagree it is "
                "'mixed'; annotator := '…' takes those of one"
            )


def missing(asked: Asked, evaluate: Evaluate) -> Iterator[str]:
    """Return notes on labels that an audit was given, and that nothing has."""
    with contextlib.suppress(CounterbalanceError):  # what was asked was answered
        there = [str(name) for name in evaluate(asked.there).column(0).to_pylist()]
        for name, value in asked.labels:
            if there and value not in there:
                near = did_you_mean(value, there)
                yield f"{asked.audit}() counts nothing as {name!r}: no label is {value!r}{near}; labels are {_few(there)}"


def note(held: Held, left: Collection[Any], right: Collection[Any]) -> str | None:
    """Return that nothing is shared, or ``None``."""
    if not {*left}.isdisjoint(right):
        return None
    (one, column), (other, its) = held.meeting.left, held.meeting.right
    empty = [name for name, names in ((one, left), (other, right)) if not names]
    if empty:
        return f"{held.audit}() has nothing to compare: {' and '.join(map(repr, empty))} gave no rows"
    shown = f"{_few(left)}, but {_few(right)}"
    return f"{held.audit}() has nothing to compare: no {column} of {one!r} is a {its} of {other!r}: {shown}"


def _few(names: Collection[Any]) -> str:
    first = sorted(map(str, names))
    return ", ".join(map(repr, first[:_SHOWN])) + (" …" if len(first) > _SHOWN else "")
