"""vector_search, full_text_search and hybrid_search in SQL: what they return, with an index and without."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine import functions
from counterbalance.engine.errors import CounterbalanceError, RequestError, SqlError
from counterbalance.engine.search import index_search
from counterbalance.engine.search.indexes import IndexSpec, build
from counterbalance.engine.store import tables

D, N = 16, 600
VECTORS = np.random.default_rng(7).normal(size=(N, D)).astype(np.float32)
WORDS = ["a man rides a horse", "two dogs on the grass", "a woman rides a bike", "riding horses, horses!", "a red bike"]


def pictures(start=0, count=N):
    numbers = range(start, start + count)
    flat = pa.array(VECTORS[[i % N for i in numbers]].ravel())
    return pa.table(
        {
            "picture_id": pa.array([1000 - i for i in numbers], pa.int64()),
            "split": ["val" if i % 3 == 0 else "train" for i in numbers],
            "words": [WORDS[i % 5] for i in numbers],
            "tags": pa.array([[f"t{i % 4}"] for i in numbers], pa.list_(pa.string())),
            "embedding": pa.FixedSizeListArray.from_arrays(flat, D),
        }
    )


@pytest.fixture
def lake(disk_lake, build):
    """A lake with a table of another tool's: 600 vectors, keys descending."""
    disk_lake.ingest({"images": build.images(image_id=range(401, 1001), key=[str(i) for i in range(401, 1001)])})
    tables.append(disk_lake.location, "pictures", pictures())
    return disk_lake


def indexed(lake, *specs):
    for spec in specs:
        build(tables.open_table(lake.location, "pictures"), spec, device="cpu")


def expected(query, k, metric="cosine", keep=lambda i: True):
    """By sorting: (key, rank, score)."""
    v, q = VECTORS.astype(np.float64), np.asarray(query, np.float64)
    if metric == "l2":
        scores = -np.sqrt(((v - q) ** 2).sum(1))
    else:
        scores = v @ q
        if metric == "cosine":
            scores = scores / np.linalg.norm(v, axis=1) / np.linalg.norm(q)
    order = sorted((i for i in range(N) if keep(i)), key=lambda i: (-scores[i], 1000 - i))[:k]
    return [(1000 - i, rank, pytest.approx(scores[i], abs=1e-9)) for rank, i in enumerate(order, 1)]


SEARCH = "SELECT picture_id, rank, score FROM vector_search(pictures, 'embedding', $q, k := {k}{more}) ORDER BY rank"


@pytest.mark.parametrize("kind", [None, "ivf_flat", "ivf_sq", "ivf_rq"])
@pytest.mark.parametrize("metric", ["cosine", "l2", "dot"])
def test_the_nearest_rows(lake, kind, metric):
    if kind:
        indexed(lake, IndexSpec("v", kind, "embedding", {"metric": metric, "num_partitions": 4}))
    q = VECTORS[11] + np.float32(0.01)
    more = f", metric := '{metric}'" + (", nprobes := 4, refine := 60" if kind else "")
    assert lake.sql(SEARCH.format(k=8, more=more), q=q).fetchall() == expected(q, 8, metric)


@pytest.mark.parametrize("kind", [None, "ivf_sq"])
@pytest.mark.parametrize("few", [20_000, 0])
def test_the_condition_comes_first(lake, kind, few, monkeypatch):
    """Also where rows that pass are the farthest: what is filtered afterwards would be empty."""
    monkeypatch.setattr(index_search, "_FEW", few)
    if kind:
        indexed(lake, IndexSpec("v", kind, "embedding", {"num_partitions": 12}))
    q = VECTORS[11].tolist()
    far = [key for key, _, _ in expected(q, N)[-20:]]
    more = f", where := 'picture_id IN ({', '.join(map(str, far))})', nprobes := 1"
    got = lake.sql(SEARCH.format(k=20, more=more), q=q).fetchall()
    assert [r[0] for r in got] == far
    more = ", where := 'split = ''val'' AND list_contains(tags, ''t1'')', nprobes := 12, refine := 20"
    assert lake.sql(SEARCH.format(k=9, more=more), q=q).fetchall() == expected(
        q, 9, keep=lambda i: i % 3 == 0 and i % 4 == 1
    )


