"""A call of a view whose rows a materialized view keeps is answered from these while they are fresh, and computed else."""

from __future__ import annotations

import functools
import shutil

import pytest
from repeats import again

import counterbalance as cb
from counterbalance.engine.query_engine import reading
from counterbalance.engine.refresh import fingerprint

TEXTS = (
    "a man walks in France", "a woman is a thief in Japan", "two dogs", "a boy and a girl, a lovely day",
    "a terrible murder of a man", "the women of Brazil are happy",
)  # fmt: skip
NAMES = ("prepared.lake", "plain.lake")
ASKED = (
    "SELECT * FROM caption_gender ORDER BY ALL",
    "SELECT * FROM word_concepts ORDER BY ALL",
    "SELECT * FROM term_concepts(lists.crime_words) ORDER BY ALL",
    "SELECT * FROM demographics(min_count := 0)",
    "SELECT * FROM crime_words(min_count := 0)",
    "SELECT * FROM geography(min_count := 0)",
    "SELECT * FROM sentiment(min_count := 0)",
    "SELECT * FROM cooccurrence(concepts := word_concepts, min_count := 0)",
    "SELECT * FROM keyword_profile(min_count := 1)",
    "SELECT * FROM crime_words(terms := lists.crime_words_broad, min_count := 0)",
    "SELECT * FROM demographics(caption_gender(rule := 'gensynth'), min_count := 0)",
)
SOME = (*ASKED[:4], "SELECT * FROM geography(min_count := 0)")
"""Every view that is kept, and two audits over them; all that is asked of rows as they were kept is asked by ``make thorough`` of others."""
some = pytest.mark.parametrize("asked", [SOME, *again((ASKED,))], ids=len)


def rows_of(build, first, count):
    ids = list(range(first, first + count))
    return {
        "images": build.images(image_id=ids, key=[str(i) for i in ids]),
        "captions": build.captions(
            caption_id=[2 * i + n for i in ids for n in range(2)], image_id=[i for i in ids for _ in range(2)],
            text=[TEXTS[(i * 7 + n * (i % 3)) % len(TEXTS)] for i in ids for n in range(2)],
        ),
    }  # fmt: skip


@pytest.fixture(scope="module")
def made(build, tmp_path_factory):
    """A folder with a lake that was prepared, and one of the same rows that was not."""
    folder = tmp_path_factory.mktemp("made")
    for name in NAMES:
        cb.connect(str(folder / name)).ingest(rows_of(build, 0, 60))
    cb.connect(str(folder / NAMES[0])).recipe("prepare")
    return folder


@pytest.fixture
def lakes(made, tmp_path):
    return [cb.connect(shutil.copytree(made / name, tmp_path / name)) for name in NAMES]


def answers(lake, asked, **how):
    with lake.session(**how) as session:
        return [session.sql(query).to_arrow().to_pylist() for query in asked]


@pytest.fixture(scope="module")
def plainly(made):
    """Answers of the lake that nobody prepared."""
    return functools.cache(lambda asked: answers(cb.connect(str(made / NAMES[1])), asked))


def is_read(lake, call="caption_gender", view="prepared_gender", **how):
    with lake.session(**how) as session:
        return view in session.sql(f"SELECT count(*) FROM {call}").sql


def test_the_view_is_read(lakes, plainly):
    prepared, plain = lakes
    assert is_read(prepared)
    assert not is_read(plain)
    assert is_read(prepared, "caption_gender()")
    assert is_read(prepared, "caption_gender(rule := 'words')")
    assert is_read(prepared, "term_concepts(lists.crime_words)", "prepared_crime_words")
    assert is_read(prepared, "term_concepts(lists.crime_words, captions)", "prepared_crime_words")
    assert answers(prepared, ASKED) == plainly(ASKED)


@pytest.mark.parametrize(
    "call",
    [
        "caption_gender(rule := 'gensynth')",
        "caption_gender(words := lists.gender_gensynth_paper)",
        "word_concepts((SELECT caption_id AS image_id, text FROM captions))",
        "term_concepts(lists.crime_words_broad)",
    ],
)
def test_other_arguments_are_computed(lakes, call):
    with lakes[0].session() as session:
        assert "prepared_" not in session.sql(f"SELECT count(*) FROM {call}").sql


@some
def test_rows_that_came_since_are_there(lakes, build, asked):
    for lake in lakes:
        lake.ingest(rows_of(build, 100, 30))
    prepared, plain = lakes
    assert not is_read(prepared)
    right = answers(plain, asked)
    assert answers(prepared, asked) == right
    prepared.refresh()
    assert is_read(prepared)
    assert answers(prepared, asked) == right


def test_a_column_that_nobody_reads_changes_nothing(lakes):
    prepared, _ = lakes
    prepared.add_column("captions", "shout", "upper(text)")
    prepared.refresh("captions.shout")
    assert is_read(prepared)


@pytest.mark.thorough
@some
def test_a_view_with_columns_of_its_own(lakes, plainly, asked):
    """What was added to it is no column of the view that it keeps."""
    prepared, _ = lakes
    prepared.add_column("prepared_gender", "shout", "upper(label)")
    prepared.refresh()
    assert not is_read(prepared)
    assert answers(prepared, asked) == plainly(asked)


@pytest.mark.thorough
@some
def test_the_past_is_read_as_it_was(lakes, plainly, build, asked):
    for lake in lakes:
        lake.tag("v1")
        lake.ingest(rows_of(build, 100, 30))
    prepared, plain = lakes
    prepared.refresh()
    assert answers(prepared, asked, at="v1") == answers(plain, asked, at="v1") == plainly(asked)
    assert answers(prepared, asked) == answers(plain, asked)


@pytest.mark.thorough
@some
def test_rows_of_images_that_are_gone(lakes, asked):
    for lake in lakes:
        lake.delete(where="image_id < 20", apply=True)
    prepared, plain = lakes
    assert answers(prepared, asked) == answers(plain, asked)


def test_a_refresh_computes_its_rows(lakes):
    """What a view keeps is never made of what it kept."""
    with reading(lakes[0].location) as engine:
        assert "prepared_gender" not in engine.sql("SELECT * FROM caption_gender").sql
        assert "prepared_gender" in engine.sql("SELECT * FROM prepared_gender").sql


def test_results_of_another_release(lakes, monkeypatch):
    """What the views hold was computed otherwise: it is not read."""
    monkeypatch.setattr(fingerprint, "_FORMAT", 2)
    assert not is_read(lakes[0])


@some
def test_a_view_that_was_dropped(lakes, plainly, asked):
    prepared, _ = lakes
    prepared.sql("DROP MATERIALIZED VIEW prepared_gender")
    assert answers(prepared, asked) == plainly(asked)


def test_views_of_labels_are_not_taken(lakes, build):
    """Every session reads labels with its own rights."""
    prepared, _ = lakes
    labels = build.labels(
        label_id=[1, 2], image_id=[1, 2], attribute=["scene"] * 2, value=["in", "out"], annotator=["x"] * 2
    )
    prepared.ingest({"labels": labels})
    prepared.create_materialized_view("scenes", "SELECT * FROM image_labels('scene')", "image_id")
    prepared.refresh()
    assert not is_read(prepared, "image_labels('scene')", "scenes")


def test_plain_sql_is_of_base_tables(lakes):
    with lakes[0].session() as session:
        assert "prepared_gender" not in session.expand("SELECT * FROM caption_gender")
