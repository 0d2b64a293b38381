"""JSON documents larger than memory: the members of a top-level object, its arrays in pieces.

Arrays are read in windows. A window is cut after its last ``}`` that a comma and a ``{`` follow; the piece in brackets
goes to orjson. A piece that parses was cut at the right place: a cut inside a string or a nested array leaves something
open. Where orjson refuses (``NaN``, ``1e999``, lone surrogates, broken UTF-8) the elements around that place go one by
one through the standard library, which takes them: what is wrong with a value is the reader's to say. Only what is no
JSON at all ends the stream, with the byte where it happens.

Values come as ``json.loads`` gives them, except that integers beyond 64 bits are floats, bytes that are no UTF-8
are lone surrogates in the text, and a value in which an object holds a name twice is a ``Repeated``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import orjson

from counterbalance.engine.errors import SourceError
from counterbalance.ingest.files import reading
from counterbalance.ingest.jsonobjects import Repeated, may_repeat, noting

if TYPE_CHECKING:
    from collections.abc import Iterator

WINDOW: Final = 2 << 20
LARGEST: Final = 64 << 20
MANY: Final = 131_072
_BLANKS: Final = b" \t\r\n"
_NEXT: Final = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*\{")
_NOT_BLANK: Final = re.compile(rb"[^ \t\r\n]")
_NOT_BLANK_TEXT: Final = re.compile(r"[^ \t\r\n]")
_CUTS: Final = 8
_SMALL: Final = 64 << 10
_NEAR_END: Final = 16


def _integer(text: str) -> int | float:
    """Return an integer, or a float where 64 bits do not hold it, as orjson has it."""
    if len(text) > len("-9223372036854775808"):
        return float(text)
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 64 else float(text)


@dataclass(frozen=True, slots=True)
class ObjectMember:
    """A member of the top-level object that is not an array.

    Args:
        name: Its name.
        value: Its value.
        read: Bytes consumed since the last event.
    """

    name: str
    value: Any
    read: int


@dataclass(frozen=True, slots=True)
class Items:
    """Describe some elements of an array that is a member of the top-level object; an empty array comes as one empty piece.

    Args:
        name: Name of the array.
        start: Index of the first of these elements.
        items: The elements.
        read: Bytes consumed since the last event.
    """

    name: str
    start: int
    items: list[Any]
    read: int


def stream(file: BinaryIO, uri: str, *, window: int = WINDOW, largest: int = LARGEST) -> Iterator[ObjectMember | Items]:
    """Yield members of the JSON object in a file, in the file's order; arrays in pieces of about ``window`` bytes.

    Args:
        file: Open for reading bytes; UTF-8, with or without a byte-order mark.
        uri: Its name in messages.
        window: Bytes parsed at once.
        largest: Bytes of the largest single value that is taken.

    Raises:
        SourceError: If it is no JSON object, is cut short, holds a name twice, or one value is too large (``E4020`` to
            ``E4022``); the message has the byte offset.

    Example:
        >>> import io
        >>> for event in stream(io.BytesIO(b'{"info": {"year": 2017}, "images": [{"id": 1}, {"id": 2}]}'), "a.json"):
        ...     print(event)
        ObjectMember(name='info', value={'year': 2017}, read=23)
        Items(name='images', start=0, items=[{'id': 1}, {'id': 2}], read=34)
    """
    reader = _Reader(file, uri, window, largest)
    reader.fill(_SMALL)
    reader.at = 3 * reader.data.startswith(b"\xef\xbb\xbf")
    if reader.peek() != b"{":
        raise reader.wrong("a JSON object was expected here", code="E4020")
    reader.at += 1
    seen: set[str] = set()
    more = reader.peek() != b"}"
    reader.at += not more
    while more:
        if reader.peek() != b'"':
            raise reader.wrong("a name in double quotes was expected here")
        name = reader.value()
        reader.take(b":")
        if name in seen:
            raise SourceError(
                f"{uri} holds the name {name[:100]!r} a second time, before byte {reader.base + reader.at:,}",
                code="E4021",
                hint="say which is meant: take the other one out",
            )
        seen.add(name)
        if reader.peek() == b"[":
            yield from _array(reader, name)
        else:
            value = reader.value()
            yield ObjectMember(name, value, reader.consumed())
        more = reader.take(b",", b"}") == b","
    if reader.peek():
        raise reader.wrong("the document ended before this")


def stream_list(
    file: BinaryIO, uri: str, name: str, *, window: int = WINDOW, largest: int = LARGEST
) -> Iterator[Items]:
    """Yield the elements of the JSON list in a file, as ``stream`` does those of an array called ``name``.

    Raises:
        SourceError: As ``stream``.

    Example:
        >>> import io
        >>> list(stream_list(io.BytesIO(b'[{"id": 1}, {"id": 2}]'), "a.json", "images"))
        [Items(name='images', start=0, items=[{'id': 1}, {'id': 2}], read=22)]
    """
    reader = _Reader(file, uri, window, largest)
    reader.fill(_SMALL)
    reader.at = 3 * reader.data.startswith(b"\xef\xbb\xbf")
    if reader.peek() != b"[":
        raise reader.wrong("a JSON list was expected here", code="E4020")
    yield from _array(reader, name)
    if reader.peek():
        raise reader.wrong("the document ended before this")


def _array(reader: _Reader, name: str) -> Iterator[Items]:
    """Yield the elements of the array that begins here; small pieces are put together."""
    reader.at += 1
    start, read, items = 0, 0, list[Any]()
    ended = reader.peek() == b"]"
    reader.at += ended
    while not ended:
        piece, ended = reader.piece()
        items = items + piece if items else piece
        read += reader.consumed()
        if not ended and (read >= reader.window // 2 or len(items) >= MANY):
            yield Items(name, start, items, read)
            start, read, items = start + len(items), 0, []
    if items or not start:
        yield Items(name, start, items, read + reader.consumed())


class _Reader:
    """A window over a file: ``data[at:]`` is what was read and not yet consumed."""

    def __init__(self, file: BinaryIO, uri: str, window: int, largest: int) -> None:
        self.file, self.uri, self.window, self.largest = file, uri, max(window, 1), largest
        self.data, self.at, self.base = b"", 0, 0
        self.ended = False
        self._told = 0

    def consumed(self) -> int:
        """Return bytes consumed since this was asked last."""
        here = self.base + self.at
        told, self._told = self._told, here
        return here - told

    def wrong(self, what: str, *, at: int | None = None, code: str = "E4021") -> SourceError:
        """Return the error for something that is no JSON, at an index of ``data``."""
        at = self.at if at is None else at
        offset, found = self.base + at, self.data[at : at + 40]
        if self.ended and not self.data[at:].strip(_BLANKS):
            return SourceError(
                f"{self.uri} is cut short: it ends at byte {offset:,}, in the middle of the document",
                code="E4021",
                hint="copy or download the file again",
            )
        shown = found.decode("utf-8", "replace")
        hint = "check the file with: python -m json.tool FILE"
        return SourceError(f"{self.uri} is not JSON at byte {offset:,}: {what}, found {shown!r}", code=code, hint=hint)

    def fill(self, size: int) -> None:
        """Hold at least ``size`` bytes beyond ``at``, unless the file ends."""
        missing = size - (len(self.data) - self.at)
        if missing <= 0 or self.ended:
            return
        parts = [self.data[self.at :]]
        with reading(self.uri):
            while missing > 0 and not self.ended:
                parts.append(self.file.read(max(missing, _SMALL)))
                missing -= len(parts[-1])
                self.ended = not parts[-1]
        self.base += self.at
        self.data, self.at = b"".join(parts), 0

    def peek(self) -> bytes:
        """Return the next byte that is not blank, or nothing at the end of the file; ``at`` moves to it."""
        while True:
            found = _NOT_BLANK.search(self.data, self.at)
            if found:
                self.at = found.start()
                return found.group()
            self.at = len(self.data)
            if self.ended:
                return b""
            self.fill(_SMALL)

    def take(self, *wanted: bytes) -> bytes:
        """Consume the next byte, which must be one of these."""
        found = self.peek()
        if found not in wanted or not found:
            raise self.wrong(" or ".join(repr(w.decode()) for w in wanted) + " was expected here")
        self.at += 1
        return found

    def value(self) -> Any:
        """Return the value that begins here."""
        self.peek()
        return self._decoded(1)[0]

    def _decoded(self, most: int) -> list[Any]:
        """Read up to ``most`` elements from here on, at least one, by the standard library; ``at`` moves behind the last."""
        size = _SMALL
        while True:
            self.fill(size)
            text = self.data[self.at : self.at + size].decode("utf-8", "surrogateescape")
            whole = self.ended and len(self.data) - self.at <= size
            try:
                items, end = _elements(text, most, whole=whole)
            except json.JSONDecodeError as error:
                open_end = error.msg.startswith("Unterminated string")
                if whole or not (open_end or error.pos >= len(text) - _NEAR_END):
                    at = len(self.data) if open_end else self.at + _bytes(text, error.pos)
                    raise self.wrong(error.msg[:1].lower() + error.msg[1:].removesuffix(" at"), at=at) from error
            except RecursionError as error:
                raise self.wrong("brackets are nested too deeply in what begins here") from error
            else:
                if items:
                    self.at += _bytes(text, end)
                    return items
            if size >= self.largest:
                where = f"{self.uri}: the value at byte {self.base + self.at:,}"
                raise SourceError(f"{where} is longer than {self.largest:,} bytes", code="E4022")
            size *= 4

    def piece(self) -> tuple[list[Any], bool]:
        """Return the next elements of an array that begin here, and whether the array is over; moves behind what follows."""
        self.fill(self.window)
        if self.peek() == b"]":
            raise self.wrong("an element was expected after the comma")
        items = self._fast() or self._decoded(MANY)
        return items, self.take(b",", b"]") == b"]"

    def _fast(self) -> list[Any] | None:
        """Return the elements up to a cut that orjson takes, ``at`` behind them; ``None`` if there is no such cut."""
        stop = min(len(self.data), self.at + self.window)
        for _ in range(_CUTS):
            cut = self._cut(stop)
            if cut is None:
                return None
            inner = self.data[self.at : cut]
            try:
                return self._took(inner, orjson.loads(b"[" + inner + b"]"), cut)
            except orjson.JSONDecodeError as error:
                place = self.at + _place(inner, error) - 1
            if place >= cut:
                stop = cut - 1
                continue
            return self._before(place)
        return None

    def _before(self, place: int) -> list[Any] | None:
        """Return the elements before the place where orjson stopped: all, if the array is over there."""
        whole = self.data[self.at : place].rstrip(_BLANKS)
        cut = self._cut(place)
        tries = [(whole, len(whole) - 1)] if whole.endswith(b"]") else []
        if cut is not None:
            tries.append((self.data[self.at : cut] + b"]", cut - self.at))
        for inner, length in tries:
            try:
                return self._took(inner[:-1], orjson.loads(b"[" + inner), self.at + length)
            except orjson.JSONDecodeError:
                continue
        return None

    def _took(self, inner: bytes, items: list[Any], at: int) -> list[Any]:
        self.at = at
        return _elements(inner.decode(), len(items), whole=True)[0] if may_repeat(inner, items) else items

    def _cut(self, stop: int) -> int | None:
        """Return where the last element before ``stop`` seems to end that another one follows."""
        for _ in range(_CUTS):
            brace = self.data.rfind(b"}", self.at, stop)
            if brace < 0:
                return None
            if _NEXT.match(self.data, brace + 1):
                return brace + 1
            stop = brace
        return None


def _place(inner: bytes, error: orjson.JSONDecodeError) -> int:
    """Return the byte of ``[inner]`` where orjson stopped; it counts characters, and gives 0 for bytes that are no UTF-8."""
    try:
        return error.pos if inner.isascii() else len((b"[" + inner).decode()[: error.pos].encode())
    except UnicodeDecodeError as broken:
        return broken.start


def _elements(text: str, most: int, *, whole: bool) -> tuple[list[Any], int]:
    """Return elements at the beginning of a text and where they end: none, if the first may go on behind the text.

    Raises:
        json.JSONDecodeError: If the first is no JSON.
        RecursionError: If it is nested too deeply.
    """
    items: list[Any] = []
    twice: list[str] = []
    decoder = json.JSONDecoder(parse_int=_integer, object_pairs_hook=noting(twice))
    start = end = 0
    while len(items) < most:
        twice.clear()
        try:
            item, stop = decoder.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            if items:
                break  # the ones before come first
            raise
        follows = _NOT_BLANK_TEXT.search(text, stop)
        if follows is None and not whole and not isinstance(item, (dict, list, str)):
            break
        items.append(Repeated(twice[0]) if twice else item)
        end = stop
        element = follows and follows.group() == "," and _NOT_BLANK_TEXT.search(text, follows.end())
        if not element:
            break
        start = element.start()
    return items, end


def _bytes(text: str, end: int) -> int:
    """Return bytes of the first ``end`` characters."""
    return end if text.isascii() else len(text[:end].encode("utf-8", "surrogateescape"))
