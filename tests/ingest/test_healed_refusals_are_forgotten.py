"""What was refused of a source stands in meta.errors as long as the source is refused it, and no longer."""

from __future__ import annotations

import pytest

LABELS = "image_id,attribute,value\n1,scene,sea\n77,scene,hill\n2,,sky\n"


def refused(lake):
    return lake.sql("SELECT code, source.split('/')[-1], position FROM meta.errors ORDER BY ALL").fetchall()


@pytest.fixture
def labelled(disk_lake, build, tmp_path):
    disk_lake.ingest({"images": build.images(image_id=[1, 2])})
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(LABELS)
        assert disk_lake.ingest(str(tmp_path / name), "labels").rejected == 2
    return disk_lake


OF_A = [("missing_attribute", "a.csv", "line 4"), ("unknown_image", "a.csv", "line 3")]
OF_B = [("missing_attribute", "b.csv", "line 4"), ("unknown_image", "b.csv", "line 3")]


def test_what_is_not_refused_any_more_is_forgotten(labelled, build, tmp_path):
    assert refused(labelled) == sorted(OF_A + OF_B)
    labelled.ingest({"images": build.images(image_id=[77])})
    assert labelled.ingest(str(tmp_path / "a.csv"), "labels", dry_run=True).rejected == 1
    assert refused(labelled) == sorted(OF_A + OF_B)
    assert labelled.ingest(str(tmp_path / "a.csv"), "labels").rejected == 1
    assert refused(labelled) == sorted(OF_A[:1] + OF_B)
    (tmp_path / "b.csv").write_text("image_id,attribute,value\n1,scene,sea\n")
    assert labelled.ingest(str(tmp_path / "b.csv"), "labels").rejected == 0
    assert refused(labelled) == OF_A[:1]


def test_a_part_of_a_source_says_nothing_of_the_rest(labelled, tmp_path):
    assert labelled.ingest(str(tmp_path / "a.csv"), "labels", limit=1).rejected == 0
    assert refused(labelled) == sorted(OF_A + OF_B)
