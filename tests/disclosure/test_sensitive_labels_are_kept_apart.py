"""Labels of sensitive attributes lie in a closed folder of their own, however they are spelled and whoever marked them."""

from __future__ import annotations

import stat

import lance
import pytest

from counterbalance.engine.errors import RequestError
from counterbalance.engine.schema import SENSITIVE_ATTRIBUTES


def labels(build, *attributes, first=1):
    ids = list(range(first, first + len(attributes)))
    return {
        "images": build.images(image_id=[1]),
        "labels": build.labels(
            label_id=ids, image_id=[1] * len(ids), attribute=list(attributes), value=[f"value {i}" for i in ids]
        ),
    }


def stored(lake, name):
    path = lake.location.path / f"{name}.lance"
    return lance.dataset(str(path)).to_table(columns=["attribute"])["attribute"].to_pylist() if path.exists() else []


def test_two_tables(disk_lake, build):
    disk_lake.ingest(labels(build, "scene", "perceived_gender", "race", "weather"))
    assert stored(disk_lake, "labels") == ["scene", "weather"]
    assert stored(disk_lake, "sensitive/labels") == ["perceived_gender", "race"]


def test_the_folder_is_closed_to_others(disk_lake, build):
    disk_lake.ingest(labels(build, "scene", "perceived_gender"))
    assert stat.S_IMODE((disk_lake.location.path / "sensitive").stat().st_mode) == 0o700


def test_the_folder_of_the_log_alone_is_closed_too(disk_lake, build):
    disk_lake.ingest(labels(build, "scene"))
    disk_lake.sql("SELECT 1", sensitive="a test").fetchall()
    assert stat.S_IMODE((disk_lake.location.path / "sensitive").stat().st_mode) == 0o700


@pytest.mark.parametrize("attribute", [*sorted(SENSITIVE_ATTRIBUTES), "perceived_mood", "Perceived Mood"])
def test_every_listed_attribute(empty_lake, build, attribute):
    empty_lake.ingest(labels(build, attribute))
    assert empty_lake.sql("SELECT count(*) FROM labels").fetchall() == [(0,)]
    assert empty_lake.sql("SELECT count(*) FROM labels", sensitive="a test").fetchall() == [(1,)]


def test_spellings(disk_lake, build):
    odd = ["Perceived_Gender", "PERCEIVED GENDER", " race ", "skin-tone", "Skin  Tone"]
    disk_lake.ingest(labels(build, *odd))
    assert stored(disk_lake, "labels") == []
    assert stored(disk_lake, "sensitive/labels") == odd


def test_attributes_that_the_user_marks(disk_lake, build):
    disk_lake.ingest(labels(build, "hair", "scene"), sensitive=frozenset({"Hair"}))
    assert stored(disk_lake, "labels") == ["scene"]
    assert stored(disk_lake, "sensitive/labels") == ["hair"]


def test_a_mark_stays_with_the_lake(disk_lake, build):
    """The next ingest need not say it again, and cannot open the attribute by forgetting to."""
    disk_lake.ingest(labels(build, "hair"), sensitive=frozenset({"hair"}))
    disk_lake.ingest(labels(build, "HAIR", "scene", first=10), sensitive=frozenset({"shoes"}))
    assert stored(disk_lake, "labels") == ["scene"]
    assert sorted(stored(disk_lake, "sensitive/labels")) == ["HAIR", "hair"]


def test_what_lies_open_cannot_be_closed_later(disk_lake, build):
    disk_lake.ingest(labels(build, "hair"))
    with pytest.raises(RequestError, match="already holds open labels of hair") as caught:
        disk_lake.ingest(labels(build, "hair", first=10), sensitive=frozenset({"hair"}))
    assert caught.value.code == "E3029"
    assert stored(disk_lake, "labels") == ["hair"]


def test_with_a_purpose_both_are_one_table(disk_lake, build):
    disk_lake.ingest(labels(build, "scene", "race"))
    with disk_lake.session(sensitive="check of the labels") as session:
        got = session.sql("SELECT attribute, value FROM labels ORDER BY 1").fetchall()
        assert got == [("race", "value 2"), ("scene", "value 1")]
        assert session.sql("SELECT label FROM image_labels('race')").fetchall() == [("value 2",)]
        assert session.sql("SELECT attribute, count(*) FROM labels GROUP BY ALL ORDER BY ALL").fetchall() == [
            ("race", 1),
            ("scene", 1),
        ]
        assert session.sql("SELECT count(*) FROM labels").notes == []


def test_updates_reach_the_closed_table(disk_lake, build):
    disk_lake.ingest(labels(build, "race"))
    change = labels(build, "race")
    change["labels"] = build.labels(label_id=[1], image_id=[1], attribute=["race"], value=["other"])
    assert disk_lake.ingest(change).known == 1
    assert disk_lake.sql("SELECT value FROM labels", sensitive="a test").fetchall() == [("other",)]


def test_no_value_is_in_the_journal(disk_lake, build):
    rows = labels(build, "race")
    rows["labels"] = build.labels(
        label_id=[1, 1, 2, None], image_id=[1, 1, 99, 1], attribute=["race"] * 4, value=["secret a", "secret b", "secret c", "secret d"]
    )  # fmt: skip
    report = disk_lake.ingest(rows)
    assert report.rejected == 3
    for table in ("errors", "runs", "tables", "columns", "tags"):
        assert "secret" not in str(disk_lake.sql(f"SELECT * FROM meta.{table}").fetchall())
