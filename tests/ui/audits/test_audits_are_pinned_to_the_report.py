"""What a browser pins stands on the overview, with the command that draws it, until it is taken away."""

from __future__ import annotations

import shlex

import pytest

from counterbalance.__main__ import main

pytestmark = pytest.mark.slow
PINS = "[...document.querySelectorAll('#pins-list a')].map((a) => a.textContent)"
SQL = "cooccurrence(groups := image_labels('scene'), min_count := 2)"


def pinned(browser, address, page):
    browser("Page.navigate", url=f"{address}/lakes/demo/audits/{page}")
    browser.until("document.querySelector('#copies')?.hidden === false")
    browser.click("pin")
    browser.until("document.getElementById('pin').getAttribute('aria-pressed') === 'true'")


def overview(browser, address):
    browser("Page.navigate", url=f"{address}/lakes/demo")
    browser.until("location.pathname === '/lakes/demo' && document.getElementById('pins-command')?.textContent")


def test_they_are_listed_and_drawn(browser, served, counted_lake, tmp_path, monkeypatch):
    address = served(counted_lake)
    browser("Page.navigate", url=f"{address}/lakes/demo/audits?token=secret")
    browser.until("location.pathname === '/lakes/demo/audits' && document.readyState === 'complete'")
    pinned(browser, address, "demographics")
    pinned(browser, address, "cooccurrence?groups=image_labels(%27scene%27)&min_count=2")
    overview(browser, address)
    assert browser.js(PINS) == ["demographics()", SQL]
    words = shlex.split(browser.js("document.getElementById('pins-command').textContent"))
    assert words == [
        *("counterbalance", "report", counted_lake.uri, "-o", "report.html"),
        *("--pin", "demographics()", "--pin", SQL),
    ]
    monkeypatch.chdir(tmp_path)
    assert main([*words[1:], "-q"]) == 0
    assert "cooccurrence" in (tmp_path / "report.html").read_text()

    browser.js("document.querySelector('#pins-list button').click()")
    assert browser.js(PINS) == [SQL]
    browser.js("document.querySelector('#pins-list a').click()")
    browser.until("document.querySelector('#copies')?.hidden === false")
    assert browser.js("location.search") == "?groups=image_labels(%27scene%27)&min_count=2"
    browser.click("pin")
    browser.until("document.getElementById('pin').getAttribute('aria-pressed') === 'false'")
    browser("Page.navigate", url=f"{address}/lakes/demo")
    browser.until("location.pathname === '/lakes/demo' && document.readyState === 'complete'")
    assert browser.js("document.getElementById('pins').hidden")


def test_what_is_kept_is_no_markup(browser, served, counted_lake):
    address = served(counted_lake)
    browser("Page.navigate", url=f"{address}/lakes/demo/audits?token=secret")
    browser.until("location.pathname === '/lakes/demo/audits' && document.readyState === 'complete'")
    browser.js(
        "localStorage.setItem('pins of demo', JSON.stringify([{call: \"<b>it's</b>\", page: 'javascript:alert(1)'}, 3, {call: 1}]))"
    )
    overview(browser, address)
    assert browser.js(PINS) == ["<b>it's</b>"]
    assert browser.js("document.querySelector('#pins-list a').getAttribute('href')") == "#"
    words = shlex.split(browser.js("document.getElementById('pins-command').textContent"))
    assert words[-2:] == ["--pin", "<b>it's</b>"]
    browser.js("localStorage.setItem('pins of demo', '{')")
    browser("Page.reload")
    browser.until("document.readyState === 'complete' && document.getElementById('pins')?.hidden")
