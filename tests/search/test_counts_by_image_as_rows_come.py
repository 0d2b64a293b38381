"""Groups by ``image_id`` of rows that lie image by image are counted over runs, with the rows that a hash table gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from beside_duckdb import agree, beside_duckdb
from hypothesis import given
from hypothesis import strategies as st

import counterbalance as cb
from counterbalance.engine.search import by_image

IMAGES = 60


def boxes(build, seed, first=0, step=1, count=500):
    """Boxes of images in order, or against it."""
    draw = np.random.default_rng(seed)

    def pick(values):
        return [values[i] for i in draw.integers(len(values), size=count)]

    return build.detections(
        detection_id=list(range(first, first + count)),
        image_id=np.sort(draw.integers(IMAGES, size=count))[::step].tolist(),
        category=pick(["person", "dog", None, "cat", "", "5"]),
        origin=pick(["human", "yolo", None]),
        score=pick([0.25, 0.5, None]),
    )


def made(build, folder, *parts):
    lake = cb.connect(folder)
    lake.ingest({"images": build.images(image_id=list(range(IMAGES + 40)))})
    for part in parts:
        lake.ingest({"detections": part})
    return lake


def one_file(build, folder):
    return made(build, folder, boxes(build, 1))


def files_that_touch(build, folder):
    """An image's boxes go on in the next file; the third file has one image alone."""
    whole = boxes(build, 1)
    return made(build, folder, whole.slice(0, 200), whole.slice(200, 1), whole.slice(201, 1), whole.slice(202))


