"""One COCO file: what it is at first sight, and its small members wherever they stand."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import Reject
from counterbalance.ingest.compression import compression_of
from counterbalance.ingest.files import reading
from counterbalance.ingest.jsonobjects import Repeated, may_repeat
from counterbalance.ingest.jsonstream import WINDOW, Items, ObjectMember, stream
from counterbalance.ingest.rows import shorten
from counterbalance.ingest.validate import is_utf8

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from counterbalance.ingest.files import File

ROWS: Final = ("images", "annotations")
SMALL: Final = ("info", "licenses", "categories")
WANTED: Final = "a COCO file is one JSON object with the arrays images and annotations"
_HEAD: Final = 4096
_TAIL: Final = 4 << 20
_TRIES: Final = 4
_NAME_LENGTH: Final = 200
_TOOLS: Final = {"gzip": "gunzip", "bzip2": "bunzip2", "xz": "unxz", "zstd": "unzstd"}
_OTHER: Final = (
    (re.compile(rb"<"), "HTML or XML, perhaps the error page of a download", "download the file again"),
    (re.compile(rb"version https://git-lfs"), "a Git LFS pointer", "fetch the file itself: git lfs pull"),
    (re.compile(rb"PK\x03\x04"), "packed with zip", "unpack it first: unzip FILE"),
    (re.compile(rb"PAR1"), "a Parquet file", "try --format laion or --format detections"),
    (re.compile(rb"\xff\xfe|\xfe\xff|.*\x00", re.DOTALL), "UTF-16 or binary data", "save it as UTF-8"),
    (
        re.compile(rb"\["),
        "a JSON list, not an object",
        "put a list of results under 'annotations', beside 'categories'",
    ),
)


def check(file: File) -> None:
    """Look at both ends of a file, so that what is plainly no COCO file is told before anything was read.

    Raises:
        SourceError: If it is empty, packed, HTML, a list, … (``E4020``), or does not end as a JSON object (``E4021``).
        NotFoundError: If it is gone.
    """
    with file.open() as opened:
        with reading(file.uri):
            head = opened.read(_HEAD)
        _check_head(file.uri, head)
        _check_tail(file, opened)


def _check_head(uri: str, head: bytes) -> None:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    if text.startswith(b"{") and b"\0" not in head:
        return
    if not text:
        raise _refused(uri, "is empty", "check how it was written")
    if kind := compression_of(head):
        raise _refused(uri, f"is packed with {kind}", f"unpack it first: {_TOOLS[kind]} FILE")
    for pattern, what, hint in _OTHER:
        if pattern.match(text):
            raise _refused(uri, f"is {what}", hint)
    raise _refused(uri, f"is no JSON: it begins with {shorten(text)}", "check the path and the format")


def _refused(uri: str, what: str, hint: str) -> SourceError:
    return SourceError(f"{uri} {what}; {WANTED}", code="E4020", hint=hint)


def _check_tail(file: File, opened: BinaryIO) -> None:
    if file.size is None or not opened.seekable():
        return
    with reading(file.uri):
        opened.seek(max(0, file.size - _HEAD))
        tail = opened.read(_HEAD).rstrip(b" \t\r\n")
    if tail and not tail.endswith(b"}"):
        raise SourceError(
            f"{file.uri} is cut short: it ends at byte {file.size:,} with {shorten(tail[-20:])}, in the middle of the "
            "document",
            code="E4021",
            hint="copy or download the file again",
        )


class Document:
    """A COCO file that is being read.

    Args:
        file: The file.
        window: Bytes parsed at once.
    """

    def __init__(self, file: File, window: int = WINDOW) -> None:
        self.file, self.uri, self.window = file, file.uri, window
        self._small: dict[str, Any] = {}
        self._scanned = False
        self.others: set[str] = set()
        """Names of members that are no part of a COCO file."""

    def events(self) -> Iterator[Items]:
        """Yield pieces of the arrays ``images`` and ``annotations`` in the file's order; small members are noted on the way.

        Raises:
            SourceError: If the file is no JSON (``E4020`` to ``E4022``) or no COCO file (``E4023``).
        """
        seen = set[str]()
        passed = 0
        with self.file.open() as opened:
            for event in stream(opened, self.uri, window=self.window):
                if event.name in ROWS and isinstance(event, ObjectMember):
                    raise self._no_coco(f"{event.name} is {shorten(event.value)}, not an array")
                if isinstance(event, Items) and event.name in ROWS:
                    seen.add(event.name)
                    yield replace(event, read=event.read + passed)
                    passed = 0
                else:
                    passed += event.read
                    self._note(event)
                    if event.name not in SMALL and (event.items if isinstance(event, Items) else event.value):
                        self.others.add(event.name)
        if not seen:
            raise self._no_coco("has neither images nor annotations")

    def _no_coco(self, what: str) -> SourceError:
        return SourceError(f"{self.uri} is JSON, but not a COCO file: {what}", code="E4023", hint=WANTED)

    def _note(self, event: ObjectMember | Items) -> None:
        if event.name in SMALL:
            self._check_names(event)
            if isinstance(event, ObjectMember):
                self._small[event.name] = event.value
            elif event.start == 0:
                self._small[event.name] = list(event.items)
            else:
                self._small[event.name] += event.items

    def _check_names(self, event: ObjectMember | Items) -> None:
        """Refuse an object that holds a name twice where no rows are made of it; categories are refused one by one."""
        values = [event.value] if isinstance(event, ObjectMember) else event.items if event.name != "categories" else []
        twice = next((v for v in values if isinstance(v, Repeated)), None)
        if twice is not None:
            raise SourceError(
                f"{self.uri} is no COCO file to rely on: in {event.name}, {twice.message}",
                code="E4021",
                hint="say which value is meant: remove the other one",
            )

    def small(self, name: str, *, scan: bool = True) -> Any:
        """Return a small member: from what was passed, from the file's tail, or else by reading the whole file.

        Args:
            name: One of ``SMALL``.
            scan: Whether to read the whole file for it.
        """
        if name not in self._small:
            self._small = self._from_tail(name) | self._small
        if name not in self._small and scan and not self._scanned:
            self._scanned = True
            with self.file.open() as opened:
                for event in stream(opened, self.uri, window=self.window):
                    self._note(event)
        return self._small.get(name)

    def _from_tail(self, name: str) -> dict[str, Any]:
        """Return small members from ``name`` to the end of the file, when that is near enough.

        A text from a quoted name on that parses as an object once a brace is put before it began at the outer level: a
        name further inside would leave braces over, and inside a string its quotes would be escaped.
        """
        with self.file.open() as opened:
            if self.file.size is None or not opened.seekable():
                return {}
            with reading(self.uri):
                opened.seek(max(0, self.file.size - _TAIL))
                tail = opened.read(_TAIL)
        at = len(tail)
        for _ in range(_TRIES):
            at = tail.rfind(f'"{name}"'.encode(), 0, at)
            if at < 0:
                break
            try:
                found = orjson.loads(b"{" + tail[at:])
            except orjson.JSONDecodeError:
                continue
            if may_repeat(tail[at:], found):
                break  # reading the whole file tells where
            return {k: v for k, v in found.items() if k in SMALL}
        return {}

    def title(self) -> str:
        """Return the dataset's name: ``info.description``, or the file's name."""
        info = self.small("info", scan=False)
        text = info.get("description") if isinstance(info, dict) else None
        text = text.strip() if isinstance(text, str) else ""
        return text if 0 < len(text) <= _NAME_LENGTH and is_utf8(text) else self.file.stem

    def licenses(self) -> dict[object, str]:
        """Return the name of each licence by its id."""
        return self._names("licenses", [])

    def categories(self, rejects: list[Reject]) -> dict[object, str]:
        """Return the name of each category by its id.

        Args:
            rejects: Takes the entries that cannot be used (``bad_category``).

        Raises:
            SourceError: If the file has no such array (``E4023``).
        """
        if not isinstance(self.small("categories"), list):
            raise self._no_coco("its annotations have category_id, but there is no array categories")
        return self._names("categories", rejects)

    def _names(self, name: str, rejects: list[Reject]) -> dict[object, str]:
        names: dict[object, str] = {}
        entries = self.small(name)
        for i, entry in enumerate(entries if isinstance(entries, list) else []):
            key, text = (entry.get("id"), entry.get("name")) if isinstance(entry, dict) else (None, None)
            sound = isinstance(key, (int, str)) and not isinstance(key, bool)
            named = isinstance(text, str) and text and is_utf8(text)
            if not (sound and named and names.setdefault(key, str(text)) == text):
                why = (
                    entry.message
                    if isinstance(entry, Repeated)
                    else f"an id of its own and a name are needed, not {shorten(entry)}"
                )
                rejects.append(Reject(self.uri, f"{name}[{i}]", "bad_category", why))
        return names
