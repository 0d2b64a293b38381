"""What is hidden of one dataset beside another does not depend on the other, whose rows the caller may have chosen.

A lake of the caller's own has few of one label: were it hidden for that and so took the place of a second hidden label, calls
with several such lakes would show all labels but the small one.
"""

from __future__ import annotations

import functools
import random

import pyarrow as pa
import pytest
from repeats import again

import counterbalance as cb
from counterbalance.engine.disclosure.cells import Cells
from counterbalance.engine.disclosure.protection import protect
from counterbalance.engine.store import tables

LABELS = ("female", "male", "mixed", "unclear")
CELLS = [
    Cells(f"count_{side}", of=f"n_{side}", by=("label",), tests=("p", "q") if side == "a" else (), side=side)
    for side in "ab"
]


def counts_of(seed):
    """How many images each label has; the first or the second few."""
    draw = random.Random(seed)
    counts = {label: draw.randint(12, 60) for label in LABELS}
    counts[draw.choice(LABELS[:2])] = draw.randint(1, 9)
    return counts


def mine(hidden):
    """Counts of the caller's own, by which this label is small."""
    return {label: 3 if label == hidden else 40 for label in LABELS} | ({"nobody's": 7} if hidden else {})


def side_by_side(mine, counts):
    labels = [*mine, *(label for label in counts if label not in mine)]
    return pa.table(
        {
            "label": labels,
            "count_a": [mine.get(label, 0) for label in labels],
            "n_a": [sum(mine.values())] * len(labels),
            "count_b": [counts.get(label, 0) for label in labels],
            "n_b": [sum(counts.values())] * len(labels),
            "p": [0.5] * len(labels),
            "q": [0.5] * len(labels),
        }
    )


@pytest.mark.parametrize("seed", range(30))
def test_several_calls_leave_two_labels_unknown(seed):
    counts, shown = counts_of(seed), {}
    own = pa.table({"label": [*counts], "count_b": [*counts.values()], "n_b": [sum(counts.values())] * len(counts)})
    alone = protect(own, [Cells("count_b", of="n_b", by=("label",))], 10, "{}", closed=True, in_order=True).to_pylist()
    for hidden in (None, *LABELS):
        rows = protect(side_by_side(mine(hidden), counts), CELLS, 10, "{}", closed=True, in_order=True)
        shown |= {row["label"]: row["count_b"] for row in rows.to_pylist() if row["count_b"] is not None}
    assert {k for k in shown if k in counts} == {row["label"] for row in alone if row["count_b"] is not None}
    unknown = counts.keys() - shown.keys()
    assert len(unknown) > 1
    assert sum(counts[label] for label in unknown) >= 10


@pytest.mark.parametrize("seed", range(5))
def test_a_label_that_the_dataset_lacks_takes_the_place_of_none(seed):
    """A count of 0 of a label that only the other dataset has."""
    counts = counts_of(seed)
    del counts["mixed"], counts["unclear"]
    counts["other"] = 50
    rows = protect(side_by_side(mine(None), counts), CELLS, 10, "{}", closed=True, in_order=True).to_pylist()
    assert sum(row["count_b"] is None for row in rows if row["label"] in counts) > 1


def test_labels_of_the_other_dataset_do_not_tell_how_few_there_are():
    rows = protect(side_by_side({"other": 50, "more": 60}, {"female": 3, "male": 4}), CELLS, 10, "{}", closed=True, in_order=True)  # fmt: skip
    assert {row["n_b"] for row in rows.to_pylist()} == {None}


def test_open_labels_stay_as_they_are():
    rows = protect(side_by_side(mine("mixed"), counts_of(0)), CELLS, 10, "{}", closed=False, in_order=True)
    together = [Cells(f"count_{side}", of=f"n_{side}", by=("label",), tests=CELLS["ab".index(side)].tests) for side in "ab"]  # fmt: skip
    assert rows == protect(side_by_side(mine("mixed"), counts_of(0)), together, 10, "{}", closed=False, in_order=True)


# -- the audits --------------------------------------------------------------------------------------------------------


def lake_of(build, path, counts):
    """A lake with an open view of its own and closed labels."""
    values = [label for label, count in counts.items() for _ in range(count)]
    ids = list(range(len(values)))
    lake = cb.connect(str(path))
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "labels": build.labels(
                label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=values, annotator=["x"] * len(ids)
            ),
        }
    )  # fmt: skip
    lake.create_materialized_view(
        "looks",
        "SELECT label_id, image_id, 'look' AS category, value AS attribute FROM labels",
        "label_id",
        purpose="the owner's",
    )
    return lake


def own_lake(build, path, counts):
    lake = cb.connect(str(path))
    ids = list(range(sum(counts.values())))
    lake.ingest({"images": build.images(image_id=ids, key=[str(i) for i in ids])})
    labels = [label.replace("'", "") for label, count in counts.items() for _ in range(count)]
    tables.append(lake.location, "groups_of_mine", pa.table({"image_id": ids, "label": labels}))
    looks = {"image_id": ids, "category": ["look"] * len(ids), "attribute": labels}
    tables.append(lake.location, "looks_of_mine", pa.table(looks))
    return lake


CALLS = {
    "compare_demographics": (
        "SELECT label, count_b, n_b FROM compare_demographics(groups := b.groups_of_mine, others := image_labels('perceived_gender'))",
        "SELECT label, count, n FROM demographics(image_labels('perceived_gender'))",
    ),
    "compare_attributes": (
        "SELECT attribute, count_b, n_b FROM compare_attributes(attributes := b.looks_of_mine, others := looks)",
        "SELECT attribute, count, n FROM attribute_frequencies(looks)",
    ),
}


@pytest.fixture(scope="module")
def own_lakes(build, tmp_path_factory):
    """Lakes of the caller's own: with few of one label, without one, and with many of all."""
    folder = tmp_path_factory.mktemp("own")
    few = [mine(hidden) for hidden in (None, *LABELS)]
    none = [{k: v for k, v in mine(None).items() if k != label} for label in LABELS]
    made = functools.cache(lambda place: own_lake(build, folder / f"{place}.lake", [*few, *none][place]))
    return lambda many: [made(place) for place in range(many)]


@pytest.mark.cases(1)
@pytest.mark.parametrize("audit", CALLS)
@pytest.mark.parametrize(("seed", "many"), [(0, 6), *again((0, 9), (1, 9), (2, 9))])
def test_lakes_of_ones_own_choose_nothing(build, tmp_path, own_lakes, audit, seed, many):
    """Where one label is few, each in its turn, and where one is not there at all; ``make thorough``: each in its turn, too."""
    counts, shown = counts_of(seed), set()
    lake = lake_of(build, tmp_path / "theirs.lake", counts)
    lake.refresh(executor="inline")
    compared, alone = CALLS[audit]
    for own in own_lakes(many):
        with lake.session(attach={"b": own}) as session:
            shown |= {label for label, count, _ in session.sql(compared).fetchall() if count is not None}
    shown -= {None}  # the row of all labels together
    unknown = counts.keys() - shown
    assert shown <= {label for label, count, _ in lake.sql(alone).fetchall() if count is not None}
    assert shown
    assert len(unknown) > 1
    assert sum(counts[label] for label in unknown) >= 10
