"""geography: countries that texts name, and the labels of their images against all labelled images."""

from __future__ import annotations

import pytest
from statsmodels.stats.proportion import proportion_confint


@pytest.fixture
def places(empty_lake, build):
    texts = ["a man in Germany"] * 20 + ["a German woman"] * 10 + ["a woman in France and Germany"] * 10
    texts += ["a man in France"] * 4 + ["the streets of Kenya"] * 12 + ["a man"] * 30 + ["a dog"] * 5
    ids = list(range(len(texts)))
    empty_lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
        }
    )
    return empty_lake


def run(lake, **options):
    rows = lake.audit("geography", **options).to_arrow().to_pylist()
    return {(r["country"], r["label"]): r for r in rows}


def test_countries(places):
    rows = run(places)
    row = rows["Germany", "all"]
    assert (row["count"], row["n"], row["share"]) == (40, 56, 40 / 56)
    assert (row["share_low"], row["share_high"]) == pytest.approx(
        proportion_confint(40, 56, method="wilson"), rel=1e-12
    )
    kenya = run(places, min_count=12)["Kenya", "all"]  # just as many as are shown
    assert [kenya[c] for c in ("count", "n", "share", "suppressed")] == [12, 56, 12 / 56, False]
    wilson = proportion_confint(12, 56, method="wilson")
    assert (kenya["share_low"], kenya["share_high"]) == pytest.approx(wilson, rel=1e-12)


def test_labels(places):
    rows = run(places)
    woman, man = rows["Germany", "female"], rows["Germany", "male"]
    assert (woman["count"], woman["n"], woman["base_n"], man["count"]) == (20, 40, 74, 20)
    assert woman["delta"] == pytest.approx(0.5 / (20 / 74) - 1, rel=1e-12)
    assert woman["delta_low"] < woman["delta"] == woman["delta_high"] == pytest.approx(74 / 40 - 1, rel=1e-12)


def test_small_counts_hide_their_neighbour_not_the_country(places):
    rows = run(places)
    assert [rows["France", g]["suppressed"] for g in ("all", "female", "male")] == [False, True, True]
    assert rows["France", "all"]["count"] == 14


def test_countries_without_labelled_images(places):
    assert {label for country, label in run(places) if country == "Kenya"} == {"all"}


def test_a_rare_country_hides_no_other(empty_lake, build):
    """Rows of all images hold no perceived label, and their counts do not add up: each hides itself only."""
    texts = ["streets of Kenya and Ghana"] * 12 + ["streets of Kenya"] * 11 + ["streets of Peru"] * 3
    ids = list(range(len(texts)))
    captions = build.captions(caption_id=ids, image_id=ids, text=texts)
    empty_lake.ingest({"images": build.images(image_id=ids), "captions": captions})
    rows = run(empty_lake)
    shown = {country: rows[country, "all"]["count"] for country in ("Ghana", "Kenya", "Peru")}
    assert shown == {"Ghana": 12, "Kenya": 23, "Peru": None}
    assert rows["Peru", "all"]["suppressed"]
    assert rows["Kenya", "all"]["n"] == 26 < 12 + 23
