"""Where the interval of a pair is hidden, that of the mean over pairs is, too: it is an equation over all of them."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.store import tables

G = "image_labels('perceived_gender')"
LABELS = ["female"] * 80 + ["male"] * 90


def rows_of(build, uri, there, said, direction="group_to_concept"):
    ids = list(range(len(LABELS)))
    lake = cb.connect(uri)
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "detections": build.detections(detection_id=list(range(len(there))), image_id=there, category=["dog"] * len(there)),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=LABELS),
        }
    )  # fmt: skip
    tables.append(lake.location, "model", pa.table({"image_id": said, "concept": ["dog"] * len(said)}))
    rows = lake.sql(f"FROM directional_amplification(model, groups := {G}, show := 'all')").to_arrow().to_pylist()
    return {(r["level"], r["label"]): r for r in rows}


MALE = ([*range(80, 125)], [*range(110, 145)])
"""Of 90 men, 45 have a dog, 35 are said to, 15 of these rightly."""


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("there", "said", "hidden"),
    [
        (range(15, 60), range(20), True),  # 5 are right
        (range(45), range(40), True),  # in 5 it is there and not said
        (range(40), range(45), True),  # in 5 it is said and not there
        (range(45), range(30, 75), True),  # in 5 neither
        (range(40), range(20, 60), False),
    ],
)
def test_few_of_a_pair(build, tmp_path, there, said, hidden):
    found = rows_of(build, str(tmp_path / "a.lake"), [*there, *MALE[0]], [*said, *MALE[1]])
    columns = ("low", "high", "right_n")
    assert {found[key][column] is None for key in (("mean", None), ("pair", "female")) for column in columns} == {
        hidden
    }
    assert {found["pair", "male"][column] is None for column in columns} == {hidden}  # what one hides others add up to
    assert None not in {found["mean", None][column] for column in ("value", "absolute", "variance", "pairs")}
    assert (found["pair", "female"]["neither_n"] is None) == hidden
