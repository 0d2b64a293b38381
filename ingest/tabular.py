"""Table-like files as a stream of ``Rows``: CSV, TSV, JSON lines, JSON lists, Parquet and Arrow, told apart by their content.

``inspect`` looks at a file's first bytes (Parquet: also at its footer; Arrow: at its schema) and refuses what is none of these; readers call
it for every file before the first row leaves, so that a wrong file costs nothing. ``read`` then streams the columns
that are asked for. A row that cannot be cut into cells is in ``Rows.refused``; a file that ends too early or whose
checksum is wrong is a ``SourceError``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import CHUNK_ROWS
from counterbalance.ingest import arrowfile, columns, compression, csvtext, jsonlines, parquet
from counterbalance.ingest.batches import damage, rows_of
from counterbalance.ingest.compression import Decompressed
from counterbalance.ingest.files import File, expand
from counterbalance.ingest.jsonstream import stream_list
from counterbalance.ingest.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counterbalance.engine.ingest_types import ReadOptions

HEAD: Final = 256 << 10
"""Bytes in which the header must end."""
SUFFIXES: Final = (
    ".parquet",
    ".arrow",
    *(e + z for e in (".csv", ".tsv", ".jsonl", ".ndjson") for z in compression.SUFFIXES),
)
_HTML: Final = re.compile(rb"\s*<(!doctype|html|head|body|\?xml|!--)", re.IGNORECASE)
_ONE_A_LINE: Final = "one JSON object a line is read; a COCO file is read with --format coco"
_COCO: Final = frozenset({"images", "annotations"})
_JSON: Final = frozenset({"json", "jsonl", "ndjson"})
_NONE: Final = b"\x1f"
"""Separates the cells of a table of one column: commas in its texts are text."""
_NO_TEXT: Final = bytes(set(range(32)) - set(b"\t\n\f\r"))
"""Bytes of control characters that stand in no text."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Describe what a table-like file turned out to be.

    Args:
        file: The file.
        kind: ``"csv"``, ``"jsonl"``, ``"json"`` (a list of objects), ``"parquet"`` or ``"arrow"``.
        names: Its columns in order; of CSV, the cells of its first line.
        dialect: How CSV is cut.
        compression: How it is compressed, if at all.
        headed: Whether the first line of CSV is a header.
        schema: Types of the columns, where the file says them (Parquet and Arrow).
        nested: Columns of lists or objects, as far as the schema or the beginning of JSON lines tells.
        held: Rows that are in memory: a dataset of Hugging Face, which gives tables of Arrow; ``file`` is what it is called.
    """

    file: File
    kind: str
    names: Sequence[str]
    dialect: csvtext.Dialect | None = None
    compression: str | None = None
    headed: bool = True
    schema: pa.Schema | None = None
    nested: frozenset[str] = frozenset()
    held: Any = None

    def kept(self, names: Sequence[str]) -> dict[str, int]:
        """Return the columns to keep as labels, as ``columns.as_labels`` does.

        Raises:
            NotFoundError: If one is not there (``E1002``).
        """
        return columns.as_labels(self.names, names, self.file.uri)

    def headless(self, names: Sequence[str]) -> Layout:
        """Return the same CSV without a header line and without quoting."""
        dialect = replace(self.dialect, quoting=False, lenient=False) if self.dialect else None
        return replace(self, names=names, dialect=dialect, headed=False)


def layouts(uri: str | Any, options: ReadOptions) -> list[Layout]:
    """Return all files of a source, inspected; or a ``Dataset`` of Hugging Face, or several by split, as if they were files.

    Raises:
        NotFoundError: If there are none.
        SourceError: If one is not a table, or no dataset has a row.
    """
    if not isinstance(uri, str):
        return [layout for layout in held(uri).values() if layout is not None]
    return [inspect(f) for f in expand(uri, options.storage_options, SUFFIXES)]


def inspect(file: File) -> Layout:
    """Return what a file is.

    Raises:
        SourceError: If it is empty, binary, HTML, not UTF-8, a damaged Parquet file … (``E4010``, ``E4012``).
    """
    head, kind = compression.read_head(file, HEAD)
    if kind is None and head[:4] == b"PAR1":
        return _typed(file, "parquet", parquet.schema(file))
    if kind is None and arrowfile.is_arrow(head):
        return _typed(file, "arrow", arrowfile.schema(file))
    for ending, what in ((".parquet", "a Parquet"), (".arrow", "an Arrow")):
        if file.name.lower().endswith(ending):
            raise _no_table(file, f"is not {what} file; it begins with {head[:12]!r}")
    text = _text(file, head)
    if text.lstrip()[:1] == b"{":
        heads = _json_heads(file, text)
        nested = frozenset(n for n, v in heads.items() if isinstance(v, (list, dict)))
        return Layout(file, "jsonl", list(heads), compression=kind, nested=nested)
    if text.lstrip()[:1] == b"[":
        return _list(file, kind)
    if file.name.lower().split(".")[-1 if not kind else -2] in _JSON:
        raise _no_table(file, "is not JSON lines", _ONE_A_LINE)
    return _csv(file, text, kind)


def held(given: Any) -> dict[str | None, Layout | None]:
    """Return what datasets of Hugging Face are, by split; ``None`` of one without rows. They are called NAME or NAME/SPLIT.

    Raises:
        SourceError: If none has a row (``E4017``).
    """
    parts = dict(given) if isinstance(given, Mapping) else {None: given}
    found = {split: _held(dataset, split) for split, dataset in parts.items()}
    if not any(found.values()):
        raise SourceError("the dataset has no rows", code="E4017", hint="give one with at least one row")
    return found


def _held(dataset: Any, split: str | None) -> Layout | None:
    name = getattr(getattr(dataset, "info", None), "dataset_name", None) or "dataset"
    split = split or (None if getattr(dataset, "split", None) is None else str(dataset.split))
    arrow, features = dataset.with_format("arrow"), getattr(dataset, "features", None)
    with damage(name, "dataset of Hugging Face"):
        first = next(iter(arrow.iter(1)), None)
    if first is None:
        return None
    called = name if split is None else f"{name}/{split}"
    schema = first.schema if features is None else features.arrow_schema
    return replace(_typed(File(called, None, None, called), "dataset", schema), held=arrow)


def _typed(file: File, kind: str, schema: pa.Schema) -> Layout:
    nested = frozenset(f.name for f in schema if pa.types.is_nested(f.type))
    return Layout(file, kind, schema.names, schema=schema, nested=nested)


def _text(file: File, head: bytes) -> bytes:
    """Return the beginning of a text file without its byte-order mark."""
    if head[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        raise _no_table(file, "is UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8 IN > OUT")
    text = head.removeprefix(csvtext.BOM)
    if b"\0" in text and _is_binary(text):
        raise _no_table(file, f"is binary; it begins with {head[:12]!r}")
    if _HTML.match(text):
        raise _no_table(file, "is an HTML or XML page", "perhaps an error page that was saved under this name")
    if not text.strip():
        raise _no_table(file, "is empty")
    return text


def _is_binary(head: bytes) -> bool:
    """Return whether bytes with a NUL are not text: a tenth of them is nothing that texts are made of, as in UTF-16."""
    odd = (
        len(head)
        - len(head.translate(None, _NO_TEXT))
        + head.decode(errors="replace").count("\N{REPLACEMENT CHARACTER}")
    )
    return odd * 10 > len(head)


def _csv(file: File, text: bytes, kind: str | None) -> Layout:
    line = re.split(rb"\r\n|\n|\r", text, maxsplit=1)[0]
    if len(line) >= HEAD - len(csvtext.BOM):
        raise _no_table(file, f"has a first line of more than {HEAD:,} bytes")
    tabs = re.search(r"\.(tsv|tab|token)(\.|$)", file.name.lower())
    order = (b"\t", b",", b";", b"|") if tabs else (b",", b"\t", b";", b"|")
    delimiter = next((d for d in order if d in line), _NONE)
    dialect = csvtext.Dialect(delimiter, 0, quoting=True, lenient=delimiter in {b"\t", b"|", _NONE})
    cells = csvtext.first_record(text, dialect)
    try:
        names = [c.decode() for c in cells]
    except UnicodeDecodeError as error:
        raise _no_table(file, "is not UTF-8 text", "convert it: iconv -f LATIN1 -t UTF-8 IN > OUT") from error
    return Layout(file, "csv", names, replace(dialect, width=len(names)), kind)


def _json_heads(file: File, text: bytes) -> dict[str, Any]:
    """Return keys of the objects at the beginning, in order of appearance, each with a value of it."""
    heads: dict[str, Any] = {}
    *lines, rest = text.split(b"\n")
    for line in lines or [rest]:
        value = jsonlines.parsed(line) if line.strip() else None
        if isinstance(value, dict):  # what is none is a row like any other: it is refused when its turn comes
            heads.update((k, v) for k, v in value.items() if heads.get(k) is None)
    if not heads:
        raise _no_table(file, "is not JSON lines", _ONE_A_LINE)
    if heads.keys() >= _COCO:
        raise _no_table(file, "is a COCO file", "read it with --format coco")
    return heads


def _list(file: File, kind: str | None) -> Layout:
    """Return what a JSON list of objects is, by its first elements."""
    with Decompressed(file, kind) as stream:
        first = next(stream_list(cast("BinaryIO", stream), file.uri, "rows", window=HEAD)).items
    heads: dict[str, Any] = {}
    for value in first:
        heads.update((k, v) for k, v in value.items() if heads.get(k) is None) if isinstance(value, dict) else None
    if not heads:
        raise _no_table(file, "is a JSON list, and not of objects")
    nested = frozenset(n for n, v in heads.items() if isinstance(v, (list, dict)))
    return Layout(file, "json", list(heads), compression=kind, nested=nested)


def _no_table(file: File, why: str, hint: str | None = None) -> SourceError:
    return SourceError(
        f"{file.uri} {why}",
        code="E4010",
        hint=hint or "CSV, TSV, JSON (an object a line, or a list of them), Parquet and Arrow are read",
    )


def read(layout: Layout, chosen: Mapping[str, int], matters: Callable[[str], bool] = lambda _: False) -> Iterator[Rows]:
    """Yield the rows of a file.

    Args:
        layout: From ``inspect``.
        chosen: Name to give a column, to its position in the file.
        matters: Of a key of JSON lines that the beginning of the file does not have, whether a row with it must not be
            taken without it.

    Returns:
        At most ``CHUNK_ROWS`` rows at a time.

    Raises:
        SourceError: If the file is damaged (``E4001``, ``E4012``).
    """
    if layout.held is not None:
        with damage(layout.file, "dataset of Hugging Face"):
            batches = ((b, b.nbytes) for table in layout.held.iter(CHUNK_ROWS) for b in table.to_batches())
            yield from rows_of(batches, {name: layout.names[i] for name, i in chosen.items()}, layout.file)
        return
    if layout.schema is not None:
        typed = parquet if layout.kind == "parquet" else arrowfile
        yield from typed.read(layout.file, {name: layout.names[i] for name, i in chosen.items()})
        return
    with Decompressed(layout.file, layout.compression) as stream:
        wanted, known = [layout.names[i] for i in chosen.values()], frozenset(layout.names)
        if layout.kind == "jsonl":
            parts = jsonlines.read_values(stream, wanted, known=known, matters=matters)
        elif layout.kind == "json":
            parts = jsonlines.read_list(stream, layout.file.uri, wanted, known=known, matters=matters)
        else:
            parts = csvtext.read_cells(stream, _dialect(layout), list(chosen.values()), header=layout.headed)
        for part in parts:
            table = pa.table(dict(zip(chosen, part.columns, strict=True)))
            unit = "item" if layout.kind == "json" else "line"
            rows = Rows(table, part.lines, unit, layout.file.uri, part.refused, stream.consumed())
            yield from _slices(rows)


def _dialect(layout: Layout) -> csvtext.Dialect:
    return layout.dialect or csvtext.Dialect(b",", len(layout.names))


def _slices(rows: Rows) -> Iterator[Rows]:
    """Yield the same rows in pieces of at most ``CHUNK_ROWS``; what was refused goes with the first."""
    if rows.table.num_rows <= CHUNK_ROWS:
        yield rows
        return
    ends = np.append(rows.numbers[CHUNK_ROWS::CHUNK_ROWS], np.iinfo(np.int64).max)
    begin = -1
    for i, end in enumerate(ends):
        at = slice(i * CHUNK_ROWS, (i + 1) * CHUNK_ROWS)
        refused = [r for r in rows.refused if begin <= r.number < end]
        piece = rows.table.slice(at.start, CHUNK_ROWS)
        yield Rows(piece, rows.numbers[at], rows.unit, rows.source, refused, 0 if i else rows.bytes_read)
        begin = end


def read_all(
    layouts: Sequence[Layout], found: Sequence[Mapping[str, int]], fields: columns.Fields, limit: int | None
) -> Iterator[Rows]:
    """Read several files one after the other, up to ``limit`` rows.

    Args:
        layouts: The files.
        found: The columns of each, as for ``read``.
        fields: What is looked for: a row of JSON lines with one of these that the beginning lacks is refused.
        limit: Rows of all files together, refused ones counted.
    """
    matters = columns.matters(fields)
    return limited((r for f, c in zip(layouts, found, strict=True) for r in read(f, c, matters)), limit)


def left_out(layouts: Sequence[Layout], found: Sequence[Mapping[str, int]], unkept: str = "") -> list[str]:
    """Return notes about columns that no file's reader takes, each once.

    Args:
        layouts: The files.
        found: The columns of each that are taken.
        unkept: Name of the format, where it keeps no other columns.
    """
    notes: dict[str, None] = {}
    for layout, there in zip(layouts, found, strict=True):
        names = columns.unplaced(layout.names, there)
        lists = [n for n in names if n in layout.nested]
        others = [n for n in names if n not in layout.nested]
        told = columns.cannot_keep(unkept, names) if unkept else columns.left_out(others, lists)
        notes |= dict.fromkeys(told)
    return list(notes)


def limited(parts: Iterator[Rows], limit: int | None) -> Iterator[Rows]:
    """Yield the first ``limit`` rows of all parts together, refused ones counted."""
    left = limit
    for rows in parts:
        if left is not None:
            rows = rows.head(left)  # noqa: PLW2901
            left -= rows.count
        yield rows
        if left == 0:
            return
