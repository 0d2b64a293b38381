"""A headless Chromium, spoken to in its own protocol over its pipe."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
FLAGS = "--headless=new --no-sandbox --enable-unsafe-swiftshader --disable-dev-shm-usage --no-first-run --remote-debugging-pipe"


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
            assert select.select([pipe], [], [], 180)[0], "the browser says nothing"
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
