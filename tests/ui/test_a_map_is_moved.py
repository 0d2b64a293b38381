"""A map is drawn without a graphics card; arrows, plus and minus, and a mouse move it, and a point opens its image."""

from __future__ import annotations

import pytest

VIEW = "CREATE MATERIALIZED VIEW places WITH (key = 'image_id') AS SELECT image_id, image_id AS x, image_id % 3 AS y FROM images"
INKED = """(() => {
  const pen = document.querySelector('#map canvas.points').getContext('2d');
  const { data, width } = pen.getImageData(0, 0, pen.canvas.width, pen.canvas.height);
  const found = [];
  for (let i = 3; i < data.length; i += 4) if (data[i]) found.push([(i - 3) / 4 % width, Math.floor((i - 3) / 4 / width)]);
  const x = found.map((p) => p[0]), y = found.map((p) => p[1]);
  return [Math.min(...x), Math.max(...x), Math.min(...y), Math.max(...y), found.length];
})()"""
"""The least and most pixel of a point, across and along, and how many there are."""
FRAME = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"

pytestmark = pytest.mark.slow


@pytest.fixture
def opened(browser, served, empty_lake, build):
    """Five images in a row, the middle one of which stands in the middle of the map."""
    empty_lake.ingest({"images": build.images(image_id=list(range(5)))})
    empty_lake.sql(VIEW)
    empty_lake.refresh("places")
    address = served(empty_lake)
    browser("Emulation.setDeviceMetricsOverride", width=1000, height=1000, deviceScaleFactor=1, mobile=False)
    browser("Page.navigate", url=f"{address}/?token=secret")
    browser.until("location.pathname === '/lakes/demo' && document.readyState === 'complete'")
    browser("Page.navigate", url=f"{address}/lakes/demo/map")
    browser.until("document.getElementById('map')?.dataset.ready")
    return browser


def drawn(browser):
    """Return where points are, once what was asked for is drawn."""
    browser("Runtime.evaluate", expression=FRAME, awaitPromise=True)
    return browser.js(INKED)


def press(browser, *keys):
    browser.js("document.getElementById('map').focus()")
    for key in keys:
        browser("Input.dispatchKeyEvent", type="keyDown", key=key)
        browser("Input.dispatchKeyEvent", type="keyUp", key=key)


def mouse(browser, kind, x, y, button="left"):
    left, top = browser.js("{ const r = document.getElementById('map').getBoundingClientRect(); [r.left, r.top] }")
    buttons = int(button == "left")
    browser("Input.dispatchMouseEvent", type=kind, x=left + x, y=top + y, button=button, buttons=buttons, clickCount=1)


def test_arrows_move_it(opened):
    press(opened, "-")  # with room around the points
    before = drawn(opened)
    assert before[4] > 5 * 9, "five dots"
    press(opened, "ArrowRight")
    after = drawn(opened)
    assert [b - a for a, b in zip(before[:2], after[:2], strict=True)] in ([-60, -60], [-60, -59], [-59, -60])
    press(opened, "ArrowLeft")
    assert drawn(opened) == before


def test_plus_and_minus_zoom(opened):
    left, right, *_ = drawn(opened)
    press(opened, "+")
    zoomed = drawn(opened)
    assert zoomed[4] < 5 * 37, "what is outside is not drawn"
    press(opened, "-")
    assert drawn(opened)[:2] == [left, right]


def test_a_mouse_moves_it_and_all_brings_it_back(opened):
    before = drawn(opened)
    mouse(opened, "mousePressed", 50, 50)
    mouse(opened, "mouseMoved", 80, 90)
    mouse(opened, "mouseReleased", 80, 90)
    after = drawn(opened)
    assert abs(after[0] - before[0] - 30) <= 1
    assert abs(after[2] - before[2] - 40) <= 1
    opened.click("whole")
    assert drawn(opened) == before


def test_a_point_opens_its_image(opened):
    wide, tall = opened.js("[document.getElementById('map').clientWidth, document.getElementById('map').clientHeight]")
    left, right, top, bottom, _ = drawn(opened)
    assert abs((left + right) / 2 - wide / 2) <= 1
    assert abs((top + bottom) / 2 - tall / 2) <= 1
    x, y = left + 3, bottom - 3  # the first one, below
    mouse(opened, "mouseMoved", x, y, button="none")
    opened.until("!document.querySelector('#map .seen').hidden")
    for kind in ("mousePressed", "mouseReleased"):
        mouse(opened, kind, x, y)
    opened.until("location.pathname === '/lakes/demo/images/0'")
