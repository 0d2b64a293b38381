"""Who groups two images in one source sees from the interval whether they have the same label: perceived labels take no sources."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.errors import RequestError, SensitiveError
from counterbalance.engine.sql import queries, query_files
from counterbalance.engine.store import tables

CALL = "SELECT g2 FROM cooccurrence({}, category_concepts, sources := {}) ORDER BY ALL"
OPEN, CLOSED = "image_labels('scene')", "image_labels('perceived_gender')"


@pytest.fixture(scope="module")
def lake(build, tmp_path_factory):
    ids = list(range(80))
    lake = cb.connect(str(tmp_path_factory.mktemp("sources") / "a.lake"))
    values = ["ab"[i % 2] for i in ids]
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "detections": build.detections(
                detection_id=ids, image_id=ids, category=["dog" if i % 3 else "cat" for i in ids]
            ),
            "labels": build.labels(
                label_id=list(range(160)), image_id=ids * 2, attribute=["perceived_gender"] * 80 + ["scene"] * 80, value=values * 2
            ),
        }
    )  # fmt: skip
    for name, other in (("same", 8), ("different", 7)):
        tables.append(lake.location, name, pa.table({"image_id": [2, other], "source_id": [0, 0]}))
    return lake


def test_labels_that_all_may_read_show_what_would_be_told(lake):
    assert lake.sql(CALL.format(OPEN, "same")).fetchall() != lake.sql(CALL.format(OPEN, "different")).fetchall()


@pytest.mark.parametrize("name", ["same", "different"])
def test_perceived_labels_take_none(lake, name):
    with pytest.raises(SensitiveError, match="takes no 'sources'") as caught:
        lake.sql(CALL.format(CLOSED, name)).fetchall()
    assert caught.value.code == "E3306"
    with lake.session(sensitive="a test of the wall") as session:
        assert session.sql(CALL.format(CLOSED, name)).fetchall()


def test_the_grid_of_a_relation_names_relations():
    text = '/*--- toml\nanswers = "A."\n[params.a]\nrelation = []\ngrid = [3]\n---*/\nSELECT * FROM a\n'
    with pytest.raises(RequestError, match="'a' is a relation, and its values SQL text, not 3"):
        query_files.parse(text, "view", "a.sql")


def test_nothing_takes_sources_of_perceived_labels():
    """Which images are one is nothing to choose where it is counted whose labels are closed, in an audit or a view inside of one."""
    found = {q.name: p.grid for q in queries.sound() for p in q.parameters if p.name == "sources"}
    assert len(found) > 10
    assert set(found.values()) == {()}
