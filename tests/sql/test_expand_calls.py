"""Calls of audits and views become common table expressions of plain SQL, with their arguments in place."""

from __future__ import annotations

import json

import pytest

from counterbalance.engine.errors import NotFoundError, RequestError, SqlError
from counterbalance.engine.sql import queries, query_files

FILES = {
    "sizes": (
        "audit",
        'params.rows = { relation = [], default = "captions" }\nparams.least = { type = "integer", default = 0 }\n'
        'params.factor = { type = "double", default = 1.5 }\nparams.word = { type = "varchar", default = "x" }\n'
        'params.k = { type = "integer[]", default = [1, 2] }\nparams.flag = { type = "boolean", default = false }',
        "SELECT count(*) AS n, $least AS least, $factor AS factor, $word AS word, $k AS k, $flag AS flag FROM rows "
        "HAVING count(*) >= $least",
    ),
    "humans": ("view", "", "SELECT * FROM captions WHERE origin = 'human'"),
    "of": (
        "view",
        'params.origin = { type = "varchar" }\nparams.rows = { relation = [], default = "captions" }',
        "SELECT c.* FROM rows AS c WHERE c.origin = $origin",
    ),
    "both": (
        "view",
        """params.a = { relation = [] }\nparams.b = { relation = [], default = "of('human', a)" }""",
        "WITH captions AS (SELECT 1 AS one) SELECT (SELECT count(*) FROM a) AS x, (SELECT count(*) FROM b) AS y, one FROM captions",
    ),
    "minus": (
        "view",
        'params.n = { type = "integer", default = -3 }',
        "SELECT 10 -$n AS d, -$n AS e, $n * 2 AS f",
    ),
    "nested": (
        "view",
        'params.word = { type = "varchar", default = "human" }',
        "SELECT count(*) AS n FROM of($word, humans)",
    ),
}


@pytest.fixture(autouse=True)
def own_files(monkeypatch):
    made = {
        name: query_files.parse(f'/*--- toml\nanswers = "A test."\n{front}\n---*/\n{sql}', kind, name)
        for name, (kind, front, sql) in FILES.items()
    }
    known = queries.queries()
    monkeypatch.setattr(queries, "queries", lambda: {**known, **made})


def rows(lake, text, **params):
    return lake.sql(text, **params).fetchall()


@pytest.mark.parametrize(
    ("argument", "n"),
    [
        ("captions", 8),
        ("images", 6),
        ("main.images", 6),
        ("'images'", 6),
        ("humans", 4),
        ("humans()", 4),
        ("'humans()'", 4),
        ("of('human')", 4),
        ("of(origin := 'alt_text')", 3),
        ("of('human', rows := humans)", 4),
        ("(SELECT * FROM captions LIMIT 3)", 3),
        ("'(SELECT * FROM captions LIMIT 3)'", 3),
        ("(SELECT * FROM of('human') UNION ALL SELECT * FROM humans)", 8),
        ("(FROM images WHERE width > 300)", 3),
        ("meta.tables", 4),
        ("lists.gender_gensynth", None),
        ("top_k(captions, captions, 'random', 2)", None),
        ("mine", 2),
        ("sizes(images)", 1),
    ],
)
def test_a_relation_argument_of_any_kind(lake, argument, n):
    text = f"WITH mine AS (SELECT * FROM captions LIMIT 2) SELECT n FROM sizes(rows := {argument})"
    ((got,),) = rows(lake, text)
    assert got == n if n is not None else got > 0


def test_scalars_and_their_types(lake):
    text = "SELECT least, factor, word, k, flag FROM sizes(least := 2, factor := 3, word := 'it''s', k := [7], flag := true)"
    assert rows(lake, text) == [(2, 3.0, "it's", [7], True)]
    text = "SELECT least, factor, word, k, flag FROM sizes(captions, '2', '0.5', 'a; b', '3, 4', 'yes')"
    assert rows(lake, text) == [(2, 0.5, "a; b", [3, 4], True)]
    assert rows(lake, "SELECT word, least FROM sizes(word := NULL)") == [(None, 0)]


def test_values_of_the_user_are_arguments(lake):
    got = rows(lake, "SELECT n, word FROM sizes(rows := of($o), word := $o) WHERE n > $n", o="human", n=1)
    assert got == [(4, "human")]


