"""The query behind a row selects as many images as the row counts."""

from __future__ import annotations

import json
import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from repeats import again

from counterbalance.engine.sql import queries
from counterbalance.report import behind
from counterbalance.ui import audits

CAPTIONS = {
    "groups": "(SELECT caption_id AS image_id, label FROM caption_labels)",
    "concepts": "word_concepts((SELECT caption_id AS image_id, text FROM captions))",
}
SCORES = {
    "groups": "caption_gender",
    "labels": "(SELECT image_id, 'mood' AS attribute, 'yes' AS value, image_id % 10 / 10 AS score, 'm' AS annotator FROM images)",
}
COUNTS = [
    ("demographics", {}, "count"),
    pytest.param("balance", {}, "count", marks=pytest.mark.thorough),
    ("cooccurrence", {}, "count"),
    ("crime_words", {}, "images"),
    ("geography", {}, "count"),
    *again(("sentiment", {}, "images")),
    ("compare_demographics", {"groups": "caption_gender", "others": "caption_gender"}, "count_a"),
    ("hate_content_rate", SCORES | {"attribute": "mood", "tau": [0.2, 0.5]}, "count"),
    ("score_distribution", SCORES | {"attribute": "mood"}, "count"),
    ("concept_ratio", {}, "n"),
    pytest.param("keyword_profile", {}, "count", marks=pytest.mark.thorough),
    ("spurious_correlations", {}, "count"),
    pytest.param("intersections", {"others": "image_labels('scene')"}, "count", marks=pytest.mark.thorough),
    ("cluster_representation", {"clusters": "(SELECT image_id, image_id % 3 AS cluster FROM images)"}, "count"),
    (
        "cooccurrence",
        {**CAPTIONS, "sources": "(SELECT caption_id AS image_id, image_id AS source_id FROM captions)"},
        "images",
    ),
    (
        "demographics",
        {
            "groups": CAPTIONS["groups"],
            "sources": "(SELECT caption_id AS image_id, image_id AS source_id FROM captions)",
        },
        "images",
    ),
]


@pytest.mark.parametrize(("name", "given", "column"), COUNTS)
def test_it_selects_as_many_images_as_the_row_counts(counted_lake, name, given, column):
    audit = queries.audit(name)
    with counted_lake.session() as session:
        rows = session.audit(name, min_count=1, **given).to_arrow()
        found, is_closed = behind.links(session, audit, rows)
        told = [
            (text, row[column])
            for text, row in zip(found, rows.to_pylist(), strict=True)
            if row[column] and row.get("label", "") is not None
        ]
        assert told
        assert not is_closed
        for text, count in [told[0], told[-1]]:
            assert session.sql(f"SELECT count(*) FROM ({text})").fetchall() == [(count,)]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("leakage", {}),
        ("demographics", {"groups": CAPTIONS["groups"]}),  # captions are no images
        ("intersections", {"groups": "person_units('scene')", "others": "person_units('scene')"}),
        ("retrieval_bias", {}),
    ],
)
def test_a_row_that_no_rule_fits_has_no_query(name, given):
    audit = queries.audit(name)
    texts = {p.name: p.default for p in audit.parameters} | given
    row = {"label": "male", "other": "male", "metric": "bias", "side": "data", "params": json.dumps(texts)}
    columns = {"leakage": ["side"], "demographics": ["label"], "intersections": ["label", "other"]}.get(
        name, ["metric"]
    )
    assert behind.query(audit, columns, row) is None


def test_a_page_links_to_the_grid(ask):
    page = ask.get("/lakes/demo/audits/demographics").text
    link = unescape(page.partition('<td><a href="')[2].partition('"')[0])
    assert urlsplit(link).path == "/lakes/demo/browse"
    assert parse_qs(urlsplit(link).query) == {
        "sql": ["SELECT DISTINCT image_id FROM caption_gender WHERE label = 'female'"],
        "gendered": ["female"],
    }


@pytest.mark.parametrize(
    ("address", "marks"),
    [
        ("keyword_profile?min_count=5", {"man", "woman"}),
        ("cooccurrence?concepts=word_concepts&min_count=5", {"man", "woman"}),
        ("cooccurrence?min_count=5", set()),
        ("crime_words?min_count=1", {"thief"}),
        ("geography?min_count=1", {"Brazil", "Brazilian"}),
        ("demographics", set()),
    ],
)
def test_the_word_of_a_row_is_marked(ask, address, marks):
    found = re.findall(r'href="[^"]*/browse\?([^"]*)"', unescape(ask.get(f"/lakes/demo/audits/{address}").text))
    assert found
    marked = {mark for link in found for mark in parse_qs(link).get("mark", [])}
    assert marks <= marked
    assert bool(marked) == bool(marks)


