"""Word lists: the ones shipped with the package, and a user's own from a file.

A list is a table whose first column is ``term`` (string, never NULL); most have a second one, ``class``. Shipped lists
lie in ``data/``, one CSV a list, with the source and terms of use in ``#`` lines before the header and in
``data/LICENSES.md``.
"""

from __future__ import annotations

import csv
import io
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.errors import NotFoundError, SourceError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DATA: Final = files("counterbalance.udfs").joinpath("data")
_SUFFIX: Final = ".csv"
_TERMS: Final = ("term", "word", "keyword", "synonym")
"""What a column of terms is called, or its plural, the surest first."""
_CLASSES: Final = ("class", "category", "group", "kind")
"""What the name of a column of classes holds."""


@cache
def names() -> list[str]:
    """Return the names of the shipped lists, sorted.

    Example:
        >>> "gender_gensynth" in names()
        True
    """
    return sorted(f.name.removesuffix(_SUFFIX) for f in _DATA.iterdir() if f.name.endswith(_SUFFIX))


@cache
def wordlist(name: str) -> pa.Table:
    """Return a shipped list; where it comes from is in the schema's metadata under ``b"source"``.

    Raises:
        NotFoundError: There is no such list (``E1011``).

    Example:
        >>> wordlist("gender_gensynth").slice(0, 2).to_pylist()
        [{'term': 'man', 'class': 'male', 'neutral': 'person'}, {'term': 'boy', 'class': 'male', 'neutral': 'child'}]
    """
    if name not in names():
        raise NotFoundError(f"no word list {name!r}{did_you_mean(name, names())}", code="E1011")
    text = _DATA.joinpath(name + _SUFFIX).read_text("utf-8")
    lines = text.splitlines(keepends=True)
    notes = [line.lstrip("# ").rstrip() for line in lines if line.startswith("#")]
    table = _csv("".join(lines[len(notes) :]), name, ",")
    return table.replace_schema_metadata({"source": "\n".join(notes)})


def terms(name: str) -> list[str]:
    """Return the terms of a shipped list, in its order."""
    return [str(t) for t in wordlist(name)["term"].to_pylist()]


def load(path: str | Path) -> pa.Table:
    """Return a user's own list.

    Args:
        path: A file: ``.txt`` with a term a line (lines that start with ``#`` are notes); ``.csv`` or ``.tsv`` with a
            header; ``.jsonl`` with an object, or a plain string, a line; ``.parquet``. The column ``term`` (or ``word``,
            ``keyword``, ``synonym``) has the terms; the column ``class`` (or ``category``, ``group``, ``kind``), or
            else the next one, their classes. Text is UTF-8.

    Returns:
        A table with ``term`` first, ``class`` second where there is one, then the other columns.

    Raises:
        NotFoundError: There is no such file (``E1012``).
        SourceError: It is not what its ending says (``E4050``), of another kind (``E4051``), a term is missing
            (``E4052``), or no column is one of terms (``E4053``).
    """
    path = Path(path)
    read = _READERS.get(path.suffix.lower())
    if read is None:
        kinds = ", ".join(_READERS)
        raise SourceError(f"{path} is not a word list: its name must end in one of {kinds}", code="E4051")
    if not path.is_file():
        raise NotFoundError(f"no word list at {path}", code="E1012")
    try:
        return _tidy(read(path), str(path))
    except (pa.ArrowException, OSError, UnicodeDecodeError, csv.Error, json.JSONDecodeError) as error:
        raise SourceError(f"cannot read the word list {path}: {error}", code="E4050") from error


def _text(path: Path) -> str:
    return path.read_text("utf-8-sig")


def _lines(path: Path) -> pa.Table:
    lines = (line.strip() for line in _text(path).splitlines())
    return pa.table({"term": pa.array([line for line in lines if line and not line.startswith("#")], pa.string())})


def _json_lines(path: Path) -> pa.Table:
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        if line.strip():
            value = json.loads(line)
            if not isinstance(value, dict | str):
                raise SourceError(f"{path}, line {number}: neither an object nor a string", code="E4050")
            rows.append(value if isinstance(value, dict) else {"term": value})
    columns = dict.fromkeys(name for row in rows for name in row)
    return pa.Table.from_pylist([{name: row.get(name) for name in columns} for row in rows])


def _parquet(path: Path) -> pa.Table:
    from pyarrow.parquet import read_table

    return read_table(path)


def _csv(text: str, where: str, delimiter: str) -> pa.Table:
    """Return the rows of a CSV with a header; every column is text, an empty field is NULL."""
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter, strict=True) if row]
    if not rows:
        raise SourceError(f"the word list {where} is empty: it needs a header", code="E4050")
    header = [name.strip() for name in rows[0]]
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            raise SourceError(f"{where}, row {number}: {len(row)} fields under {len(header)} names", code="E4050")
    columns = [[row[i].strip() or None for row in rows[1:]] for i in range(len(header))]
    return pa.table([pa.array(column, pa.string()) for column in columns], names=header)


_READERS: Final[dict[str, Callable[[Path], pa.Table]]] = {
    ".txt": _lines,
    ".csv": lambda path: _csv(_text(path), str(path), ","),
    ".tsv": lambda path: _csv(_text(path), str(path), "\t"),
    ".jsonl": _json_lines,
    ".parquet": _parquet,
}


def _tidy(table: pa.Table, where: str) -> pa.Table:
    """Return the table with its terms first and their classes second, both text; equal rows once."""
    if table.num_columns == 0:
        raise SourceError(f"the word list {where} has no columns", code="E4050")
    order = _order(table.column_names, where)
    others = [table.column_names[i] for i in order[2:]]
    table = table.select(order).rename_columns(["term", "class", *others][: len(order)])
    words = [None if w is None else str(w).strip() or None for w in table["term"].to_pylist()]
    if None in words:
        raise SourceError(f"{where}, row {words.index(None) + 1}: no term", code="E4052")
    table = table.set_column(0, "term", pa.array(words, pa.string()))
    if table.num_columns > 1:
        table = table.set_column(1, "class", table["class"].cast(pa.string()))
    return _once(table)


def _order(columns: Sequence[str], where: str) -> list[int]:
    """Return the places of the columns: terms, classes, the rest."""
    lower = [c.lower().strip() for c in columns]
    terms = [i for name in _TERMS for i, c in enumerate(lower) if c.rstrip("s") == name]
    if not terms:
        raise SourceError(
            f"the word list {where} has no column 'term': its first line names {', '.join(map(repr, columns))}",
            code="E4053",
            hint="name the columns in the first line: term,class; or write a .txt with a term a line",
        )
    rest = [i for i in range(len(columns)) if i != terms[0]]
    classes = [i for name in _CLASSES for i in rest if name in lower[i]] or rest
    return [terms[0], *classes[:1], *(i for i in rest if i not in classes[:1])]


def _once(table: pa.Table) -> pa.Table:
    seen = {json.dumps(row, default=str, sort_keys=True): i for i, row in reversed(list(enumerate(table.to_pylist())))}
    return table if len(seen) == table.num_rows else table.take(sorted(seen.values()))