@pytest.fixture(scope="module", params=[one_file, files_that_touch])
def both(request, build, tmp_path_factory):
    """A session on a lake, and a DuckDB connection with the same rows inside."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_image, "_ROWS", 64)  # so that images lie across batches
        lake = request.param(build, tmp_path_factory.mktemp("by_image") / "boxes.lake")
        with beside_duckdb(lake, "detections") as opened:
            yield opened


def is_counted(session, query):
    return "~by_image" in session.sql(query).sql


ANSWERED = [
    "SELECT image_id, count(*) AS n FROM detections GROUP BY image_id",
    "SELECT image_id, count(*) FROM detections GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 500",
    "SELECT image_id, count(*) FILTER (WHERE category = 'person') AS p, count(*) AS n FROM detections GROUP BY ALL",
    "SELECT count(*) FILTER (m > 0 AND f = 0) AS a, count(*) FILTER (f > 0) AS b FROM (SELECT image_id, count(*) FILTER "
    "(category = 'dog') AS m, count(*) FILTER (category = 'cat') AS f FROM detections WHERE origin = 'yolo' GROUP BY image_id)",
    "SELECT d.image_id, count(d.category) AS c FROM detections AS d WHERE d.category LIKE '%o%' GROUP BY d.image_id",
    "SELECT image_id, count(category NOT IN ('dog')) AS a, count(category IS NOT NULL) AS b, count(category = 'dog' OR "
    "category IS NULL) AS c, count(NOT category = 'dog') FILTER (origin = 'yolo') AS d FROM detections GROUP BY image_id",
    "SELECT image_id FROM detections WHERE category IN ('dog', 'cat') AND origin IS NOT NULL GROUP BY image_id",
    "SELECT image_id, count(*) > 3 AS many FROM detections GROUP BY image_id HAVING count(*) FILTER (category = '') < 2",
    "SELECT image_id, count(*) AS n FROM detections GROUP BY image_id HAVING n > 8 AND image_id < 20 ORDER BY n, image_id",
    "SELECT image_id, count(*) AS n FROM detections WHERE category = 'nothing' GROUP BY image_id",
    "SELECT count(*) AS n FROM detections GROUP BY image_id",
    "SELECT image_id, CASE WHEN count(*) FILTER (category = 'person' AND origin = 'human') > 0 THEN 'seen' END AS s "
    "FROM detections GROUP BY image_id",
    "SELECT image_id % 2 AS odd, count(*) AS n FROM detections GROUP BY image_id",
    "WITH n AS (SELECT image_id, count(*) AS n FROM detections GROUP BY ALL) SELECT n, count(*) AS images FROM n GROUP BY n",
]
READ = [
    "SELECT image_id, sum(score) AS s FROM detections GROUP BY image_id",
    "SELECT image_id, count(score) AS n FROM detections GROUP BY image_id",
    "SELECT image_id, count(*) AS n FROM detections WHERE score > 0.3 GROUP BY image_id",
    "SELECT image_id, count(*) FILTER (category = origin) AS n FROM detections GROUP BY image_id",
    "SELECT image_id, count(DISTINCT category) AS n FROM detections GROUP BY image_id",
    "SELECT image_id, category, count(*) AS n FROM detections GROUP BY ALL",
    "SELECT image_id + 1 AS image_id, count(*) AS n FROM detections GROUP BY image_id",
    "SELECT image_id, count(*) + 1 FROM detections GROUP BY image_id",
    "SELECT image_id, count(*) AS n1__ FROM detections GROUP BY image_id",
    "SELECT image_id, count(*) AS category FROM detections GROUP BY image_id HAVING category > 3",
    "SELECT image_id, count(*) AS n, rank() OVER (ORDER BY count(*)) AS r FROM detections GROUP BY image_id",
    "SELECT image_id, count(*) AS n FROM detections GROUP BY ROLLUP (image_id)",
    "SELECT image_id, count(*) AS n FROM detections AS d (image_id, detection_id) GROUP BY image_id",
    "SELECT DISTINCT count(*) AS n FROM detections GROUP BY image_id",
    "SELECT count(*) AS n, image_id FROM detections GROUP BY 0",
    "WITH detections AS (SELECT * FROM detections WHERE score > 0.3) SELECT image_id, count(*) AS n FROM detections GROUP BY 1",
    "SELECT image_id, count(*) AS n FROM detections WHERE category::INT > 4 GROUP BY image_id",  # fails for 'dog'
    "SELECT image_id, count(*) AS n FROM detections WHERE image_id < 9 GROUP BY image_id",
    "SELECT image_id, count(*) AS n FROM detections WHERE 1 = 1 GROUP BY image_id",
    "SELECT image_id, (SELECT count(*) FROM images) AS n FROM detections GROUP BY image_id",
]


@pytest.mark.parametrize("query", ANSWERED)
def test_same_rows_from_runs(both, query):
    assert is_counted(both[0], query)
    agree(both, query)


@pytest.mark.parametrize("query", READ)
def test_other_questions_are_hashed(both, query):
    assert not is_counted(both[0], query)
    both[1].register("images", both[0].sql("SELECT image_id FROM images").to_arrow())
    agree(both, query)


ITEMS = st.lists(
    st.sampled_from(
        ["image_id", "image_id AS i", "count(*) AS n", "count(*)", "count(category) AS c", "image_id * 2 AS d",
         "count(*) FILTER (category = 'person') AS p", "count(*) FILTER (WHERE origin IS NULL AND category > 'c') AS o",
         "count(origin) FILTER (category <> '') AS q", "count(*) FILTER (d.category = 'dog') > 0 AS dog", "category"]
    ),
    min_size=1, max_size=4,
)  # fmt: skip
WHERES = ["", "", "WHERE category = 'dog'", "WHERE category = 'dog' AND category = 'cat'", "WHERE upper(category) LIKE 'P%'",
          "WHERE category = 'cat' OR category IS NULL", "WHERE (category = 'cat' OR origin = 'human')", "WHERE false",
          "WHERE d.origin = 'human' AND NOT category = 'person'"]  # fmt: skip
GROUPS = [
    "GROUP BY image_id",
    "GROUP BY image_id",
    "GROUP BY ALL",
    "GROUP BY 1",
    "GROUP BY d.image_id",
    "GROUP BY i",
    "",
]
HAVINGS = ["", "", "HAVING count(*) > 5", "HAVING n = 3", "HAVING count(*) FILTER (origin = 'yolo') = 0"]


@given(ITEMS, *map(st.sampled_from, (WHERES, GROUPS, HAVINGS, ["", "ORDER BY ALL", "ORDER BY n", "ORDER BY image_id"])))
def test_any_group(both, items, where, group, having, order):
    agree(both, f"SELECT {', '.join(items)} FROM detections AS d {where} {group} {having} {order}")


def test_parameters(both):
    session, connection = both
    query = "SELECT image_id, count(*) AS n FROM detections WHERE category = $c GROUP BY image_id HAVING n > $least ORDER BY ALL"
    told = {"c": "person", "least": 1}
    assert "~by_image" in session.sql(query, **told).sql
    assert session.sql(query, **told).fetchall() == connection.sql(query, params=told).fetchall()


def test_a_result_is_read_twice(both):
    """The rows are counted anew for each reading: nothing is used up."""
    query = (
        "SELECT a.image_id, a.n, b.n FROM (SELECT image_id, count(*) AS n FROM detections GROUP BY image_id) a JOIN "
    )
    query += "(SELECT image_id, count(*) AS n FROM detections GROUP BY image_id) b USING (image_id)"
    assert is_counted(both[0], query)
    agree(both, query)


def against_the_order(build, folder):
    return made(build, folder, boxes(build, 1, step=-1))


def a_later_file_of_earlier_images(build, folder):
    whole = boxes(build, 1)
    return made(build, folder, whole.slice(250), whole.slice(0, 250))


def updated(build, folder):
    """Rows that say something else later lie in a file of their own."""
    whole = boxes(build, 1)
    later = whole.slice(0, 9).drop_columns("origin").append_column("origin", pa.array(["later"] * 9))
    return made(build, folder, whole, later)


@pytest.mark.parametrize("make", [against_the_order, a_later_file_of_earlier_images, updated])
def test_other_orders_are_hashed(build, tmp_path, make):
    query = "SELECT image_id, count(*) AS n, count(*) FILTER (origin = 'human') AS h FROM detections GROUP BY image_id"
    with beside_duckdb(make(build, tmp_path / "boxes.lake"), "detections") as both:
        assert not is_counted(both[0], query)
        agree(both, query)


def test_files_that_cannot_count_do_not_matter(build, tmp_path):
    """Labels of two attributes, each image by image, come one after the other: of one attribute they are in order."""
    lake = cb.connect(tmp_path / "two.lake")
    lake.ingest({"images": build.images(image_id=list(range(9)))})
    for first, attribute in ((0, "scene"), (9, "mood")):
        ids, values = list(range(first, first + 9)), list("aababbabb")
        labels = build.labels(label_id=ids, image_id=list(range(9)), attribute=[attribute] * 9, value=values)
        lake.ingest({"labels": labels})
    query = "SELECT image_id, count(*) FILTER (value = 'b') AS b FROM labels {} GROUP BY image_id ORDER BY image_id"
    with lake.session() as session:
        assert not is_counted(session, query.format(""))
        chosen = query.format("WHERE attribute = 'mood'")
        assert is_counted(session, chosen)
        assert [b for _, b in session.sql(chosen).fetchall()] == [int(v == "b") for v in "aababbabb"]
        assert [b for _, b in session.sql(query.format("")).fetchall()] == [2 * (v == "b") for v in "aababbabb"]
