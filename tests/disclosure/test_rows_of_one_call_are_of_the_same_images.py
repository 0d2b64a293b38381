"""Rows of one call are of the same images: two populations that differ by one image tell its label."""

from __future__ import annotations

import pyarrow as pa
import pytest


@pytest.mark.parametrize("lacks", ["vectors", "control"])
def test_a_missing_vector_changes_all_rows_of_spurious_probe(build, empty_lake, lacks):
    ids = list(range(40))
    labels = pa.table({"image_id": ids, "label": ["female" if i % 2 else "male" for i in ids]})
    whole = pa.table({"image_id": ids, "embedding": [[float(i % 2), float(i % 5), 1.0] for i in ids]})
    given = {"vectors": whole, "control": whole, lacks: whole.slice(1)}
    empty_lake.ingest({"images": build.images(image_id=ids)})
    text = "SELECT features, n_label, n_against FROM spurious_probe(groups := labels, vectors := a, control := b, seeds := 2)"
    rows = empty_lake.sql(text, labels=labels, a=given["vectors"], b=given["control"]).fetchall()
    assert {row[1:] for row in rows if row[0] != "texts"} == {(20, 19)}
