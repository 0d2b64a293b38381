"""An annotation sheet in a real browser, from file://: keys, progress, what is kept, and the file that is saved."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.demo import ingest
from counterbalance.report.sheet.review import review
from counterbalance.report.sheet.validation import validate_labels
from counterbalance.sample import generate

pytestmark = pytest.mark.slow
LABELS = "person_units('perceived_gender', annotator := 'first')"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sheet")
    generate(folder / "sample", images=40, seed=2)
    lake = cb.connect(folder / "sample.lake")
    ingest(lake, folder / "sample")
    sheet = validate_labels(
        lake,
        folder / "sheet.html",
        attribute="perceived_gender",
        labels=LABELS,
        unit="person",
        count=9,
        sensitive="test of the sheet",
    )
    return lake, sheet


SHOWN = "document.getElementById('picture').src"
COUNT = "document.getElementById('count').textContent"


def test_a_sheet_is_answered_by_keys_and_its_answers_come_into_the_lake(made, browser):
    lake, sheet = made
    browser.open(sheet.path)
    assert browser.js("document.getElementById('start').disabled")
    browser.choose(1)
    browser.click("start")
    assert browser.js(COUNT) == "1 of 9, 0 answered"
    seen = []
    for key in "12u12u12":  # the options are female, male, unclear
        seen.append(browser.js(SHOWN))
        browser.key(key)
    browser.key("ArrowLeft")
    assert browser.js(SHOWN) == seen[-1]
    assert browser.js("document.querySelector('[aria-pressed=true] span').textContent") == "male"
    browser.key("1")  # another answer takes its place
    assert browser.js(COUNT) == "9 of 9, 8 answered"
    browser.key("s")
    assert browser.js("document.getElementById('sum').textContent") == "8 answers, 1 skipped, 0 still open."
    browser.click("save2")
    file = browser.saved("answers-a1-*.csv")
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [len(rows), {r["annotator"] for r in rows}, {r["sheet"] for r in rows}] == [
        8,
        {f"a1@{sheet.sheet}"},
        {sheet.sheet},
    ]
    items = {i["picture"]: i["id"] for i in _data(sheet.path)["items"]}
    said = dict(zip([items[p] for p in seen], ["female", "male", "unclear"] * 2 + ["female"] * 2, strict=True))
    assert {r["detection_id"]: r["value"] for r in rows} == said
    assert not browser.failed

    report = lake.ingest(str(file), format="labels")
    assert report.rejected == 0
    text = "SELECT detection_id, value FROM labels WHERE annotator = $who AND attribute = 'perceived_gender'"
    stored = lake.sql(text, who=f"a1@{sheet.sheet}", sensitive="test of the sheet").fetchall()
    assert {str(i): v for i, v in stored} == said


def test_answers_are_kept_between_visits_and_apart_between_annotators(made, browser):
    _, sheet = made
    browser.open(sheet.path)
    browser.choose(2)
    browser.click("start")
    first = browser.js(SHOWN)
    browser.key("1")
    browser.key("2")
    browser.open(sheet.path)
    browser.choose(3)
    assert browser.js("document.getElementById('start').textContent") == "Start"
    browser.choose(2)
    assert browser.js("document.getElementById('start').textContent") == "Go on"
    browser.click("start")
    assert browser.js(COUNT) == "3 of 9, 2 answered"
    browser.key("ArrowLeft")
    browser.key("ArrowLeft")
    assert browser.js(SHOWN) == first
    assert not browser.failed


def test_a_browser_that_keeps_nothing_says_so_and_works(made, browser):
    _, sheet = made
    refuse = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no'); } });"
    browser("Page.addScriptToEvaluateOnNewDocument", source=refuse)
    browser.open(sheet.path)
    browser.choose(1)
    browser.click("start")
    browser.key("1")
    assert browser.js(COUNT) == "2 of 9, 1 answered"
    assert "save them before you close" in browser.js("document.getElementById('message').textContent")


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_window(made, browser, width):
    _, sheet = made
    browser.open(sheet.path, width)
    browser.choose(1)
    assert browser.js("document.documentElement.scrollWidth <= innerWidth")
    browser.click("start")
    assert browser.js("document.documentElement.scrollWidth <= innerWidth")
    assert browser.js("document.getElementById('picture').naturalWidth > 20")


@cb.udf(returns=pa.binary(), parameters={"image": pa.binary(), "label": pa.string()}, version="1")
def browser_edited(image, label):
    """The picture turned upside down for one label; as it is for another."""
    found = []
    for data, said in zip(image.to_pylist(), label.to_pylist(), strict=True):
        whole = Image.open(io.BytesIO(data)).convert("RGB")
        found.append(image_bytes(whole.rotate(180) if said == "female" else whole))
    return found


def test_edits_are_reviewed_by_keys_beside_their_sources(made, browser, tmp_path):
    lake, _ = made
    select = (
        "SELECT 2 * i.image_id + CASE l.label WHEN 'male' THEN 1 ELSE 0 END AS edit_id, i.image_id, l.label, 0.25 AS p_real, "
        "browser_edited(i.image, l.label) AS edited FROM images i CROSS JOIN (SELECT unnest(['female', 'male']) AS label) l"
    )
    lake.create_materialized_view("edits", select, "edit_id", if_not_exists=True)
    lake.refresh("edits")
    sheet = review(lake, tmp_path / "review.html", view="edits", count=3)
    browser.open(sheet.path)
    browser.choose(1)
    browser.click("start")
    assert browser.js("document.getElementById('caption').textContent") in {"female", "male"}
    assert browser.js("document.getElementById('facts').textContent") == "p real0.25"
    assert browser.js("[...document.images].every(i => i.complete && i.naturalWidth > 20)")
    said = {}
    for key in "132111":
        said[browser.js(SHOWN)] = ("good", "flawed", "harmful")[int(key) - 1]
        browser.key(key)
    assert browser.js("document.getElementById('sum').textContent") == "6 answers, 0 skipped, 0 still open."
    browser.click("save2")
    file = browser.saved(f"answers-a1-{sheet.sheet}.csv")
    assert main(["review", lake.uri, "edits", "--answers", str(file)]) == 0
    text = (
        "SELECT l.detection_id, l.value FROM labels AS l JOIN edits AS e ON e.edit_id = l.detection_id AND e.image_id = l.image_id "
        "WHERE l.attribute = 'review:edits' AND l.annotator = $who"
    )
    items = {i["picture"]: int(i["id"]) for i in _data(sheet.path)["items"]}
    assert dict(lake.sql(text, who=f"a1@{sheet.sheet}").fetchall()) == {items[p]: v for p, v in said.items()}
    for width in (1280, 400):
        browser.open(sheet.path, width)
        browser.choose(2)
        browser.click("start")
        assert browser.js("document.documentElement.scrollWidth <= innerWidth")
    assert not browser.failed


def test_captions_take_turns_and_are_saved_by_what_they_are(made, browser, tmp_path):
    lake, _ = made
    select = (
        "SELECT image_id AS edit_id, image_id, 'original' AS label, browser_edited(image, 'female') AS image, "
        "concat('first of ', image_id) AS original, concat('other of ', image_id) AS counterfactual FROM images"
    )
    lake.create_materialized_view("captioned", select, "edit_id", if_not_exists=True)
    lake.refresh("captioned")
    sheet = review(lake, tmp_path / "pair.html", view="captioned", question="pair", count=12)
    browser.open(sheet.path)
    browser.choose(1)
    browser.click("start")
    shown = []
    for _ in range(12):
        shown.append(browser.js("[...document.querySelectorAll('#options span')].map(s => s.textContent)"))
        browser.key("1")
    browser.click("save2")
    rows = list(csv.DictReader(browser.saved(f"answers-a1-{sheet.sheet}.csv").read_text().splitlines()))
    said = {r["detection_id"]: r["value"] for r in rows}
    assert said == {s[0].split()[-1]: "original" if s[0].startswith("first") else "counterfactual" for s in shown}
    assert {*said.values()} == {"original", "counterfactual"}
    assert all(s[2:4] == ["both fit equally well", "neither fits"] for s in shown)
    assert not browser.failed


def _data(path: Path):
    text = path.read_text(encoding="utf-8")
    return json.loads(text.split('id="data">')[1].split("</script>")[0])
