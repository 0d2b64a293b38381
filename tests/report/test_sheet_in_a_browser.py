"""An annotation sheet in a real browser, from file://: keys, progress, what is kept, and the file that is saved."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.demo import ingest
from counterbalance.report.sheet.review import review
from counterbalance.report.sheet.validation import validate_labels
from counterbalance.sample import generate

PROGRAM = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium here: apt-get install chromium"),
]
FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --remote-debugging-pipe"
LABELS = "person_units('perceived_gender', annotator := 'first')"


class Browser:
    """A headless Chromium, spoken to in its own protocol over its pipe."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._number, self._heard, self.failed = folder, 0, b"", []
        words = f"exec {PROGRAM} {FLAGS} --user-data-dir={folder / 'profile'} about:blank 3<&0 4>&1"
        self.process = subprocess.Popen(
            ["bash", "-c", words], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._session = None
        target = next(t for t in self("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self(f"{domain}.enable")
        self("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def __call__(self, method: str, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self.process.stdin.write(json.dumps(message).encode() + b"\0")
        self.process.stdin.flush()
        while (answer := self._read()).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _read(self):
        pipe = self.process.stdout.fileno()
        while b"\0" not in self._heard:
            assert select.select([pipe], [], [], 20)[0], "the browser says nothing"
            part = os.read(pipe, 1 << 16)
            assert part, "the browser ended"
            self._heard += part
        first, _, self._heard = self._heard.partition(b"\0")
        return json.loads(first)

    def _note(self, event):
        """What the page asked of a network, what was blocked, and what its script failed at."""
        name, given = event.get("method"), event.get("params", {})
        if name == "Network.requestWillBeSent" and not given["request"]["url"].startswith(("file:", "data:", "blob:")):
            self.failed.append(given["request"]["url"])
        if name in {"Runtime.exceptionThrown", "Log.entryAdded"}:
            self.failed.append(json.dumps(given))

    def open(self, path: Path, width: int = 1280) -> None:
        self("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self("Page.navigate", url=path.as_uri())
        self.until("document.readyState === 'complete' && document.getElementById('annotator') !== null")

    def js(self, text: str):
        result = self("Runtime.evaluate", expression=text, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def until(self, text: str) -> None:
        end = time.monotonic() + 200
        while not self.js(text):
            assert time.monotonic() < end, text
            time.sleep(0.02)

    def key(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def click(self, name: str) -> None:
        self.js(f"document.getElementById({name!r}).click()")

    def choose(self, annotator: int) -> None:
        self.js(
            f"{{ const s = document.getElementById('annotator'); s.selectedIndex = {annotator}; "
            "s.dispatchEvent(new Event('change')) }"
        )

    def shot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def saved(self, pattern: str) -> Path:
        end = time.monotonic() + 200
        while not (found := sorted(self.folder.glob(pattern))):
            assert time.monotonic() < end
            self.js("1")
            time.sleep(0.05)
        return found[-1]

    def close(self) -> None:
        self.process.stdin.close()  # it ends when nobody speaks to it any more
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def browser(tmp_path):
    with tempfile.TemporaryDirectory(dir=tmp_path, ignore_cleanup_errors=True) as folder:
        found = Browser(Path(folder))
        yield found
        found.close()


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
        out = io.BytesIO()
        whole = Image.open(io.BytesIO(data)).convert("RGB")
        (whole.rotate(180) if said == "female" else whole).save(out, "PNG")
        found.append(out.getvalue())
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
    shown = "[...document.querySelectorAll('#more figcaption')].map(f => f.textContent).join()"
    assert browser.js(shown) == "female,male"
    assert browser.js("document.querySelector('#more dl').textContent") == "p real0.25"
    assert browser.js("[...document.images].every(i => i.complete && i.naturalWidth > 20)")
    for key in "132":
        browser.key(key)
    assert browser.js("document.getElementById('sum').textContent") == "3 answers, 0 skipped, 0 still open."
    browser.click("save2")
    file = browser.saved(f"answers-a1-{sheet.sheet}.csv")
    assert main(["review", lake.uri, "edits", "--answers", str(file)]) == 0
    text = (
        "SELECT value, count(*) FROM labels WHERE attribute = 'review:edits' AND annotator = $who GROUP BY 1 ORDER BY 1"
    )
    assert lake.sql(text, who=f"a1@{sheet.sheet}").fetchall() == [("flawed", 1), ("good", 1), ("harmful", 1)]
    for width in (1280, 400):
        browser.open(sheet.path, width)
        browser.choose(2)
        browser.click("start")
        assert browser.js("document.documentElement.scrollWidth <= innerWidth")
    assert not browser.failed


def _data(path: Path):
    text = path.read_text(encoding="utf-8")
    return json.loads(text.split('id="data">')[1].split("</script>")[0])
