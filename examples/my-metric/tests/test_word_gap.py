"""word_gap: counts made by hand, the interval by statsmodels, and a small count that is hidden."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

import counterbalance as cb

AUDIT = str(Path(__file__).parents[1] / "my_metric" / "audits" / "word_gap.sql")
TEXTS = ["A woman, an umbrella.", "A woman.", "A man, an umbrella.", "A man."]
IMAGES = [30, 20, 15, 45]
"""How many images have each text."""


@pytest.fixture(scope="module")
def lake() -> cb.Lake:
    """A lake in memory of 110 captions, one an image."""
    texts = [text for text, count in zip(TEXTS, IMAGES, strict=True) for _ in range(count)]
    ids = list(range(len(texts)))
    made = cb.connect("memory://word_gap")
    made.ingest({
        "images": pa.table({"image_id": ids, "key": [str(i) for i in ids]}),
        "captions": pa.table({"caption_id": ids, "image_id": ids, "text": texts}),
    })  # fmt: skip
    return made


def test_counts_and_interval(lake: cb.Lake) -> None:
    """30 of 50 women, 15 of 60 men."""
    (row,) = lake.audit(AUDIT, word="umbrella").to_arrow().to_pylist()
    assert (row["count"], row["n"], row["count_against"], row["n_against"]) == (30, 50, 15, 60)
    assert row["value"] == pytest.approx(30 / 50 - 15 / 60)
    wanted = confint_proportions_2indep(30, 50, 15, 60, method="newcomb", compare="diff")
    assert (row["low"], row["high"]) == pytest.approx(wanted)


def test_few_images_are_not_told(lake: cb.Lake) -> None:
    """15 images are fewer than 20: the engine hides them, and what they would follow from."""
    (row,) = lake.audit(AUDIT, word="umbrella", min_count=20).to_arrow().to_pylist()
    assert row["suppressed"]
    assert row["count_against"] is row["value"] is row["low"] is None
