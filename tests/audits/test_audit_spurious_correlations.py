"""spurious_correlations: a planted shortcut of every kind comes first, with statistics of other libraries and the images behind it."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from scipy.stats import chi2_contingency
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError, SensitiveError
from counterbalance.engine.schema import SENSITIVE_ATTRIBUTES
from counterbalance.engine.sql.queries import queries

N = 600
BLUE, RED, GREY, WHITE, BLACK = (0.1, 0.2, 0.9), (0.9, 0.1, 0.1), (0.5, 0.5, 0.5), (0.95, 0.95, 0.95), (0.1, 0.1, 0.1)


def attributes_of(found):
    """Rows (image_id, kind, attribute, scope)."""
    names = ("image_id", "kind", "attribute", "scope")
    return pa.table(dict(zip(names, map(list, zip(*found, strict=True)), strict=True)))


def labelled(labels):
    return pa.table({"image_id": pa.array(range(len(labels)), pa.int64()), "label": labels})


def random_rows(seed, labels):
    random = np.random.default_rng(seed)
    rates = {(a, g): random.uniform(0.05, 0.6) for a in "abcdefgh" for g in sorted(set(labels))}
    return [(i, "object", a, "") for i, g in enumerate(labels) for a in "abcdefgh" if random.random() < rates[a, g]]


@pytest.mark.parametrize("names", [("f", "m"), ("x", "y", "z")])
def test_statistics(session, names):
    labels = [str(g) for g in np.random.default_rng(1).choice(names, N)]
    found = random_rows(2, labels)
    given = {"groups": labelled(labels), "attributes": attributes_of(found)}
    rows = session.audit("spurious_correlations", **given, min_count=1, top=None).to_arrow().to_pylist()
    assert len(rows) == (8 if len(names) == 2 else 24)
    has = {a: np.isin(np.arange(N), [i for i, _, name, _ in found if name == a]) for a in "abcdefgh"}
    for row in rows:
        mine, own = np.array(labels) == row["label"], has[row["attribute"]]
        counts = (mine & own).sum(), mine.sum(), (~mine & own).sum(), (~mine).sum()
        assert (row["count"], row["n_label"], row["rest_count"], row["n"]) == (*counts[:3], N)
        assert row["value"] == pytest.approx(counts[0] / counts[1] - counts[2] / counts[3])
        assert len(names) > 2 or row["value"] >= 0
        ends = confint_proportions_2indep(*counts, method="newcomb", compare="diff")
        assert (row["low"], row["high"]) == pytest.approx(ends, abs=1e-9)
        table = [[(a & b).sum() for b in (own, ~own)] for a in (mine, ~mine)]
        g2 = chi2_contingency(table, correction=False, lambda_="log-likelihood")
        assert (row["g2"], row["p"]) == (pytest.approx(g2.statistic, abs=1e-9), pytest.approx(g2.pvalue, rel=1e-6))
    assert [r["q"] for r in rows] == pytest.approx(list(multipletests([r["p"] for r in rows], method="fdr_bh")[1]))
    strength = [-max(r["low"], -r["high"]) for r in rows]
    assert strength == sorted(strength)
    assert [r["place"] for r in rows] == list(range(1, len(rows) + 1))
    few = session.audit("spurious_correlations", **given, min_count=1, top=3).to_arrow().drop_columns("params")
    assert few.to_pylist() == [{k: v for k, v in r.items() if k != "params"} for r in rows[:3]]


def test_positions_are_compared_among_images_with_the_object(session):
    labels = ["f"] * 100 + ["m"] * 100
    found = [(i, "position", "dog: left" if i < 40 or i % 2 else "dog: right", "dog") for i in range(20, 180)]
    rows = session.audit(
        "spurious_correlations", groups=labelled(labels), attributes=attributes_of(found), top=None
    ).to_arrow()
    left = next(r for r in rows.to_pylist() if r["attribute"] == "dog: left")
    assert (left["label"], left["n"], left["n_label"], left["count"], left["rest_count"]) == ("f", 160, 80, 50, 40)


def test_small_counts_hide_an_attribute(session):
    labels = ["f"] * 100 + ["m"] * 100 + ["unclear"] * 50 + ["x"] * 3

    def rows(found, **more):
        made = attributes_of([(i, kind, name, scope) for ids, kind, name, scope in found for i in ids])
        got = session.audit("spurious_correlations", groups=labelled(labels), attributes=made, **more).to_arrow()
        return {r["attribute"]: r for r in got.to_pylist()}

    objects = [
        ((*range(30), *range(100, 120)), "object", "dog", ""),
        ((*range(30), *range(100, 109)), "object", "cat", ""),
        (range(30), "object", "car", ""),
    ]
    found = rows(objects)
    assert set(found) == {"dog", "car"}
    assert {(r["n"], r["n_suppressed"]) for r in found.values()} == {(200, 1)}, (
        "neither unclear images nor rare labels count"
    )
    assert set(rows(objects, min_count=9)) == {"dog", "cat", "car"}
    scoped = [
        ((*range(20), *range(100, 120)), "size", "dog: large", "dog"),
        ((*range(20, 40), *range(120, 124)), "size", "dog: small", "dog"),
        ((*range(20), *range(100, 120)), "size", "cat: large", "cat"),
    ]
    assert set(rows(scoped)) == {"cat: large"}, "the small dogs of 4 men would follow from the large ones"


@pytest.fixture(scope="module")
def planted(build):
    """Women have a cat, men a dog; with men, the ball lies left, is small and far from the person; their pictures are blue."""
    lake = cb.connect(f"memory://spurious-planted-{os.getpid()}")
    random = np.random.default_rng(5)
    n = 400
    men = [bool(i % 2) for i in range(n)]
    likely = [random.random() < (0.9 if man else 0.1) for man in men]
    texts = [
        f"a {'man' if man else 'woman'} {'rides' if yes else 'reads'}" for man, yes in zip(men, likely, strict=True)
    ]
    boxes = []
    for i, yes in enumerate(likely):
        boxes += [(i, "person", (60, 30, 30, 60)), (i, "dog" if yes else "cat", (0, 0, 1, 1))]
        boxes.append((i, "ball", (0, 80, 5, 5) if yes else (55, 20, 40, 75)))
    sides = {s: [float(b[2][k]) for b in boxes] for k, s in enumerate(("x", "y", "width", "height"))}
    value = ["outdoors" if yes else "indoors" for yes in likely]
    gender = ["male" if man else "female" for man in men]
    lake.ingest(
        {
            "images": build.images(
                image_id=range(n), key=[str(i) for i in range(n)], width=[100] * n, height=[100] * n
            ),
            "captions": build.captions(caption_id=range(n), image_id=range(n), text=texts),
            "detections": build.detections(
                detection_id=range(len(boxes)), image_id=[b[0] for b in boxes], category=[b[1] for b in boxes], **sides
            ),
            "labels": build.labels(
                label_id=range(2 * n),
                image_id=[*range(n)] * 2,
                attribute=["scene"] * n + ["perceived_gender"] * n,
                value=value + gender,
                annotator=["ann"] * 2 * n,
            ),
        }
    )
    return lake, likely, men


GRIDS = "(SELECT image_id, CASE WHEN text LIKE '%rides%' THEN [0.1, 0.2, 0.9] ELSE [0.9, 0.1, 0.1] END AS grid FROM captions)"
MEN = {
    "object": "dog",
    "word": "rides",
    "label": "scene: outdoors",
    "color": "blue",
    "position": "ball: left",
    "size": "ball: small",
    "distance": "ball: far from a person",
}


def test_planted_shortcuts_of_every_kind_come_first(planted):
    lake, likely, men = planted
    call = f"SELECT * FROM spurious_correlations(attributes := known_attributes(colors := {GRIDS}), top := NULL)"
    found = lake.sql(call)
    rows = found.to_arrow().to_pylist()
    assert found.notes == []
    sure = [r for r in rows if r["q"] < 0.05]
    assert {(r["kind"], r["attribute"]) for r in sure if r["label"] == "male"} >= set(MEN.items())
    assert {r["count"] for r in sure if r["label"] == "male"} == {
        sum(a and b for a, b in zip(likely, men, strict=True))
    }
    assert {r["label"] for r in sure if r["attribute"] in {"cat", "red", "reads", "scene: indoors"}} == {"female"}
    words = {r["attribute"] for r in rows if r["kind"] == "word"}
    assert words == {"rides", "reads"}, "no words of gender, no function words"
    assert {r["attribute"] for r in rows if r["kind"] == "label"} == {"scene: indoors", "scene: outdoors"}
    labels = lake.sql(
        "SELECT DISTINCT attribute FROM known_attributes() WHERE kind = 'label' ORDER BY 1", sensitive="a test"
    )
    assert labels.fetchall() == [("scene: indoors",), ("scene: outdoors",)]


@pytest.mark.cases(3)
@pytest.mark.parametrize("kind", sorted(MEN))
def test_images_behind_a_line(planted, kind):
    lake, likely, men = planted
    more = f", attributes := known_attributes(colors := {GRIDS})" if kind == "color" else ""
    call = f"SELECT image_id, label FROM images_behind('{kind}', '{MEN[kind]}', 'male'{more})"
    wanted = [(i, "male") for i, (yes, man) in enumerate(zip(likely, men, strict=True)) if yes and man]
    assert lake.sql(call).fetchall() == wanted
    if kind == "object":
        everyone = lake.sql(call.replace("'male'", "NULL")).fetchall()
        assert [i for i, _ in everyone] == [i for i, yes in enumerate(likely) if yes]


def test_images_behind_a_perceived_label_need_a_purpose(planted):
    lake, likely, men = planted
    groups = "groups := image_labels('perceived_gender')"
    rows = lake.sql(f"SELECT * FROM spurious_correlations({groups})").to_arrow()
    assert ("object", "dog", "male") in {(r["kind"], r["attribute"], r["label"]) for r in rows.to_pylist()}
    call = f"SELECT image_id FROM images_behind('object', 'dog', 'male', {groups})"
    with pytest.raises(SensitiveError):
        lake.sql(call)
    wanted = sum(a and b for a, b in zip(likely, men, strict=True))
    with lake.session(sensitive="a test") as session:
        assert len(session.sql(call).fetchall()) == wanted
    made = "CREATE MATERIALIZED VIEW closed WITH (key = 'image_id') AS SELECT * FROM image_labels('perceived_gender')"
    lake.sql(made, sensitive="a test")
    lake.refresh("closed")
    assert lake.sql("SELECT count(*) FROM spurious_correlations(closed)").fetchall()[0][0] > 0
    with pytest.raises((SensitiveError, NotFoundError)):
        lake.sql("SELECT image_id FROM images_behind('object', 'dog', 'male', closed)")
    with pytest.raises(SensitiveError, match="min_count"):
        lake.sql(f"SELECT * FROM spurious_correlations({groups}, min_count := 3)")


def test_perceived_attributes_are_no_labels_to_correlate():
    text = queries()["known_attributes"].sql
    assert all(f"'{name}'" in text for name in SENSITIVE_ATTRIBUTES if not name.startswith("perceived"))


@pytest.mark.parametrize(
    ("color", "name"),
    [
        (BLUE, "blue"), (RED, "red"), (GREY, "grey"), (WHITE, "white"), (BLACK, "black"), ((0.9, 0.5, 0.1), "orange"),
        ((0.9, 0.9, 0.1), "yellow"), ((0.1, 0.8, 0.2), "green"), ((0.1, 0.9, 0.9), "cyan"), ((0.6, 0.1, 0.9), "purple"),
        ((0.9, 0.2, 0.6), "pink"),
    ],
)  # fmt: skip
def test_names_of_colours(session, color, name):
    grid = pa.table({"image_id": [1], "grid": pa.array([list(color) * 3 + [1.0, 1.0, 1.0]], pa.list_(pa.float32()))})
    call = "SELECT attribute FROM known_attributes(colors := $grid) WHERE kind = 'color' ORDER BY attribute"
    found = session.sql(call.replace("$grid", session.bind("grid", grid))).fetchall()
    assert found == sorted({(name,), ("white",)})


TOPICS = {
    "scene_topics(clusters, words)": "scene: 2 (ride, road)",
    "text_topics(features, shares, keep := 1)": "riding",
    "attribute_topics(attributes)": "doing: riding",
}
RIDES = "CASE WHEN text LIKE '%rides%' THEN {} ELSE {} END"


@pytest.fixture(scope="module")
def with_topics(planted):
    """What the recipes leave behind: clusters of captions, features of texts, closed attributes."""
    lake, likely, men = planted
    made = {
        "clusters": f"SELECT caption_id, image_id, {RIDES.format(2, 1)} AS cluster FROM captions",
        "words": "SELECT DISTINCT 1 + image_id % 2 AS cluster, CASE image_id % 2 WHEN 1 THEN ['ride', 'road'] END AS words FROM images",
        "features": f"SELECT caption_id AS item_id, image_id, 0 AS sae, {RIDES.format(7, 8)} AS feature, 0.5 AS activation FROM captions "
        "UNION ALL SELECT caption_id, image_id, 0, 9, 0.1 FROM captions",
        "shares": "SELECT DISTINCT 1 + image_id % 2 AS step, 0 AS sae, 7 + image_id % 3 AS feature, "
        "CASE WHEN image_id % 2 = 0 THEN 'coarse' ELSE ['riding', 'reading', 'people'][1 + image_id % 3] END AS cluster, 0.9 AS share "
        "FROM images",
        "attributes": "SELECT image_id, 'doing' AS category, CASE WHEN text LIKE '%rides%' THEN 'riding' ELSE 'unknown' END AS attribute FROM captions",
    }
    keys = {"clusters": "caption_id", "words": "cluster", "features": "item_id, feature", "shares": "step, feature"}
    for name, query in made.items():
        closed = ", sensitive = true" if name == "attributes" else ""
        lake.sql(
            f"CREATE MATERIALIZED VIEW {name} WITH (key = '{keys.get(name, 'image_id')}'{closed}) AS {query}",
            sensitive="a test",
        )
    lake.refresh()
    return lake, likely, men


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("topics", "groups"),
    list(zip(TOPICS, ("image_labels('perceived_gender')", "caption_gender", "caption_gender"), strict=True)),
)
def test_topics_that_recipes_found(with_topics, topics, groups):
    lake, likely, men = with_topics
    given = f"attributes := known_attributes(topics := {topics})"
    rows = (
        lake.sql(f"SELECT * FROM spurious_correlations({groups}, {given}) WHERE kind = 'topic'").to_arrow().to_pylist()
    )
    row = next(r for r in rows if r["attribute"] == TOPICS[topics])
    wanted = [i for i, (yes, man) in enumerate(zip(likely, men, strict=True)) if yes and man]
    assert (row["label"], row["count"], row["n_label"], row["n"]) == ("male", len(wanted), 200, 400)
    assert row["q"] < 0.05
    assert not {"coarse", "doing: unknown"} & {r["attribute"] for r in rows}
    behind = f"SELECT image_id FROM images_behind('topic', '{TOPICS[topics]}', 'male', {groups}, {given})"
    if "perceived" in groups or "attribute_topics" in topics:
        with pytest.raises(SensitiveError):
            lake.sql(behind).fetchall()
    else:
        assert lake.sql(behind).fetchall() == [(i,) for i in wanted]


def test_colours_of_stored_pictures(build, tmp_path):
    """Computed in the call, or once as a column, which is what perceived groups want."""
    lake = cb.connect(f"memory://spurious-pictures-{os.getpid()}")
    ids = range(60)
    for color, name in ((BLUE, "blue"), (RED, "red")):
        Image.new("RGB", (28, 28), tuple(int(255 * c) for c in color)).save(tmp_path / f"{name}.png")
    pictures = [(tmp_path / ("blue.png" if i % 2 else "red.png")).read_bytes() for i in ids]
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids], image=pictures),
            "captions": build.captions(
                caption_id=ids, image_id=ids, text=[f"a {'man' if i % 2 else 'woman'}" for i in ids]
            ),
            "labels": build.labels(
                label_id=ids,
                image_id=ids,
                attribute=["perceived_gender"] * 60,
                value=["male" if i % 2 else "female" for i in ids],
                annotator=["ann"] * 60,
            ),
        }
    )
    lake.sql("ALTER TABLE images ADD COLUMN grid AS (color_grid(image))")
    lake.refresh()
    anew = "(SELECT image_id, color_grid(image) AS grid FROM images)"
    wanted = [("blue", "male", 30), ("red", "female", 30)]
    for groups, colors in (("caption_gender", anew), ("image_labels('perceived_gender')", "images")):
        call = f"spurious_correlations({groups}, known_attributes(colors := {colors}))"
        rows = lake.sql(f"SELECT attribute, label, count FROM {call} WHERE kind = 'color' ORDER BY 1").fetchall()
        assert rows == wanted
    with pytest.raises(SensitiveError, match="no rows of your own"):
        lake.sql(
            f"FROM spurious_correlations(image_labels('perceived_gender'), known_attributes(colors := {anew}))"
        ).fetchall()


def test_a_label_with_a_score_is_one_above_it(session):
    scores = [None, 0.2, 0.5, 0.75, float("nan")]
    given = pa.table(
        {
            "image_id": range(5),
            "attribute": ["hateful"] * 5,
            "value": ["hateful"] * 5,
            "score": pa.array(scores, pa.float32()),
        }
    )
    call = f"SELECT image_id FROM known_attributes(labels := {session.bind('given', given)}{{}}) WHERE kind = 'label' ORDER BY 1"
    assert session.sql(call.format("")).fetchall() == [(0,), (3,)]
    assert session.sql(call.format(", min_score := 0")).fetchall() == [(0,), (1,), (2,), (3,)]


def test_a_hidden_value_does_not_follow_from_the_others(session):
    labels = ["f"] * 100 + ["m"] * 100

    def shown(kind):
        scenes = ["in", "in", "out", "sea"] * 50
        scenes[0] = scenes[100] = "sky"
        found = [(i, kind, f"scene: {s}", "") for i, s in enumerate(scenes)]
        found += [(i, kind, "light: day", "") for i in range(0, 200, 2)]
        given = {"groups": labelled(labels), "attributes": attributes_of(found)}
        rows = session.audit("spurious_correlations", **given, top=None).to_arrow().to_pylist()
        return {(r["attribute"], r["n_suppressed"]) for r in rows}

    assert shown("topic") == shown("label") == {("scene: in", 1), ("scene: sea", 1), ("light: day", 1)}
    assert ("scene: out", 0) in shown("word"), "of which an image may have any number"


def test_what_few_images_of_a_label_lack_hides_an_attribute(session):
    """All but 3 women have a hat; the next place goes to the next attribute, so that its rank tells nothing."""
    found = [(i, "object", "hat", "") for i in (*range(97), *range(100, 150))]
    found += [(i, "object", "bag", "") for i in (*range(40), *range(100, 120))]
    given = {"groups": labelled(["f"] * 100 + ["m"] * 100), "attributes": attributes_of(found)}
    rows = session.audit("spurious_correlations", **given, top=None).to_arrow().to_pylist()
    assert [(r["place"], r["attribute"], r["n_suppressed"]) for r in rows] == [(1, "bag", 1)]
