"""An audit that is given a label which nothing has says so: its numbers would look like any others."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.errors import SqlError

GROUPS = pa.table({"image_id": [1, 2, 3, 4], "label": ["woman", "man", "man", "unclear"]})
WORDS = pa.table({"image_id": [1, 2, 3, 4], "concept": ["dog"] * 4})


def notes(result):
    result.to_arrow()
    return [n for n in result.notes if "counts nothing" in n]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"label": "woman", "against": "man"}, []),
        ({"label": "women", "against": "man"}, ["'label': no label is 'women'; did you mean 'woman'?"]),
        ({}, ["'label': no label is 'female'", "'against': no label is 'male'"]),
    ],
)
def test_concept_ratio(lake, given, told):
    said = notes(lake.audit("concept_ratio", groups=GROUPS, concepts=WORDS, min_count=1, **given))
    assert len(said) == len(told)
    for note, text in zip(said, told, strict=True):
        assert text in note
        assert note.endswith("; labels are 'man', 'unclear', 'woman'")


def test_defaults_are_not_looked_up(lake):
    assert notes(lake.audit("concept_ratio", concepts=WORDS, min_count=1)) == []


HITS = pa.table({"query_id": [1, 1], "item_id": [1, 2], "rank": [1, 2], "score": [0.9, 0.8]})
ITEMS = pa.table({"item_id": [1, 2], "label": ["woman", "man"]})


def test_retrieval_bias(lake):
    given = {"hits": HITS, "labelled_hits": HITS, "item_groups": ITEMS, "min_count": 1, "k": [2], "skew_k": [2]}
    given["query_images"] = HITS.append_column("image_id", HITS["query_id"])
    said = notes(lake.audit("retrieval_bias", positive="man", negative="woman", **given))
    assert said == []
    (note,) = notes(lake.audit("retrieval_bias", positive="men", negative="woman", **given))
    assert "retrieval_bias() counts nothing as 'positive': no label is 'men'; did you mean 'man'?" in note


@pytest.mark.parametrize("given", ["hits", "labelled_hits"])
@pytest.mark.parametrize("audit", ["retrieval_bias", "retrieval_bias_queries"])
def test_hits_of_two_rankings_are_not_mixed(lake, audit, given):
    with pytest.raises(SqlError, match=r"without .* which would be of another ranking") as error:
        lake.audit(audit, **{given: HITS})
    assert error.value.code == "E3196"
