"""Rows of a table-like source on their way to the base tables, and the sieve that lets only sound ones through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import Reject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from counterbalance.engine.schema import Table

    Mask = npt.NDArray[np.bool_]

MAX_TEXT: Final = 1 << 20
"""Bytes of a text cell; longer ones are refused."""
MAX_KEY: Final = 16 << 10
"""Bytes of a key or URL."""
_SHOWN: Final = 60


class Places(Sequence[str]):
    """Put positions into words when somebody asks.

    Example:
        >>> Places("line {}", np.array([2, 5]))[1], Places("images[{}]", np.array([0, 3]))[1]
        ('line 5', 'images[3]')
    """

    def __init__(self, words: str, numbers: npt.NDArray[np.int64]) -> None:
        self.words, self.numbers = words, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Places: ...
    def __getitem__(self, at: int | slice) -> str | Places:
        found = self.numbers[at]
        return Places(self.words, found) if isinstance(at, slice) else self.words.format(found)

    def take(self, which: npt.NDArray[Any]) -> Places:
        """Return those at the given positions, or where a mask is true."""
        return Places(self.words, self.numbers[which])


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that could not even be cut into cells: its number, a short code, why; never the row, which may hold perceived labels.

    Everybody may read ``meta.errors``.
    """

    number: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Rows:
    """Describe some consecutive rows of a source.

    Args:
        table: One column a field: text (as UTF-8 ``string`` or unchecked ``binary``) or the file's own type.
        numbers: Line or row number of each row.
        unit: ``"line"`` or ``"row"``.
        source: URI of the file.
        refused: Rows that are not in ``table``.
        bytes_read: Bytes of the file behind these rows.
    """

    table: pa.Table
    numbers: npt.NDArray[np.int64]
    unit: str
    source: str
    refused: Sequence[Refusal] = ()
    bytes_read: int = 0

    @property
    def count(self) -> int:
        """Return rows of the source, refused ones included."""
        return int(self.table.num_rows) + len(self.refused)

    def head(self, count: int) -> Rows:
        """Return the first rows, refused ones counted."""
        if count >= self.count:
            return self
        both = np.sort(np.concatenate([self.numbers, np.array([r.number for r in self.refused], dtype=np.int64)]))
        end = int(both[count])
        kept = int(np.searchsorted(self.numbers, end))
        refused = [r for r in self.refused if r.number < end]
        return Rows(self.table.slice(0, kept), self.numbers[:kept], self.unit, self.source, refused, self.bytes_read)


def shorten(value: object) -> str:
    """Return a value for a message: quoted, at most 60 characters.

    Example:
        >>> shorten("a" * 99) == repr("a" * 60) + "…"
        True
    """
    if isinstance(value, bytes):
        value = value[: _SHOWN + 1].decode("utf-8", "backslashreplace")
    if isinstance(value, str):
        return repr(value[:_SHOWN]) + ("…" if len(value) > _SHOWN else "")
    text = repr(value)
    return text[:_SHOWN] + ("…" if len(text) > _SHOWN else "")


def kind_of(value: object) -> str:
    """Return what kind of JSON value stands there, and nothing of the value: what is said of people may be closed.

    Example:
        >>> kind_of("female"), kind_of({"gender": "female"}), kind_of([1, 2]), kind_of(True), kind_of(None)
        ('a text', 'an object of 1', 'a list of 2', 'true or false', 'nothing')
    """
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case list():
            return f"a list of {len(value):,}"
        case dict():
            return f"an object of {len(value):,}"
    return "a number"


def cell_text(value: object) -> str:
    r"""Return a cell in which a number was expected for a message; any other text is not shown, for cells may be shifted.

    Example:
        >>> [cell_text(v) for v in (b"nan", 1.5, "female", "")]
        ['nan', '1.5', 'a text', '']
    """
    text = (value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value))[:_SHOWN]
    try:
        float(text)
    except ValueError:
        return "a text" if text.strip() else text
    return text


