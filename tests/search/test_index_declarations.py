"""A declared index is checked at once: kind, column, type, options; one clear error, or the declaration as it is kept."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.errors import RequestError
from counterbalance.engine.search.index_kinds import KINDS, kind_stored
from counterbalance.engine.search.indexes import IndexSpec, validate

SCHEMA = pa.schema(
    [
        ("image_id", pa.int64()),
        ("split", pa.string()),
        ("width", pa.float32()),
        ("is_crowd", pa.bool_()),
        ("at", pa.timestamp("us")),
        ("tags", pa.list_(pa.string())),
        ("boxes", pa.list_(pa.struct([("x", pa.float32())]))),
        ("embedding", pa.list_(pa.float32(), 64)),
        ("half", pa.list_(pa.float16(), 8)),
        ("odd", pa.list_(pa.float32(), 5)),
        ("loose", pa.list_(pa.float32())),
    ]
)
VECTORS = {"ivf_flat": {"embedding", "half", "odd"}, "ivf_rq": {"embedding", "half"}}
TAKES = {
    "btree": {"image_id", "split", "width", "is_crowd", "at"},
    "bitmap": {"image_id", "split", "is_crowd"},
    "label_list": {"tags"},
    "fts": {"split"},
    "ivf_rq": VECTORS["ivf_rq"],
    **dict.fromkeys(("ivf_flat", "ivf_sq", "ivf_pq", "ivf_hnsw_sq"), VECTORS["ivf_flat"]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("column", SCHEMA.names)
def test_which_columns_a_kind_takes(kind, column):
    spec = IndexSpec("x", kind, column)
    if column in TAKES[kind]:
        assert validate(spec, SCHEMA) == spec
    else:
        with pytest.raises(RequestError, match=f"{kind} takes no ") as caught:
            validate(spec, SCHEMA)
        assert caught.value.code == "E3414"


@pytest.mark.parametrize(
    ("column", "kind"),
    [("embedding", "ivf_rq"), ("odd", "ivf_sq"), ("tags", "label_list"), ("split", "btree"), ("image_id", "btree")],
)
def test_the_kind_that_is_taken_when_none_is_named(column, kind):
    assert validate(IndexSpec("x", "", column), SCHEMA).kind == kind


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        (
            IndexSpec("x", "INVERTED", "split", {"STEM": "no", "language": "german"}),
            {"stem": False, "language": "German"},
        ),
        (IndexSpec("x", "ivf_rq", "embedding", {"metric": "L2", "nbits": "4"}), {"metric": "l2", "nbits": 4}),
        (IndexSpec("x", "ivf_pq", "embedding", {"num_sub_vectors": 16}), {"num_sub_vectors": 16}),
        (IndexSpec("x", "IVF_FLAT", "odd", {"num_partitions": 7}), {"num_partitions": 7}),
    ],
)
def test_options_become_what_they_mean(spec, options):
    assert validate(spec, SCHEMA).options == options


@pytest.mark.parametrize(
    ("kind", "column", "options", "code", "words"),
    [
        ("ivf_rg", "embedding", {}, "E3410", "did you mean 'ivf_rq'"),
        ("hash", "embedding", {}, "E3410", "no kind of index 'hash'"),
        ("btree", "imageid", {}, "E3413", "did you mean 'image_id'"),
        ("btree", "image_id", {"stem": True}, "E3411", "no option 'stem'"),
        ("ivf_rq", "embedding", {"nbit": 1}, "E3411", "did you mean 'nbits'"),
        ("ivf_rq", "embedding", {"nbits": 99}, "E3412", "cannot be 99"),
        ("ivf_rq", "embedding", {"nbits": "many"}, "E3412", "cannot be 'many'"),
        ("ivf_rq", "embedding", {"num_partitions": 0}, "E3412", "cannot be 0"),
        ("ivf_rq", "embedding", {"num_partitions": -3}, "E3412", "cannot be -3"),
        ("ivf_rq", "embedding", {"metric": "hamming"}, "E3412", "cannot be 'hamming'"),
        ("fts", "split", {"language": "Klingon"}, "E3412", "cannot be 'Klingon'"),
        ("fts", "split", {"stem": "perhaps"}, "E3412", "cannot be 'perhaps'"),
        ("ivf_pq", "embedding", {"num_sub_vectors": 7}, "E3412", "must divide the 64"),
    ],
)
def test_what_is_refused(kind, column, options, code, words):
    with pytest.raises(RequestError, match=words) as caught:
        validate(IndexSpec("x", kind, column, options), SCHEMA)
    assert caught.value.code == code
    assert code == "E3412" or caught.value.hint


def test_defaults_hold_where_nothing_is_given():
    spec = IndexSpec("x", "ivf_rq", "embedding")
    assert (spec.option("metric"), spec.option("nbits"), spec.option("num_partitions")) == ("cosine", 1, None)


def test_every_kind_says_what_it_is():
    assert {kind_stored(k.stored) for k in KINDS.values()} == set(KINDS)
    assert all(k.doc and k.columns and all(o.doc for o in k.options) for k in KINDS.values())
    assert kind_stored("ZoneMap") == "zonemap"
