"""Answers about single edits are labels that name them, by an annotator, and can be changed; those all found good are a view."""

from __future__ import annotations

import html
import re
import shlex

import pytest

PAGE = "/lakes/demo/edits"
API = "/api/lakes/demo/edits"
TOLD = "SELECT image_id, detection_id, attribute, value, annotator FROM labels ORDER BY ALL"


def say(app, edit, value="good", view="edits"):
    return app.post(f"{API}/{view}/{edit}/answer", json={"value": value})


def code(answer):
    return answer.json()["error"]["code"]


def commands(page):
    return [
        shlex.split(line) for line in html.unescape(re.search(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[1]).split("\n")
    ]


def test_an_answer_is_written_and_changed(client, lake):
    app = client(lake, annotator="ann")
    assert say(app, 10).json() == {
        "edit_id": 10, "image_id": 1, "attribute": "review:edits", "value": "good", "annotator": "ann",
    }  # fmt: skip
    assert say(app, 10, "flawed").status_code == 200
    assert say(app, 20, view="numbers").json()["attribute"] == "review:numbers"  # labels need not tell edits apart
    expected = [(1, 10, "review:edits", "flawed", "ann"), (2, 20, "review:numbers", "good", "ann")]
    assert lake.sql(TOLD).fetchall() == expected
    page = app.get(PAGE, params={"view": "edits", "source": "1"}).text
    assert 'data-value="flawed" aria-pressed="true"' in page
    assert page.count('aria-pressed="true"') == 1
    assert "1 of 6 edits answered" in page


def test_the_first_source_is_one_that_is_open(client, lake):
    app = client(lake, annotator="ann")
    first = int(re.search(r'/images/(\d+)"', app.get(PAGE).text)[1])
    for edit in (10 * first, 10 * first + 1):
        say(app, edit)
    assert f'/images/{first}"' not in app.get(PAGE).text
    assert f'/images/{first}"' in client(lake, annotator="bob").get(PAGE).text


def test_pages_without_an_annotator_keep_none(client, lake):
    answer = say(client(lake), 10)
    assert (answer.status_code, code(answer)) == (403, "E3225")
    assert lake.sql(TOLD).fetchall() == []
    page = client(lake).get(PAGE).text
    assert "--annotator NAME" in page
    assert "data-value" not in page


REFUSED = (
    ("edits", "10", {"value": "<b>"}, "E3775"),
    ("edits", "10", {"value": ["good"]}, "E3775"),
    ("edits", "10", [], "E3775"),
    ("edits", "99", {"value": "good"}, "E1068"),
    ("edits", "10 OR true", {"value": "good"}, "E1068"),
    ("edits' --", "10", {"value": "good"}, "E3677"),
    ("closed", "10", {"value": "good"}, "E3308"),
)


def test_what_is_no_answer_is_refused(client, lake):
    app = client(lake, annotator="ann")
    for view, edit, body, told in REFUSED:
        assert code(app.post(f"{API}/{view}/{edit}/answer", json=body)) == told
    assert lake.sql(TOLD).fetchall() == []


def test_no_answer_is_kept_about_a_closed_view(client, lake):
    browser = client(lake, token=None, annotator="ann")
    browser.get("/?token=a-token-of-tests")
    browser.post("/api/purpose", json={"purpose": "review of edits"})
    assert code(say(browser, 10, view="closed")) == "E3227"
    assert lake.sql(TOLD, sensitive="a test").fetchall() == []
    assert not [name for name in lake.session().sensitive_attributes() if name.startswith("review:")]
    page = browser.get(PAGE, params={"view": "closed", "source": "1"}).text
    assert "Answers are not kept here" in page
    assert "data-value" not in page


def test_an_edit_without_a_source_has_no_answer(client, lake):
    text = "SELECT edit_id + 1000 AS edit_id, image_id + 1000 AS image_id, label, list_first([edited]) AS edited FROM edits"
    lake.create_materialized_view("lost", text, "edit_id")
    lake.refresh("lost")
    assert code(say(client(lake, annotator="ann"), 1010, view="lost")) == "E1068"


@pytest.mark.parametrize("view", ["edits", "numbers"])
def test_what_all_found_good_is_a_view(client, lake, view):
    ann, bob = (client(lake, annotator=name) for name in ("ann", "bob"))
    for edit in (11, 21, 31):
        say(ann, edit, view=view)
    say(bob, 11, "harmful", view=view)
    say(bob, 21, view=view)
    made, refreshed = commands(ann.get(PAGE, params={"view": view}).text)
    lake.sql(made[3])
    assert refreshed == ["cbal", "refresh", "demo", f"{view}_accepted"]
    lake.refresh(refreshed[3])
    assert lake.sql(f"SELECT edit_id FROM {view}_accepted ORDER BY 1").fetchall() == [(21,), (31,)]
    assert ann.get(f"{API}/{view}_accepted/21/picture").status_code == 200


@pytest.mark.slow
def test_edits_are_answered_by_keys(browser, served, lake):
    address = served(lake, annotator="ann")
    browser("Page.navigate", url=f"{address}/?token=secret")
    browser.until("location.pathname === '/lakes/demo' && document.readyState === 'complete'")
    browser("Page.navigate", url=f"{address}/lakes/demo/edits?view=edits")
    ready = "document.readyState === 'complete' && document.activeElement.className === 'edit'"
    browser.until(ready)
    first = browser.js("location.search")
    seen = browser.js("[...document.querySelectorAll('.edit')].map((e) => e.dataset.edit)")
    browser.key("1")
    browser.key("2")  # the next one has the focus
    browser.key("a")
    browser.key("3")
    browser.key("n")
    browser.until(f"location.search !== '{first}' && {ready}")
    seen += [browser.js("document.activeElement.dataset.edit")]
    browser.key("1")
    browser.until("document.getElementById('told').textContent.endsWith('good')")
    assert browser.js("counted.textContent") == "3 of 6 edits answered by ann"
    rows = lake.sql("SELECT detection_id, value FROM labels WHERE attribute = 'review:edits'").fetchall()
    assert dict(rows) == dict(zip(map(int, seen), ("harmful", "flawed", "good"), strict=True))
    assert [e for e in browser.failed if "exceptionThrown" in e or "Content Security" in e] == []
