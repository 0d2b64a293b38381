"""image_labels computed from stored codes gives the rows of its SQL, whatever is stored and in whatever order."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repeats import again

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError

_names = itertools.count()
CLEAR = ["male", "female", "other"]
values = st.sampled_from([*CLEAR, "mixed", "unclear", "undefined", None])
sides = st.sampled_from([0.0, 9.5, 29.9, 30.0, 30.1, 64.0, float("nan"), float("inf"), None])
boxes = st.lists(st.tuples(st.integers(1, 5), sides, sides), max_size=12)
labels = st.lists(
    st.tuples(
        st.integers(1, 5),
        st.one_of(st.none(), st.integers(0, 14)),
        st.sampled_from(["colour", "shape"]),
        values,
        st.sampled_from(["ann", "bob", None]),
    ),
    min_size=1,
    max_size=25,
)


def stored(build, boxes, labels, *, ids):
    lake = cb.connect(f"memory://from-codes-{os.getpid()}-{next(_names)}")
    lake.ingest(
        {
            "images": build.images(image_id=[1, 2, 3, 4, 5]),
            "detections": build.detections(
                detection_id=[ids[n] for n in range(len(boxes))],
                image_id=[i for i, *_ in boxes],
                category=["person"] * len(boxes),
                width=[w for _, w, _ in boxes],
                height=[h for *_, h in boxes],
            ),
        }
    )
    told = build.labels(
        label_id=list(range(len(labels))),
        image_id=[i for i, *_ in labels],
        detection_id=[None if d is None else ids[d] for _, d, *_ in labels],
        attribute=[a for _, _, a, *_ in labels],
        value=[v for *_, v, _ in labels],
        annotator=[a for *_, a in labels],
    )
    for part in (told.slice(0, len(told) // 3), told.slice(len(told) // 3)):  # files, some of which hold nothing of use
        lake.ingest({"labels": part})
    return lake


def both(session, call):
    """The rows as the engine gives them, and those of the SQL that the view stands for; whether SQL was left out."""
    query = f"SELECT image_id, label FROM {call} ORDER BY ALL"
    ours = session.sql(query)
    return ours.to_arrow(), session.sql(session.expand(query)).to_arrow(), "roll_up~" in ours.sql


CALLS = [
    "image_labels('colour')",
    "image_labels('colour', min_side := 0)",
    "image_labels('colour', min_side := -1, annotator := 'ann')",
    "image_labels('shape', min_side := 29.9)",
    "image_labels('colour', min_side := 30.1, annotator := 'nobody')",
]


@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")))
@given(
    boxes=boxes,
    labels=labels,
    ids=st.permutations(range(15)) | st.lists(st.integers(-(2**62), 2**62), min_size=15, max_size=15, unique=True),
)
def test_same_rows(build, boxes, labels, ids):
    known = range(len(boxes))
    kept = [(i, d if d is None or d in known else None, *rest) for i, d, *rest in labels]
    with stored(build, boxes, kept, ids=ids).session() as session:
        for call in CALLS:
            ours, sql, _ = both(session, call)
            assert ours.equals(sql), call


@pytest.mark.parametrize("order", [*again("as ingested"), "shuffled", "some boxes only"])
def test_many_rows(build, order):
    """More than one batch of rows, with images that lie across two of them."""
    draw = np.random.default_rng(4)
    count = 300_000
    images = np.sort(draw.integers(0, count // 2, count))
    ids = draw.permutation(count) * 10_000_019 if order == "shuffled" else np.arange(count) * 3
    names = np.array([*CLEAR, "mixed", "unclear"])[draw.choice(5, count, p=[0.4, 0.3, 0.1, 0.05, 0.15])]
    chosen = {
        "as ingested": np.arange(count),
        "shuffled": draw.permutation(count),
        "some boxes only": np.flatnonzero(draw.random(count) < 0.5),
    }[order]
    lake = cb.connect(f"memory://from-codes-{os.getpid()}-{next(_names)}")
    lake.ingest({"images": build.images(image_id=np.unique(images))})
    sizes = draw.uniform(10, 90, (2, count)).astype(np.float32)
    detections = build.detections(
        detection_id=ids, image_id=images, category=["person"] * count, width=sizes[0], height=sizes[1]
    )
    lake.ingest({"detections": detections})
    rows = build.labels(
        label_id=range(len(chosen)),
        image_id=images[chosen],
        detection_id=ids[chosen],
        attribute=["colour"] * len(chosen),
        value=names[chosen].tolist(),
        annotator=["m"] * len(chosen),
    )
    lake.ingest({"labels": rows})
    with lake.session() as session:
        ours, sql, without_sql = both(session, "image_labels('colour')")
        assert without_sql
        assert ours.equals(sql)
        assert ours.num_rows > 50_000


def test_sensitive_labels_and_open_ones(build):
    """Labels of a sensitive attribute lie apart; only a session with a purpose, and audits, roll them up."""
    lake = stored(build, [(1, 50.0, 50.0)], [(1, 0, "colour", "male", "ann")], ids=[7])
    more = {"label_id": [90, 91], "image_id": [1, 2], "detection_id": [7, None], "value": ["female", "male"]}
    lake.ingest({"labels": build.labels(**more, attribute=["perceived_gender"] * 2, annotator=["ann"] * 2)})
    query = "SELECT image_id, label FROM image_labels('perceived_gender') ORDER BY 1"
    with lake.session() as session, pytest.raises(SensitiveError):
        session.sql(query).fetchall()
    with lake.session(sensitive="a test of the roll-up") as session:
        result = session.sql(query)
        assert "roll_up~" in result.sql
        assert result.fetchall() == [(1, "female"), (2, "male")]
        assert session.sql("SELECT image_id, label FROM image_labels('colour')").fetchall() == [(1, "male")]


def test_the_shown_sql_is_that_of_the_view(lake):
    with lake.session() as session:
        assert "roll_up" not in session.expand("SELECT * FROM image_labels('scene')")


def test_of_an_attached_lake_every_read_is_logged(build, lake):
    """The kernel reads it, and so the log of that lake says what was read of it."""
    labels = [(1, 0, "perceived_gender", "male", "ann")]
    other = stored(build, [(1, 50.0, 50.0)], labels, ids=[7])
    with lake.session(attach={"other": other}, sensitive="a test") as session:
        result = session.sql("SELECT image_id, label FROM other.image_labels('perceived_gender')")
        assert "roll_up~" in result.sql
        assert result.fetchall() == [(1, "male")]
    with other.session(sensitive="a look at the log") as session:
        read = session.sql("SELECT columns FROM meta.access WHERE purpose = 'a test'").fetchall()
    assert read
    assert any("labels" in str(columns) for columns in read)