def test_the_index_gives_the_metric_unless_another_is_asked_for(lake):
    indexed(lake, IndexSpec("v", "ivf_flat", "embedding", {"metric": "l2", "num_partitions": 1}))
    q = VECTORS[3].tolist()
    assert lake.sql(SEARCH.format(k=4, more=""), q=q).fetchall() == expected(q, 4, "l2")
    assert lake.sql(SEARCH.format(k=4, more=", metric := 'dot'"), q=q).fetchall() == expected(q, 4, "dot")


@pytest.mark.parametrize("kind", [None, "ivf_sq"])
def test_rows_that_came_later_are_found_and_ties_are_by_key(lake, kind):
    if kind:
        indexed(lake, IndexSpec("v", kind, "embedding", {"num_partitions": 4}))
    tables.append(lake.location, "pictures", pictures(N, 300))
    q = VECTORS[5].tolist()
    got = lake.sql(SEARCH.format(k=2, more=", nprobes := 4, refine := 20"), q=q).fetchall()
    assert [r[:2] for r in got] == [(1000 - N - 5, 1), (995, 2)]
    assert got[0][2] == got[1][2]


def test_a_query_of_any_form(lake):
    wanted = expected(VECTORS[9], 3)
    numbers = ", ".join(map(str, VECTORS[9].tolist()))
    forms = [
        f"[{numbers}]",
        f"'[{numbers}]'",
        f"[{numbers}]::FLOAT[16]",
        "(SELECT embedding FROM pictures WHERE picture_id = 991)",
        "(WITH one AS (SELECT * FROM pictures) SELECT embedding FROM one WHERE picture_id = 991)",
        "query := (SELECT p.embedding FROM pictures AS p WHERE p.picture_id = $key)",
    ]
    for form in forms:
        text = (
            f"SELECT picture_id, rank, score FROM vector_search('pictures', 'EMBEDDING', {form}, k := 3) ORDER BY rank"
        )
        assert lake.sql(text, key=991).fetchall() == wanted if "$key" in form else lake.sql(text).fetchall() == wanted
    for value in (VECTORS[9], VECTORS[9].tolist(), f"[{numbers}]"):
        assert lake.sql(SEARCH.format(k=3, more=""), q=value).fetchall() == wanted


@pytest.fixture
def lookup():
    """A function from text to a vector."""
    name = "test_lookup"

    @functions.udf(
        returns=pa.list_(pa.float32(), D), parameters=[functions.Parameter("text", pa.string())], version="1", name=name
    )
    def call(text):
        return pa.array([VECTORS[int(t)].tolist() for t in text.to_pylist()], pa.list_(pa.float32(), D))

    yield name
    functions._registry.pop(name)
    index_search._opened.cache_clear()


def test_text_is_embedded_by_a_function(lake, lookup):
    more = f", embed := '{lookup}'"
    assert lake.sql(SEARCH.format(k=3, more=more), q="21").fetchall() == expected(VECTORS[21], 3)


def test_every_parameter_by_place_and_by_name(lake, lookup):
    indexed(lake, IndexSpec("v", "ivf_sq", "embedding", {"metric": "l2", "num_partitions": 4}))
    wanted = expected(VECTORS[21], 3, "l2", keep=lambda i: i % 3 == 0)
    where = "'split = ''val'''"
    places = f"pictures, 'embedding', '21', 3, {where}, 'l2', 4, 20, '{lookup}'"
    names = (
        f'"table" := pictures, "column" := \'embedding\', query := $text, k := 3, "where" := {where}, '
        f"metric := 'l2', nprobes := 4, refine := 20, embed := '{lookup}'"
    )
    for call in (places, names, names.replace('"', "")):
        given = {"text": "21"} if "$text" in call else {}
        text = f"SELECT picture_id, rank, score FROM vector_search({call}) ORDER BY rank"
        assert lake.sql(text, **given).fetchall() == wanted


