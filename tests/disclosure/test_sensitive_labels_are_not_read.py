"""Perceived labels are not read without a purpose, whatever is asked; audits over many of them are."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.disclosure.cells import Cells
from counterbalance.engine.errors import CounterbalanceError, SensitiveError
from counterbalance.engine.sql import queries, query_files

RARE = "rare-secret"
"""Label of three images: too few to be shown in any audit."""
COMMON = ("common-secret-m", "common-secret-f")
IMAGES = 50


def rows(build):
    ids = list(range(1, IMAGES + 1))
    given = [RARE if i <= 3 else COMMON[i % 2] for i in ids]
    return {
        "images": build.images(image_id=ids, key=[f"k{i}" for i in ids], width=[100] * IMAGES, height=[100] * IMAGES),
        "captions": build.captions(caption_id=ids, image_id=ids, text=["a man"] * IMAGES),
        "labels": build.labels(
            label_id=[*ids, *(1000 + i for i in ids)],
            image_id=[*ids, *ids],
            attribute=["perceived_gender"] * IMAGES + ["scene"] * IMAGES,
            value=[*given, *(["outdoor"] * IMAGES)],
            annotator=["ann"] * (2 * IMAGES),
        ),
    }


@pytest.fixture(scope="module")
def labelled(tmp_path_factory, build):
    lake = cb.connect(tmp_path_factory.mktemp("sensitive") / "a.lake")
    lake.ingest(rows(build))
    return lake


@pytest.fixture(scope="module")
def session(labelled):
    with labelled.session(attach={"again": labelled}) as opened:
        assert opened.sql("SELECT count FROM demographics(groups := image_labels('perceived_gender'))").fetchall()
        yield opened


ATTEMPTS = [
    "SELECT * FROM labels",
    "SELECT value FROM labels WHERE attribute = 'perceived_gender'",
    "SELECT * FROM labels WHERE attribute ILIKE '%gender%' OR value LIKE 'rare%'",
    "SELECT DISTINCT attribute FROM labels WHERE attribute <> 'scene'",
    "SELECT max(value), min(value), string_agg(DISTINCT value) FROM labels",
    "SELECT attribute, value, count(*) FROM labels GROUP BY ALL",
    "SELECT labels FROM labels WHERE label_id = 1",
    "SELECT COLUMNS('.*') FROM labels WHERE label_id <= 3",
    "SUMMARIZE labels",
    "SUMMARIZE SELECT value FROM labels",
    "SELECT * FROM again.labels WHERE attribute = 'perceived_gender'",
    "SELECT * FROM main.labels WHERE attribute = 'perceived_gender'",
    "SELECT * FROM image_labels('perceived_gender')",
    "SELECT * FROM image_labels(attribute := 'perceived_gender', min_side := 0)",
    "SELECT * FROM image_labels('Perceived_Gender')",
    "SELECT * FROM image_labels(' perceived_gender ')",
    "SELECT * FROM image_labels('perceived_' || 'gender')",
    "SELECT * FROM image_labels((SELECT 'perceived_gender'))",
    "SELECT * FROM image_labels(CAST('perceived_gender' AS VARCHAR))",
    "SELECT * FROM image_labels($attribute)",
    "SELECT * FROM person_labels('perceived_gender')",
    "SELECT * FROM person_units('perceived_gender')",
    "SELECT * FROM label_concepts('perceived_gender')",
    "SELECT * FROM balanced_subset(groups := image_labels('perceived_gender'))",
    "SELECT * FROM group_sizes(groups := image_labels('perceived_gender'), min_count := 1)",
    "SELECT count(*) FROM image_labels('perceived_gender') WHERE image_id = 1",
    "SELECT (SELECT label FROM image_labels('perceived_gender') LIMIT 1)",
    "WITH g AS (SELECT * FROM image_labels('perceived_gender')) SELECT * FROM g",
    "SELECT * FROM top_k(image_labels('perceived_gender'), captions)",
    "SELECT * FROM top_k((SELECT label_id, value AS text FROM labels), captions)",
    "SELECT * FROM demographics(groups := image_labels('perceived_gender'), min_count := 9)",
    "SELECT * FROM demographics(groups := image_labels('perceived_gender'), min_count := 1)",
    "SELECT * FROM demographics(groups := image_labels('perceived_gender'), min_count := 0)",
    "SELECT * FROM demographics(groups := image_labels('perceived_gender'), min_count := -10)",
    "SELECT * FROM demographics(groups := image_labels('perceived_gender'), min_count := NULL)",
    "SELECT * FROM demographics(groups := image_labels('perceived_gender'), min_count := '1')",
    "SELECT * FROM demographics(groups := image_labels('perceived_gender'), min_count := $one)",
    "SELECT * FROM demographics(image_labels('perceived_gender'), 2)",
    "SELECT * FROM demographics(groups := 'image_labels(''perceived_gender'')', min_count := 2)",
    (
        "SELECT * FROM demographics(groups := image_labels('perceived_gender')) AS a, "
        "demographics(groups := image_labels('perceived_gender'), min_count := 1) AS b"
    ),
    "SELECT * FROM demographics(groups := image_labels('perceived_gender')) WHERE count < 10",
    (
        "SELECT * FROM demographics(groups := (SELECT image_id, value AS label FROM labels WHERE attribute <> 'scene'), "
        "min_count := 1)"
    ),
    "SELECT * FROM demographics(groups := (SELECT * FROM image_labels('perceived_gender')), min_count := 1)",
    (
        "WITH groups AS (SELECT image_id, value AS label FROM labels WHERE attribute = 'perceived_gender') "
        "SELECT * FROM demographics(groups := groups, min_count := 1)"
    ),
    (
        "SELECT * FROM retrieval_bias_queries(hits := top_k(captions, captions, 'random'), labelled_hits := "
        "top_k(captions, captions, 'random'), item_groups := (SELECT 1 AS item_id, 'x' AS label), "
        "relevant := image_labels('perceived_gender'))"
    ),
    "EXPLAIN ANALYZE SELECT * FROM demographics(groups := image_labels('perceived_gender'))",
    "EXPLAIN ANALYZE SELECT label, count FROM demographics(image_labels('perceived_gender')) WHERE label LIKE 'rare%'",
    "SELECT * FROM 'sensitive/labels'",
    'SELECT * FROM "sensitive/labels"',
    "SELECT * FROM sensitive.labels",
    'SELECT * FROM again."sensitive/labels"',
    'SELECT * FROM main."sensitive/labels"',
    'SELECT * FROM "sensitive/access"',
    'SELECT * FROM "meta/codes"',
    'SELECT * FROM demographics(groups := "sensitive/labels", min_count := 1)',
    "SELECT * FROM meta.codes",
    "SELECT * FROM meta.access",
    "SELECT * FROM meta.tables WHERE name LIKE 'sens%'",
    "SELECT * FROM meta.columns WHERE table_name LIKE 'sens%'",
    "SELECT * FROM meta.errors",
    "SELECT * FROM labels__codes",
    'SELECT * FROM "labels/sensitive/labels_part_{token}"',
    'SELECT * FROM "sensitive/labels_part_{token}"',
    'SELECT * FROM "sensitive/labels_part_{token}__codes"',
    "SELECT * FROM labels_{token}",
    'SELECT * FROM "again.labels_{token}"',
    "SELECT * FROM image_labels__1",
    "SELECT * FROM demographics(groups := image_labels('perceived_gender')), image_labels__1",
    "SELECT * FROM demographics(groups := labels_{token}, min_count := 1)",
    "WITH labels AS (SELECT 1 AS x) SELECT * FROM demographics(groups := image_labels('perceived_gender'), min_count := 1)",
    "SELECT value__code FROM labels",
    "SELECT CAST(value AS INTEGER) FROM labels",
    "SELECT error(value) FROM labels WHERE attribute = 'perceived_gender'",
    "DESCRIBE labels",
    "SHOW TABLES",
]


@pytest.mark.parametrize("text", ATTEMPTS)
def test_no_row_shows_a_label(session, text, record_property):
    """Every attempt is refused or shows nothing of a label that a few images have, nor which image has a common one."""
    record_property("statements", 1)
    text = text.replace("{token}", "0123456789ab")
    try:
        result = session.sql(text, attribute="perceived_gender", one=1)
        shown = str(result.to_arrow().to_pydict()) + str(result.notes) + repr(result) + result._repr_html_()
    except CounterbalanceError as error:
        shown = f"{error} {error.hint}"
    assert "secret" not in (shown.replace("common-secret", "") if "FROM demographics(" in text else shown)


def test_there_are_enough_attempts():
    assert len(ATTEMPTS) >= 70


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT * FROM image_labels('perceived_gender')", "E3301"),
        ("SELECT * FROM person_labels('perceived_gender')", "E3301"),
        ("SELECT * FROM demographics(groups := image_labels('perceived_gender'), min_count := 9)", "E3303"),
        ("SELECT * FROM meta.access", "E3305"),
        ("EXPLAIN ANALYZE SELECT * FROM demographics(image_labels('perceived_gender'))", "E3307"),
    ],
)
def test_a_refusal_says_how(session, text, code):
    with pytest.raises(SensitiveError) as caught:
        session.sql(text).fetchall()
    assert caught.value.code == code
    assert caught.value.hint


def test_open_labels_are_read_and_a_note_says_what_is_not(session):
    result = session.sql("SELECT attribute, count(*) FROM labels GROUP BY 1")
    assert result.fetchall() == [("scene", IMAGES)]
    assert result.notes == [
        'labels of perceived_gender are not shown; to read them, state a purpose: --sensitive "why"'
    ]
    assert session.sql("SELECT DISTINCT label FROM image_labels('scene')").fetchall() == [("outdoor",)]


def test_audits_show_large_cells_alone(session):
    got = session.sql(
        "SELECT label, count, suppressed FROM demographics(groups := image_labels('perceived_gender')) ORDER BY label"
    ).fetchall()
    shown = {label: count for label, count, suppressed in got if not suppressed}
    assert all(count >= 10 for count in shown.values())
    assert set(shown) <= set(COMMON)
    assert len(shown) == 1, "one common label is hidden with the rare one, which would follow by subtraction"
    assert all(count is None for _, count, suppressed in got if suppressed)


def test_python_calls_are_bound_by_the_same_rules(labelled):
    assert len(labelled.audit("demographics", groups="image_labels('perceived_gender')"))
    with pytest.raises(SensitiveError):
        labelled.audit("demographics", groups="image_labels('perceived_gender')", min_count=3)
    with pytest.raises(SensitiveError):
        labelled.session().explain("SELECT * FROM image_labels('perceived_gender')")
    assert RARE not in labelled.session().explain("SELECT * FROM demographics(image_labels('perceived_gender'))")


def test_nothing_lists_the_closed_table(session):
    names = [*session.names(), *(r.name for r in session.relations())]
    assert not [n for n in names if "sensitive" in n or "part" in n.split("_") or "~" in n]
    assert all(RARE not in str(r) for r in session.relations())


def test_an_attached_lake_is_as_closed(labelled, empty_lake, build):
    """The lake that is opened has no sensitive label; the attached one has."""
    empty_lake.ingest({"images": build.images(image_id=[1])})
    with empty_lake.session(attach={"other": labelled}) as opened:
        assert opened.sensitive_attributes() == {"perceived_gender"}
        got = opened.sql("SELECT DISTINCT attribute FROM other.labels").fetchall()
        assert got == [("scene",)]


def template(name, level=None, **more):
    cells = () if level else (Cells("n", by=("attribute", "value")),)
    return query_files.Query(
        name, more.get("kind", "audit"), "A test.", more["sql"], more["parameters"], level=level, cells=cells
    )


@pytest.fixture
def own_templates(monkeypatch):
    """Templates that are as careless as somebody's own package might be."""
    relation = query_files.QueryParameter("rows", "relation", "labels", "")
    floor = query_files.QueryParameter("min_count", "integer", "10", "")
    counted = "SELECT attribute, value, count(*) AS n FROM rows GROUP BY ALL HAVING count(*) >= $min_count"
    mine = {
        "per_image": template("per_image", "image", sql="SELECT image_id, value FROM rows", parameters=(relation,)),
        "counted": template("counted", sql=counted, parameters=(relation, floor)),
        "seen": template("seen", kind="view", sql="SELECT image_id, value FROM rows", parameters=(relation,)),
    }
    known = queries.queries()
    monkeypatch.setattr(queries, "queries", lambda: {**known, **mine})


