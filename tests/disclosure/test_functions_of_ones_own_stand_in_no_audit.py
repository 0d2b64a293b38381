"""No function or view of one's own takes the name of one of DuckDB's, which audits of closed labels call."""

from __future__ import annotations

import pytest
from sqlglot import exp

import counterbalance as cb
from counterbalance.engine import functions
from counterbalance.engine.backends.duckdb.register import name_of
from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.sql import queries
from counterbalance.engine.sql.parse import SEARCHES
from counterbalance.engine.sql.scope import parsed

FRONT = '/*--- toml\nanswers = "x"\n---*/\n'


def called():
    """Functions that files of ours call and that are written in no file of ours."""
    names = {
        str(call.name).lower()
        for query in (*queries.sound(), *queries.sql_functions().values())
        for call in parsed(query).find_all(exp.Anonymous)
        if not isinstance(call.parent, exp.Table)
    }
    return names - {*queries.sql_functions(), *functions.functions(), *queries.queries(), *SIGNATURES}


def test_what_audits_call_is_ours_or_duckdbs():
    assert "list_slice" in called()
    assert called() <= functions.built_in()


def test_table_functions_have_one_list():
    assert {*SIGNATURES} == SEARCHES


@pytest.mark.parametrize("name", ["list_slice", "moments", "vader__80404899"])
@pytest.mark.parametrize("folder", ["functions", "views", "audits"])
def test_a_file_is_left_out(tmp_path, folder, name):
    (tmp_path / folder).mkdir()
    (tmp_path / folder / f"{name}.sql").write_text(f"{FRONT}SELECT 1 AS r")
    assert queries.load(tmp_path) == []
    [(file, error)] = queries.broken().items()
    assert (file.rpartition("/")[2], error.code) == (f"{name}.sql", "E3031")


def test_no_file_of_ours_has_such_a_name():
    names = {*queries.queries(), *queries.sql_functions(), *functions.functions()}
    assert not [name for name in names if "__" in name]


MOMENTS = """
[params.vectors]
relation = []
[params.groups]
relation = []
[params.column]
type = "varchar"
default = "embedding"
---*/
SELECT g.label, CAST(1000 + sum(g.image_id) AS BIGINT) AS n, CAST(1000 AS BIGINT) AS images, [1e0, 0e0] AS mean,
  [1e0, 0e0, 0e0, 1e0] AS products
FROM groups AS g, (SELECT count(*) AS k FROM vectors WHERE $column <> '') AS v GROUP BY g.label
"""
CALL = "SELECT label, n FROM self_similarity(vecs, groups := image_labels('perceived_gender')) ORDER BY label"


@pytest.fixture(scope="module")
def vectors(build):
    ids = list(range(60))
    lake = cb.connect("memory://vectors-of-labels")
    labels = build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 60, value=["a", "b"] * 30)
    lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    text = "SELECT image_id, CAST([1.0, image_id] AS FLOAT[2]) AS embedding FROM images"
    lake.create_materialized_view("vecs", text, "image_id")
    lake.refresh("vecs", executor="inline")
    return lake


@pytest.mark.parametrize("is_refused", [True, False])
def test_no_file_stands_in_the_place_of_a_table_function(vectors, tmp_path, monkeypatch, is_refused):
    """Nor would it where such a file was loaded: what is called in a body of ours is ours."""
    honest = vectors.sql(CALL).fetchall()
    if not is_refused:
        monkeypatch.setattr(queries, "refuse_name", lambda *_: None)
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "moments.sql").write_text(FRONT.removesuffix("---*/\n") + MOMENTS.lstrip())
    assert queries.load(tmp_path) == ([] if is_refused else ["moments"])
    assert vectors.sql(CALL).fetchall() == honest
    assert [n for _, n in honest] == [30, 30]


def test_no_function_stands_in_the_place_of_duckdbs(vectors, tmp_path, monkeypatch):
    """Nor where such a file was loaded: a body of ours that calls the name is not run."""
    monkeypatch.setattr(queries, "refuse_name", lambda *_: None)
    (tmp_path / "functions").mkdir()
    front = FRONT.replace("---*/", 'returns = "bigint[]"\n[params.l]\ntype = "bigint[]"\nabout = "x"\n---*/')
    (tmp_path / "functions" / "list_slice.sql").write_text(f"{front}SELECT $l AS value")
    assert queries.load(tmp_path) == ["list_slice"]
    with pytest.raises(CounterbalanceError) as caught:
        vectors.sql("FROM detection_recall(detections, groups := caption_gender)").fetchall()
    assert caught.value.code == "E3032"


def test_no_function_stands_in_the_place_of_a_bound_one(vectors, tmp_path, monkeypatch, build):
    """The engine names functions with constants itself, in a way that anybody can tell beforehand."""
    vectors.ingest({"captions": build.captions(caption_id=range(60), image_id=range(60), text=["a good dog"] * 60)})
    call = "SELECT avg(vader(text)) FROM captions"
    honest = vectors.sql(call).fetchall()
    monkeypatch.setattr(queries, "refuse_name", lambda *_: None)
    (tmp_path / "functions").mkdir()
    vader = functions.function("vader")
    made = name_of(vader, {p.name: p.default for p in vader.parameters if p.constant})
    front = FRONT.replace("---*/", 'returns = "double"\n[params.text]\ntype = "varchar"\nabout = "x"\n---*/')
    (tmp_path / "functions" / f"{made}.sql").write_text(f"{front}SELECT length($text) / 1e6 AS value")
    assert queries.load(tmp_path)
    assert vectors.sql(call).fetchall() == honest
    assert honest[0][0] > 0.1


@pytest.mark.parametrize("name", ["list_slice", "Lower", "vader__80404899"])
def test_a_function_in_python_is_refused(name):
    def own(text: str) -> int:
        return len(text)

    with pytest.raises(CounterbalanceError) as caught:
        cb.udf(name=name)(own)
    assert caught.value.code == "E3004"


def test_functions_in_sql_hold_no_query(tmp_path, lake):
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "peek.sql").write_text(f"{FRONT}SELECT EXISTS (SELECT 1 FROM labels) AS r")
    queries.load(tmp_path)
    with pytest.raises(CounterbalanceError) as caught:
        lake.sql("SELECT peek() FROM images").fetchall()
    assert caught.value.code == "E3030"


@pytest.mark.parametrize("alias", ["", "lists", "Meta", "main"])
def test_no_lake_is_attached_under_a_name_of_ours(vectors, alias):
    with pytest.raises(CounterbalanceError) as caught:
        vectors.sql("FROM images", attach={alias: vectors})
    assert caught.value.code == "E3445"
