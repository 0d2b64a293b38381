"""retrieval_bias_models: what retrieval_bias says of each column of vectors, in one call."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from counterbalance.engine.errors import SqlError
from counterbalance.engine.search.ranking import top_k

WIDTHS = {"small": 3, "large model": 5}
CUTS = {"k": [3, 5], "skew_k": [10]}


def side(key, ids, images, draw):
    columns = {key: pa.array(ids, pa.int64()), "image_id": pa.array(images, pa.int64())}
    for name, width in WIDTHS.items():
        flat = pa.array(draw.normal(size=len(ids) * width).astype(np.float32))
        columns[name] = pa.FixedSizeListArray.from_arrays(flat, width)
    return pa.table(columns)


@pytest.fixture(scope="module")
def given():
    draw = np.random.default_rng(2)
    images = np.arange(60)
    return {
        "asked": side("query_id", np.arange(20) * 7 - 50, images[:20], draw),
        "ranked": side("item_id", images + 100, images, draw),
        "groups": pa.table({"image_id": images, "label": draw.choice(["male", "female", "unclear"], 60)}),
        "relevant": pa.table({"query_id": np.arange(20) * 7 - 50, "item_id": np.arange(20) + 115}),
    }


def of_one_column(session, given, name):
    """The published way: one model after the other, rankings made beforehand."""
    clear = given["groups"].filter(pa.compute.is_in(given["groups"]["label"], pa.array(["male", "female"])))
    how = {"ranker": "vector", "column": name, "exclude_own": False}
    tables = {
        "hits": top_k(given["asked"], given["ranked"], k=CUTS["k"], **how),
        "labelled_hits": top_k(given["asked"], given["ranked"], k=CUTS["skew_k"], among=clear, **how),
        "relevant": given["relevant"],
        "query_images": pa.table({"query_id": given["asked"]["query_id"], "image_id": given["asked"]["query_id"]}),
    }
    labels = pa.table({"item_id": given["ranked"]["item_id"], "label": given["groups"]["label"]})
    rows = session.audit("retrieval_bias", **tables, item_groups=labels, **CUTS).to_arrow()
    return [{"vectors": name, **row} for row in rows.drop_columns("params").to_pylist()]


def test_every_column_has_the_rows_that_it_has_alone(session, given):
    found = session.audit("retrieval_bias_models", columns=list(WIDTHS), **given, **CUTS).to_arrow()
    expected = [row for name in sorted(WIDTHS) for row in of_one_column(session, given, name)]
    assert found.drop_columns("params").to_pylist() == expected
    assert {r["metric"] for r in expected} == {"bias", "maxskew", "ndkl", "recall"}
    assert expected[0]["value"] != expected[len(expected) // 2]["value"]


def test_top_k_names_the_column_that_ranked(session, given):
    hits = session.sql(
        "FROM top_k(asked, ranked, ranker := 'vector', columns := ['small', 'large model'], k := 2)",
        asked=given["asked"],
        ranked=given["ranked"],
    ).to_arrow()
    assert hits["vectors"].to_pylist() == ["small"] * 40 + ["large model"] * 40
    alone = top_k(given["asked"], given["ranked"], "vector", [2], column="large model")
    assert hits.slice(40).drop_columns("vectors") == alone


@pytest.mark.parametrize(
    "how", [{"columns": []}, {"columns": ["small", "small"]}, {"columns": ["small"], "ranker": "tfidf"}]
)
def test_columns_are_different_vector_columns(given, how):
    with pytest.raises(SqlError, match="different vector columns") as told:
        top_k(given["asked"], given["ranked"], **({"ranker": "vector"} | how))
    assert told.value.code == "E3182"