def test_the_words_of_a_class_are_marked_and_of_all(ask):
    """The rows of a class, and of all classes, name no word: those of the list are marked."""
    links = re.findall(
        r'href="[^"]*/browse\?([^"]*)"', unescape(ask.get("/lakes/demo/audits/crime_words?min_count=1").text)
    )
    found = {frozenset(parse_qs(link).get("mark", [])) for link in links}
    sizes = sorted(map(len, found))
    assert sizes[0] == 1
    assert sizes[-1] == 71
    assert any({"thief", "robber"} < marks for marks in found if len(marks) < 71)
    opened = ask.get(f"/lakes/demo/browse?{max(links, key=len)}")
    assert opened.status_code == 200
    assert "images/" in opened.text


@pytest.mark.parametrize(
    ("address", "gendered"),
    [
        ("demographics", {"female", "male"}),
        ("sentiment?min_count=1", {"female", "male"}),
        ("demographics?groups=image_labels('scene')", set()),
    ],
)
def test_the_words_that_gave_a_label_are_marked(ask, address, gendered):
    found = re.findall(r'href="[^"]*/browse\?([^"]*)"', unescape(ask.get(f"/lakes/demo/audits/{address}").text))
    assert found
    assert {gender for link in found for gender in parse_qs(link).get("gendered", [])} == gendered
    for link in found:
        asked = parse_qs(link)
        said = re.search(r"label = '(\w+)'", asked["sql"][0])[1]
        assert asked.get("gendered", []) == {"mixed": ["female", "male"], "unclear": []}.get(
            said, [said] * bool(gendered)
        )


def test_images_of_a_tone_begin_with_the_most_negative(ask, counted_lake):
    found = re.findall(
        r'href="[^"]*/browse\?([^"]*)"', unescape(ask.get("/lakes/demo/audits/sentiment?min_count=1").text)
    )
    (sql,) = parse_qs(found[0])["sql"]
    tones = counted_lake.sql(
        f"SELECT min(vader(text)) FROM ({sql}) AS s JOIN captions USING (image_id) GROUP BY image_id"
    ).fetchall()
    shown = ask.get(f"/api/lakes/demo/images?{found[0]}").json()["images"]
    least = dict(counted_lake.sql("SELECT image_id, min(vader(text)) FROM captions GROUP BY image_id").fetchall())
    order = [least[i["image_id"]] for i in shown]
    assert len(tones) >= len(order) > 1
    assert order == sorted(order)
    assert order[0] == min(tone for (tone,) in tones)


def test_the_boxes_of_a_category_are_drawn(ask):
    found = re.findall(
        r'href="[^"]*/browse\?([^"]*)"', unescape(ask.get("/lakes/demo/audits/cooccurrence?min_count=5").text)
    )
    assert found
    for link in found:
        asked = parse_qs(link)
        assert [f"concept = '{category}'" in asked["sql"][0] for category in asked["box"]] == [True]


def test_too_many_words_for_an_address_are_not_marked():
    words = {"a": ["x" * 50] * 50, "b": ["thief"]}
    assert audits._marks({"class": "a", "term": None}, words) == []
    assert audits._marks({"class": "b", "term": None}, words) == [("mark", "thief")]


def test_persons_open_the_images_that_sources_names():
    audit = queries.audit("intersections")
    given = {"groups": "person_units('scene')", "others": "person_units('scene')", "sources": "person_images"}
    text = behind.query(audit, ["label", "other"], {"label": "a", "other": "b", "params": json.dumps(given)})
    assert text == (
        "SELECT DISTINCT source_id AS image_id FROM person_images WHERE image_id IN (SELECT DISTINCT image_id FROM "
        "person_units('scene') WHERE label = 'a' AND image_id IN (SELECT image_id FROM person_units('scene') WHERE label = 'b'))"
    )


def test_a_hidden_row_opens_none(counted_lake):
    """As many pictures as it counts would tell what is hidden."""
    audit = queries.audit("demographics")
    with counted_lake.session() as session:
        rows = session.audit("demographics", min_count=1_000_000).to_arrow()
        assert set(behind.links(session, audit, rows)[0]) == {None}


def test_a_page_says_that_no_row_leads_to_pictures(client, counted_lake):
    told = "No row here leads to pictures"
    assert told in client(counted_lake).get("/lakes/demo/audits/demographics?min_count=1000000").text
    assert told not in client(counted_lake).get("/lakes/demo/audits/demographics?min_count=1").text
