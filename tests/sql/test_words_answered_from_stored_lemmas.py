"""matches() and match_terms() give the same rows from texts, from stored lemmas, and through an index on these."""

from __future__ import annotations

import numpy as np
import pytest
from repeats import chosen

import counterbalance as cb
from counterbalance.engine.sql import postings
from counterbalance.engine.store.location import Location

TERMS = ["looting", "tax evasion", "cyber-attack", "murder", "O'Brien", "thief", "zebra crossing"]
RARE = ["A looted shop", "evasion of the tax", "a cyberattack", "cyber, then attack", "murders", "o'brien", "THIEVES", "tax only",
        "theft and a murder, looting", "the murder of a thief, and murder"]  # fmt: skip
COMMON = ["a dog runs", "two cats on a mat", "", None, "men at a table", "un café", "send in the clowns"]
ROWS = 2_000


def filled(lake, build, *, first=0, rows=ROWS):
    random = np.random.default_rng(first + 3)
    ids = list(range(first, first + rows))
    rare = random.random(rows) < 0.008
    texts = [RARE[random.integers(len(RARE))] if r else COMMON[random.integers(len(COMMON))] for r in rare]
    lake.ingest({"images": build.images(image_id=ids)})
    captions = build.captions(
        caption_id=ids,
        image_id=[i // 2 * 2 for i in ids],
        text=texts,
        origin=["human" if i % 3 else "alt_text" for i in ids],
    )
    lake.ingest({"captions": captions})
    return lake


@pytest.fixture(scope="module")
def lakes(build, tmp_path_factory):
    """The same captions: as they are, with stored lemmas, and with an index on these."""
    found = {}
    for name in ("plain", "stored", "indexed"):
        lake = found[name] = filled(cb.connect(tmp_path_factory.mktemp("words") / f"{name}.lake"), build)
        if name != "plain":
            lake.sql("ALTER TABLE captions ADD COLUMN words AS (lemmas(text))").to_arrow()
        if name == "indexed":
            lake.sql("CREATE INDEX ON captions USING label_list (words)").to_arrow()
        if name != "plain":
            lake.sql("REFRESH ALL").to_arrow()
    return found


LIST = "[" + ", ".join("'" + t.replace("'", "''") + "'" for t in TERMS) + "]"
QUERIES = {
    "count": f"SELECT count(*) AS n FROM captions WHERE matches(text, {LIST})",
    "count and more": f"SELECT count(*) AS n FROM captions c WHERE (c.caption_id > 50 AND matches(c.text, {LIST})) AND origin = 'human'",
    "rows": f"SELECT caption_id, text FROM captions WHERE matches(text, {LIST}) ORDER BY 1",
    "not": f"SELECT count(*) AS n FROM captions WHERE NOT matches(text, {LIST})",
    "either": "SELECT count(*) AS n FROM captions WHERE matches(text, ['murder']) OR caption_id < 7",
    "two": "SELECT count(*) AS n FROM captions WHERE matches(text, ['murder']) AND matches(text, ['thief'])",
    "a value": f"SELECT matches(text, {LIST}) AS m, count(*) AS n FROM captions GROUP BY ALL ORDER BY 1",
    "groups": f"SELECT origin, origin AS o, count(*) AS n FROM captions WHERE matches(text, {LIST}) GROUP BY ALL ORDER BY ALL",
    "no terms": "SELECT count(*) AS n FROM captions WHERE matches(text, [])",
    "no such": "SELECT count(*) AS n FROM captions WHERE matches(text, ['zebra crossing'])",
    "join": "SELECT i.image_id, c.text FROM captions c JOIN images i USING (image_id) WHERE matches(c.text, ['murder']) ORDER BY ALL",
    "outer join": "SELECT count(*) AS n, count(c.text) AS t FROM images i LEFT JOIN captions c USING (image_id) "
    "WHERE matches(c.text, ['murder'])",
    "lists": f"SELECT caption_id, match_terms(text, {LIST}) AS t FROM captions ORDER BY 1",
    "terms": f"SELECT image_id, unnest(match_terms(text, {LIST})) AS t FROM captions ORDER BY ALL",
    "terms of some": f"SELECT DISTINCT Image_ID, unnest(match_terms(text, {LIST})) AS t FROM captions AS k WHERE k.origin = 'human' ORDER BY ALL",
    "terms beside another": f"SELECT unnest(match_terms(text, {LIST})) AS t, unnest(['x', 'y']) AS u FROM captions ORDER BY ALL",
    "terms by group": f"SELECT count(*) AS n FROM (SELECT image_id, unnest(match_terms(text, {LIST})) AS t FROM captions) GROUP BY t ORDER BY 1",
    "view": "SELECT * FROM term_concepts(lists.crime_words) ORDER BY ALL",
    "audit": "SELECT * FROM crime_words(min_count := 1)",
}  # fmt: skip


FOR_LONG = {"count", "two", "a value", "groups", "no terms", "outer join", "lists", "terms by group"}
"""Queries whose parts other queries have: counts, conditions, values, groups, joins, lists and their items."""


@pytest.mark.cases(5)
@pytest.mark.parametrize("name", chosen(sorted(QUERIES), *(QUERIES.keys() - FOR_LONG)))
def test_same_rows(lakes, name, monkeypatch):
    answers = {}
    for kind, lake, worth in (*((k, lake, 0) for k, lake in lakes.items()), ("scanned", lakes["indexed"], 10**9)):
        monkeypatch.setattr(postings, "_SEARCH_ROWS", worth)
        with lake.session() as session:
            answers[kind] = session.sql(QUERIES[name]).to_arrow()
    assert answers["stored"].equals(answers["plain"])
    assert answers["indexed"].equals(answers["plain"])
    assert answers["scanned"].equals(answers["plain"])
    assert answers["plain"].num_rows > 0 or name in {"no such", "audit"}


@pytest.mark.parametrize("name", ["count", "rows", "join", "terms", "terms of some", "view"])
def test_the_index_is_used(lakes, name):
    with lakes["indexed"].session() as session:
        sql = session.sql(QUERIES[name]).sql
    assert "captions~only~" in sql or "captions~found~" in sql
    assert "match" not in sql


def test_rows_that_came_later_are_not_lost(lakes, build, tmp_path):
    lake = filled(cb.connect(tmp_path / "later.lake"), build)
    for text in ("ALTER TABLE captions ADD COLUMN words AS (lemmas(text))", "CREATE INDEX ON captions USING label_list (words)",
                 "REFRESH ALL"):  # fmt: skip
        lake.sql(text).to_arrow()
    filled(lake, build, first=ROWS, rows=500)
    plain = filled(filled(cb.connect(tmp_path / "plain.lake"), build), build, first=ROWS, rows=500)
    for query in (QUERIES["count"], QUERIES["terms"]):
        assert lake.sql(query).fetchall() == plain.sql(query).fetchall()
    lake.sql("REFRESH captions.words").to_arrow()  # the index does not hold the new rows yet
    for query in (QUERIES["count"], QUERIES["terms"]):
        assert lake.sql(query).fetchall() == plain.sql(query).fetchall()


def test_an_index_that_lance_would_pass_over_is_not_used(tmp_path, monkeypatch):
    """On a list whose items are not called "item", Lance reads every row for a filter that the index could answer."""
    import lance
    import pyarrow as pa

    from counterbalance.engine.search.index_search import Stored
    from counterbalance.engine.sql.postings import _Index

    forms = [("murder", frozenset({"murder"}))]
    for name, used in (("item", True), ("element", False)):
        words = pa.array([["murder"]] + [["dog"]] * 999, pa.list_(pa.field(name, pa.string())))
        dataset = lance.write_dataset(pa.table({"id": range(1000), "words": words}), str(tmp_path / name))
        dataset.create_scalar_index("words", "LABEL_LIST")
        dataset = lance.dataset(str(tmp_path / name))
        found = _Index.of(Stored("t", dataset.schema, dataset, Location(str(tmp_path)), "t"), "words", forms)
        assert (found is not None) == used
