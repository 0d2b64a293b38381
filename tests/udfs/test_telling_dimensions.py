"""The dimensions that CLIP-clip drops: those that tell a label, and no others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from counterbalance.engine.errors import RequestError
from counterbalance.udfs.models.dimensions import telling


def planted(rows=600, dimensions=12):
    """Dimension 5 has another mean by label, dimension 9 another spread; the others know nothing."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, rows)
    vectors = rng.normal(size=(rows, dimensions))
    vectors[:, 5] += 2.5 * labels
    vectors[:, 9] *= 1 + 6 * labels
    return vectors.astype(np.float32), [("female", "male")[v] for v in labels]


def test_planted_dimensions_are_found():
    vectors, labels = planted()
    assert telling(vectors, labels, 2) == [5, 9]


def test_a_column_of_a_table_is_taken_too():
    vectors, labels = planted(300)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 12)
    assert telling(column.slice(0, 200), labels[:200], 3) == telling(vectors[:200], labels[:200], 3)


def test_without_them_a_classifier_knows_less():
    """What they are dropped for: a linear classifier goes from knowing to guessing."""
    from sklearn.linear_model import LogisticRegression

    vectors, labels = planted(1000)
    drop = telling(vectors[:500], labels[:500], 2)

    def accuracy(kept):
        return LogisticRegression().fit(kept[:500], labels[:500]).score(kept[500:], labels[500:])

    assert accuracy(vectors) > 0.85
    assert accuracy(np.delete(vectors, drop, axis=1)) < 0.6


@pytest.mark.parametrize(("count", "rows"), [(0, 600), (12, 600), (2, 599)])
def test_what_cannot_be_chosen(count, rows):
    vectors, labels = planted()
    with pytest.raises(RequestError, match="cannot choose") as caught:
        telling(vectors, labels[:rows], count)
    assert caught.value.code == "E3525"
