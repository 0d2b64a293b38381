"""Images that were taken out of a lake: their rows go from every table, and a list of digests keeps them from coming back.

``meta/removed`` is written before the first row goes, so that a run that was killed can be finished. It holds keyed digests
of what named an image (id, key, place, digest of the picture) and of its boxes' ids, with a key of the lake's own: who has
the lake can test a name against the list, and cannot read the names from it.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.catalog import closed, definitions, file_statistics, meta, snapshot
from counterbalance.engine.schema import BASE_TABLES, IMAGES, ROW
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import lance
    from numpy.typing import NDArray

    from counterbalance.engine.store.location import Location

_NAMES: Final = ("image_id", "key", "uri", "sha256")
"""Columns of ``images`` that name an image."""
BOX: Final = "detection_id"
_LAST_FIRST: Final = ("labels", snapshot.SENSITIVE_LABELS, "detections", "captions", "images")
"""Base tables in the order in which rows go: ids of what hangs on an image are looked up in it until the end."""
_PICTURES: Final = 256
"""So many pictures are read at once."""
_SHOWN: Final = 100
"""So many characters of a name are told in a refusal (``write/tables.py``)."""
_NUMBER: Final = re.compile(r"\b(?:image|box|image_id|caption_id|detection_id|label_id) (-?\d+)")
_QUOTED: Final = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_SHORT: Final = 4


class Removed:
    """What was taken out of a lake, by digest.

    Args:
        salt: The key of the digests.
        digests: Of everything that named what was taken out.
    """

    def __init__(self, salt: bytes, digests: set[bytes]) -> None:
        self.salt, self._digests = salt, digests

    @classmethod
    def load(cls, location: Location, run_id: str | None = None) -> Removed:
        """Return the list of a lake, or what one run put there."""
        where = None if run_id is None else f"run_id = '{run_id}'"
        rows = meta.read(location, "removed", columns=["salt", "digest"], where=where)
        salt = rows["salt"][0].as_py() if len(rows) else secrets.token_bytes(32)
        return cls(salt, set(rows["digest"].to_pylist()))

    def __len__(self) -> int:
        return len(self._digests)

    def digest(self, kind: str, value: object) -> bytes:
        """Return the digest of a name, 16 bytes."""
        text = f"{kind}\x1f{value}".encode(errors="replace")
        return hashlib.blake2b(text, key=self.salt, digest_size=16).digest()

    def has(self, kind: str, values: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
        """Return which of these values are on the list; NULL is not."""
        found = (v is not None and self.digest(kind, v) in self._digests for v in values.to_pylist())
        return np.fromiter(found, np.bool_, len(values))

    def of_images(self, rows: pa.Table, stored: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which rows of ``images`` are of what was taken out, by any of their names or by the picture's bytes.

        What hangs on such an image is known from here on, whatever id it has now.

        Args:
            rows: The rows.
            stored: Which of them have an id that the lake has: neither that nor the key can be on the list.
        """
        found = np.zeros(len(rows), np.bool_)
        new = np.flatnonzero(~stored)
        for kind in (k for k in ("image_id", "key") if k in rows.column_names):
            found[new] |= self.has(kind, rows[kind].take(pa.array(new)))
        for kind in (k for k in ("uri", "sha256") if k in rows.column_names):
            found |= self.has(kind, rows[kind])
        if "image" in rows.column_names:
            found |= self.has("sha256", pa.array(map(_sha256, rows["image"].to_pylist()), pa.string()))
        self._digests |= {self.digest("image_id", i) for i in rows["image_id"].filter(pa.array(found)).to_pylist()}
        return found

    def of_parts(self, rows: pa.Table, candidates: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which candidates among captions, boxes or labels hang on an image or box that was taken out."""
        found = np.zeros(len(rows), np.bool_)
        at = np.flatnonzero(candidates)
        for kind in (k for k in ("image_id", BOX) if k in rows.column_names):
            found[at] |= self.has(kind, rows[kind].take(pa.array(at)))
        return found


def _sha256(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def record(location: Location, run_id: str, ids: NDArray[np.int64]) -> None:
    """Put images that are there on the list, in one commit.

    A key, place or picture that an image has which stays is left out: that image may be read again.
    """
    listed, images = Removed.load(location), _named(location, ids)
    found = [(kind, v) for kind in _NAMES for v in images[kind].to_pylist()]
    found += [("sha256", v) for v in _unhashed(location, images)]
    found += [(BOX, v) for v in _column(location, "detections", BOX, ids).tolist()]
    names = {(kind, v) for kind, v in found if v is not None and (kind != "uri" or _is_place(str(v)))}
    names -= _staying(location, names, ids)
    row = {"run_id": run_id, "at": meta.now(), "salt": listed.salt}
    digests = sorted({listed.digest(*name) for name in names})
    meta.write(location, "removed", [{**row, "digest": digest} for digest in digests])


def _is_place(uri: str) -> bool:
    """Tell whether it names one file wherever it is read: a bare name is that of many."""
    return "://" in uri or uri.startswith("/")


def _named(location: Location, ids: NDArray[np.int64]) -> pa.Table:
    """Return the names of some images."""
    dataset = tables.open_table(location, "images")
    if dataset is None:
        return IMAGES.schema().empty_table().select(_NAMES)
    wanted = pa.array(ids)
    batches = (
        b.filter(pc.is_in(b.column("image_id"), value_set=wanted))
        for b in dataset.scanner(columns=list(_NAMES)).to_batches()
    )
    kept = [b for b in batches if b.num_rows]
    return pa.Table.from_batches(kept) if kept else dataset.schema.empty_table().select(_NAMES)


def _unhashed(location: Location, images: pa.Table) -> Iterator[str | None]:
    """Yield digests of pictures of these images that were stored without one."""
    dataset = tables.open_table(location, "images")
    if dataset is None or "image" not in dataset.schema.names:
        return
    ids = images["image_id"].filter(pc.is_null(images["sha256"])).to_pylist()
    for start in range(0, len(ids), _PICTURES):
        rows = dataset.scanner(
            columns=["image"],
            filter=tables.keys_in("image_id", ids[start : start + _PICTURES]),
            blob_handling="all_binary",
            use_scalar_index=False,
        )
        yield from map(_sha256, rows.to_table()["image"].to_pylist())


def _staying(location: Location, names: set[tuple[str, object]], ids: NDArray[np.int64]) -> set[tuple[str, object]]:
    """Return the names, other than ids, that images have which stay."""
    dataset = tables.open_table(location, "images")
    found: set[tuple[str, object]] = set()
    wanted = {k: pa.array(sorted(str(v) for kind, v in names if kind == k), pa.string()) for k in _NAMES[1:]}
    for batch in () if dataset is None else dataset.scanner(columns=["image_id", *wanted]).to_batches():
        stays = pc.invert(pc.is_in(batch.column("image_id"), value_set=pa.array(ids)))
        for kind, values in wanted.items():
            there = pc.and_(stays, pc.is_in(batch.column(kind), value_set=values))
            found.update((kind, v) for v in batch.column(kind).filter(there).to_pylist() if v is not None)
    return found


def finish(location: Location, run_id: str) -> dict[str, int]:
    """Take out what a run that was killed had put on the list; returns the rows by table, nothing where it had not begun."""
    listed = Removed.load(location, run_id)
    if not listed:
        return {}
    found = [np.empty(0, np.int64)]
    for name in _LAST_FIRST:
        dataset = tables.open_table(location, name)
        for batch in () if dataset is None else dataset.scanner(columns=["image_id"]).to_batches():
            there = batch.column(0).unique()
            found.append(there.filter(pa.array(listed.has("image_id", there))).to_numpy())
    return take_out(location, np.unique(np.concatenate(found)), lambda _table, _commits: None)


def count(location: Location, ids: NDArray[np.int64]) -> dict[str, int]:
    """Return how many rows hang on some images, by base table; closed labels are not told: whose there are would be."""
    return {
        name: len(_rows(location, name, {"image_id": ids})) for name in reversed(_LAST_FIRST) if name in BASE_TABLES
    }


def take_out(location: Location, ids: NDArray[np.int64], committed: Callable[[str, int], None]) -> dict[str, int]:
    """Delete what hangs on some images from every table: views first, the images last, so that it can be repeated.

    Args:
        location: The lake.
        ids: The images.
        committed: Called with a table and how many commits were made on it.

    Returns:
        Rows deleted, by table; closed labels and closed views are left out.
    """
    _forget_texts(location, _named(location, ids))
    keys = {"image_id": ids}
    for name in ("captions", "detections", "labels"):
        key = BASE_TABLES[name].key
        keys[key] = _column(location, name, key, ids)
    keys["label_id"] = np.union1d(keys["label_id"], _column(location, snapshot.SENSITIVE_LABELS, "label_id", ids))
    gone = {
        view: _delete(location, view, _rows(location, view, keys), committed)
        for view in sorted(definitions.load(location).views())
    }
    untold = closed.ever(location)
    gone = {view: rows for view, rows in gone.items() if rows and view not in untold}
    for name in _LAST_FIRST:
        rows = _delete(location, name, _rows(location, name, {"image_id": ids}), committed)
        if name in BASE_TABLES:
            gone[name] = rows
            if rows:
                file_statistics.keep(location, name)
    return gone


def said(rows: Mapping[str, int]) -> str:
    """Return how many rows went, in words; not which.

    Example:
        >>> said({"labels": 0, "captions": 1250, "images": 250})
        '250 images, 1,250 captions'
    """
    order = [*BASE_TABLES, *sorted(set(rows) - set(BASE_TABLES))]
    return ", ".join(f"{rows[name]:,} {name}" for name in order if rows.get(name))


def _column(location: Location, table: str, column: str, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a column of integers of what hangs on some images."""
    dataset = tables.open_table(location, table)
    if dataset is None:
        return np.empty(0, np.int64)
    rows = dataset.scanner(columns=["image_id", column]).to_batches()
    parts = [b.column(column).filter(pc.is_in(b.column("image_id"), value_set=pa.array(ids))).to_numpy() for b in rows]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _rows(location: Location, table: str, keys: Mapping[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the row ids of what any of these keys names, in those of the columns that a table has."""
    dataset = tables.open_table(location, table)
    there = [k for k in keys if dataset is not None and _is_key(dataset, k)]
    found = [np.empty(0, np.int64)]
    sets = {k: pa.array(keys[k]) for k in there}
    for batch in dataset.scanner(columns=there, with_row_id=True).to_batches() if dataset is not None and there else ():
        masks = [pc.is_in(batch.column(k), value_set=sets[k]).to_numpy(zero_copy_only=False) for k in there]
        found.append(batch.column("_rowid").to_numpy().astype(np.int64)[np.logical_or.reduce(masks)])
    return np.concatenate(found)


def _is_key(dataset: lance.LanceDataset, name: str) -> bool:
    return name in dataset.schema.names and pa.types.is_int64(dataset.schema.field(name).type)


def _delete(location: Location, table: str, rows: NDArray[np.int64], committed: Callable[[str, int], None]) -> int:
    """Delete by row id: a condition on anything else would be kept in the table's log."""
    tables.delete_listed(location, table, ROW, rows.tolist(), partial(committed, table, 1))
    return len(rows)


def _forget_texts(location: Location, images: pa.Table) -> None:
    """Remove what was said of these images: refusals that name them, and such words in the journal."""
    ids = {str(i) for i in images["image_id"].to_pylist()}
    names = {str(v) for kind in _NAMES[1:] for v in images[kind].to_pylist() if v is not None}
    names |= {name.rpartition("/")[2] for name in names} | {name[:_SHOWN] for name in names}
    for part in (False, True):
        errors = meta.read(location, "errors", closed=part, columns=["error_id", "position", "message"])
        columns = (errors[c].to_pylist() for c in ("position", "message"))
        told = [f"{place or ''}\n{message or ''}" for place, message in zip(*columns, strict=True)]
        over = [n for n, text in zip(errors["error_id"].to_pylist(), told, strict=True) if _names_any(text, ids, names)]
        tables.delete_listed(location, meta.stored("errors", closed=part), "error_id", over)
    runs = meta.read(location, "runs")
    details = [None if d and _names_any(d, ids, names) else d for d in runs["details"].to_pylist()]
    if details != runs["details"].to_pylist():
        at = runs.column_names.index("details")
        runs = runs.set_column(at, "details", pa.array(details, pa.string()))
        tables.overwrite(location, "meta/runs", pa.RecordBatchReader.from_batches(runs.schema, runs.to_batches()))


def _names_any(text: str, ids: set[str], names: set[str]) -> bool:
    """Return whether a message or place tells of an image: its id as refusals write it, or one of its names.

    Example:
        >>> _names_any("no image 12 in the lake", {"12"}, set()), _names_any("row 12 is short", {"12"}, {"12"})
        (True, False)
        >>> _names_any("no image 'a b.jpg' in the lake", set(), {"a b.jpg"}), _names_any("0.tar:9876.jpg", set(), {"9876"})
        (True, True)
    """
    if not ids.isdisjoint(_NUMBER.findall(text)) or any(a in names or b in names for a, b in _QUOTED.findall(text)):
        return True
    words = {w.strip("'\"`.,;()[]") for w in text.split()}
    words |= {part for w in words for part in (w.rpartition(":")[2], w.rpartition("/")[2])}
    words |= {w.rpartition(".")[0] for w in words}
    return any(len(w) >= _SHORT and w in names for w in words)
