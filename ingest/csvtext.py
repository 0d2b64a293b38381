"""CSV and TSV as Arrow tables of raw cells, block by block; a broken record costs itself and nothing else.

A block whose quotes are all where RFC 4180 wants them goes through Arrow's parser. Any other block is cut by hand: a
quote that is opened and not closed properly makes its line a refused one, and reading goes on with the next line, so
that a stray quote cannot swallow the rest of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from counterbalance.ingest.rows import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    Ends = npt.NDArray[np.int64]

BLOCK: Final = 16 << 20
BOM: Final = b"\xef\xbb\xbf"
MAX_RECORD: Final = 4 << 20
"""Bytes of one record; a longer one is refused."""
_QUOTE: Final = 0x22
_LF: Final = 0x0A
_CR: Final = 0x0D


@dataclass(frozen=True, slots=True)
class Dialect:
    """Describe how cells are told apart.

    Args:
        delimiter: One byte.
        width: Cells of a record.
        quoting: Whether double quotes enclose cells (RFC 4180).
        lenient: Take a line whose quotes are wrong literally, if it has the right number of cells.
    """

    delimiter: bytes
    width: int
    quoting: bool = True
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class Records:
    """Records of one block: the wanted columns as ``binary``, the line of each, and what was refused."""

    columns: Sequence[pa.Array]
    lines: npt.NDArray[np.int64]
    refused: Sequence[Refusal]


class Stream(Protocol):
    """Describe what is read from: ``read`` gives fewer bytes than asked for only at the end."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes."""
        ...


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes of a file from a record's beginning on.

    Args:
        data: The bytes; what the last cut left over comes first.
        line: Number of the first line.
        last: Whether the file ends here.
    """

    data: bytes
    line: int
    last: bool


Cutter = Callable[[Block], tuple[Records, int]]


def read_cells(
    stream: Stream, dialect: Dialect, wanted: Sequence[int], *, header: bool, block: int = BLOCK
) -> Iterator[Records]:
    """Return the records of a CSV file.

    Args:
        stream: At the beginning.
        dialect: How to cut it.
        wanted: Positions of the columns to give, in that order.
        header: Whether the first record is a header.
        block: Bytes to read at a time.

    Raises:
        CounterbalanceError: As the stream does.
    """
    skip = header

    def cut(block: Block) -> tuple[Records, int]:
        nonlocal skip
        if skip:
            skip = False
            end = first_end(block.data, dialect)
            block = Block(block.data[end:], block.line + block.data.count(b"\n", 0, end), block.last)
            cells, used = _cut(block, dialect, wanted)
            return cells, used + end
        return _cut(block, dialect, wanted)

    return in_blocks(stream, cut, block)


def in_blocks(stream: Stream, cut: Cutter, block: int = BLOCK) -> Iterator[Records]:
    """Cut a stream of lines block by block.

    Args:
        stream: At the beginning; a byte-order mark is dropped.
        cut: Gives the whole records of a block and how many bytes they are.
        block: Bytes to read at a time.
    """
    rest, line, skipping = stream.read(len(BOM)).removeprefix(BOM), 1, False
    while True:
        data = stream.read(block)
        last = not data
        rest += data
        if skipping:
            line, rest, skipping = _skip_line(rest, line)
        if rest:
            cells, used = cut(Block(rest, line, last))
            line += rest.count(b"\n", 0, used)
            rest = rest[used:]
            if len(rest) > MAX_RECORD:
                why = Refusal(line, "too_long", f"a record of more than {MAX_RECORD:,} bytes")
                cells = Records(cells.columns, cells.lines, [*cells.refused, why])
                line, rest, skipping = _skip_line(rest, line)
            yield cells
        if last:
            return


def _skip_line(rest: bytes, line: int) -> tuple[int, bytes, bool]:
    """Drop the rest of a line: number of the next line, what follows, whether its end is still to come."""
    end = rest.find(b"\n")
    return (line, b"", True) if end < 0 else (line + 1, rest[end + 1 :], False)


def _cut(block: Block, dialect: Dialect, wanted: Sequence[int]) -> tuple[Records, int]:
    """Return cells of the whole records in a block, and how many bytes they are."""
    data = block.data
    if not dialect.quoting:
        used = len(data) if block.last else data.rfind(b"\n") + 1
        fast = _fast(data[:used], dialect, wanted, block.line, _line_ends(data, used))
        return fast or _unquoted(data[:used], dialect, wanted, block.line), used
    ends = _record_ends(data, last=block.last)
    used = int(ends[-1]) if len(ends) else 0
    whole = used == len(data) if block.last else len(data) - used <= MAX_RECORD
    if whole and _is_proper(data, used, dialect.delimiter[0]):
        fast = _fast(data[:used], dialect, wanted, block.line, ends)
        if fast is not None:
            return fast, used
    return _slow(block, dialect, wanted)


def _line_ends(data: bytes, used: int) -> Ends:
    ends = np.flatnonzero(np.frombuffer(data, np.uint8, used) == _LF) + 1
    return ends if not used or (len(ends) and ends[-1] == used) else np.append(ends, used)


def _record_ends(data: bytes, *, last: bool) -> Ends:
    """Return where records end when every quote is proper: at the line feeds with an even number of quotes before them."""
    ends = _line_ends(data, len(data))
    if ends.size and not last and data[-1] != _LF:
        ends = ends[:-1]
    if _QUOTE in data:
        quotes = np.flatnonzero(np.frombuffer(data, np.uint8) == _QUOTE)
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    return ends


def _is_proper(data: bytes, used: int, delimiter: int) -> bool:
    """Return whether each quote opens a cell, closes one or is one of a pair, and no carriage return stands alone."""
    if data.count(b"\r", 0, used) != data.count(b"\r\n", 0, used):
        return False
    array = np.frombuffer(data, np.uint8, used)
    quotes = np.flatnonzero(array == _QUOTE)
    if not len(quotes):
        return True
    if len(quotes) % 2:
        return False
    opening, closing = quotes[::2], quotes[1::2]
    paired = opening[1:] == closing[:-1] + 1
    before = array[np.maximum(opening - 1, 0)]
    opens = (opening == 0) | (before == delimiter) | (before == _LF)
    opens[1:] |= paired
    after = array[np.minimum(closing + 1, used - 1)]
    closes = (closing == used - 1) | (after == delimiter) | (after == _LF) | (after == _CR)
    closes[:-1] |= paired
    return bool(opens.all() and closes.all())


def _fast(data: bytes, dialect: Dialect, wanted: Sequence[int], line: int, ends: Ends) -> Records | None:
    """Return a proper block through Arrow's parser; ``None`` if it does not see the same records."""
    if not len(ends):
        return Records([pa.array([], pa.binary()) for _ in wanted], np.empty(0, np.int64), [])
    if not dialect.quoting and data.count(b"\r") != data.count(b"\r\n"):
        return None
    starts = np.concatenate([[0], ends[:-1]])
    lines = line + np.searchsorted(_line_ends(data, len(data)), starts, side="right")
    taken = ~_blank(data, starts, ends)
    refused: list[Refusal] = []
    table = _parsed(data, dialect, wanted)
    if table is None:
        counts = _counts(data, dialect, ends)
        wrong = taken & (counts != dialect.width)
        spans = np.diff(lines, append=line + data.count(b"\n")) > 1
        if not wrong.any() or (wrong & spans).any():
            return None  # perhaps a stray quote that swallowed a line: look closer
        refused += [_miscounted(int(lines[i]), int(counts[i]), dialect.width) for i in np.flatnonzero(wrong)]
        good = b"".join(data[starts[i] : ends[i]] for i in np.flatnonzero(taken & ~wrong))
        table = _parsed(good, dialect, wanted)
        lines, taken = lines[taken & ~wrong], taken[taken & ~wrong]
    if table is None or table.num_rows != len(taken):
        return None
    if not taken.all():
        table = table.filter(pa.array(taken))
    names = [str(i) for i in wanted]
    return Records([table[n].combine_chunks() for n in names], lines[taken], refused)


