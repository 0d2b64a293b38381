"""A real browser goes each way that the page offers, over the lake of ``cbal sample`` and over real pictures of COCO."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.__main__ import main

pytestmark = pytest.mark.slow
FINE = "[...document.querySelectorAll('.error')].every((e) => e.hidden)"
READY = "document.readyState === 'complete'"
SHOWN = "[...document.images].some((i) => i.complete && i.naturalWidth > 1)"
DECLARED = (
    "ALTER TABLE images ADD COLUMN colours AS (color_grid(image))",
    "CREATE MATERIALIZED VIEW places WITH (key = 'image_id') AS "
    "SELECT image_id, x, y FROM image_map((SELECT image_id, colours AS embedding FROM images))",
    "CREATE MATERIALIZED VIEW edits WITH (key = 'edit_id') AS SELECT 10 * image_id + 1 AS edit_id, image_id, 'as it is' AS label, "
    "width / 1000 AS score, list_first([image]) AS image FROM images WHERE width > 0",
)


def sampled(folder):
    assert main(["sample", str(folder / "shapes"), "--images", "120", "--seed", "1"]) == 0
    return folder / "shapes" / "annotations", folder / "shapes" / "images"


@pytest.fixture(scope="module", params=["sample", "coco-mini"])
def lake(request, tmp_path_factory):
    """A lake with a map and edits that are up to date, a tag, and a column that no refresh has made yet."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "sample":
        source, images = sampled(folder)
    else:
        source = images = request.getfixturevalue("data_dir") / "coco-mini"
    uri = str(folder / "a.lake")
    assert main(["ingest", uri, str(source), "--images", str(images), "--quiet"]) == 0
    lake = cb.connect(uri)
    lake.tag("before")
    for statement in DECLARED:
        lake.sql(statement)
    lake.refresh(executor="inline")
    lake.sql("ALTER TABLE captions ADD COLUMN letters AS (length(text))")
    return lake


@pytest.fixture
def visit(browser, served, lake):
    """Opens a page of the lake, and waits until it is there."""
    address = served(lake, allow_refresh=True, annotator="ann")
    browser("Emulation.setDeviceMetricsOverride", width=1280, height=1000, deviceScaleFactor=1, mobile=False)
    browser("Page.navigate", url=f"{address}/?token=secret")
    browser.until(f"location.pathname === '/lakes/demo' && {READY}")

    def to(page, *until):
        browser("Page.navigate", url=f"{address}/lakes/demo{page}")
        for what in (READY, FINE, *until):
            browser.until(what)

    yield to
    outside = [url for url in browser.failed if url.startswith("http") and not url.startswith(address)]
    broken = [e for e in browser.failed if "exceptionThrown" in e or "exceptionDetails" in e or "Content Security" in e]
    assert outside + broken == []


def test_the_first_screen_says_what_stands_out(visit, browser, lake):
    (images,) = lake.sql("SELECT count(*) FROM images").fetchall()[0]
    visit("", "!/^Counting/.test(document.getElementById('findings-state').textContent)")
    tiles = browser.js(
        "Object.fromEntries([...document.querySelectorAll('.tiles div')].map((t) => [t.children[0].textContent, t.children[1].textContent]))"
    )
    assert tiles["images"] == f"{images:,}"
    assert "letters" in browser.js("document.body.innerText")  # stale
    leads = browser.js("[...document.querySelectorAll('#findings a')].map((a) => a.pathname)")
    assert all(path.startswith("/lakes/demo/audits/") for path in leads)


def test_a_row_of_an_audit_opens_its_images(visit, browser):
    visit("/audits/cooccurrence?min_count=5", "document.querySelector('tbody a') !== null")
    browser.js("document.querySelector('tbody a').click()")
    browser.until(f"location.pathname === '/lakes/demo/browse' && {READY} && {SHOWN}")
    browser.js("document.querySelector('#grid li a').click()")
    browser.until(f"location.pathname.includes('/images/') && {READY} && {SHOWN}")


