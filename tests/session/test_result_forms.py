"""One answer in every form that people use; lazy until it is read."""

from __future__ import annotations

import base64
import io
import re
import threading

import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.errors import RequestError
from counterbalance.engine.result import Result

QUERY = "SELECT image_id, key, width FROM images ORDER BY image_id"


@pytest.fixture
def counted():
    """A result over three rows that counts how often its query runs."""
    table = pa.table({"a": [1, 2, 3], "b": ["x", None, "<b>"]})
    runs = []

    def start():
        runs.append(1)
        yield from table.to_batches(max_chunksize=1)

    return Result(start, lambda: table.schema, "SELECT 1 < 2"), runs


def test_nothing_runs_before_it_is_read(counted):
    result, runs = counted
    assert result.columns == ["a", "b"]
    assert result.schema.names == ["a", "b"]
    assert runs == []


def test_kept_rows_are_read_once(counted):
    result, runs = counted
    first = result.to_arrow()
    assert result.to_arrow() is first
    assert result.fetchall() == [(1, "x"), (2, None), (3, "<b>")]
    assert len(result.df()) == len(result.pl()) == len(result) == 3
    assert result.to_batches().read_all() == first
    assert runs == [1]


def test_streams_keep_nothing(counted):
    result, runs = counted
    assert result.to_batches().read_all().num_rows == 3
    assert result.to_batches().read_all().num_rows == 3
    assert runs == [1, 1]


