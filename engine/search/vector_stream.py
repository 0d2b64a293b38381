"""Vectors of a relation beside the labels of their images, read a batch at a time, so that memory does not grow with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import SqlError
from counterbalance.engine.search.ranking import matrix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

KEY: Final = "image_id"


class Rows(Protocol):
    """A relation that is read when asked, never as a whole."""

    def __call__(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return these columns, batch after batch, in any order of rows."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Which labels images carry: an image may have several, each once. Nine bytes a pair, with up to 127 labels.

    Args:
        names: The labels, in order.
        ids: Image of every pair of image and label, ascending.
        codes: Its label, a place in ``names``.
    """

    names: list[str]
    ids: NDArray[np.int64]
    codes: NDArray[np.signedinteger[Any]]

    @classmethod
    def of(cls, groups: pa.Table) -> Labels:
        """Make it from a group relation (image_id, label); rows with NULL in either are left out.

        Raises:
            SqlError: A column is missing.

        Example:
            >>> given = Labels.of(pa.table({"image_id": [2, 1, 2, 2], "label": ["b", "b", "a", "b"]}))
            >>> given.names, given.ids.tolist(), given.codes.tolist()
            (['a', 'b'], [1, 2, 2], [1, 0, 1])
        """
        groups = only(groups, "groups", KEY, "label")
        ids: NDArray[np.int64] = groups[KEY].cast(pa.int64()).to_numpy()
        texts = groups["label"].cast(pa.string())
        names = pc.unique(texts).sort()
        codes = pc.index_in(texts, names).to_numpy().astype(np.min_scalar_type(-1 - len(names)))
        order = np.lexsort((codes, ids))
        ids, codes = ids[order], codes[order]
        first = np.ones(len(ids), np.bool_)
        first[1:] = (ids[1:] != ids[:-1]) | (codes[1:] != codes[:-1])
        return cls(names.to_pylist(), ids[first], codes[first])

    def at(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return, for images, places of those with a label, and which pair it is; a place stands there once for each of its labels."""
        low = np.searchsorted(self.ids, ids)
        counts = np.searchsorted(self.ids, ids, side="right") - low
        places = np.repeat(np.arange(len(ids)), counts)
        within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
        return places, np.repeat(low, counts) + within

    def counted(self, pairs: NDArray[np.bool_] | NDArray[np.intp]) -> NDArray[np.intp]:
        """Return how many images of each label there are among some pairs."""
        return np.bincount(self.codes[pairs], minlength=len(self.names))


class Part(NamedTuple):
    """A batch of vectors, and which of them belong to labelled images.

    Args:
        ids: Image of every vector.
        vectors: Rows by dimensions; not to be written to.
        places: Row of every pair of vector and label, ascending.
        codes: Its label.
        pairs: Which of the pairs of image and label it belongs to.
    """

    ids: NDArray[np.int64]
    vectors: NDArray[np.float32]
    places: NDArray[np.intp]
    codes: NDArray[np.signedinteger[Any]]
    pairs: NDArray[np.intp]

    def labelled(self) -> Part:
        """Return a part with only vectors of labelled images."""
        chosen, places = np.unique(self.places, return_inverse=True)
        return Part(self.ids[chosen], self.vectors[chosen], places, self.codes, self.pairs)


def parts(vectors: Rows, labels: Labels, column: str) -> Iterator[Part]:
    """Yield vectors beside the labels of their images, batch after batch; those without labelled images are left out.

    All are checked, also those that are left out: which images have labels must not follow from an error.

    Args:
        vectors: A relation with ``image_id`` and the column; rows with NULL in either are left out.
        labels: The labels.
        column: Its vector column.

    Raises:
        SqlError: The column holds no vectors, vectors of several lengths, or one without a direction.
    """
    width: int | None = None
    for batch in vectors([KEY, column]):
        rows = batch
        if batch.column(0).null_count or batch.column(1).null_count:
            rows = batch.filter(pc.and_(pc.is_valid(batch.column(0)), pc.is_valid(batch.column(1))))
        ids = rows.column(0).cast(pa.int64()).to_numpy()
        if not len(rows):
            continue
        found = _matrix(rows.column(1))
        if width not in {None, found.shape[1]}:
            raise SqlError("vectors have different lengths", code="E3126")
        width = found.shape[1]
        squares: Any = np.einsum("nd,nd->n", found, found, dtype=np.float64)
        check_lengths(squares)
        places, pairs = labels.at(ids)
        if len(places):
            yield Part(ids, found, places, labels.codes[pairs], pairs)


def only(rows: pa.Table, name: str, *columns: str) -> pa.Table:
    """Return these columns of a relation, without rows that have NULL in one of them.

    Args:
        rows: The relation.
        name: What it is called, for errors.
        columns: Their names.

    Raises:
        SqlError: One is missing.
    """
    absent = [c for c in columns if c not in rows.column_names]
    if absent:
        raise SqlError(f"{name} have no column {absent[0]!r}", code="E3123", hint=f"needed: {', '.join(columns)}")
    return rows.select(list(columns)).drop_null()


def _matrix(values: pa.Array) -> NDArray[np.float32]:
    """Return rows by dimensions, without a copy where they lie so."""
    if pa.types.is_fixed_size_list(values.type) and values.type.value_type == pa.float32():
        inner = values.flatten()
        if not inner.null_count:
            return np.asarray(inner.to_numpy().reshape(len(values), values.type.list_size))
    return matrix(values, "vectors")


def check_lengths(squares: NDArray[np.float64]) -> None:
    """Refuse vectors without a direction, by their squared lengths."""
    if not (np.isfinite(squares) & (squares > 0)).all():
        raise SqlError(
            "a vector holds NaN or infinity, or nothing but zeros: it has no direction",
            code="E3180",
            hint="leave such rows out of the relation",
        )
