"""Where a count is hidden, so is the p of its test: with n, which can be known, p solves the count."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.disclosure.protection import protect
from counterbalance.engine.store import tables

TESTED = {name: [c for c in query.cells if c.tests] for name, query in cb.audits().items()}


@pytest.mark.parametrize("name", [name for name, cells in TESTED.items() if cells])
def test_of_every_audit_with_tests(name):
    for cell in TESTED[name]:
        alone = dataclasses.replace(cell, omit=False, places=(), side=None)
        texts = {column: ["x", "y", "z"] for column in (*cell.by, *cell.within) if column is not None}
        numbers = {c: [40.0, 40.0, 40.0] for c in alone.columns if c not in texts} | {cell.count: [3.0, 50.0, 60.0]}
        p, q = cell.tests
        rows = pa.table(texts | numbers | {p: [1e-9, 0.25, 0.5], q: [3e-9, 0.375, 0.5]})
        made = protect(rows, [alone], 10, "{}", closed=False, in_order=True).to_pylist()
        hidden = [row for row in made if row[cell.count] is None]
        assert hidden
        assert [(row[p], row[q]) for row in hidden] == [(None, None)] * len(hidden)


@pytest.mark.parametrize("few", [3, 5])
def test_of_generated_pictures(build, tmp_path, few):
    """60 of chefs, of which few have label b, and 60 of nurses, half and half."""
    ids = list(range(120))
    values = ["a"] * (60 - few) + ["b"] * few + ["a", "b"] * 30
    lake = cb.connect(tmp_path / "a.lake")
    labels = build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 120, value=values)
    lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    category = ["chef"] * 60 + ["nurse"] * 60
    tables.append(lake.location, "generations", pa.table({"image_id": ids, "category": category, "place": ids}))
    groups = "groups := image_labels('perceived_gender'), label := 'a'"
    rows = lake.sql(f"SELECT * FROM generated_ratio(generations := generations, {groups})").to_arrow().to_pylist()
    assert [row["suppressed"] for row in rows if row["category"] == "chef"] == [True]
    assert [row["p"] for row in rows if row["category"] == "chef"] == [None]
    assert [row["p"] for row in rows if row["category"] == "nurse"] == [1.0]
