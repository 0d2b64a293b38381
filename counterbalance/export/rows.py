"""The rows of an export: the query of a table, which column is the picture, the text and the key, and each row as a sample."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine import provenance
from counterbalance.engine.errors import NotFoundError, RequestError, did_you_mean
from counterbalance.engine.images import ImageError, read_xmp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TEXTS: Final = ("text", "caption", "captions")
KEYS: Final = ("edit_id", "sample_id", "key", "image_id", "caption_id", "detection_id", "label_id")
SYNTHETIC: Final = "synthetic"
_NAME: Final = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*")
_CAPTIONS: Final = (
    "SELECT i.*, c.captions FROM images AS i LEFT JOIN (SELECT image_id, list(text ORDER BY caption_id) AS captions "
    "FROM captions WHERE text IS NOT NULL GROUP BY image_id) AS c ON c.image_id = i.image_id"
)


def table_name(what: str) -> str | None:
    """Return the name of a table, where that is all that was said.

    Example:
        >>> table_name(" images "), table_name("SELECT 1")
        ('images', None)
    """
    found = _NAME.fullmatch(what)
    return found[1].lower() if found else None


def query_of(what: str) -> str:
    """Return what is asked: the query itself, a table's rows, or those of ``images`` with their captions as a list."""
    name = table_name(what)
    if name is None:
        return what.strip().rstrip(";")
    return _CAPTIONS if name == "images" else f"SELECT * FROM {name}"


@dataclass(frozen=True, slots=True)
class ColumnRoles:
    """Describe which column is what.

    Args:
        schema: Of the rows.
        picture: The picture; ``None`` where the rows have none.
        text: The caption, a text or a list of texts.
        key: What names a row; ``None`` numbers them.
        mark: Whether ``synthetic`` is told, from what the pictures say themselves.
    """

    schema: pa.Schema
    picture: str | None
    text: str | None
    key: str | None
    mark: bool = False

    @property
    def pictures(self) -> list[str]:
        """Return all columns of pictures, that of the rows first."""
        others = [n for n in binary(self.schema) if n != self.picture]
        return [self.picture, *others] if self.picture else others

    @property
    def rest(self) -> list[str]:
        """Return what goes along as metadata."""
        return [n for n in self.schema.names if n not in {*self.pictures, self.text}]

    def needs_picture(self, to: str) -> str:
        """Return the column of the pictures.

        Raises:
            RequestError: There is none (E3672).
        """
        if self.picture is None:
            raise RequestError(
                f"the rows have no pictures, and {to} needs them",
                code="E3672",
                hint="select them: SELECT c.caption_id, c.text, i.image FROM captions c JOIN images i USING (image_id)",
            )
        return self.picture


def binary(schema: pa.Schema) -> list[str]:
    """Return columns of bytes."""
    kinds = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
    return [f.name for f in schema if any(is_kind(f.type) for is_kind in kinds)]


def columns_of(schema: pa.Schema, asked: Mapping[str, str | None], *, mark: bool) -> ColumnRoles:
    """Find the roles of columns.

    Args:
        schema: Of the rows.
        asked: ``image``, ``text`` and ``key`` as the user named them.
        mark: Add ``synthetic`` where the rows do not have it.

    Raises:
        NotFoundError: A column that was named is not there (E1270).
        RequestError: It cannot be told which picture is meant (E3672).
    """
    names = schema.names
    for column in filter(None, asked.values()):
        if column not in names:
            raise NotFoundError(
                f"the rows have no column {column!r}{did_you_mean(column, names)}",
                code="E1270",
                hint="columns: " + ", ".join(names),
            )
    bytes_ = binary(schema)
    picture = asked.get("image") or ("image" if "image" in bytes_ else None)
    if picture is None and len(bytes_) > 1:
        raise RequestError(f"{' and '.join(bytes_)} hold bytes", code="E3672", hint="say which with --image COLUMN")
    picture = picture or next(iter(bytes_), None)
    text = asked.get("text") or next((n for n in TEXTS if n in names), None)
    key = asked.get("key") or next((n for n in KEYS if n in names), None)
    return ColumnRoles(schema, picture, text, key, mark and SYNTHETIC not in names and picture is not None)


@dataclass(frozen=True, slots=True)
class Sample:
    """A row.

    Args:
        key: What names it, or its number.
        picture: The encoded picture as it is stored; ``None`` where there is none.
        others: Further pictures by column.
        texts: Its captions.
        meta: Everything else, as JSON takes it.
        row: All values but the bytes.
    """

    key: Any
    picture: bytes | None
    others: Mapping[str, bytes]
    texts: Sequence[str]
    meta: Mapping[str, Any]
    row: Mapping[str, Any] = field(default_factory=dict)


def samples(batch: pa.RecordBatch, columns: ColumnRoles, first: int) -> Iterator[Sample]:
    """Yield the rows of a batch, of which ``first`` came before."""
    for number, row in enumerate(batch.to_pylist(), first):
        pictures = {n: row.pop(n) for n in columns.pictures}
        own = pictures.pop(columns.picture, None) if columns.picture else None
        meta = {n: plain(row[n]) for n in columns.rest}
        if columns.mark:
            meta[SYNTHETIC] = own is not None and says_synthetic(own)
        key = number if columns.key is None else row[columns.key]
        texts = listed(row[columns.text]) if columns.text else []
        yield Sample(key, own, {n: p for n, p in pictures.items() if p is not None}, texts, meta, row)


def listed(value: Any) -> list[str]:
    """Return the texts of a cell: one, or a list.

    Example:
        >>> listed("a"), listed(["a", None, "b"]), listed(None)
        (['a'], ['a', 'b'], [])
    """
    values = value if isinstance(value, list) else [value]
    return [str(v) for v in values if v is not None]


def plain(value: Any) -> Any:
    """Return a value as JSON takes it: bytes as hex digits, times as ISO 8601, what is not a number as NULL.

    Example:
        >>> plain({"a": float("nan"), "b": [1, b"x"]})
        {'a': None, 'b': [1, '78']}
    """
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, str | int | bool) else _text(value)


def _text(value: Any) -> str:
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def says_synthetic(picture: bytes) -> bool:
    """Return whether the metadata in a picture call it made, or partly made, without a camera (IPTC DigitalSourceType).

    Example:
        >>> says_synthetic(b"no picture")
        False
    """
    try:
        packet = read_xmp(picture)
    except ImageError:
        return False
    return packet is not None and provenance.parse(packet) is not None