def test_the_answer_is_a_relation(lake):
    text = (
        "SELECT i.key, v.rank FROM vector_search(pictures, 'embedding', $q, k := 3) AS v "
        "JOIN images AS i ON i.image_id = v.picture_id WHERE v.rank > 1 ORDER BY v.rank"
    )
    q = VECTORS[11].tolist()
    assert lake.sql(text, q=q).fetchall() == [(str(key), rank) for key, rank, _ in expected(q, 3)[1:]]


def test_old_versions_are_searched_as_they_were(lake):
    lake.tag("before")
    tables.append(lake.location, "pictures", pictures(N, 300))
    q = VECTORS[5].tolist()
    assert lake.sql(SEARCH.format(k=2, more=""), q=q, at="before").fetchall() == expected(q, 2)
    with lake.session() as session:
        tables.delete(lake.location, "pictures", "picture_id = 995")
        assert session.sql(SEARCH.format(k=2, more=""), q=q).fetchall()[1][0] == 995


def test_tables_of_other_lakes(lake, tmp_path):
    here = cb.connect(tmp_path / "here.lake")
    here.ingest({"images": pa.table({"image_id": [1], "key": ["1"]})})
    q = VECTORS[5].tolist()
    text = "SELECT picture_id, rank, score FROM vector_search(cc.pictures, 'embedding', $q, k := 2, where := 'pictures.picture_id < 990') ORDER BY rank"
    assert here.sql(text, q=q, attach={"cc": lake}).fetchall() == expected(q, 2, keep=lambda i: i > 10)


def test_explain_and_expand(lake):
    with lake.session() as session:
        text = "SELECT * FROM vector_search(pictures, 'embedding', (SELECT embedding FROM pictures LIMIT 1))"
        assert "vector_search" in session.expand(text)
        assert "picture_id" in session.explain(text)
        assert {"vector_search", "full_text_search", "hybrid_search"} <= set(session.names())


def words_search(lake, query, more=""):
    return lake.sql(
        f"SELECT picture_id, rank, score FROM full_text_search(pictures, 'words', $w{more}) ORDER BY rank", w=query
    ).fetchall()


def holding(*texts):
    return sorted(1000 - i for i in range(N) if WORDS[i % 5] in texts)


def test_words(lake):
    indexed(lake, IndexSpec("w", "fts", "words"))
    dogs = words_search(lake, "dog", ", k := 1000")
    assert [r[0] for r in dogs] == holding("two dogs on the grass")
    assert [r[1] for r in dogs] == list(range(1, 121))
    assert len({r[2] for r in dogs}) == 1
    best = words_search(lake, "riding horse", ", k := 130")
    assert [r[0] for r in best[:120]] == holding("riding horses, horses!")
    assert {r[0] for r in best[120:]} <= set(holding("a man rides a horse"))
    assert [r[2] for r in best] == sorted((r[2] for r in best), reverse=True)
    assert words_search(lake, "zebra") == words_search(lake, "") == words_search(lake, "?!") == []


def test_words_that_are_equally_good_come_by_key_at_any_cut(lake):
    indexed(lake, IndexSpec("w", "fts", "words"))
    everything = holding("two dogs on the grass")
    for k in (1, 7, 100):
        assert [r[0] for r in words_search(lake, "grass", f", k := {k}")] == everything[:k]


def test_words_under_a_condition_and_in_new_rows(lake):
    indexed(lake, IndexSpec("w", "fts", "words"))
    got = words_search(lake, "dogs", ", k := 500, where := 'split = ''val'''")
    assert [r[0] for r in got] == [k for k in holding("two dogs on the grass") if (1000 - k) % 3 == 0]
    extra = pictures(N, 1).set_column(2, "words", pa.array(["a zebra"]))
    tables.append(lake.location, "pictures", extra)
    assert [r[:2] for r in words_search(lake, "zebra")] == [(400, 1)]


