"""A function may tell its result's type from its constants: a model's vectors are as long as the model makes them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from counterbalance.engine.functions import Parameter, functions, udf


@pytest.fixture(autouse=True)
def spread():
    functions()

    @udf(
        returns=lambda size: pa.list_(pa.float32(), size),
        parameters=[Parameter("text", pa.string()), Parameter("size", pa.int64(), default=2, constant=True)],
        version="1",
        name="t_spread",
    )
    def t_spread(text, size):
        """The length of a text, several times."""
        flat = np.repeat(np.array([len(t or "") for t in text.to_pylist()], np.float32), size)
        return pa.FixedSizeListArray.from_arrays(pa.array(flat), size)


def test_in_a_query(lake):
    rows = lake.sql(
        "SELECT t_spread(text, 3) AS v, t_spread(text) AS w FROM captions ORDER BY caption_id LIMIT 1"
    ).to_arrow()
    text = lake.sql("SELECT text FROM captions ORDER BY caption_id LIMIT 1").fetchall()[0][0]
    assert (rows["v"].to_pylist(), rows["w"].to_pylist()) == ([[len(text)] * 3], [[len(text)] * 2])


@pytest.mark.parametrize("size", [2, 5])
def test_as_a_column(lake, size):
    lake.add_column("captions", "v", f"t_spread(text, {size})")
    lake.refresh("captions.v", executor="inline")
    stored = lake.sql("SELECT v FROM captions").to_arrow()
    assert stored.schema.field("v").type == pa.list_(pa.float32(), size)
    assert not stored["v"].null_count


def test_the_list_of_functions_says_so(lake):
    assert lake.sql("SELECT returns FROM meta.functions WHERE name = 't_spread'").fetchall() == [
        ("depends on its parameters",)
    ]
