"""A lake on the disk that has one of everything: deletions, an index, a view, closed labels, a tag, several versions."""

from __future__ import annotations

import functools
import shutil

import pytest

import counterbalance as cb
from counterbalance.engine.store import digests


def _fill(lake, build, *, first=0, count=60):
    ids = list(range(first, first + count))
    images = build.images(
        image_id=ids, key=[f"k{i}" for i in ids], image=[b"\xff\xd8" + bytes([i % 251]) * 90 for i in ids]
    )
    texts = [f"a {'wo' if i % 2 else ''}man rides horse {i}" for i in ids]
    labels = [i for i in ids if i % 3]
    values = ["female" if i % 2 else "male" for i in labels]
    lake.ingest(
        {
            "images": images,
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
            "detections": build.detections(detection_id=ids, image_id=ids, category=["horse"] * count),
            "labels": build.labels(
                label_id=[2 * i for i in labels] + [2 * i + 1 for i in labels],
                image_id=labels * 2,
                attribute=["perceived_gender"] * len(labels) + ["weather"] * len(labels),
                value=values + ["rain"] * len(labels),
            ),
        }
    )


@pytest.fixture(scope="session")
def full_lake(build, tmp_path_factory):
    """The folder of a lake that nobody may change; copy it."""
    lake = cb.connect(tmp_path_factory.mktemp("full") / "full.lake")
    _fill(lake, build)
    lake.add_column("captions", "shout", "upper(text)")
    lake.create_index("captions", "text", "btree", name="texts")
    lake.create_materialized_view(
        "per_image", "SELECT image_id, count(*) AS n FROM captions GROUP BY image_id", "image_id"
    )
    assert not [s for s in lake.refresh().stages if s.mode == "failed"]
    lake.tag("v1")
    lake.lancedb().open_table("captions").delete("caption_id % 7 = 0")
    _fill(lake, build, first=50, count=30)
    lake.session(sensitive="a test").close()
    with lake.session(sensitive="a test") as session:
        session.sql("SELECT count(*) FROM labels").fetchall()
    return lake.location.path


@pytest.fixture
def copied(full_lake, tmp_path):
    """Make a lake like ``full_lake`` in a folder of its own, where Lance has nothing of it in its caches."""
    made = iter(range(1_000))

    def copy():
        return cb.connect(shutil.copytree(full_lake, tmp_path / f"{next(made)}.lake"))

    return copy


@pytest.fixture(scope="session")
def fill(build):
    """Ingest ``count`` images from an id on, each with a caption, a box and, for two of three, two labels."""
    return functools.partial(_fill, build=build)


@pytest.fixture(scope="session")
def files_of():
    """Files that versions of tables consist of, of a whole lake."""

    def found(folder):
        parts = [t.parent / part for t in folder.rglob(digests.NAME) for part in digests._PARTS]
        return sorted(f for part in parts for f in part.rglob("*") if f.is_file() and f.suffix != ".json")

    return found