def _parsed(data: bytes, dialect: Dialect, wanted: Sequence[int]) -> pa.Table | None:
    """Return records as Arrow columns; ``None`` if one has the wrong number of cells."""
    names = [str(i) for i in range(dialect.width)]
    kinds = dict.fromkeys(names, pa.binary())
    used = [names[i] for i in dict.fromkeys(wanted)]
    if not data:
        return pa.table({n: pa.array([], pa.binary()) for n in used})
    try:
        return pacsv.read_csv(
            pa.BufferReader(data),
            read_options=pacsv.ReadOptions(use_threads=False, column_names=names, block_size=len(data) + 1),
            parse_options=pacsv.ParseOptions(
                delimiter=dialect.delimiter.decode(),
                quote_char='"' if dialect.quoting else False,
                newlines_in_values=dialect.quoting,
                ignore_empty_lines=False,
            ),
            convert_options=pacsv.ConvertOptions(column_types=kinds, include_columns=used, strings_can_be_null=False),
        )
    except pa.ArrowInvalid:
        return None


def _counts(data: bytes, dialect: Dialect, ends: Ends) -> Ends:
    """Return cells of each record of a proper block."""
    array = np.frombuffer(data, np.uint8)
    cuts = np.flatnonzero(array == dialect.delimiter[0])
    if dialect.quoting:
        quotes = np.flatnonzero(array == _QUOTE)
        cuts = cuts[np.searchsorted(quotes, cuts) % 2 == 0]
    return 1 + np.diff(np.searchsorted(cuts, ends), prepend=0)


