"""Files that may be compressed, as plain bytes: gzip, bzip2, xz and zstd, told apart by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, BinaryIO, Final, cast

import pyarrow as pa

from counterbalance.engine.errors import SourceError
from counterbalance.ingest.files import reading

if TYPE_CHECKING:
    from types import TracebackType

    from counterbalance.ingest.files import File

SUFFIXES: Final = ("", ".gz", ".bz2", ".xz", ".zst")
_MAGIC: Final = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def compression_of(head: bytes) -> str | None:
    r"""Return the compression of a file by its first bytes.

    Example:
        >>> compression_of(b"\x1f\x8b\x08"), compression_of(b"url,caption")
        ('gzip', None)
    """
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def read_head(file: File, size: int) -> tuple[bytes, str | None]:
    """Return the first bytes of a file, decompressed, and its compression.

    Raises:
        SourceError: It cannot be read (``E4001``), or its compressed data is damaged (``E4012``).
    """
    with Decompressed(file, None) as stream:
        head = stream.read(size)
    kind = compression_of(head)
    if kind:
        with Decompressed(file, kind) as stream:
            head = stream.read(size)
    return head, kind


class Decompressed(AbstractContextManager["Decompressed"]):
    """The bytes of a file, unpacked on the way; not thread-safe.

    Args:
        file: The file.
        kind: Its compression, from ``compression_of``.

    Raises:
        SourceError: On opening or reading: it cannot be read (``E4001``), or its compressed data is damaged or cut off
            (``E4012``).
    """

    def __init__(self, file: File, kind: str | None) -> None:
        self._file = file
        self._raw = file.open()
        self._kind = kind
        self._reported = 0
        self._stream = self._opened()

    def _opened(self) -> BinaryIO:
        match self._kind:
            case "gzip":
                return cast("BinaryIO", gzip.GzipFile(fileobj=self._raw))
            case "bzip2":
                return cast("BinaryIO", bz2.BZ2File(self._raw))
            case "xz":
                return cast("BinaryIO", lzma.LZMAFile(self._raw))
            case "zstd":
                return cast("BinaryIO", pa.CompressedInputStream(self._raw, "zstd"))
            case _:
                return self._raw

    def read(self, size: int) -> bytes:
        """Return the next bytes, fewer than ``size`` only at the end."""
        parts = []
        while size > 0:
            part = self._some(size)
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _some(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise self._damaged(error) from error
        except (OSError, ValueError) as error:
            if self._kind:
                raise self._damaged(error) from error
            with reading(self._file.uri):
                raise

    def _damaged(self, error: Exception) -> SourceError:
        return SourceError(f"{self._file.uri} is damaged or cut off ({self._kind}): {error}", code="E4012")

    def consumed(self) -> int:
        """Return bytes of the file taken since the last call."""
        try:
            now = self._raw.tell()
        except (OSError, ValueError):
            return 0
        new, self._reported = now - self._reported, now
        return new

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
        self._raw.close()