def test_phrases_need_places(lake):
    indexed(lake, IndexSpec("w", "fts", "words"))
    with pytest.raises(RequestError, match="keeps no places of words") as caught:
        words_search(lake, '"red bike"')
    assert caught.value.code == "E3456"
    indexed(lake, IndexSpec("w", "fts", "words", {"with_position": True}))
    assert {r[0] for r in words_search(lake, '"a bike"', ", k := 500")} == set(holding("a woman rides a bike"))


def test_no_index_of_words(lake):
    with pytest.raises(RequestError, match="no full-text index") as caught:
        words_search(lake, "dogs")
    assert caught.value.code == "E3455"
    statement = re.search(r"CREATE INDEX ON \w+ USING fts \(\w+\)", caught.value.hint)
    assert statement
    assert statement[0] == "CREATE INDEX ON pictures USING fts (words)"


def test_both_fused_by_rank(lake):
    indexed(lake, IndexSpec("w", "fts", "words"))
    q = VECTORS[11].tolist()
    near = {key: rank for key, rank, _ in expected(q, 100)}
    said = {key: rank for key, rank, _ in words_search(lake, "dogs", ", k := 100")}
    scores = {k: sum(1 / (60 + r[k]) for r in (near, said) if k in r) for k in near.keys() | said.keys()}
    order = sorted(scores, key=lambda k: (-scores[k], k))[:12]
    text = "SELECT picture_id, rank, score FROM hybrid_search(pictures, 'embedding', 'words', $q, 'dogs', k := 12) ORDER BY rank"
    got = lake.sql(text, q=q).fetchall()
    assert got == [(k, n, pytest.approx(scores[k])) for n, k in enumerate(order, 1)]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("vector_search(pictures, 'embedding', [1, 2])", "E3126"),
        ("vector_search(pictures, 'embedding', 'a horse')", "E3458"),
        ("vector_search(pictures, 'embedding', ['x'])", "E3458"),
        ("vector_search(pictures, 'embedding', 7)", "E3458"),
        ("vector_search(pictures, 'embedding', [1], embed := 'vader')", "E3458"),
        ("vector_search(pictures, 'embedding', 'a horse', embed := 'vader')", "E3459"),
        ("vector_search(pictures, 'embedding', 'a horse', embed := 'nothing')", "E1003"),
        ("vector_search(pictures, 'embedding', (SELECT embedding FROM pictures))", "E3117"),
        ("vector_search(pictures, 'embedding', (SELECT embedding FROM nowhere))", "E1001"),
        ("vector_search(pictures, 'embedding', [1], metric := 'hamming')", "E3130"),
        ("vector_search(pictures, 'embeding', [1])", "E3453"),
        ("vector_search(pictures, 'words', [1])", "E3454"),
        ("vector_search(pictures, 'embedding', (SELECT embedding FROM pictures LIMIT 1), k := 0)", "E3120"),
        ("vector_search(nowhere, 'embedding', [1])", "E1001"),
        ("vector_search((SELECT * FROM pictures), 'embedding', [1])", "E3133"),
        ("vector_search(caption_gender, 'label', [1])", "E3133"),
        ("vector_search(captions, 'text', [1])", "E3133"),
        ("vector_search(pictures)", "E3116"),
        ("vector_search(pictures, 'embedding', [1], neighbours := 3)", "E3111"),
        ("full_text_search(pictures, 'embedding', 'x')", "E3455"),
        ("vector_search(pictures, 'embedding', (SELECT embedding FROM pictures LIMIT 1), \"where\" := ' ')", "E3466"),
    ],
)
def test_what_cannot_be_searched(lake, call, code):
    with pytest.raises(CounterbalanceError) as caught:
        lake.sql(f"SELECT * FROM {call}").fetchall()
    assert caught.value.code == code


def test_an_expression_of_the_same_name_is_not_searched(lake):
    text = "WITH pictures AS (SELECT 1 AS one) SELECT * FROM vector_search(pictures, 'embedding', [1])"
    with pytest.raises(SqlError, match="must be a table of the lake"):
        lake.sql(text).fetchall()
