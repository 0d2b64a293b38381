"""The card of ``export --to hf`` shows a few audits of the lake as a session without a purpose sees them, and stays a valid card."""

from __future__ import annotations

import os
import re

import pytest

import counterbalance as cb
from counterbalance.report.association import PLAIN_WORDS

WORDS = "cooccurrence of words that name no gender"
TEXTS = ["a woman with a red umbrella"] * 14 + ["a man with a surfboard"] * 12 + ["a man and a woman"] * 3


def fill(lake, build):
    ids = list(range(1, len(TEXTS) + 1))
    people = ["female"] * 14 + ["male"] * 15
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[f"k{i}" for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=TEXTS),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=people),
        }
    )
    return lake


@pytest.fixture
def lake(empty_lake, build):
    return fill(empty_lake, build)


@pytest.fixture(scope="module")
def unchanged(build):
    """A lake that tests only read."""
    return fill(cb.connect(f"memory://cards-{os.getpid()}"), build)


@pytest.fixture(scope="module")
def plain(unchanged, tmp_path_factory):
    """The card of its captions."""
    return card(unchanged, tmp_path_factory.mktemp("cards") / "out")


def card(lake, folder, what="captions", **options):
    lake.export(what, folder, "hf", **options)
    return (folder / "README.md").read_text(encoding="utf-8")


def rows_of(text, heading):
    """The table under a heading, cell by cell, without its head."""
    part = text.split(f"### {heading}\n")[1].split("###")[0]
    lines = [re.split(r" \| ", line.strip("| \n")) for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip("`") for cell in line] for line in lines[2:]]


def test_counts_are_those_of_the_audit_and_small_ones_are_hidden(unchanged, plain):
    found = {row[0]: row[1] for row in rows_of(plain, "demographics")}
    audit = {row["label"]: row["count"] for row in unchanged.audit("demographics").to_arrow().to_pylist()}
    assert found == {label: "hidden" if count is None else str(count) for label, count in audit.items()}
    assert "hidden" in found.values()
    assert "14" in found.values()


def test_it_says_how_to_ask_again_of_what_and_with_which_parameters(plain):
    assert f"`counterbalance audit LAKE cooccurrence 'concepts={PLAIN_WORDS}'`" in plain
    assert '"min_count": 10' in plain
    assert "captions 1" in plain
    assert ["female", "umbrella"] in [row[:2] for row in rows_of(plain, WORDS)]
    assert len(rows_of(plain, WORDS)) <= 10


def test_words_that_make_the_groups_go_with_none(plain):
    shown = {row[1] for row in rows_of(plain, WORDS)}
    assert "umbrella" in shown
    assert not shown & {"woman", "man", "a", "with", "and"}


def test_a_purpose_opens_no_more_of_it(unchanged, plain, tmp_path):
    assert card(unchanged, tmp_path / "open", "labels", sensitive="a test of cards") == plain
    assert "perceived_gender" not in plain


def test_what_the_lake_has_nothing_for_is_left_out(empty_lake, build, lake, plain, tmp_path):
    assert "category_concepts" not in plain
    empty_lake.delete(ids=[f"k{i}" for i in range(1, len(TEXTS) + 1)], apply=True)
    empty_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    assert "Audit" not in card(empty_lake, tmp_path / "none", "images")


def test_it_is_read_as_of_the_moment_of_the_export(lake, build, tmp_path):
    lake.tag("v1")
    before = card(lake, tmp_path / "before", at="v1")
    lake.ingest({"captions": build.captions(caption_id=[99], image_id=[1], text=["a woman"])})
    assert card(lake, tmp_path / "after", at="v1") == before
    assert f"'concepts={PLAIN_WORDS}' --at v1`" in before


def test_hugging_face_reads_it(lake, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    card(lake, tmp_path / "out")
    found = hub.DatasetCard.load(tmp_path / "out" / "README.md")
    assert found.data.to_dict()["configs"][0]["data_files"] == [{"split": "train", "path": "data/train-*.parquet"}]
    assert "## Audit" in found.text