def test_two_threads_read_once(counted):
    result, runs = counted
    threads = [threading.Thread(target=result.to_arrow) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert runs == [1]


def test_a_query_that_is_wrong_fails_when_it_is_written_or_read(lake):
    from counterbalance.engine.errors import NotFoundError, SqlError

    with pytest.raises(NotFoundError):
        lake.sql("SELECT * FROM nothing")
    wrong = lake.sql("SELECT nothing FROM images")
    with pytest.raises(SqlError):
        wrong.to_arrow()


def test_arrow(lake):
    table = lake.sql(QUERY).to_arrow()
    assert table.schema.types == [pa.int64(), pa.string(), pa.int32()]
    assert table["width"].to_pylist() == [640, 320, 200, 640, None, 100]


def test_pandas(lake):
    frame = lake.sql(QUERY).df()
    assert list(frame.columns) == ["image_id", "key", "width"]
    assert frame["key"].tolist() == ["one", "two", "three", "four", "five", "six"]
    assert lake.sql(QUERY).to_pandas().equals(frame)


def test_polars(lake):
    import polars as pl

    frame = lake.sql(QUERY).pl()
    assert frame.schema == {"image_id": pl.Int64, "key": pl.String, "width": pl.Int32}
    assert lake.sql(QUERY).to_polars().equals(frame)


def test_one_column_is_a_frame_too(lake):
    assert lake.sql("SELECT key FROM images").pl().shape == (6, 1)


def test_anything_that_takes_an_arrow_stream(lake):
    import duckdb
    import polars as pl

    result = lake.sql(QUERY)
    assert pa.table(result).num_rows == 6
    assert pa.RecordBatchReader.from_stream(result).read_all().num_rows == 6
    assert pl.DataFrame(result).height == 6
    with duckdb.connect() as connection:
        assert connection.sql("SELECT sum(width) FROM result").fetchall() == [(1900,)]


def test_an_answer_is_a_source(lake, empty_lake, tmp_path):
    import counterbalance as cb

    other = cb.connect(tmp_path / "b.lake")
    report = other.ingest({"images": lake.sql("SELECT * FROM images"), "captions": lake.sql("SELECT * FROM captions")})
    assert report.written == 14
    assert other.sql(QUERY).fetchall() == lake.sql(QUERY).fetchall()


def test_an_answer_is_an_argument(lake):
    words = lake.sql("SELECT 'rides' AS term, 'male' AS class UNION ALL SELECT 'reads', 'female'")
    with lake.session() as session:
        bound = session.bind("words", words.to_arrow())
        got = session.sql(f"SELECT * FROM caption_gender(words := {bound}) WHERE label <> 'unclear' ORDER BY 1")
        assert got.fetchall() == [(1, "male"), (2, "female")]


def test_empty_answers_keep_their_types(lake):
    for text in ("SELECT * FROM images WHERE false", "SELECT 1 AS a, 'x' AS b LIMIT 0"):
        result = lake.sql(text)
        assert result.fetchall() == []
        assert result.to_arrow().schema == result.schema
        assert result.df().empty
        assert result.pl().is_empty()


def test_columns_of_one_name_are_told_apart(lake):
    result = lake.sql("SELECT 1 AS a, 2 AS a, 3 AS b")
    assert result.fetchall() == [(1, 2, 3)]
    assert len(set(result.columns)) == 3
    assert result.pl().shape == (1, 3)
    assert len(set(result.df().columns)) == 3


def test_every_type_comes_through(lake):
    text = (
        "SELECT 1::TINYINT AS a, 2::UTINYINT AS b, 3::HUGEINT AS c, 1.5::DECIMAL(5, 2) AS d, 1.5::FLOAT AS e, "
        "DATE '2024-02-29' AS f, TIMESTAMP '2024-02-29 12:00:00' AS g, TIMESTAMPTZ '2024-02-29 12:00:00+00' AS h, "
        "INTERVAL 1 DAY AS i, TIME '12:00:00' AS j, 'x'::BLOB AS k, [1, 2] AS l, {'a': 1} AS m, MAP {'a': 1} AS n, "
        "[1.0, 2.0]::FLOAT[2] AS o, NULL AS p, 'a'::ENUM ('a', 'b') AS q, '[1]'::JSON AS r, true AS s, "
        "'00000000-0000-0000-0000-000000000001'::UUID AS t, '101'::BIT AS u"
    )
    result = lake.sql(text)
    table = result.to_arrow()
    assert table.num_rows == 1
    assert table.schema == result.schema
    assert len(result.fetchall()[0]) == 21
    assert result.df().shape == (1, 21)


def test_max_rows(lake):
    cut = lake.sql(QUERY, max_rows=4)
    assert [r[0] for r in cut.fetchall()] == [1, 2, 3, 4]
    assert cut.notes == ["stopped after 4 rows"]
    for enough in (6, 7):
        whole = lake.sql(QUERY, max_rows=enough)
        assert len(whole) == 6
        assert whole.notes == []
    assert lake.sql(QUERY, max_rows=0).fetchall() == []


def test_a_note_is_said_once(lake):
    result = lake.sql(QUERY, max_rows=4)
    for _ in range(3):
        assert result.to_batches().read_all().num_rows == 4
    assert result.notes == ["stopped after 4 rows"]


def test_what_is_shown_is_computed_once(counted):
    result, runs = counted
    assert repr(result).splitlines()[1:7] == [
        "│   a   │    b    │",
        "│ int64 │ varchar │",
        "├───────┼─────────┤",
        "│     1 │ x       │",
        "│     2 │ NULL    │",
        "│     3 │ <b>     │",
    ]
    assert repr(result).endswith("┘\n3 rows")
    assert result._repr_html_().endswith("<p>3 rows</p>")
    assert runs == [1]
    result.to_arrow()
    assert repr(result).endswith("\n3 rows")
    assert runs == [1, 1]


def test_only_the_first_rows_are_computed_to_be_shown():
    taken = []

    def start():
        for number in range(100):
            taken.append(number)
            yield pa.record_batch({"a": [2 * number, 2 * number + 1]})

    schema = pa.schema([("a", pa.int64())])
    result = Result(start, lambda: schema, "SELECT 1")
    told = "the first 20 rows; .df(), .pl(), .to_arrow() or .fetchall() read all"
    assert repr(result).endswith(told)
    assert result._repr_html_().endswith(f"<p>{told}</p>")
    assert "│    19 │\n└" in repr(result)
    assert len(taken) == 11
    result.to_arrow()
    assert repr(result).endswith("200 rows, 20 shown")


def test_without_rows_or_columns():
    empty = pa.schema([("a", pa.int64())])
    shown = Result(lambda: iter([]), lambda: empty, "SELECT 1")
    assert repr(shown).endswith("\n0 rows")
    assert ">a</th>" in shown._repr_html_()
    nothing = Result(lambda: iter([]), lambda: pa.schema([]), "DROP")
    assert repr(nothing) == "0 rows"
    assert nothing._repr_html_().endswith("<p>0 rows</p>")


def test_pictures_are_shown_small():
    whole = image_bytes(Image.new("RGB", (640, 480), "navy"))
    data = [whole, b"no picture", whole[:60]]
    table = pa.table({"image": pa.array(data, pa.binary()), "a": ["x", "y", "z"]})
    page = Result(lambda: iter(table.to_batches()), lambda: table.schema, "SELECT 1")._repr_html_()
    (shown,) = re.findall(r'<img src="data:image/jpeg;base64,([^"]+)"', page)
    assert Image.open(io.BytesIO(base64.b64decode(shown))).size == (128, 96)
    assert "no picture" in page


def test_columns_of_one_name_are_all_shown():
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    page = Result(lambda: iter(table.to_batches()), lambda: table.schema, "SELECT 1")._repr_html_()
    assert re.findall("<td[^>]*>(.*?)</td>", page) == ["1", "2"]


def test_numbers_stand_at_the_right_to_six_digits():
    table = pa.table({"a": [0.32655745871039177], "b": ["x"], "c": [7], "d": [True], "e": [1e-12]})
    page = Result(lambda: iter(table.to_batches()), lambda: table.schema, "SELECT 1")._repr_html_()
    cells = re.findall('<td style="text-align: (left|right);[^>]*>(.*?)</td>', page)
    assert cells == [("right", "0.326557"), ("left", "x"), ("right", "7"), ("left", "True"), ("right", "1e-12")]


def test_html(counted):
    result, _ = counted
    page = result._repr_html_()
    assert page.count("<tr>") == 4
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "NULL" in page


def test_html_of_hostile_and_long_answers(lake):
    result = lake.sql(
        "SELECT '<script>alert(1)</script>' AS \"<img src=x onerror=y>\", repeat('x', 1000) AS long, range FROM range(30)"
    )
    result.to_arrow()
    page = result._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert "x" * 201 not in page
    assert "30 rows, 20 shown" in page


def test_two_answers_of_a_session_are_read_side_by_side(lake):
    with lake.session() as session:
        one, two = session.sql(QUERY).to_batches(), session.sql("SELECT range FROM range(200000)").to_batches()
        first = two.read_next_batch().num_rows
        assert one.read_all().num_rows == 6
        assert first + two.read_all().num_rows == 200_000


def test_reading_after_the_session_is_closed(lake):
    with lake.session() as session:
        kept, unread = session.sql(QUERY), session.sql(QUERY)
        kept.to_arrow()
    assert len(kept.fetchall()) == 6
    with pytest.raises(RequestError, match="closed"):
        unread.fetchall()
    session.close()


@pytest.mark.parametrize(("form", "package"), [("df", "pandas"), ("pl", "polars")])
def test_a_package_that_is_not_there_is_named(counted, monkeypatch, form, package):
    result, runs = counted
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == package else object())
    with pytest.raises(RequestError, match=f"needs {package}, which is not installed") as caught:
        getattr(result, form)()
    assert (caught.value.code, caught.value.hint) == (
        "E3044",
        f"pip install {package}, or read the rows with to_arrow() or fetchall()",
    )
    assert runs == []


def test_notes_stand_below_the_table():
    table = pa.table({"a": [1]})
    result = Result(lambda: iter(table.to_batches()), lambda: table.schema, "SELECT 1", notes=["hidden & gone"])
    result.to_arrow()
    assert result._repr_html_().endswith("</table><p>1 row</p><p>hidden &amp; gone</p>")
    assert repr(result).endswith("\n1 row\nhidden & gone")
