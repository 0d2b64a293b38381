"""XML documents larger than memory, by expat: the elements of one depth, each freed before the next.

A document that declares a type (``<!DOCTYPE``) is refused: only there can entities be declared, which multiply or name files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from counterbalance.engine.errors import CounterbalanceError, SourceError
from counterbalance.ingest.files import reading

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST: Final = 16 << 20
"""Bytes of one element."""
MOST: Final = 250_000
"""Elements and attributes within one element: some 20,000 shapes of a picture."""
HEAD: Final = 64 << 10
"""Bytes in which the outermost element is looked for."""
_OUTERMOST: Final = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?(?>\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*+(?:\[.*?\]\s*)?>)*+<([A-Za-z_][\w.:-]*)",
    re.DOTALL,
)
_WINDOW: Final = 64 << 10
_DEEPEST: Final = 64


def outermost(head: bytes) -> str | None:
    """Return what the outermost element of a document is called by its first bytes; ``None`` where they tell none.

    Example:
        >>> outermost(b'<?xml version="1.0"?><!-- a <b> --><annotations><image/>'), outermost(b"{}")
        ('annotations', None)
    """
    found = _OUTERMOST.match(head.replace(b"\0", b""))  # of UTF-16 every other byte is left
    return found[1].decode() if found else None


def elements(
    file: BinaryIO, uri: str, root: str, depth: int, *, largest: int = LARGEST
) -> Iterator[tuple[Element, int]]:
    """Yield the elements of one depth, each with the bytes read since the one before.

    Args:
        file: Open for reading bytes.
        uri: Its name in messages.
        root: What the outermost element must be called.
        depth: 1 for the outermost element itself.
        largest: Bytes of the largest element that is taken.

    Raises:
        SourceError: If it is no such document (``E4026``), declares a document type (``E4027``), or an element is too long
            or nested too deeply (``E4028``).

    Example:
        >>> import io
        >>> [(e.tag, e.text) for e, _ in elements(io.BytesIO(b"<a><b>1</b><c>2</c></a>"), "a.xml", "a", 2)]
        [('b', '1'), ('c', '2')]
    """
    found = _Elements(uri, root, depth)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = found.start, found.end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = found.text, found.refuse_type
    read = 0
    while True:
        with reading(uri):
            data = file.read(_WINDOW)
        try:
            parser.Parse(data, not data)
        except CounterbalanceError:
            raise
        except expat.ExpatError as error:
            raise SourceError(
                f"{uri} is broken or no XML: {expat.ErrorString(error.code)} at line {error.lineno:,}",
                code="E4026",
                hint="write or download the file again; look at it with: xmllint --noout FILE",
            ) from error
        except Exception as error:  # codecs raise what they like
            raise SourceError(
                f"{uri} is in an encoding that is not read ({str(error)[:200]}); save it as UTF-8",
                code="E4026",
                hint='save it as UTF-8, and let its first line say encoding="utf-8"',
            ) from error
        read += len(data)
        for element in found.done:
            yield element, read
            read = 0
        found.done.clear()
        if read > largest:
            raise found.too_much(f"has an element of more than {largest:,} bytes")
        if not data:
            return


class _Elements:
    """Take what expat tells; ``done`` are the elements that have ended."""

    def __init__(self, uri: str, root: str, depth: int) -> None:
        self._uri, self._root, self._depth = uri, root, depth
        self._level = self._held = 0
        self._tree: TreeBuilder | None = None
        self.done: list[Element] = []

    def start(self, name: str, attributes: dict[str, Any]) -> None:
        self._level += 1
        if self._level == 1 and name != self._root:
            raise SourceError(
                f"{self._uri} is XML of another kind: <{name[:40]}>, where <{self._root}> was expected",
                code="E4026",
                hint="name the file of annotations, or another format with --format",
            )
        if self._level > _DEEPEST:
            raise self.too_much(f"is nested more than {_DEEPEST} elements deep")
        if self._level == self._depth:
            self._tree, self._held = TreeBuilder(), 0
        self._held += 1 + len(attributes)
        if self._held > MOST:
            raise self.too_much(f"has an element with more than {MOST:,} elements and attributes")
        if self._tree is not None:
            self._tree.start(name, attributes)

    def text(self, text: str) -> None:
        if self._tree is not None:
            self._tree.data(text)

    def end(self, name: str) -> None:
        if self._tree is not None:
            self._tree.end(name)
            if self._level == self._depth:
                self.done.append(self._tree.close())
                self._tree = None
        self._level -= 1

    def refuse_type(self, *_: object) -> None:
        raise SourceError(
            f"{self._uri} declares a document type (<!DOCTYPE …>), whose entities may multiply or name other files",
            code="E4027",
            hint="remove that declaration; no labelling tool writes one",
        )

    def too_much(self, what: str) -> SourceError:
        return SourceError(f"{self._uri} {what}", code="E4028", hint="check that the file is what it should be")
