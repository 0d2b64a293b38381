"""image_map places images along the two principal components of their vectors, as scikit-learn does, in any order of rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.decomposition import PCA

VECTORS = np.random.default_rng(2).normal(size=(60, 5)).astype(np.float32) * np.array([5, 3, 1, 0.5, 0.1], np.float32)


def table(order):
    return pa.table(
        {"image_id": pa.array(order), "embedding": pa.array(VECTORS[order].tolist(), pa.list_(pa.float32()))}
    )


@pytest.fixture
def rows(session):
    """``rows(order)``: what the view says of vectors in an order."""
    return lambda order: session.sql("SELECT * FROM image_map(given) ORDER BY image_id", given=table(order)).to_arrow()


def test_places_are_those_of_principal_components(rows):
    found = rows(list(range(60)))
    model = PCA(2, svd_solver="full").fit(VECTORS.astype(np.float64))
    theirs = model.transform(VECTORS.astype(np.float64)) * np.sign(model.components_[[0, 1], [0, 1]])
    np.testing.assert_allclose(np.column_stack([found["x"], found["y"]]), theirs, atol=1e-5)
    assert found["share"][0].as_py() == pytest.approx(model.explained_variance_ratio_.sum())


def test_the_order_of_rows_changes_nothing(rows):
    assert rows(list(reversed(range(60)))) == rows(list(range(60)))


def test_images_without_a_vector_have_no_place(session):
    given = pa.table({"image_id": [1, 2], "embedding": pa.array([[1.0, 0.0], None], pa.list_(pa.float32()))})
    found = session.sql("SELECT image_id, x, y FROM image_map(given)", given=given).fetchall()
    assert found == [(1, 0.0, 0.0)]
