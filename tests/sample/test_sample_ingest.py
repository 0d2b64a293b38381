"""Every file of the sample is taken in without a refusal, in both layouts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

import counterbalance as cb
from counterbalance.demo import ingest
from counterbalance.sample import generate
from counterbalance.sample.plan import make_plan
from counterbalance.sample.words import alt_text, captions

if TYPE_CHECKING:
    from pathlib import Path

    from counterbalance.engine.lake import Lake

IMAGES = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("sample")
    generate(found / "sample", images=IMAGES, seed=9)
    return found


@pytest.fixture(scope="module")
def lake(folder: Path) -> Lake:
    found = cb.connect(folder / "sample.lake")
    ingest(found, folder / "sample")
    return found


def test_nothing_is_refused(lake: Lake) -> None:
    assert lake.sql("SELECT count(*) FROM meta.errors").fetchall() == [(0,)]


def test_all_rows_arrive(lake: Lake) -> None:
    scenes = make_plan(IMAGES, 9)
    assert lake.sql("SELECT count(*), count(sha256), min(width), max(height) FROM images").fetchall() == [
        (IMAGES, IMAGES, 320, 240)
    ]
    stored = lake.sql("SELECT image_id, origin, text FROM captions ORDER BY caption_id").fetchall()
    expected = [
        (s.number, origin, text)
        for s in scenes
        for origin, texts in (("human", captions(s)), ("alt_text", [alt_text(s)]))
        for text in texts
    ]
    assert stored == expected
    boxes = Counter(
        dict(lake.sql("SELECT category, count(*) FROM detections WHERE NOT is_crowd GROUP BY 1").fetchall())
    )
    people = sum(len(s.people) + (s.bystander is not None) for s in scenes)
    assert boxes == Counter(o for s in scenes for o in s.objects) + Counter(person=people)


def test_labels_of_people_are_kept_apart(lake: Lake) -> None:
    assert {r[0] for r in lake.sql("SELECT DISTINCT attribute FROM labels").fetchall()} == {"scene", "hateful"}
    with lake.session() as session:
        assert session.sensitive_attributes() == {"perceived_gender", "perceived_race_ethnicity"}


@pytest.mark.parametrize("view", ["caption_gender", "caption_gender_gensynth"])
def test_gender_by_words_is_the_planned_one_by_either_rule(lake: Lake, view: str) -> None:
    found = dict(lake.sql(f"SELECT image_id, label FROM {view}").fetchall())
    assert found == {s.number: "unclear" if s.kind == "nobody" else s.kind for s in make_plan(IMAGES, 9)}


def test_ingesting_again_changes_nothing(lake: Lake, folder: Path) -> None:
    """But one closed label, which is written as it was: that all were known is not told."""
    before = lake.session().pinned
    ingest(lake, folder / "sample")
    assert lake.session().pinned == before | {"sensitive/labels": before["sensitive/labels"] + 1}


def test_shards_hold_the_same_pictures_and_alt_texts(lake: Lake, folder: Path) -> None:
    shards = cb.connect(folder / "shards.lake")
    report = shards.ingest(str(folder / "sample" / "shards"), format="webdataset")
    assert report.rejected == 0
    query = "SELECT i.sha256, c.text FROM images AS i JOIN captions AS c USING (image_id) WHERE c.origin = 'alt_text' ORDER BY ALL"
    assert shards.sql(query).fetchall() == lake.sql(query).fetchall()
    assert shards.sql("SELECT min(key), max(key) FROM images").fetchall() == [("000000000", "000010019")]
