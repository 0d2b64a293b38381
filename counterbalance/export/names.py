"""Names of samples within an export: plain relative ones, each once."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

from counterbalance.engine.errors import RequestError
from counterbalance.engine.images import EXTENSIONS, sniff
from counterbalance.ingest.files import relative_name

MOST_BYTES: Final = 200
"""Of a part of a name: file systems take 255, endings and drafts need some."""
_ENDINGS: Final = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "GIF": "gif", "BMP": "bmp"}
_ALIASES: Final = {"JPEG": {"jpg", "jpeg", "jpe", "jfif"}}
_RESERVED: Final = frozenset("*?<>|\"'")


def stem(key: Any, *, dots: bool = True) -> str:
    r"""Return the name of a sample without the ending of its picture.

    Args:
        key: What names the row: an integer, or a text.
        dots: Whether its last part may hold dots; in a webdataset a name ends at the first.

    Raises:
        RequestError: It would lead out of the folder, or is not a name for a file (E3673).

    Example:
        >>> stem(17), stem("cats/1.png"), stem("000000012")
        ('17', 'cats/1', '000000012')
        >>> stem("../../etc/passwd")
        Traceback (most recent call last):
        counterbalance.engine.errors.RequestError: '../../etc/passwd' cannot name a file of an export
        hint: keys are plain relative names; choose another column with --key, or number rows in the query
    """
    text = "" if key is None else str(key)
    head, dot, ending = text.rpartition(".")
    found = head if dot and ending.lower() in EXTENSIONS else text
    parts = found.split("/")
    if (
        relative_name(found) is None
        or _RESERVED & set(found)
        or (not dots and "." in parts[-1])
        or any(p.startswith((".", " ")) or p.endswith((".", " ")) or len(p.encode()) > MOST_BYTES for p in parts)
    ):
        raise RequestError(
            f"{_quote_short(text)} cannot name a file of an export",
            code="E3673",
            hint="keys are plain relative names; choose another column with --key, or number rows in the query",
        )
    return found


def ending(key: Any, picture: bytes) -> str:
    r"""Return the ending that fits a picture's bytes; that of the key where it fits, too.

    Example:
        >>> ending("a.jpeg", b"\xff\xd8\xff\xe0"), ending("a.jpeg", b"\x89PNG\r\n\x1a\n"), ending(3, b"GIF89a")
        ('jpeg', 'png', 'gif')
    """
    kind = sniff(picture)
    if kind is None:
        return "bin"
    last = str(key).rpartition(".")[2]
    return last if last.lower() in _ALIASES.get(kind, {_ENDINGS[kind]}) else _ENDINGS[kind]


class Once:
    """Refuse a name that was there before; keeps eight bytes of a digest of each."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def check(self, name: str) -> None:
        """Note a name; letter case does not tell names apart, because some file systems do not.

        Raises:
            RequestError: It is there already (E3674).
        """
        digest = int.from_bytes(blake2b(name.casefold().encode(), digest_size=8).digest(), "little")
        if digest in self._seen:
            raise RequestError(
                f"two rows are named {_quote_short(name)}",
                code="E3674",
                hint="name a column that tells rows apart with --key, such as caption_id or edit_id",
            )
        self._seen.add(digest)


def _quote_short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")