def test_a_filter_leaves_its_images(visit, browser, lake):
    (named,) = lake.sql(
        "SELECT count(DISTINCT image_id) FROM captions WHERE regexp_matches(lower(text), '\\bman\\b')"
    ).fetchall()[0]
    visit("/browse?words=man", "document.querySelectorAll('#grid li').length > 0", SHOWN)
    assert browser.js("document.getElementById('counted').textContent").startswith(f"{named:,} image")


def test_a_place_far_away_is_gone_to(visit, browser, lake):
    visit("/browse", "document.querySelectorAll('#grid li').length > 0")
    browser.js("document.querySelector('#jump input').value = 101")
    browser.js("document.getElementById('jump').requestSubmit()")
    browser.until(
        f"location.search === '?offset=100' && {READY} && document.querySelector('#jump input').value === '101'"
    )
    first = lake.sql("SELECT image_id FROM images ORDER BY image_id LIMIT 1 OFFSET 100").fetchall()[0][0]
    assert browser.js("document.querySelector('#grid li').id") == f"i{first}"


def test_a_query_has_rows_with_pictures_a_chart_and_an_error_at_its_place(visit, browser):
    visit(
        "/sql?q=SELECT+image_id,+image,+width+FROM+images+ORDER+BY+1+LIMIT+5",
        "document.querySelectorAll('#result tbody tr').length === 5",
    )
    browser.until(SHOWN)
    visit(
        "/sql?q=SELECT+category,+count(*)+AS+n+FROM+detections+GROUP+BY+ALL+ORDER+BY+n+DESC+LIMIT+5",
        "!document.getElementById('draw').disabled",
    )
    browser.click("draw")
    browser.until("document.querySelector('#chart svg') !== null && !document.getElementById('chart').hidden")
    browser.js("document.querySelector('.CodeMirror').CodeMirror.setValue('SELECT txt FROM captions')")
    browser.click("run")
    browser.until("!document.getElementById('error').hidden")
    assert "did you mean 'text'" in browser.js("document.getElementById('error').textContent")
    assert browser.js("document.querySelector('.CodeMirror .wrong').textContent") == "txt"
    reordered = "/sql?q=SELECT+image_id,+chr(8238)+||+'evil'+AS+text+FROM+images+LIMIT+1"
    visit(reordered, "document.querySelectorAll('#result tbody tr').length === 1")
    assert browser.js("document.querySelector('#result tbody td:last-child').textContent") == "\\u202eevil"


def test_the_map_has_all_images(visit, browser, lake):
    (images,) = lake.sql("SELECT count(*) FROM places").fetchall()[0]
    visit("/map", "/^[0-9]/.test(document.getElementById('counted').textContent)")
    assert browser.js("counted.textContent") == f"{images:,} images"


def test_two_versions_are_compared(visit, browser):
    visit("/compare?with=demo&with_at=before", "document.querySelectorAll('tbody tr').length > 0")
    assert "SELECT" in browser.js("document.querySelector('details pre').textContent")


def test_an_edit_is_answered_by_a_key(visit, browser, lake):
    visit("/edits?view=edits", "document.activeElement.className === 'edit'", SHOWN)
    edit = int(browser.js("document.activeElement.dataset.edit"))
    browser.key("1")
    browser.until("document.getElementById('told').textContent.endsWith('good')")
    said = lake.sql("SELECT detection_id, value FROM labels WHERE attribute = 'review:edits' AND annotator = 'ann'")
    assert said.fetchall() == [(edit, "good")]


def test_what_is_stale_is_refreshed(visit, browser, lake):
    """The last one, since it makes the column that is shown as stale by others."""
    visit("/state", "document.querySelectorAll('.graph-frame svg').length === 1")
    browser.click("refresh")
    browser.until("document.getElementById('refresh') !== null && !document.getElementById('refresh').disabled")
    browser.until(
        "[...document.querySelectorAll('tr')].some((r) => r.textContent.includes('letters') && r.textContent.includes('fresh'))"
    )
    assert lake.sql("SELECT count(*) FROM captions WHERE letters IS NULL").fetchall() == [(0,)]
