"""Errors are the user's: what is wrong, where in the text, what was perhaps meant, and what to do."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.errors import CounterbalanceError, NotFoundError, RequestError, SqlError


def fails(lake, text, **params) -> CounterbalanceError:
    with pytest.raises(CounterbalanceError) as caught:
        lake.sql(text, **params).fetchall()
    return caught.value


def caret(error) -> str:
    """The part of the line at the caret."""
    line, mark = error.excerpt().split("\n")
    assert mark.strip() == "^"
    return line[mark.index("^") :]


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("SELECT nothing FROM images", "E3103", "nothing FROM"),
        ("SELECT key,\n       widht\nFROM images", "E3103", "widht"),
        ("SELECT key\nFROM images\nWHERE heigth > 3", "E3103", "heigth > 3"),
        ("SELECT images.nothing FROM images", "E3103", "images.nothing"),
        ("SELECT i.key FROM images AS j", "E3103", "i.key"),
        ("SELECT nofunction(key) FROM images", "E3104", "nofunction(key)"),
        ("SELECT key FROM images GROUP BY width", "E3103", "key FROM"),
        ("SELECT sum(key) FROM images", "E3103", "sum(key)"),
        ("SELECT key + 1 FROM images WHERE key = 'one'", "E3103", "+ 1"),
        ("SELECT key\n, key::INTEGER FROM images", "E3105", "::INTEGER"),
        ("SELECT 'é' AS ü, nothing FROM images", "E3103", "nothing FROM"),
        ("FROM demographics(\n  group := caption_gender)", "E3111", "group :="),
        ("FROM demographics(caption_gender, 5, captions, NULL, 7)", "E3110", "demographics("),
        ("FROM demographics(groups := captions, groups := images)", "E3112", "groups := captions"),
        ("SELECT 1 FROM demographics(min_count := 'many')", "E3114", "'many'"),
        ("SELECT 1 FROM demographics(min_count=-1)", "E3134", "-1"),
        ("FROM bias_transfer()", "E3116", "bias_transfer()"),
        ("FROM demographics(groups := (SELECT image_id FROM images))", "E3131", "(SELECT image_id"),
        ("FROM demographics(groups := images)", "E3131", "images)"),
        ("SELECT vader(text, rulez := 'nltk') FROM captions", "E3111", "rulez"),
        ("SELECT vader(text, rules := text) FROM captions", "E3115", "text) FROM"),
        ("SELECT 1 / 'a'", "E3105", "'a'"),
        ("ALTER TABLE captions\nADD COLUMN text AS (1)", "E3171", "text AS"),
        ("ALTER TABLE captions ADD COLUMN c AS (c + 1)", "E3173", "c AS"),
        ("ALTER TABLE captions ADD COLUMN c AS (1) WITH (schedule = '@dayly')", "E3080", "@dayly"),
        ("ALTER TABLE captions ADD COLUMN c INTEGER AS ([1])", "E3144", "INTEGER AS"),
        ("ALTER TABLE captions ADD COLUMN c AS (vader(text, 'x'))", "E3051", "x'"),
        ("CREATE MATERIALIZED VIEW v\nWITH (key = 'k') AS SELECT 1 AS k FROM captions", "E3177", "k FROM"),
        ("CREATE MATERIALIZED VIEW v WITH (key = 'k') AS SELECT NULL::BIGINT AS k", "E3177", "k"),
        ("CREATE INDEX ON captions USING btre (text)", "E3410", "btre"),
        ("CREATE INDEX ON captions USING fts (text)\nWITH (stem = 3)", "E3412", "stem"),
        ("CREATE INDEX ON captions (txt)", "E3413", "txt"),
        ("CREATE INDEX ON captions USING ivf_rq (text)", "E3414", "text"),
        ("SELECT g.label, g.nope FROM caption_gender g", "E3103", "g.nope FROM"),
        ("SELECT text FROM captions WHERE text = 'txt' AND txt = vader(text)", "E3103", "txt = vader"),
        ("SELECT 'lenght', lenght(text), vader(text) FROM captions", "E3104", "lenght(text)"),
        ("SELECT 1 -- vadr\n, vader(text), vadr(text) FROM captions", "E3104", "vadr(text)"),
        ("SELECT i.id FROM caption_gender c JOIN images i ON c.image_id = i.id", "E3103", "i.id FROM"),
        ("WITH a AS (SELECT vader(text) AS v FROM captions) SELECT a.nope FROM a", "E3103", "a.nope"),
        (
            "SELECT image_id AS \"it's\", vadr(text), vader(text) FROM captions WHERE 'vadr' = text",
            "E3104",
            "vadr(text)",
        ),
        ('SELECT i.key, "c"."key", vader(text) FROM images i, captions c', "E3103", '"c"."key"'),
        ("SELECT /* /* vadr */ vadr */ vader(text), vadr(text) FROM captions", "E3104", "vadr(text)"),
        ("SELECT e'a\\'vadr', vader(text), vadr(text) FROM captions", "E3104", "vadr(text)"),
    ],
)
def test_the_caret_is_under_the_place(lake, text, code, at):
    error = fails(lake, text)
    assert isinstance(error, SqlError)
    assert error.code == code
    assert caret(error).startswith(at)
    assert error.to_dict()["line"] == error.line


@pytest.mark.parametrize(
    ("text", "line", "near"),
    [
        ("SELEC 1", 1, "SELEC"),
        ("SELECT 1 FRM images", 1, "images"),
        ("SELECT (1", 1, ""),
        ("SELECT key\nFROM images\nWHERE", 3, ""),
        ("SELECT key\nFROM images\nGROUP key", 3, "key"),
        ("SELECT * FROM images WHERE key = 'x' AND AND width > 1", 1, "AND"),
    ],
)
def test_syntax_errors_have_a_line(lake, text, line, near):
    error = fails(lake, text)
    assert error.code in {"E3102", "E3202"}
    if error.code == "E3102":
        assert error.line == line
        assert error.excerpt().startswith(f"LINE {line}: ")
        assert near in error.excerpt()


def test_an_open_string(lake):
    error = fails(lake, "SELECT 'abc FROM images")
    assert error.code == "E3102"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("SELECT * FROM captoins", "captions"),
        ("SELECT * FROM imges", "images"),
        ("SELECT * FROM caption_gendre", "caption_gender"),
        ("SELECT * FROM lists.crime_word", "lists.crime_words"),
        ("SELECT * FROM meta.table", "meta.tables"),
        ("SELECT widht FROM images", "width"),
        ("SELECT vadr(text) FROM captions", "vader"),
        ("SELECT * FROM caption_gender(ruel := 'words')", "rule"),
        ("SELECT * FROM crime_wrods()", "crime_words"),
        ("SELECT * FROM caption_gendre()", "caption_gender"),
        ("SELECT * FROM topk(captions, captions)", "top_k"),
    ],
)
def test_what_was_perhaps_meant(lake, text, meant):
    error = fails(lake, text)
    assert meant in f"{error} {error.hint}"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("SELECT * FROM nothing_like_it", 1, 15),
        ("SELECT 'nothing_like_it' -- nothing_like_it\nFROM nothing_like_it", 2, 6),
        ("SELECT * FROM nothing_like_it()", 1, 15),
        ("SELECT nothing_like_it(text) FROM captions", 1, 8),
    ],
)
def test_what_is_not_there_is_pointed_at(lake, text, line, column):
    error = fails(lake, text)
    assert (error.line, error.column) == (line, column)
    assert str(error).split("\n")[2].index("^") == len(f"LINE {line}: ") + column - 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "E3101"),
        ("  \n ", "E3101"),
        ("-- nothing but a comment", "E3101"),
        ("SELECT * FROM nothing_like_it", "E1001"),
        ("SELECT * FROM nothing_like_it()", "E1004"),
        ("SELECT 1; SELECT 2", "E3201"),
        ("DELETE FROM images", "E3202"),
        ("SELECT * FROM read_text('x.csv')", "E3203"),
        ("SELECT * FROM read_csv('x.csv')", "E3202"),
        ("SELECT * FROM 'x.csv'", "E3204"),
        ("SELECT $missing", "E3119"),
        ("SELECT * FROM caption_gender(1, 2, 3, 4)", "E3110"),
        ("SELECT * FROM caption_gender(nothing := 1)", "E3111"),
        ("SELECT * FROM caption_gender(rule := 'words', rule := 'words')", "E3112"),
        ("SELECT * FROM caption_gender(words := 5)", "E3113"),
        ("SELECT * FROM demographics(min_count := 'many')", "E3114"),
        ("SELECT * FROM demographics(min_count := image_id)", "E3115"),
        ("SELECT * FROM image_labels()", "E3116"),
        ("SELECT * FROM top_k(captions)", "E3116"),
        ("SELECT * FROM top_k(captions, captions, k := [0])", "E3120"),
        ("SELECT * FROM top_k(captions, captions, k := [])", "E3120"),
        ("SELECT * FROM top_k(captions, captions, ranker := 'best')", "E3130"),
        ("SELECT * FROM top_k((SELECT 'x' AS text), captions)", "E3122"),
        ("SELECT * FROM top_k(images, captions)", "E3123"),
        ("SELECT * FROM top_k((SELECT 1 AS id, text FROM captions), captions)", "E3124"),
    ],
)
def test_every_code_has_a_way_out(lake, text, code):
    error = fails(lake, text)
    assert error.code == code
    assert error.message
    assert "Traceback" not in str(error)
    without_hint = {"E3102", "E3112", "E3114", "E3115", "E3116", "E3120", "E3122", "E3203", "E3124"}
    assert error.hint or code in without_hint


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("SELECT image.key FROM images", "no table 'image' in FROM; did you mean 'images'?", None),
        ("SELECT captions.text FROM images", "no table 'captions' in FROM", "FROM has images"),
        ("SELECT images.key FROM images AS i", "no table 'images' in FROM", "FROM has i"),
    ],
)
def test_a_table_that_is_not_in_from(lake, text, message, hint):
    error = fails(lake, text)
    assert (error.code, error.message, error.hint) == ("E3103", message, hint)


def test_what_a_function_takes_is_said(lake):
    error = fails(lake, "SELECT upper(width) FROM images")
    assert error.hint == "it takes upper(string VARCHAR) -> VARCHAR"
    ours = fails(lake, "SELECT vader([1]) FROM captions")
    assert "'vader(INTEGER[])'" in ours.message
    assert ours.hint == "it takes vader(VARCHAR) -> DOUBLE"
    assert caret(ours).startswith("vader([1])")
    for many in ("SELECT sum(key) FROM images", "SELECT $x + 1"):
        assert "cast" in fails(lake, many, **({"x": "three"} if "$" in many else {})).hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELECT demographics() FROM captions", "demographics is an audit: FROM demographics(…)"),
        ("SELECT caption_gender() FROM captions", "caption_gender is a view: FROM caption_gender(…)"),
        ("SELECT * FROM vader(text)", "vader is a function: SELECT vader(…)"),
        ("SELECT vader FROM captions", "vader is a function: SELECT vader(…)"),
        ("SELECT * FROM vader", "vader is a function: SELECT vader(…)"),
        ("SELECT knn(1)", "knn is a table function: FROM knn(…)"),
        ("SELECT top_k FROM captions", "top_k is a table function: FROM top_k(…)"),
    ],
)
def test_what_stands_elsewhere_is_told(lake, text, hint):
    error = fails(lake, text)
    assert error.hint == hint
    assert "did you mean" not in error.message


def test_a_column_that_is_there_is_meant_rather(lake):
    assert "did you mean 'ratios'?" in fails(lake, "SELECT ratio FROM (SELECT 1 AS ratios) t").message
    assert fails(lake, "SELECT t.ratio FROM (SELECT 1 AS ratios) t").hint is None


def test_a_table_behind_an_expression_of_its_name_is_not_meant(lake):
    error = fails(lake, "WITH captions AS (SELECT image_id FROM captions) SELECT captions.text FROM captions")
    assert error.message == "no column 'text' in captions"


def test_a_place_inside_of_what_an_audit_reads(lake):
    """The audit is expanded, but the excerpt is of what the user wrote."""
    text = "SELECT label\nFROM caption_gender\nWHERE nothing = 1"
    error = fails(lake, text)
    assert error.sql == text
    assert error.line == 3
    assert caret(error).startswith("nothing")


def test_a_column_of_an_answer_that_is_not_there(lake):
    error = fails(lake, "SELECT labels FROM caption_gender()")
    assert "labels" in str(error)
    assert error.line == 1


def test_internal_names_stay_inside(lake):
    for text in (
        "SELECT nothing FROM caption_gender",
        "SELECT split, license, nothing FROM images GROUP BY ALL",
        "SELECT * FROM caption_gender AS g JOIN images USING (nothing)",
    ):
        error = fails(lake, text)
        assert "__" not in str(error)


def test_a_lake_that_is_not_there(tmp_path):
    import counterbalance as cb

    with pytest.raises(NotFoundError) as caught:
        cb.connect(tmp_path / "no.lake").sql("SELECT 1")
    assert caught.value.code == "E1005"
    assert "ingest" in caught.value.hint


def test_a_damaged_lake_is_named(disk_lake, build):
    from counterbalance.engine.errors import StorageError

    disk_lake.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"])})
    for file in (disk_lake.location.path / "images.lance" / "data").iterdir():
        file.write_bytes(b"")
    with pytest.raises(StorageError) as caught:
        disk_lake.sql("SELECT key FROM images").fetchall()
    assert "table 'images'" in str(caught.value)
    assert "/rustc/" not in str(caught.value)


def test_functions_say_what_they_take(lake):
    error = fails(lake, "SELECT vader() FROM captions")
    assert error.code == "E3116"
    assert error.hint.startswith("vader(text")


def test_an_error_in_a_function_is_no_traceback(lake, monkeypatch):
    from counterbalance.engine import functions as registry

    def broken(text):
        raise RuntimeError("the model file is gone")

    import pyarrow as pa

    broken_one = registry.Function("broken", broken, (registry.Parameter("text", pa.string()),), pa.string(), "1")
    registry.functions()
    monkeypatch.setitem(registry._registry, "broken", broken_one)
    error = fails(lake, "SELECT broken(text) FROM captions")
    assert "the model file is gone" in str(error)


def test_sql_that_nobody_wrote_is_not_shown(lake):
    with pytest.raises(SqlError) as caught:
        lake.sql("FROM association(captions, (SELECT 'a' AS category, [1.0, 2.0] AS embedding))").fetchall()
    error = caught.value
    assert (error.code, error.line) == ("E3103", None)
    assert error.message == "no column 'embedding'"
    assert "double quotes" not in error.hint


def test_the_place_is_in_what_python_shows(lake):
    error = fails(lake, "SELECT nothing FROM images")
    assert str(error).split("\n")[1:3] == ["LINE 1: SELECT nothing FROM images", " " * 15 + "^"]


def test_a_setting_that_is_written_wrongly_is_no_value(lake):
    for given in ({"tiemout": 3}, {"tiemout": pa.table({"a": [1]})}):
        error = fails(lake, "SELECT 1", **given)
        assert error.code == "E3043"
        assert "did you mean 'timeout'?" in error.message
    mine = pa.table({"a": [1]})
    assert lake.sql("SELECT a + $one FROM Mine", one=1, mine=mine).fetchall() == [(2,)]


def test_what_is_missing_of_an_ingest_is_told(lake, tmp_path):
    with pytest.raises(NotFoundError, match=r"labels\.csv") as missing:
        lake.ingest("labels.csv")
    assert missing.value.code == "E1006"
    with pytest.raises(RequestError, match="no option 'splitt'; did you mean 'split'") as caught:
        lake.ingest("labels.csv", "labels", splitt="x")
    assert caught.value.code == "E3046"
