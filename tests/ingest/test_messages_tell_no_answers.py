"""Messages in meta.errors, which everybody may read, quote no answers about people."""

from __future__ import annotations

import json

import pytest

import counterbalance as cb


@pytest.fixture
def lake(tmp_path):
    return cb.connect(tmp_path / "l.lake")


def messages(lake):
    return [m for (m,) in lake.sql("SELECT message FROM meta.errors").fetchall()]


def test_phase(tmp_path, lake):
    secret = {"gender": "female"}
    said = [{"gender": ["female"], "age": 30, "emotion": "\ud800female", "mood": "x" * 20_000}, "female"]
    document = {
        "1": {"1": {"region": [1, 2, 3, 4], "annotations": said}, "caption": secret},
        "2": {"1": {"region": secret}},
        "3": {"1": {"region": ["female", 2, 3, 4]}},
    }
    (tmp_path / "phase_all_.json").write_text(json.dumps(document))
    assert lake.ingest(str(tmp_path / "phase_all_.json")).format == "phase"
    found = messages(lake)
    assert len(found) == 6  # two answers of one person are refused in the same words
    assert not any("female" in m for m in found)
    assert any("an object of 1" in m for m in found)
    shown = lake.session(sensitive="a test of readers").sql("SELECT attribute, value FROM labels").fetchall()
    assert shown == [("perceived_age", "30")]


def test_visual_genome(tmp_path, lake):
    objects = [
        {"object_id": 1, "names": ["person"], "x": {"gender": "female"}, "y": 1, "w": 1, "h": 1},
        "gender female",
    ]
    images = [{"image_id": 1, "attributes": objects}, {"image_id": 2, "attributes": "female"}]
    (tmp_path / "attributes.json").write_text(json.dumps(images))
    assert lake.ingest(str(tmp_path / "attributes.json")).format == "visualgenome"
    found = messages(lake)
    assert len(found) == 3
    assert not any("female" in m for m in found)
