"""What a reader of a source hands to the engine: chunks of base-table rows, and the items it had to refuse.

A reader is a function ``read(uri, options) -> Source``, found through the entry point group ``counterbalance.formats``;
a new source is one module. Readers stream: a chunk holds at most about ``CHUNK_ROWS`` rows or ``CHUNK_BYTES`` bytes, and
nothing of an earlier one is kept. The engine validates keys, drops what is there already and commits chunk by chunk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

GROUP: Final = "counterbalance.formats"
CHUNK_ROWS: Final = 131_072
CHUNK_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a source.

    Args:
        split: Name of the split; readers derive one from file names when it is ``None``.
        images: Folder or URI of the pictures, when they do not lie with the source.
        store_images: Whether to store picture bytes; ``None`` leaves it to the format.
        mapping: Column of the base tables to column of the source, e.g. ``{"caption": "alt"}``.
        keep: Columns of the source that no base table has a place for, to be stored as labels of their images or boxes.
        annotator: Name of the annotator or model where the source does not say.
        origin: Origin of captions or boxes where the source does not say.
        limit: Stop after that many items (images, rows) of the source.
        storage_options: For fsspec.
    """

    split: str | None = None
    images: str | None = None
    store_images: bool | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    keep: Sequence[str] = ()
    annotator: str | None = None
    origin: str | None = None
    limit: int | None = None
    storage_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.keep, str):  # the name of one
            object.__setattr__(self, "keep", (self.keep,))


@dataclass(frozen=True, slots=True)
class Reject:
    """An item of a source that was refused.

    Args:
        source: URI of the file.
        position: Where in it: ``"line 12"``, ``"annotations[40]"``, ``"00000.tar:000012.jpg"``.
        code: Stable short code such as ``"bad_box"``.
        message: Why, naming the offending value (shortened).
    """

    source: str
    position: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows that belong together, by base table, ready to be committed.

    Every table has the key column and any subset of the other columns of its base table, with the base table's Arrow
    types (blobs as ``binary``). A column that is absent or NULL says nothing: what is stored stays.

    Args:
        tables: Base-table name to rows.
        rejects: What was refused on the way.
        rows_read: Items of the source behind this chunk, refused ones included.
        bytes_read: Bytes of the source consumed since the last chunk, for progress.
        positions: Base-table name to one position a row, when the reader knows them; used for later refusals.
        source: URI of the file, for the same.
        keys: Base-table name to what the source calls each row's image, or its box where it names no image; for the same,
            where ids are made of keys.
    """

    tables: Mapping[str, pa.Table]
    rejects: Sequence[Reject] = ()
    rows_read: int = 0
    bytes_read: int = 0
    positions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    source: str = ""
    keys: Mapping[str, pa.Array] = field(default_factory=dict)


@dataclass(slots=True)
class Images:
    """The images of the lake, for a reader that knows an image by several names; the engine sets it before it reads.

    Args:
        has: Which of some ids (int64, NULL for none) the lake has; ``None`` where no lake is known.
        sizes: Width and height in pixels of images of some ids, NaN where unknown; shape (n, 2).
        uris: Where the pictures of some ids lie, NULL where unknown.
        names: What the pictures of the same source are called in other files of it, by path, file name or stem, to their keys.
        before: How many images the lake had before this source.
    """

    has: Callable[[pa.Array], NDArray[np.bool_]] | None = None
    sizes: Callable[[pa.Array], NDArray[np.float64]] | None = None
    uris: Callable[[pa.Array], pa.Array] | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    before: Callable[[], int] = lambda: 0


@dataclass(frozen=True, slots=True)
class Source:
    """A source that is being read.

    Args:
        uri: As the user gave it.
        chunks: The rows, lazily; raises ``SourceError`` when a file is not what it says.
        total_bytes: Size of all its files, when known, for progress.
        files: The files it consists of, in order.
        notes: What a person should know; grows as the chunks are taken.
        images: What the reader may ask about the lake.
        format: What it turned out to be, where the reader is of several formats.
        pictures: Folders that the user has named for their pictures, which may be read from there later.
    """

    uri: str
    chunks: Iterator[Chunk]
    total_bytes: int | None = None
    files: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)
    images: Images = field(default_factory=Images)
    format: str = ""
    pictures: Sequence[str] = ()
