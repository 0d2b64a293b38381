"""A number of the grid is answered where the persons between it and the others are many, and refused where they are few."""

from __future__ import annotations

from dataclasses import replace

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.sql import queries

UNITS = "SELECT label, count FROM demographics(groups := person_units('perceived_gender', min_side := {}))"


@pytest.fixture
def lake(build, monkeypatch):
    """80 persons: 20 between 30 and 60 pixels (10 of each label), 3 between 60 and 90, and 57 larger ones."""
    sides = [40.0] * 20 + [70.0] * 3 + [100.0] * 57
    ids = list(range(1, 81))
    made = cb.connect("memory://grid")
    made.ingest(
        {
            "images": build.images(image_id=ids),
            "detections": build.detections(detection_id=ids, image_id=ids, category=["person"] * 80, width=sides, height=[200.0] * 80),
            "labels": build.labels(
                label_id=ids, image_id=ids, detection_id=ids, attribute=["perceived_gender"] * 80, value=[("a", "b")[i % 2] for i in ids]
            ),
        }
    )  # fmt: skip

    def with_grid(*values):
        known = {**queries.queries()}
        for name in ("person_units", "person_labels"):
            view = known[name]
            parameters = tuple(replace(p, grid=values) if p.name == "min_side" else p for p in view.parameters)
            known[name] = replace(view, parameters=parameters)
        monkeypatch.setattr(queries, "queries", lambda: known)
        return made

    return with_grid


def test_many_between_them(lake):
    assert lake(30, 60).sql(UNITS.format(60)).fetchall() == [("a", 30), ("b", 30)]
    assert lake(30, 60).sql(UNITS.format(30)).fetchall() == [("a", 40), ("b", 40)]


@pytest.mark.parametrize("side", [60, 90])
def test_few_between_them(lake, side):
    with pytest.raises(SensitiveError) as caught:
        lake(30, 60, 90).sql(UNITS.format(side)).fetchall()
    assert caught.value.code == "E3321"


def test_two_numbers_in_one_call(lake):
    units = "person_units('perceived_gender'{})"
    call = f"SELECT * FROM intersections({units.format(', min_side := 60')}, {units.format('')})"
    with pytest.raises(SensitiveError, match="min_side"):
        lake(30, 60).sql(call).fetchall()
