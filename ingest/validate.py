"""Check values from sources that nobody has vouched for, whole columns at a time.

A ``ObjectSieve`` turns the fields of JSON objects into numpy and Arrow columns. Columns of the right types cost one pass each;
only where one holds something else are its values looked at one by one. A value that will not do marks its object as
refused, once, with the first reason; the columns keep their length, and ``keep`` says at the end which rows to use.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.ingest_types import Reject
from counterbalance.ingest.hashing import key_id
from counterbalance.ingest.jsonobjects import Repeated
from counterbalance.ingest.rows import MAX_KEY, MAX_TEXT, Places, kind_of, shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Mask = npt.NDArray[np.bool_]
    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

MAX_ID: Final = (1 << 63) - 1
MAX_PIXELS: Final = (1 << 31) - 1
MAX_COORDINATE: Final = 1e9
"""Pixels; beyond any image, and float32 still tells it from infinity."""
FRAME_TOLERANCE: Final = 1.0
"""Pixels that a box may reach beyond its image: COCO's own boxes do so by rounding."""
_ID: Final = "an integer from 0 to 2^63-1 or a text is needed"


def item_id(value: object) -> int | None:
    """Return the id of an item: an integer is kept, a text hashed by ``hashing.key_id``; ``None`` for what is neither.

    Example:
        >>> item_id(139), item_id("139"), item_id(True), item_id(1.0), item_id(-1), item_id("")
        (139, 139, None, None, None, None)
    """
    if isinstance(value, str):
        return key_id(value) if 0 < len(value) <= MAX_KEY and is_utf8(value) else None
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= MAX_ID else None  # type: ignore[operator,return-value]


def is_utf8(text: str) -> bool:
    r"""Return whether a text can be stored: lone surrogates cannot.

    Example:
        >>> is_utf8("né"), is_utf8("\ud800")
        (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_number(value: object) -> bool:
    """Return whether a JSON value is a number (``true`` and ``false`` are none), finite or not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: object) -> str:
    """Return a number, or what kind of value another one is: it may tell of people what is closed."""
    return shorten(value) if is_number(value) else kind_of(value)


def outside(boxes: Floats, width: Floats, height: Floats, tolerance: float = FRAME_TOLERANCE) -> Mask:
    """Return which boxes reach beyond their image by more than ``tolerance`` pixels.

    Args:
        boxes: x, y, width, height in pixels; shape (n, 4).
        width: Widths of the images, infinite where unknown; shape (n,).
        height: The same for heights.
        tolerance: Pixels.

    Example:
        >>> outside(np.array([[0, 0, 640.5, 10], [0, 0, 10, 500.0]]), np.full(2, 640.0), np.full(2, 480.0))
        array([False,  True])
    """
    x, y, w, h = boxes.T
    low = (x < -tolerance) | (y < -tolerance)
    found: Mask = low | (x + w > width + tolerance) | (y + h > height + tolerance)
    return found


