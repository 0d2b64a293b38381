"""One label an image from the labels of its boxes and its own: ``views/image_labels.sql`` over stored codes.

Rows are read in the order they are stored in, and runs of equal image ids are reduced to a set of values (a bit each), so
that labels stored image by image, which is how they are ingested, are never sorted or hashed. Runs of the same image
that lie apart are put together at the end. The SQL of the view is the definition; this computes the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.schema import CODE_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import lance
    from numpy.typing import NDArray

    Codes = Mapping[str, Sequence[str | None]]

UNCLEAR: Final = ("mixed", "unclear", "undefined")
SCHEMA: Final = pa.schema([("image_id", pa.int64()), ("label", pa.dictionary(pa.int8(), pa.string()))])
_ROWS: Final = 131_072
_MOST: Final = 62
"""Clear values of an attribute that have a bit each; the lowest bit is 'mixed'."""
_DENSE: Final = 4
"""Ids of boxes that fill a fourth of their range are looked up by place."""


@dataclass(frozen=True, slots=True)
class RollUp:
    """What is rolled up.

    Args:
        labels: The stored labels that hold the attribute, at a version.
        codes: Dictionaries of its columns ``attribute``, ``value`` and ``annotator``.
        boxes: The stored detections.
        attribute: The attribute.
        least: Smallest float32 that a box's shorter side must reach.
        annotator: Whose labels count; all with ``None``.
        fragments: Those of the labels that may hold any that count; all with ``None``.
    """

    labels: lance.LanceDataset
    codes: Codes
    boxes: lance.LanceDataset
    attribute: str
    least: np.float32
    annotator: str | None = None
    fragments: Sequence[Any] | None = None

    @property
    def schema(self) -> pa.Schema:
        """Return columns of the result."""
        return SCHEMA

    @property
    def fits(self) -> bool:
        """Return whether ``run`` can answer it: all columns have codes, and the values are few."""
        return {"attribute", "value", "annotator"} <= self.codes.keys() and len(self.codes["value"]) <= _MOST

    def run(self, stopped: Callable[[], bool] = lambda: False) -> pa.Table:
        """Return a row an image, with ``image_id`` and ``label``.

        Args:
            stopped: Asked now and then; the rows found so far are given up when it says so.

        Raises:
            InterruptedError: It was stopped.
        """
        clear = [v for v in self.codes["value"] if v is not None and v not in UNCLEAR]
        kind: Any = next(k for k in (np.uint8, np.uint16, np.uint32, np.uint64) if len(clear) < np.iinfo(k).bits)
        big, runs, bits = _Boxes(self.boxes, self.least), _Runs(kind), _bits(self.codes["value"], clear, kind)
        for batch in self._rows():
            if stopped():
                message = "stopped"
                raise InterruptedError(message)
            chosen = self._chosen(batch, big)
            ids, values = batch.column("image_id"), batch.column("value" + CODE_SUFFIX)
            if chosen is not None:
                ids, values = ids.filter(chosen), values.filter(chosen)
            if len(ids):
                runs.add(ids, bits[_places(values)])
        return runs.named(clear)

    def _rows(self) -> Iterator[pa.RecordBatch]:
        columns = ["image_id", "detection_id", "attribute" + CODE_SUFFIX, "value" + CODE_SUFFIX]
        columns += ["annotator" + CODE_SUFFIX] if self.annotator is not None else []
        if self.fragments is None or self.fragments:  # Lance takes none for all
            chosen = None if self.fragments is None else list(self.fragments)
            yield from self.labels.scanner(columns=columns, batch_size=_ROWS, fragments=chosen).to_reader()

    def _chosen(self, batch: pa.RecordBatch, big: _Boxes) -> pa.Array | None:
        """Return which rows count; ``None`` for all."""
        keep = self._is(batch, "attribute", self.attribute)
        if self.annotator is not None:
            keep = keep & self._is(batch, "annotator", self.annotator)
        if not keep.any():
            return pa.array(keep)
        boxes = batch.column("detection_id")
        named = np.asarray(boxes.is_valid()) & keep
        if named.any():
            keep = keep & ~named
            everything = bool(named.all())
            ids = boxes.to_numpy() if everything else boxes.filter(pa.array(named)).to_numpy()
            keep[... if everything else named] = big.holds(ids)
        return None if keep.all() else pa.array(keep)

    def _is(self, batch: pa.RecordBatch, column: str, value: str) -> NDArray[np.bool_]:
        values = self.codes[column]
        if value not in values:
            return np.zeros(len(batch), np.bool_)
        codes = batch.column(column + CODE_SUFFIX)
        return np.asarray((codes.fill_null(-1) if codes.null_count else codes).to_numpy() == values.index(value))


class _Boxes:
    """Which boxes are big enough; ids that no box has are not.

    As long as the labels name the boxes in the order these are stored in, both are read side by side and nothing is kept.
    """

    def __init__(self, boxes: lance.LanceDataset, least: np.float32) -> None:
        self._boxes, self._least = boxes, least
        self._stream: Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]] | None = self._read()
        self._ids, self._big = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        self._order: NDArray[np.intp] | None = None
        self._by_place: NDArray[np.bool_] | None = None
        self._first = 0

    def holds(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell whether each id is that of a box that is big enough."""
        if self._stream is not None:
            big = self._next(ids, self._stream)
            if big is not None:
                return big
            self._stream = None
            self._collect()
        return self._searched(ids) if self._by_place is None else self._looked_up(ids, self._by_place)

    def _read(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
        for batch in self._boxes.scanner(columns=["detection_id", "width", "height"], batch_size=_ROWS).to_reader():
            yield batch.column(0).to_numpy(), np.fmin(_side(batch.column(1)), _side(batch.column(2))) >= self._least

    def _next(
        self, ids: NDArray[np.int64], stream: Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]
    ) -> NDArray[np.bool_] | None:
        """Return the next boxes of the stream if these are just the ones asked for."""
        parts: list[NDArray[np.bool_]] = []
        done = 0
        while done < len(ids):
            if not len(self._ids):
                self._ids, self._big = next(stream, (self._ids, self._big))
                if not len(self._ids):
                    return None
            count = min(len(self._ids), len(ids) - done)
            if not np.array_equal(self._ids[:count], ids[done : done + count]):
                return None
            parts.append(self._big[:count])
            self._ids, self._big = self._ids[count:], self._big[count:]
            done += count
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _collect(self) -> None:
        """Keep all boxes: by place where their ids are dense, else as they are, to be searched."""
        batches = list(self._read())
        rows = sum(len(ids) for ids, _ in batches)
        self._first = min((int(ids.min()) for ids, _ in batches), default=0)
        span = max((int(ids.max()) for ids, _ in batches), default=-1) - self._first + 1
        if span > _DENSE * rows:
            self._ids = np.concatenate([ids for ids, _ in batches])
            self._big = np.concatenate([big for _, big in batches])
            self._order = np.lexsort((~self._big, self._ids))  # of equal ids a big one first
            return
        self._by_place = np.zeros(span, np.bool_)
        for ids, big in batches:
            self._by_place[ids[big] - self._first] = True

    def _looked_up(self, ids: NDArray[np.int64], by_place: NDArray[np.bool_]) -> NDArray[np.bool_]:
        places = ids - self._first
        inside = (places >= 0) & (places < len(by_place))
        found = np.zeros(len(ids), np.bool_)
        found[inside] = by_place[places[inside]]
        return found

    def _searched(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        places = np.searchsorted(self._ids, ids, sorter=self._order)
        there = places < len(self._ids)
        found = np.zeros(len(ids), np.bool_)
        if self._order is not None:
            rows = self._order[places[there]]
            found[there] = (self._ids[rows] == ids[there]) & self._big[rows]
        return found


class _Runs:
    """Image ids with the bits of their values, in the order of the rows."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._ids: list[NDArray[np.int64]] = []
        self._bits: list[NDArray[Any]] = []
        self._last: int | None = None
        self._null: Any = None
        self._rising = True

    def add(self, ids: pa.Array, bits: NDArray[Any]) -> None:
        """Add rows that follow those before."""
        if ids.null_count:
            nothing = np.asarray(ids.is_null())
            self._null = np.bitwise_or.reduce(bits[nothing], initial=self._null or 0)
            ids, bits = ids.drop_null(), bits[~nothing]
            if not len(ids):
                return
        own = ids.to_numpy()
        starts = np.flatnonzero(np.concatenate([[True], own[1:] != own[:-1]]))
        heads, sets = own[starts], np.bitwise_or.reduceat(bits, starts)
        if self._last == heads[0]:
            self._bits[-1][-1] |= sets[0]
            heads, sets = heads[1:], sets[1:]
        if len(heads):
            self._rising &= (self._last is None or self._last < heads[0]) and bool((heads[1:] > heads[:-1]).all())
            self._last = int(heads[-1])
            self._ids.append(heads)
            self._bits.append(sets)

    def named(self, clear: Sequence[str]) -> pa.Table:
        """Return every image once, with its label."""
        if not self._rising:
            ids, bits = np.concatenate(self._ids), np.concatenate(self._bits)
            order = np.argsort(ids, kind="stable")
            ids, bits = ids[order], bits[order]
            starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
            self._ids, self._bits = [ids[starts]], [np.bitwise_or.reduceat(bits, starts)]
        name = _namer(clear, self._kind)
        parts = [pa.table([ids, name(bits)], schema=SCHEMA) for ids, bits in zip(self._ids, self._bits, strict=True)]
        if self._null is not None:
            parts.append(pa.table([pa.nulls(1, pa.int64()), name(np.array([self._null], self._kind))], schema=SCHEMA))
        return pa.concat_tables(parts) if parts else SCHEMA.empty_table()


def _side(values: pa.Array) -> NDArray[np.float32]:
    """Return lengths as SQL's ``least`` takes them: NaN is above all numbers, and NULL (NaN here) is passed over."""
    sides = values.to_numpy(zero_copy_only=False)
    if not np.isnan(sides).any():
        return np.asarray(sides, np.float32)
    return np.where(np.isnan(sides) & np.asarray(values.is_valid()), np.float32(np.inf), sides)


def _bits(values: Sequence[str | None], clear: Sequence[str], kind: Any) -> NDArray[Any]:
    """Return the bit of each code, NULL first."""
    bits = {value: 2 << place for place, value in enumerate(clear)} | {"mixed": 1}
    return np.array([0, *(bits.get(v, 0) if v is not None else 0 for v in values)], kind)


def _places(codes: pa.Array) -> NDArray[np.intp]:
    whole = codes.fill_null(-1) if codes.null_count else codes
    return np.asarray(whole.to_numpy(), np.intp) + 1


def _namer(clear: Sequence[str], kind: Any) -> Callable[[NDArray[Any]], pa.Array]:
    """Return a function from sets of values to labels."""
    names = pa.array([*clear, "mixed", "unclear"], pa.string())

    def places(sets: NDArray[Any]) -> NDArray[np.int8]:
        found = np.full(len(sets), len(clear), np.int8)
        found[sets == 0] = len(clear) + 1
        for place in range(len(clear)):
            found[sets == 2 << place] = place
        return found

    known = places(np.arange(np.iinfo(kind).max + 1)) if kind in (np.uint8, np.uint16) else None

    def name(sets: NDArray[Any]) -> pa.Array:
        labels = places(sets) if known is None else known[sets]
        return pa.DictionaryArray.from_arrays(pa.array(labels), names)

    return name