def test_audits_from_python(lake):
    result = lake.audit("sizes", rows="images", least=2, factor=0.25, word="w'", k=[1], flag=True)
    assert result.fetchall()[0][:6] == (6, 2, 0.25, "w'", [1], True)
    for relation in ("of('human')", "(SELECT * FROM captions LIMIT 4)", lake.sql("SELECT * FROM captions LIMIT 4")):
        assert lake.audit("sizes", rows=relation).fetchall()[0][0] == 4
    with pytest.raises(SqlError, match="no parameter 'row'; did you mean 'rows'"):
        lake.audit("sizes", row="images")


def test_every_row_of_an_audit_says_its_parameters(lake):
    ((params,),) = rows(lake, "SELECT params FROM sizes(rows := of('human'), k := [3], word := 'ü')")
    assert json.loads(params) == {
        "rows": "of('human')",
        "least": 0,
        "factor": 1.5,
        "word": "ü",
        "k": [3],
        "flag": False,
    }


def test_negative_numbers_stay_whole(lake):
    assert rows(lake, "SELECT * FROM minus()") == [(13, 3, -6)]
    assert rows(lake, "SELECT * FROM minus(-5)") == [(15, 5, -10)]
    assert rows(lake, "SELECT * FROM minus(n := 5)") == [(5, -5, 10)]


def test_a_default_may_name_another_parameter(lake):
    assert rows(lake, "SELECT x, y FROM both(captions)") == [(8, 4)]
    assert rows(lake, "SELECT x, y FROM both(a := of('alt_text'))") == [(3, 0)]
    assert rows(lake, "SELECT x, y FROM both(captions, images)") == [(8, 6)]


def test_names_inside_a_file_are_its_own(lake):
    """``both`` has an expression called captions, and so has the user: neither reads the other's."""
    assert rows(lake, "SELECT x, y, one FROM both(captions)") == [(8, 4, 1)]
    assert rows(lake, "SELECT x, y, one FROM both((SELECT * FROM captions LIMIT 3))") == [(3, 3, 1)]
    text = "WITH a AS (SELECT 1), rows AS (SELECT 2) SELECT x FROM both(images, images)"
    assert rows(lake, text) == [(6,)]
    mine = "WITH counts AS (SELECT image_id, 'x' AS label FROM images) SELECT label, images FROM group_sizes(counts, 1)"
    assert rows(lake, mine) == [("x", 6)]
    placed = mine.replace("counts", "placed")
    assert rows(lake, placed) == [("x", 6)]


@pytest.mark.parametrize("word", ["WITH", "WITH RECURSIVE"])
def test_an_expression_named_like_what_a_view_reads_is_not_read_by_it(lake, word):
    both = f"{word} captions AS (SELECT 1 AS origin) SELECT (SELECT count(*) FROM humans), count(*) FROM captions"
    ((n,),) = rows(lake, "SELECT count(*) FROM humans")
    assert n != 1
    assert rows(lake, both) == [(n, 1)]


def test_an_expression_with_the_name_of_a_view_wins_for_the_user(lake):
    assert rows(lake, "WITH humans AS (SELECT 1 AS one) SELECT * FROM humans") == [(1,)]
    assert rows(lake, "WITH humans AS (SELECT 1 AS one) SELECT n FROM nested()") == [(4,)]


def test_views_call_views(lake):
    assert rows(lake, "SELECT n FROM nested()") == [(4,)]
    assert rows(lake, "SELECT n FROM nested('alt_text')") == [(0,)]


def test_the_same_call_is_expanded_once(lake):
    text = lake.session().expand("SELECT * FROM sizes(humans) AS a, sizes(humans) AS b, sizes(images) AS c")
    assert text.count("COUNT(*) AS n") == 2
    assert len(rows(lake, "SELECT * FROM sizes(humans) AS a JOIN sizes(humans) AS b ON a.n = b.n")) == 1


