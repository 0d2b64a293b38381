"""The report of a lake with tables of both biases has a scatter plot of them; a lake without has no such chapter."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from counterbalance.engine.errors import NotFoundError
from counterbalance.report import transfer
from counterbalance.report.build import render

TABLE = (
    "CREATE MATERIALIZED VIEW {} WITH (key = '{}') AS SELECT concat('c<', caption_id) AS {}, {} AS value FROM captions"
)


def declared(lake, build_rows):
    lake.ingest(
        {
            "images": build_rows.images(image_id=[50], key=["fifty"]),
            "captions": build_rows.captions(caption_id=range(100, 120), image_id=[50] * 20, text=["a dog"] * 20),
        }
    )
    lake.sql(TABLE.format("dataset_bias", "concept", "concept", "caption_id / 100"))
    lake.sql(TABLE.format("model_bias", "category", "category", "caption_id / 100 + sin(caption_id) / 10"))
    lake.refresh()


def test_a_lake_with_both_has_a_chapter(lake, build):
    declared(lake, build)
    with lake.session() as session:
        (section,) = transfer.sections(session)
        ((n,),) = session.sql("SELECT count(*) FROM dataset_bias").fetchall()
        rho, low, high = session.sql(
            "SELECT value, low, high FROM bias_transfer(dataset_bias, model_bias) WHERE metric = 'rho'"
        ).fetchall()[0]
    (figure,) = section.figures
    assert figure.notes[0].startswith(f"Pearson's rho = {rho:.2f} ({low:.2f} to {high:.2f}), R² =")
    for drawing in (figure.wide, figure.narrow):
        tree = ET.fromstring(drawing)
        dots = tree.findall(".//{*}circle")
        width, height = float(tree.get("width")), float(tree.get("height"))
        assert len(dots) == n == 28
        assert all(0 < float(d.get("cx")) < width and 0 < float(d.get("cy")) < height for d in dots)
        assert {d.find("{*}title").text for d in dots} >= {"c<11", "c<100"}
        across = {d.find("{*}title").text: float(d.get("cx")) for d in dots}
        assert across["c<11"] < across["c<100"] < across["c<119"]
    assert "data + model +" in {row[1] for row in figure.rows}


@pytest.mark.thorough
def test_the_page_has_it_where_the_lake_has(lake, build):
    with lake.session() as session:
        assert transfer.sections(session) == []
    declared(lake, build)
    page = render(lake)
    assert 'id="transfer"' in page
    assert "bias_transfer(dataset_bias, model_bias, show := &#39;all&#39;)" in page


def test_relations_can_be_named(lake, build):
    declared(lake, build)
    model = "(SELECT concept AS category, -value AS value FROM dataset_bias)"
    with lake.session() as session:
        (section,) = transfer.sections(session, "dataset_bias", model)
        assert section.figures[0].notes[0].startswith("Pearson's rho = \u22121.00")
        (section,) = transfer.sections(session, "dataset_bias", "no_such_bias")
    assert "no_such_bias" in section.figures[0].gap


def test_few_categories_leave_a_reason(lake):
    lake.sql(TABLE.format("dataset_bias", "concept", "concept", "1.0"))
    lake.sql(TABLE.format("model_bias", "category", "category", "caption_id"))
    lake.refresh()
    with lake.session() as session:
        (section,) = transfer.sections(session)
    assert section.figures[0].gap == "too few categories have both."


def test_a_relation_that_was_named_must_be_there(lake, build):
    declared(lake, build)
    with pytest.raises(NotFoundError, match="no_such_bias"):
        render(lake, model_bias="no_such_bias")
