"""The sample of a sheet: even over labels, drawn by a hash, the same every time, and only where a purpose is given."""

from __future__ import annotations

import itertools
import os
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError, RequestError, SensitiveError
from counterbalance.report.sheet.sampling import Question, allocate, draw

_names = itertools.count()
SCENES = "image_labels('scene', annotator := 'model')"


def lake_of(build, values, *, attribute="scene", stored=None):
    """One image a value, labelled by a model; ``stored``: which have their picture."""
    n = len(values)
    lake = cb.connect(f"memory://sample-{os.getpid()}-{next(_names)}")
    digests = ["0" * 64 if stored is None or i in stored else None for i in range(n)]
    lake.ingest(
        {
            "images": build.images(image_id=list(range(n)), sha256=digests),
            "labels": build.labels(
                label_id=list(range(n)),
                image_id=list(range(n)),
                attribute=[attribute] * n,
                value=values,
                annotator=["model"] * n,
            ),
        }
    )
    return lake


def sample(lake, labels=SCENES, *, attribute="scene", purpose=None, **options):
    with lake.session(sensitive=purpose) as session:
        return draw(session, Question(attribute, labels, **options))


@given(sizes=st.dictionaries(st.text(max_size=3), st.integers(1, 500), min_size=1), count=st.integers(1, 2000))
def test_shares_are_as_even_as_sizes_allow(sizes, count):
    found = allocate(sizes, count)
    assert found.keys() == sizes.keys()
    assert sum(found.values()) == min(count, sum(sizes.values()))
    assert all(0 <= found[label] <= size for label, size in sizes.items())
    cut = [found[label] for label in sizes if found[label] < sizes[label]]
    assert not cut or max(found.values()) <= max(cut)
    assert not cut or max(cut) - min(cut) <= 1


@settings(max_examples=6)
@given(
    values=st.lists(st.sampled_from(["in", "out", "sky"]), min_size=3, max_size=60),
    count=st.integers(3, 40),
    seed=st.integers(0, 99),
    per_label=st.booleans(),
)
def test_each_label_is_drawn_from(build, values, count, seed, per_label):
    lake = lake_of(build, values)
    found = sample(lake, count=count, seed=seed, per_label=per_label)
    sizes = Counter(values)
    expected = {v: min(n, count) for v, n in sizes.items()} if per_label else allocate(sizes, count)
    assert Counter(u.label for u in found.units) == expected
    assert all(values[u.unit_id] == u.label for u in found.units)
    assert len({u.unit_id for u in found.units}) == len(found.units)
    assert found.population == dict(sorted(sizes.items()))
    assert found.options == [*sorted(sizes), "unclear"]
    assert sample(lake, count=count, seed=seed, per_label=per_label) == found


@pytest.mark.thorough
def test_every_unit_has_the_same_chance(build):
    """Over 60 seeds each of 12 units is drawn about 20 times (binomial: 20, standard deviation 3.7)."""
    times = Counter()
    with lake_of(build, ["in"] * 12).session() as session:
        for seed in range(60):
            times.update(u.unit_id for u in draw(session, Question("scene", SCENES, count=4, seed=seed)).units)
    assert sum(times.values()) == 240
    assert all(5 <= times[i] <= 35 for i in range(12))


def test_a_larger_sample_holds_the_smaller_one(build):
    lake = lake_of(build, ["in", "out"] * 40)
    small, large = ({u.unit_id for u in sample(lake, count=n).units} for n in (10, 30))
    assert small < large
    assert {u.unit_id for u in sample(lake, count=10, seed=1).units} != small


def test_the_order_tells_nothing_of_labels(build):
    """Labels in the order of the sheet change as often as in a shuffled row."""
    labels = [u.label for u in sample(lake_of(build, ["in", "out"] * 200), count=200).units]
    assert 75 <= sum(a != b for a, b in itertools.pairwise(labels)) <= 125


def test_units_without_a_picture_are_counted_and_not_drawn(build):
    found = sample(lake_of(build, ["in"] * 10 + ["out"] * 10, stored={0, 1, 2, 3, 10}), count=20)
    assert {u.unit_id for u in found.units} == {0, 1, 2, 3, 10}
    assert found.unseen == 15
    assert found.population == {"in": 10, "out": 10}


def test_values_of_other_annotators_are_options_too(build):
    lake = lake_of(build, ["in", "out"])
    lake.ingest(
        {"labels": build.labels(label_id=[9], image_id=[0], attribute=["scene"], value=["sky"], annotator=["ann"])}
    )
    assert sample(lake, count=2).options == ["in", "out", "sky", "unclear"]


@pytest.mark.parametrize(
    ("labels", "options", "code"),
    [
        ("image_labels('scene')", {}, "E3574"),
        ("(SELECT image_id, label FROM image_labels('scene'))", {}, "E3574"),
        ("image_labels('scene', annotator := 'modle')", {}, "E3571"),
        (SCENES, {"count": 1}, "E3572"),
        (SCENES, {"unit": "person"}, "E3571"),
        ("image_labels(", {}, "E3113"),
        ("captions", {}, "E3103"),
    ],
)
def test_what_makes_no_sheet_is_refused(build, labels, options, code):
    with pytest.raises(CounterbalanceError) as caught:
        sample(lake_of(build, ["in", "out"]), labels, **options)
    assert caught.value.code == code
    assert caught.value.hint or code == "E3103"


def test_too_many_values_are_refused(build):
    with pytest.raises(RequestError, match="31 values") as caught:
        sample(lake_of(build, [f"v{i:02}" for i in range(31)]))
    assert caught.value.code == "E3573"


def test_perceived_labels_need_a_purpose(build):
    lake = lake_of(build, ["female", "male"] * 10, attribute="perceived_gender")
    labels = "image_labels('perceived_gender', annotator := 'model')"
    for attribute in ("perceived_gender", "scene"):  # nor does another name of the question help
        with pytest.raises(SensitiveError) as caught:
            sample(lake, labels, attribute=attribute)
        assert caught.value.code == ("E3310" if attribute == "perceived_gender" else "E3301")
    found = sample(lake, labels, attribute="perceived_gender", purpose="test of the sheet", count=6)
    assert len(found.units) == 6
    with lake.session(sensitive="looking at the log") as session:
        log = session.sql("SELECT purpose, rows FROM meta.access WHERE sql LIKE '%ranked%'").fetchall()
    assert ("test of the sheet", 6) in log
