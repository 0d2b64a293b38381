"""Walk through a tar archive once, front to back, without unpacking to disk, and report all damage.

Formats: old tar, ustar, GNU (long names, sizes in base 256) and pax (``path``, ``size``). After a bad header the walk
goes on at the next block that is a header with a right checksum; after an end mark it looks whether more follows
(archives that were joined). Names come out as they are: the caller checks them. Why not ``tarfile``: decision 27.

Layout of the blocks: POSIX.1-2017, ``pax`` utility, and the GNU tar manual, "Basic Tar Format".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterbalance.ingest.csvtext import Stream

BLOCK: Final = 512
_ZEROS: Final = bytes(BLOCK)
_PIECE: Final = 1 << 20
_EXTRA: Final = 1 << 20
"""Bytes of a long name or pax header; a longer one makes the header a bad one."""
_LARGEST: Final = 1 << 62
_KINDS: Final = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"1": "hard link",
    b"2": "symbolic link",
    b"3": "character device",
    b"4": "block device",
    b"5": "folder",
    b"6": "fifo",
    b"S": "sparse file",
}


@dataclass(frozen=True, slots=True)
class Member:
    r"""Describe an entry of the archive.

    Args:
        name: As it stands there; undecodable bytes as ``\xff``, and then ``sound`` is false.
        kind: ``"file"``, ``"folder"``, ``"symbolic link"`` …
        size: Bytes.
        data: The content, if it was wanted.
        sound: Whether the name is UTF-8.
    """

    name: str
    kind: str
    size: int
    data: bytes | None = None
    sound: bool = True


@dataclass(frozen=True, slots=True)
class Damage:
    """Describe something that is wrong with the archive itself.

    Args:
        code: ``"bad_header"`` (the walk goes on) or ``"truncated_shard"`` (it is the last thing told).
        offset: Byte where it begins.
        message: What is wrong.
        name: The member that is cut, if its header was whole.
    """

    code: str
    offset: int
    message: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class _Header:
    name: bytes
    size: int
    type: bytes


def is_header(block: bytes) -> bool:
    """Return whether 512 bytes are the header of a member, or an end mark."""
    return block == _ZEROS or _header(block) is not None


def _header(block: bytes) -> _Header | None:
    """Return the header in a block, or ``None`` if its checksum or a number is wrong."""
    if len(block) < BLOCK:
        return None
    stored, size = _number(block[148:156]), _number(block[124:136])
    if stored is None or size is None or not 0 <= size <= _LARGEST:
        return None
    total = sum(block) - sum(block[148:156]) + 256
    if stored != total and stored != total - 256 * sum(b > 127 for b in block[:148] + block[156:]):
        return None
    name = block[:100].split(b"\0", 1)[0]
    if block[257:263] == b"ustar\0" and block[345]:
        name = block[345:500].split(b"\0", 1)[0] + b"/" + name
    return _Header(name, size, block[156:157])


def _number(field: bytes) -> int | None:
    """Read a number in octal, or in base 256 where the first bit says so."""
    if field[0] & 0x80:
        value = int.from_bytes(field, "big", signed=True) if field[0] == 0xFF else int.from_bytes(field[1:], "big")
        return value + ((field[0] & 0x7F) << 8 * (len(field) - 1) if field[0] != 0xFF else 0)
    text = field.split(b"\0", 1)[0].strip(b" ")
    if not text:
        return 0
    return int(text, 8) if text.isdigit() and not text.strip(b"01234567") else None


class _Cut(Exception):  # noqa: N818 - it never leaves this module
    """The stream ended in the middle."""


class _Walk:
    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._ahead, self._at = b"", 0
        self.offset = 0

    def take(self, size: int) -> bytes:
        """Read the next bytes; fewer only at the end, or where the compressed data is cut."""
        end = self._at + size
        if end > len(self._ahead):
            rest = self._ahead[self._at :]
            self._ahead, self._at, end = rest + self._read(max(size - len(rest), _PIECE)), 0, size
        data = self._ahead[self._at : end]
        self._at = end
        self.offset += len(data)
        return data

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except SourceError as error:
            if error.code != "E4012":
                raise
            return b""

    def body(self, size: int, *, keep: bool) -> bytes | None:
        """Read or pass over the content of a member, and its padding."""
        padded = -size % BLOCK
        if keep:
            data = self.take(size + padded)
            if len(data) < size:
                raise _Cut
            return data[:size] if padded else data
        left = size
        while left:
            data = self.take(min(left, _PIECE))
            if not data:
                raise _Cut
            left -= len(data)
        self.take(padded)
        return None


def walk(stream: Stream, wanted: Callable[[str, int], bool]) -> Iterator[Member | Damage]:
    """Yield members and damages in order.

    Args:
        stream: The archive, at its beginning; its first block is one for which ``is_header`` holds.
        wanted: Of name and size of a file, whether its content is to be read.

    Raises:
        SourceError: If the stream cannot be read.
    """
    walker, ended, searching = _Walk(stream), False, False
    extra: dict[str, bytes] = {}
    while True:
        at = walker.offset
        block = walker.take(BLOCK)
        if len(block) < BLOCK:
            if block or not ended:
                yield Damage("truncated_shard", at, f"the archive ends at byte {walker.offset} without an end mark")
            return
        if block == _ZEROS:
            ended, extra = True, {}
            continue
        header = _header(block)
        if header is None:
            if not searching:
                yield Damage("bad_header", at, f"no member header at byte {at}: its checksum or size is wrong")
            searching, extra = True, {}  # its name and size are of a member that was lost
            continue
        ended, searching = False, False
        try:
            if header.type in b"xgLK":
                if not _read_extra(walker, header, extra):
                    extra = {}
                    yield Damage("bad_header", at, f"an extended header of {header.size} bytes at byte {at}")
                continue
            yield _member(walker, header, extra, wanted)
        except _Cut:
            name = _text(extra.get("path", header.name))[0]
            yield Damage("truncated_shard", at, f"the archive ends at byte {walker.offset}, inside {name!r}", name)
            return
        extra = {}


def _member(walker: _Walk, header: _Header, extra: dict[str, bytes], wanted: Callable[[str, int], bool]) -> Member:
    size = int(extra["size"]) if "size" in extra else header.size
    name, sound = _text(extra.get("path", header.name))
    kind = _KINDS.get(header.type, f"entry of type {header.type!r}")
    if kind == "file" and "sparse" in extra:
        kind = "sparse file"
    if kind == "file" and name.endswith("/"):
        kind = "folder"
    empty = header.type in b"123456"  # links, devices and folders have no content, whatever their size says
    data = walker.body(0 if empty else size, keep=kind == "file" and sound and wanted(name, size))
    return Member(name, kind, size, data, sound)


def _text(name: bytes) -> tuple[str, bool]:
    try:
        return name.decode(), True
    except UnicodeDecodeError:
        return name.decode("utf-8", "backslashreplace"), False


def _read_extra(walker: _Walk, header: _Header, extra: dict[str, bytes]) -> bool:
    """Take in a long name or a pax header; return whether it makes sense."""
    if header.size > _EXTRA:
        walker.body(header.size, keep=False)
        return False
    data = walker.body(header.size, keep=True) or b""
    if header.type == b"L":
        extra["path"] = data.split(b"\0", 1)[0]
    return header.type != b"x" or _read_pax(data, extra)


def _read_pax(data: bytes, extra: dict[str, bytes]) -> bool:
    r"""Read records ``LENGTH KEY=VALUE\n``; only path, size and sparseness matter here."""
    at = 0
    while at < len(data):
        length, blank, _ = data[at : at + 20].partition(b" ")
        if not blank or not length.isdigit() or not len(length) + 1 < int(length) <= len(data) - at:
            return False
        key, equals, value = data[at + len(length) + 1 : at + int(length) - 1].partition(b"=")
        if not equals:
            return False
        if key == b"size" and not (value.isdigit() and len(value) <= 18):
            return False
        if key in {b"path", b"size"}:
            extra[key.decode()] = value
        elif key.startswith(b"GNU.sparse"):
            extra["sparse"] = b""
        at += int(length)
    return True
