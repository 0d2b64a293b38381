"""What was asked and read leaves nothing behind, at once: no cycle keeps a session, and with it a version, until garbage is collected."""

from __future__ import annotations

import contextlib
import gc

import pytest

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.store import pins

QUERIES = (
    "SELECT text FROM captions",
    "SELECT caption_id FROM captions LIMIT 1",
    "SELECT text FROM captions WHERE caption_id = $id",
    "SELECT text FROM captions WHERE image_id IN (SELECT image_id FROM images)",
    "SELECT half(text) FROM captions",
    "SELECT wilson_low(1, 2)",
    "FROM image_labels",
    "FROM crime_words()",
    "FROM demographics('scene')",
    "FROM attribute_frequencies(attribute := 'scene')",
    "FROM match(captions, 'dog', 10)",
    "FROM top_k(captions, 'text', 3)",
    "FROM nowhere",
    "SELECT nothing(text) FROM captions",
    "SELECT text, FROM captions WHERE",
    "SHOW TABLES",
    "DESCRIBE captions",
    "EXPLAIN SELECT text FROM captions",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory, build):
    """A lake that tests only read."""
    lake = cb.connect(tmp_path_factory.mktemp("made") / "made.lake")
    images = build.images(image_id=[1, 2], key=["a", "b"])
    captions = build.captions(caption_id=[1, 2], image_id=[1, 2], text=["a dog", "a cat"])
    labels = build.labels(label_id=[1, 2], image_id=[1, 2], attribute=["scene"] * 2, value=["beach", "street"])
    lake.ingest({"images": images, "captions": captions, "labels": labels})
    lake.sql("SELECT 1").fetchall()
    return lake


@pytest.fixture
def filled(made, row_function):
    row_function("half", len)
    return cb.connect(made.uri)


@pytest.fixture
def uncollected():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def readers(lake):
    folder = lake.location.path / pins.FOLDER
    return len(list(folder.iterdir())) if folder.exists() else 0


def ask(lake, query):
    try:
        return lake.sql(query, **({"id": 1} if "$id" in query else {})).fetchall()
    except CounterbalanceError as error:
        return error.code


@pytest.mark.cases(4)
@pytest.mark.parametrize("query", QUERIES)
def test_of_a_lake(filled, uncollected, query):
    ask(filled, query)
    assert readers(filled) == 0


def test_unread_results(filled, uncollected):
    result = filled.sql("SELECT text FROM captions")
    assert readers(filled) == 1
    del result
    assert readers(filled) == 0


def test_half_read_results(filled, uncollected):
    batches = iter(filled.sql("SELECT text FROM captions").to_batches())
    next(batches)
    assert readers(filled) == 1
    del batches
    assert readers(filled) == 0


@pytest.mark.cases(4)
@pytest.mark.parametrize("query", QUERIES)
def test_text_of_an_expanded_query(filled, uncollected, query):
    with filled.session() as session, contextlib.suppress(CounterbalanceError):
        session.expand(query)
    del session
    assert readers(filled) == 0
