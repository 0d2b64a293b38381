"""Files that hold no row which a query asks for, as their tallies tell, are not opened: here nothing can be read of them."""

from __future__ import annotations

from pathlib import Path

import lance
import pytest

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError

IMAGES = list(range(20))


@pytest.fixture
def lake(build, tmp_path):
    """Labels of three attributes in a file each, and only the second one's file is left."""
    lake = cb.connect(tmp_path / "three.lake")
    lake.ingest({"images": build.images(image_id=IMAGES)})
    for number, attribute in enumerate(("scene", "mood", "apparel")):
        lake.ingest({
            "labels": build.labels(
                label_id=[number * 100 + i for i in IMAGES],
                image_id=IMAGES,
                attribute=[attribute] * 20,
                value=["yes", "no"] * 10 if attribute != "apparel" else ["hat"] * 20,
                annotator=["m"] * 20,
            )
        })  # fmt: skip
    stored = lance.dataset(str(tmp_path / "three.lake" / "labels.lance"))
    for number, fragment in enumerate(stored.get_fragments()):
        if number != 1:
            path = Path(tmp_path / "three.lake" / "labels.lance" / "data" / fragment.metadata.files[0].path)
            path.write_bytes(bytes(path.stat().st_size))
    return lake


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT count(*), min(score) FROM labels WHERE attribute = 'mood'", [(20, None)]),
        ("SELECT image_id FROM labels WHERE attribute = 'mood' AND value = 'no' AND image_id < 4 ORDER BY 1", [(1,), (3,)]),
        ("SELECT sum(image_id) FROM labels WHERE attribute IN ('mood', 'nothing')", [(190,)]),
        ("SELECT image_id FROM labels WHERE attribute = 'scene' AND value = 'hat'", []),
        ("SELECT max(image_id) FROM labels WHERE attribute NOT IN ('apparel', 'scene')", [(19,)]),
        ("SELECT label, count(*) FROM image_labels('mood') GROUP BY ALL ORDER BY 1", [("no", 10), ("yes", 10)]),
        ("SELECT image_id, count(*) AS n FROM labels WHERE attribute = 'mood' GROUP BY image_id ORDER BY 1 LIMIT 1", [(0, 1)]),
        ("SELECT attribute, count(*) AS n FROM labels GROUP BY attribute ORDER BY 1", [("apparel", 20), ("mood", 20), ("scene", 20)]),
        ("SELECT count(*) FROM labels WHERE value = 'yes'", [(20,)]),
    ],
)  # fmt: skip
def test_the_files_that_are_left_suffice(lake, query, rows):
    assert lake.sql(query).fetchall() == rows


@pytest.mark.parametrize(
    "query",
    [
        "SELECT max(image_id) FROM labels",
        "SELECT max(image_id) FROM labels WHERE attribute = 'scene'",
        "SELECT max(image_id) FROM labels WHERE value = 'yes'",
        "SELECT max(image_id) FROM labels WHERE attribute = 'mood' OR image_id = 3",
    ],
)
def test_other_files_are_missed(lake, query):
    with pytest.raises(CounterbalanceError):
        lake.sql(query).fetchall()