@pytest.mark.usefixtures("own_templates")
@pytest.mark.parametrize(
    "text",
    [
        "SELECT value FROM per_image()",
        "SELECT value FROM per_image(rows := labels)",
        "SELECT value FROM per_image(rows := 'labels')",
        "SELECT value FROM per_image(rows := again.labels)",
        "SELECT value FROM seen()",
        "SELECT value FROM seen(labels)",
        "SELECT value FROM counted((SELECT * FROM labels), 1)",
    ],
)
def test_templates_about_single_images_see_open_labels(labelled, text):
    with labelled.session(attach={"again": labelled}) as opened:
        assert set(opened.sql(text).fetchall()) == {("outdoor",)}


@pytest.mark.usefixtures("own_templates")
def test_templates_about_many_count_them_all(labelled):
    with labelled.session(attach={"again": labelled}) as opened:
        shown = "SELECT value FROM counted({}) WHERE n IS NOT NULL ORDER BY 1"
        assert opened.sql(shown.format("labels")).fetchall() == [*[(c,) for c in sorted(COMMON)], ("outdoor",)]
        assert opened.sql(shown.format("again.labels")).fetchall() == [("outdoor",)]
        with pytest.raises(SensitiveError):
            opened.sql(shown.format("labels, 2"))


def test_two_lakes_are_not_mixed_up(labelled, empty_lake, build, own_templates):
    """Closed labels of the attached lake do not stand in for those of the opened one."""
    ids = list(range(20))
    labels = build.labels(label_id=ids, image_id=ids, attribute=["race"] * 20, value=["here"] * 20)
    empty_lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    query = "SELECT value FROM counted({}) ORDER BY 1"
    with empty_lake.session(attach={"other": labelled}) as opened:
        assert opened.sql(query.format("labels")).fetchall() == [("here",)]
        assert opened.sql(query.format("other.labels")).fetchall() == [("outdoor",)]
        assert opened.sql(query.format("labels")).fetchall() == [("here",)]
        both = "SELECT a.value, b.value FROM counted(labels) AS a, counted(other.labels) AS b ORDER BY ALL"
        assert opened.sql(both).fetchall() == [("here", "outdoor")]


ABOUT_WORDS = {"proposal_recall", "weat"}
"""Their rows count words, and show no image."""


def test_every_shipped_audit_has_a_floor_or_is_about_single_rows():
    for query in queries.audits().values():
        floors = [p for p in query.parameters if p.name == "min_count"]
        assert query.level or floors, query.name
        assert all(int(p.default) >= (1 if query.name in ABOUT_WORDS else 10) for p in floors), query.name