class ObjectSieve:
    """Fields of some JSON objects as checked columns; a missing field and ``null`` are the same.

    Args:
        source: URI of the file.
        array: Name of the array that holds the objects.
        numbers: Index of each object in it.
        items: The objects; what is not an object is refused at once (``bad_item``), or holds a name twice (``duplicate_name``).
    """

    def __init__(self, source: str, array: str, numbers: Ints, items: list[Any]) -> None:
        self.source, self.array, self.numbers = source, array, numbers
        self.items: list[dict[str, Any]] = items
        self.keep: Mask = np.ones(len(items), dtype=bool)
        self._refused: list[tuple[int, str, str]] = []
        if set(map(type, items)) - {dict}:
            twice = [isinstance(i, Repeated) for i in items]
            self.refuse(twice, "duplicate_name", lambda i: items[i].message)
            odd = [not isinstance(i, dict) for i in items]
            self.refuse(odd, "bad_item", lambda i: f"an object was expected, not {kind_of(items[i])}")
            self.items = [{} if bad else i for i, bad in zip(items, odd, strict=True)]

    def __len__(self) -> int:
        return len(self.items)

    @property
    def rejects(self) -> list[Reject]:
        """Return what was refused, in the order of the items."""
        places = self.places()
        return [Reject(self.source, places[i], code, message) for i, code, message in sorted(self._refused)]

    def refuse(self, bad: Mask | list[bool], code: str, message: Callable[[int], str]) -> None:
        """Take out the marked rows; those refused before are not reported again.

        Args:
            bad: True for the rows to refuse.
            code: Short stable code.
            message: From the row's place in ``items`` to why.
        """
        marks = np.asarray(bad, dtype=bool)
        for i in np.flatnonzero(marks & self.keep).tolist():
            self._refused.append((i, code, message(i)))
        self.keep &= ~marks

    def places(self) -> Places:
        """Return where each object stands."""
        return Places(f"{self.array}[{{}}]", self.numbers)

    def rows(self, columns: dict[str, Any], key: str) -> tuple[pa.Table, Places]:
        """Return columns as a table, its key first, and the positions of its rows; refused rows are left out."""
        table = pa.table({key: columns[key], **columns})
        if self.keep.all():
            return table, self.places()
        return table.filter(pa.array(self.keep)), self.places().take(self.keep)

    def values(self, field: str) -> list[Any]:
        """Return a field as it came."""
        try:
            return [i[field] for i in self.items]
        except KeyError:
            return [i.get(field) for i in self.items]

    def ids(self, field: str) -> Ints:
        """Return a field of ids, 0 where refused: ``missing_id``, ``bad_id``."""
        values = self.values(field)
        if set(map(type, values)) == {int}:
            try:
                numbers = np.array(values, dtype=np.int64)
            except OverflowError:
                pass
            else:
                if numbers.min() >= 0:
                    return numbers
        ids = [item_id(v) for v in values]
        self.refuse([v is None for v in values], "missing_id", lambda _: f"{field} is missing")
        self.refuse([i is None for i in ids], "bad_id", lambda i: f"{field}: {_ID}, not {_shown(values[i])}")
        return np.array([i or 0 for i in ids], dtype=np.int64)

    def text(self, field: str, *, limit: int = MAX_TEXT) -> pa.Array:
        """Return a field of texts, NULL where it is missing; refuses ``bad_text``, ``bad_utf8`` and ``too_long``."""
        values = self.values(field)
        if set(map(type, values)) - {str, type(None)}:
            odd = [not isinstance(v, (str, type(None))) for v in values]
            self.refuse(odd, "bad_text", lambda i: f"{field} must be a text, not {_shown(values[i])}")
            values = [None if bad else v for v, bad in zip(values, odd, strict=True)]
        return self.stored(field, values, limit=limit)

    def stored(self, field: str, values: list[str | None], *, limit: int = MAX_TEXT) -> pa.Array:
        """Return texts of a field; refuses ``bad_utf8`` and ``too_long``."""
        try:
            array = pa.array(values, pa.string())
        except UnicodeEncodeError:
            odd = [v is not None and not is_utf8(v) for v in values]
            self.refuse(odd, "bad_utf8", lambda _: f"{field} is not UTF-8")
            array = pa.array([None if bad else v for v, bad in zip(values, odd, strict=True)], pa.string())
        lengths = pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False)
        if len(lengths) and lengths.max() > limit:
            message = "{} has {:,} bytes; at most {:,} are taken"
            self.refuse(lengths > limit, "too_long", lambda i: message.format(field, lengths[i], limit))
        return array

    def numbers_of(self, field: str, code: str) -> Floats:
        """Return a field of finite numbers, NaN where it is missing or refused with ``code``."""
        values = self.values(field)
        if set(map(type, values)) - {int, float}:
            odd = [v is not None and not is_number(v) for v in values]
            self.refuse(odd, code, lambda i: f"{field} must be a number, not {kind_of(values[i])}")
            known = [is_number(v) for v in values]
            numbers = np.array([float(v) if ok else np.nan for v, ok in zip(values, known, strict=True)])
        else:
            known = None
            numbers = np.array(values, dtype=np.float64)
        bad = ~np.isfinite(numbers) if known is None else np.array(known) & ~np.isfinite(numbers)
        if bad.any():
            self.refuse(bad, code, lambda i: f"{field} must be a finite number, not {shorten(values[i])}")
            numbers[bad] = np.nan
        return numbers

    def pixels(self, field: str) -> pa.Array:
        """Return a field of whole positive numbers as int32, NULL where it is missing; refuses ``bad_size``."""
        numbers = self.numbers_of(field, "bad_size")
        missing = np.isnan(numbers)
        bad = ~missing & ((numbers < 1) | (numbers > MAX_PIXELS) | (numbers != np.floor(numbers)))
        if bad.any():
            self.refuse(bad, "bad_size", lambda i: f"{field} must be 1 pixel or more, not {numbers[i]:g}")
        return pa.array(np.where(missing | bad, 1, numbers).astype(np.int32), mask=missing | bad)

    def boxes(self, field: str) -> Floats:
        """Return a field of boxes ``[x, y, width, height]``, shape (n, 4), zeros where refused: ``bad_box``."""
        values = self.values(field)
        sound = set(map(type, values)) <= {list} and set(map(len, values)) <= {4}
        if not sound or set(map(type, chain.from_iterable(values))) - {int, float}:
            odd = [not isinstance(v, list) or len(v) != 4 or not all(map(is_number, v)) for v in values]
            message = "{} must be four numbers (x, y, width, height), not {}"
            self.refuse(odd, "bad_box", lambda i: message.format(field, kind_of(values[i])))
            values = [[0, 0, 0, 0] if bad else v for v, bad in zip(values, odd, strict=True)]
        boxes = np.fromiter(chain.from_iterable(values), np.float64, 4 * len(values)).reshape(-1, 4)
        bad: Mask = ~np.all(np.abs(boxes) <= MAX_COORDINATE, axis=1)
        self.refuse(bad, "bad_box", lambda i: f"{field} must be finite: {shorten(values[i])}")
        negative: Mask = np.any(boxes[:, 2:] < 0, axis=1)
        self.refuse(negative, "bad_box", lambda i: f"{field} has a negative width or height: {shorten(values[i])}")
        boxes[bad | negative] = 0
        return boxes