def _blank(data: bytes, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which records are empty lines."""
    short = np.flatnonzero(ends - starts <= 2)
    blank = np.zeros(len(ends), dtype=bool)
    blank[short] = [not data[starts[i] : ends[i]].strip(b"\r\n") for i in short]
    return blank


def _miscounted(line: int, count: int, width: int) -> Refusal:
    return Refusal(line, "bad_columns", f"{count} cells where the header has {width}")


def _unquoted(data: bytes, dialect: Dialect, wanted: Sequence[int], line: int) -> Records:
    """Return lines cut at each delimiter; quotes and lone carriage returns are text."""
    found = _Found(dialect, wanted)
    for number, text in enumerate(data.split(b"\n"), start=line):
        text = text.removesuffix(b"\r")  # noqa: PLW2901
        if text:
            found.add(number, text.split(dialect.delimiter))
    return found.cells()


class _Found:
    """Records as they are found."""

    def __init__(self, dialect: Dialect, wanted: Sequence[int]) -> None:
        self._width, self._wanted = dialect.width, wanted
        self._columns: list[list[bytes]] = [[] for _ in wanted]
        self._lines: list[int] = []
        self.refused: list[Refusal] = []

    def add(self, line: int, record: Sequence[bytes]) -> None:
        if len(record) != self._width:
            self.refused.append(_miscounted(line, len(record), self._width))
            return
        for column, i in zip(self._columns, self._wanted, strict=True):
            column.append(record[i])
        self._lines.append(line)

    def cells(self) -> Records:
        columns = [pa.array(c, pa.binary()) for c in self._columns]
        return Records(columns, np.array(self._lines, dtype=np.int64), self.refused)


def _pattern(delimiter: bytes) -> re.Pattern[bytes]:
    """Return one cell with what ends it: quoted (group 1), or plain (group 2)."""
    d = re.escape(delimiter)
    end = rb"(" + d + rb"|\r\n|\n|\r|\Z)"
    return re.compile(rb'(?:"([^"]*+(?:""[^"]*+)*+)"|((?!")[^' + d + rb"\r\n]*+))" + end)


def _slow(block: Block, dialect: Dialect, wanted: Sequence[int]) -> tuple[Records, int]:
    """Cut record by record, going on at the next line after a bad one."""
    found, cell, at = _Found(dialect, wanted), _pattern(dialect.delimiter), 0
    data, line = block.data, block.line
    while at < len(data):
        record, end = _record(data, at, cell, dialect.delimiter)
        line_end = _after_line(data, at)
        unfinished = not block.last and (end is None or (end == len(data) and data[-1] != _LF))
        if unfinished and (len(data) - at <= MAX_RECORD or data[line_end - 1] != _LF):
            break  # it may go on in the next block
        text = data[at:line_end].rstrip(b"\r\n")
        broken = end is None or unfinished or (len(record) != dialect.width and end > line_end)
        if not broken:
            if record != [b""]:
                found.add(line, record)
        elif dialect.lenient and text.count(dialect.delimiter) == dialect.width - 1:
            found.add(line, text.split(dialect.delimiter))
        else:
            found.refused.append(Refusal(line, "bad_quote", "a quote is not closed properly"))
        after = line_end if broken or end is None else end
        line += data.count(b"\n", at, after)
        at = after
    return found.cells(), at


def _after_line(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end + 1


def _record(data: bytes, at: int, cell: re.Pattern[bytes], delimiter: bytes) -> tuple[list[bytes], int | None]:
    """Return cells of the record that begins at ``at`` and where the next one begins; ``None`` if a quote is wrong."""
    record: list[bytes] = []
    while True:
        found = cell.match(data, at)
        if found is None:
            return record, None
        quoted, plain, ending = found.groups()
        record.append(plain if quoted is None else quoted.replace(b'""', b'"'))
        at = found.end()
        if ending != delimiter:
            return record, at


def first_record(data: bytes, dialect: Dialect) -> list[bytes]:
    r"""Return cells of the first record: a header, perhaps.

    Example:
        >>> first_record(b'"a b",c\n1,2\n', Dialect(b",", 2))
        [b'a b', b'c']
    """
    record, end = _record(data, 0, _pattern(dialect.delimiter), dialect.delimiter)
    line = data[: _after_line(data, 0)].rstrip(b"\r\n")
    return line.split(dialect.delimiter) if end is None else record


def first_end(data: bytes, dialect: Dialect) -> int:
    """Return where the first record ends."""
    end = _record(data, 0, _pattern(dialect.delimiter), dialect.delimiter)[1] if dialect.quoting else None
    return _after_line(data, 0) if end is None else end