class Sieve:
    """Columns of some rows as checked Arrow arrays; rows that fail are marked and reported once each.

    Every array it gives has one value a row of ``rows.table``, also for refused rows; ``keep`` tells which to use.
    Not thread-safe.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.size = rows.table.num_rows
        self.keep: Mask = np.ones(self.size, dtype=bool)
        self.rejects = [Reject(rows.source, f"{rows.unit} {r.number}", r.code, r.message) for r in rows.refused]

    def has(self, field: str) -> bool:
        """Return whether the source has the field."""
        return field in self.rows.table.column_names

    def places(self) -> Places:
        """Return where each row stands."""
        return Places(f"{self.rows.unit} {{}}", self.rows.numbers)

    def refuse(self, bad: Mask, code: str, message: str | Callable[[int], str]) -> None:
        """Take rows out.

        Args:
            bad: True for the rows to refuse; those refused before are not reported again.
            code: Short stable code.
            message: Text, or a function from the row's position to it.
        """
        for i in np.flatnonzero(bad & self.keep):
            self.note(int(i), code, message if isinstance(message, str) else message(int(i)))
        self.keep &= ~bad

    def note(self, i: int, code: str, message: str) -> None:
        """Report something about a row that is kept."""
        place = f"{self.rows.unit} {self.rows.numbers[i]}"
        self.rejects.append(Reject(self.rows.source, place, code, message))

    def refuse_kept(self, bad: Mask, message: Callable[[int], str]) -> None:
        """Take out duplicates as ``refuse`` does, the mask counted over those that are kept so far."""
        at = np.flatnonzero(self.keep)[bad]
        mask = np.zeros(self.size, dtype=bool)
        mask[at] = True
        self.refuse(mask, "duplicate_key", message)

    def kept(self, array: pa.Array) -> pa.Array:
        """Return those values whose rows are kept so far."""
        return array if self.keep.all() else array.filter(pa.array(self.keep))

    def text(self, field: str, limit: int = MAX_TEXT) -> pa.Array:
        """Return a field as strings; absent, empty and blank ones are NULL. Refuses ``bad_utf8`` and ``too_long``."""
        if not self.has(field):
            return pa.nulls(self.size, pa.string())
        array = self._utf8(field, _flat(self.rows.table[field]))
        lengths = pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False)
        long = lengths > limit
        if long.any():
            self.refuse(long, "too_long", lambda i: f"{field} has {lengths[i]:,} bytes; at most {limit:,} are taken")
        blank = pc.equal(pc.utf8_trim_whitespace(array), "")
        return pc.if_else(blank, None, array)

    def _utf8(self, field: str, array: pa.Array) -> pa.Array:
        """Return any array as valid UTF-8 strings."""
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if pa.types.is_fixed_size_binary(array.type):
            array = array.cast(pa.binary())
        kind = array.type
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return self._decoded(field, array)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            try:
                array.validate(full=True)
            except pa.ArrowInvalid:
                return self._decoded(field, array.cast(pa.binary()))
            return array.cast(pa.string())
        return _as_text(array, field, self.rows.source)

    def _decoded(self, field: str, array: pa.Array) -> pa.Array:
        try:
            return array.cast(pa.string())
        except pa.ArrowInvalid:
            values = array.to_pylist()
        bad = np.array([v is not None and not _is_utf8(v) for v in values], dtype=bool)
        self.refuse(bad, "bad_utf8", f"{field} is not UTF-8")
        return pa.array([None if b else v for v, b in zip(values, bad, strict=True)], pa.binary()).cast(pa.string())

    def number(self, field: str) -> tuple[npt.NDArray[np.float64], Mask]:
        """Return a field as float64, and where it holds something that is not a finite number.

        Both that and what is missing are NaN in the values; a written or stored NaN counts as missing.
        """
        if not self.has(field):
            return np.full(self.size, np.nan), np.zeros(self.size, dtype=bool)
        array = _flat(self.rows.table[field])
        if _is_numeric(array.type):
            values = pc.fill_null(array.cast(pa.float64(), safe=False), np.nan).to_numpy(zero_copy_only=False)
            bad = np.isinf(values)
        else:
            text = pc.utf8_trim_whitespace(self.text(field))
            values = _parsed(text)
            said = pc.fill_null(pc.not_equal(pc.utf8_lower(text), "nan"), False).to_numpy(zero_copy_only=False)
            bad = said & ~np.isfinite(values)
        return np.where(bad, np.nan, values), bad


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _parsed(text: pa.Array) -> npt.NDArray[np.float64]:
    """Return numbers in decimal or scientific notation; NaN for anything else."""
    try:
        numbers = text.cast(pa.float64())
    except pa.ArrowInvalid:
        shaped = pc.match_substring_regex(text, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,5})?$")
        numbers = _one_by_one(pc.if_else(shaped, text, None))
    values: npt.NDArray[np.float64] = pc.fill_null(numbers, np.nan).to_numpy(zero_copy_only=False)
    return values


def _one_by_one(text: pa.Array) -> pa.Array:
    return pa.array([None if v is None else float(v) for v in text.to_pylist()], pa.float64())


def _as_text(array: pa.Array, field: str, source: str) -> pa.Array:
    """Return values that are not text, written as text: whole floats without a fraction, lists and structs as JSON."""
    kind = array.type
    if pa.types.is_float16(kind):
        array = array.cast(pa.float32())
    if pa.types.is_floating(kind):
        whole = pc.and_(pc.is_finite(array), pc.less(pc.abs(array), 2.0**53))
        whole = pc.fill_null(pc.and_(whole, pc.equal(pc.floor(array), array)), False)
        as_int = pc.if_else(whole, array, None).cast(pa.int64()).cast(pa.string())
        return pc.if_else(whole, as_int, pc.if_else(pc.is_nan(array), None, array).cast(pa.string()))
    if pa.types.is_nested(kind):
        values = array.to_pylist()
        return pa.array([None if v is None else orjson.dumps(v, default=str).decode() for v in values], pa.string())
    try:
        return array.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SourceError(f"column for {field} in {source} has type {kind}; text is needed", code="E4010") from error


def is_null(array: pa.Array) -> Mask:
    """Return where an array is NULL."""
    mask: Mask = pc.is_null(array).to_numpy(zero_copy_only=False)
    return mask


def floats(values: npt.NDArray[np.float64]) -> pa.Array:
    """Return float32 with NULL for NaN and for what float32 cannot hold."""
    with np.errstate(over="ignore"):
        small = values.astype(np.float32)
    return pa.array(small, pa.float32(), mask=~np.isfinite(small))


def pixels(values: npt.NDArray[np.float64]) -> pa.Array:
    """Return int32 with NULL for NaN and for what is not a positive whole number of pixels.

    Example:
        >>> pixels(np.array([640.0, -1.0, 0.0, 1.5, np.nan])).to_pylist()
        [640, None, None, None, None]
    """
    with np.errstate(invalid="ignore"):
        sound = (values > 0) & (values < 2**31) & (values == np.floor(values))
    return pa.array(np.where(sound, values, 0).astype(np.int32), pa.int32(), mask=~sound)


def base_rows(table: Table, columns: Mapping[str, pa.Array], which: Mask | None = None) -> pa.Table:
    """Return those of the columns that a base table has, in its order and with its types.

    Args:
        table: The base table.
        columns: Arrays of one length; names that the table does not have are left out.
        which: Rows to take; all when ``None``.
    """
    fields = [f for f in table.schema(blobs=True) if f.name in columns]
    arrays = [columns[f.name].cast(f.type) for f in fields]
    rows = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    return rows if which is None else rows.filter(pa.array(which))
