"""Rows of ``labels`` from columns, one attribute at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.schema import LABELS
from counterbalance.ingest import hashing
from counterbalance.ingest.columns import LABEL
from counterbalance.ingest.rows import base_rows, cell_text, floats, is_null

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterbalance.ingest.rows import Places, Sieve
    from counterbalance.ingest.validate import Mask, ObjectSieve


def scores(sieve: Sieve, field: str) -> pa.Array:
    """Return a field of scores as float32, NULL where there is none; refuses ``bad_score`` outside [0, 1]."""
    values, bad = sieve.number(field)
    with np.errstate(invalid="ignore"):
        bad |= (values < 0) | (values > 1)
    if bad.any():
        cells = sieve.rows.table[field]
        sieve.refuse(bad, "bad_score", lambda i: f"{field} must be in [0, 1], not {cell_text(cells[i].as_py())}")
    return floats(np.where(bad, np.nan, values))


class LabelRows:
    """Labels of the rows that a sieve kept; not thread-safe.

    Args:
        sieve: The rows or objects, all refusals made.
        image_id: int64, NULL where only the box is known.
        detection_id: int64, NULL for a label of the whole image.
        annotator: Who said so.
        keys: What the source calls the image, or the box where it names no image.
    """

    def __init__(
        self,
        sieve: Sieve | ObjectSieve,
        image_id: pa.Array,
        detection_id: pa.Array,
        annotator: pa.Array,
        keys: pa.Array,
    ) -> None:
        self._places = sieve.places()
        self._keep = sieve.keep
        self._target = {"image_id": image_id, "detection_id": detection_id, "annotator": annotator}
        self._called = keys
        self._tables: list[pa.Table] = []
        self._at: list[Any] = []

    @classmethod
    def of_columns(
        cls,
        sieve: Sieve | ObjectSieve,
        texts: Mapping[str, pa.Array],
        keys: pa.Array,
        annotator: str,
        told: Callable[[str, Mask], None] | None = None,
    ) -> LabelRows:
        """Return labels of images from columns, an image's first one of each.

        Args:
            sieve: The rows or objects, all refusals made.
            texts: What is kept of each, by name.
            keys: What each row's image is called.
            annotator: Of them all.
            told: Takes a name, and which rows say something else of their image than its first one does.
        """
        ids = hashing.key_ids(keys)
        rows = cls(sieve, ids, pa.nulls(len(keys), pa.int64()), pa.repeat(annotator, len(keys)), keys)
        for name, text in texts.items():
            at = np.flatnonzero(sieve.keep & ~is_null(text))
            of_images = ids.take(pa.array(at)).to_numpy()
            once = np.zeros(len(keys), dtype=bool)
            once[at[hashing.first_of_each(of_images)]] = True
            rows.add(name, pc.if_else(pa.array(once), text, None))
            if told is not None and once.sum() < len(at):
                _, first, which = np.unique(of_images, return_index=True, return_inverse=True)
                others = np.zeros(len(keys), dtype=bool)
                others[at] = pc.not_equal(text.take(pa.array(at)), text.take(pa.array(at[first[which]]))).to_numpy(
                    zero_copy_only=False
                )
                told(name, others)
        return rows

    def add(self, attribute: str | pa.Array, value: pa.Array, score: pa.Array | None = None) -> None:
        """Add labels of one attribute (or of one per row); rows whose value is NULL have none.

        Args:
            attribute: What is labelled.
            value: The labels as text.
            score: float32 or nothing.
        """
        there = self._keep & ~is_null(value)
        mask = pa.array(there)
        columns = {name: array.filter(mask) for name, array in self._target.items()}
        count = len(columns["annotator"])
        named = pa.repeat(attribute, count) if isinstance(attribute, str) else attribute.filter(mask)
        columns |= {"attribute": named, "value": value.filter(mask)}
        columns["score"] = pa.nulls(count, pa.float32()) if score is None else score.filter(mask)
        columns["label_id"] = hashing.hash_rows(
            columns["image_id"], columns["detection_id"], columns["attribute"], columns["annotator"]
        )
        self._tables.append(base_rows(LABELS, columns))
        self._at.append(np.flatnonzero(there))

    def tables(self) -> dict[str, pa.Table]:
        """Return the rows, under their table's name; nothing if there are none."""
        rows = pa.concat_tables(self._tables) if self._tables else None
        return {"labels": rows} if rows is not None and rows.num_rows else {}

    def keys(self) -> dict[str, pa.Array]:
        """Return what the source calls the image or box of each row."""
        return {"labels": self._called.take(pa.array(np.concatenate(self._at)))} if self.tables() else {}

    def positions(self) -> dict[str, Places]:
        """Return where each row stands in the source."""
        return {"labels": self._places.take(np.concatenate(self._at))} if self.tables() else {}


def kept_texts(sieve: Sieve) -> dict[str, pa.Array]:
    """Return the columns whose names begin with ``columns.LABEL``, by what follows, lists and objects as JSON.

    It may refuse rows, as ``Sieve.text`` does.
    """
    names = [n for n in sieve.rows.table.column_names if n.startswith(LABEL)]
    return {n.removeprefix(LABEL).strip(): sieve.text(n) for n in names}