def test_calls_everywhere_a_relation_may_stand(lake):
    assert rows(lake, "SELECT (SELECT n FROM sizes(humans)) + (SELECT n FROM sizes(images))") == [(10,)]
    assert rows(lake, "SELECT count(*) FROM images WHERE 4 IN (SELECT n FROM sizes(humans))") == [(6,)]
    assert rows(
        lake, "WITH t AS (SELECT n FROM sizes(humans)) SELECT * FROM t UNION SELECT n FROM sizes(images) ORDER BY 1"
    ) == [
        (4,),
        (6,),
    ]
    assert rows(
        lake, "SELECT s.n, humans.caption_id FROM humans JOIN sizes(images) AS s ON true ORDER BY 2 LIMIT 1"
    ) == [(6, 11)]
    assert rows(lake, "FROM of('human') SELECT count(*)") == [(4,)]
    assert rows(lake, "SELECT o.caption_id FROM of('human') o ORDER BY 1 LIMIT 1") == [(11,)]
    assert rows(lake, "SELECT of.caption_id FROM of('human') ORDER BY of.caption_id LIMIT 1") == [(11,)]


def test_expressions_of_the_user_reach_table_functions(lake):
    """What top_k ranks may be built step by step, in any order of functions, audits and plain SQL."""
    text = (
        "WITH some AS (SELECT * FROM captions WHERE caption_id < 15), short AS (SELECT caption_id, image_id, lower(text) AS text FROM some), "
        "h AS (SELECT * FROM top_k(short, some, k := [1], exclude_own := false)) "
        "SELECT query_id, item_id FROM h JOIN some ON caption_id = item_id ORDER BY 1"
    )
    assert rows(lake, text) == [(11, 11), (12, 12), (13, 13), (14, 14)]
    recursive = text.replace(
        "WITH some", "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3), some"
    )
    assert rows(lake, recursive) == [(11, 11), (12, 12), (13, 13), (14, 14)]
    functions = "WITH n AS (SELECT caption_id, vader(text) AS score, text FROM captions) SELECT count(*) FROM top_k(n, n, k := [2])"
    assert rows(lake, functions) == [(16,)]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("sizes(images, 1, 2.0, 'x', [1], true, 'more')", "E3110"),
        ("sizes(nothing := 1)", "E3111"),
        ("sizes(images, rows := captions)", "E3112"),
        ("sizes(rows := 5)", "E3113"),
        ("sizes(rows := 'captions WHERE false')", "E3113"),
        ("sizes(rows := 'captions LIMIT 1')", "E3113"),
        ("sizes(rows := 'captions, images')", "E3113"),
        ("sizes(rows := 'captions TABLESAMPLE 10%')", "E3113"),
        ("sizes(rows := 'captions; SELECT 1')", "E3113"),
        ("sizes(rows := 'not a relation')", "E3113"),
        ("sizes(least := 1.5)", "E3114"),
        ("sizes(least := 'x')", "E3114"),
        ("sizes(flag := 'maybe')", "E3114"),
        ("sizes(k := ['x'])", "E3114"),
        ("sizes(least := 1 + 1)", "E3115"),
        ("sizes(least := (SELECT 1))", "E3115"),
        ("sizes(word := -'x')", "E3115"),
        ("sizes(word := lists.crime_words)", "E3115"),
        ("of()", "E3116"),
    ],
)
def test_wrong_arguments(lake, call, code):
    with pytest.raises(RequestError) as caught:
        rows(lake, f"SELECT * FROM {call}")
    wanted = {code, "E3201"} if "; SELECT" in call else {code}
    assert caught.value.code in wanted


def test_a_relation_that_is_not_there(lake):
    with pytest.raises(NotFoundError, match="no table 'captoins'; did you mean 'captions'"):
        rows(lake, "SELECT * FROM sizes(captoins)")


def test_expanded_text_is_plain_sql_over_base_tables(lake):
    with lake.session() as session:
        text = session.expand("SELECT n FROM sizes(rows := of('human'), least := 2) WHERE n > $x", x=1)
        assert "sizes(" not in text
        assert ":=" not in text
        assert "FROM captions" in text
        assert "2" in text
        assert session.sql(text, x=1).fetchall() == [(4,)]


def test_plans_are_of_the_expanded_query(lake):
    with lake.session() as session:
        assert "human" in session.explain("SELECT n FROM sizes(rows := humans)")
