"""No page breaks a rule of axe-core (tests/helpers/axe.min.js, MPL-2.0), light or dark, wide or narrow; none loads from elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
AXE = Path(__file__).parents[1] / "helpers" / "axe.min.js"
RUN = "axe.run().then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 200))])))"
PAGES = (
    "",
    "/audits",
    "/audits/demographics",
    "/browse",
    "/images/1",
    "/map?colour=scene",
    "/edits",
    "/sql?q=SELECT+image_id,+text+FROM+captions+ORDER+BY+1",
    "/compare?with=demo",
    "/state",
    "/nowhere",
)


@pytest.fixture
def lake(empty_lake, build):
    n = 30
    texts = ["a man with a dog" if i % 2 else "a woman with a cat" for i in range(n)]
    empty_lake.ingest({
        "images": build.images(image_id=list(range(n)), key=[str(i) for i in range(n)]),
        "captions": build.captions(caption_id=list(range(n)), image_id=list(range(n)), text=texts),
        "labels": build.labels(label_id=list(range(n)), image_id=list(range(n)), attribute=["mood"] * n, value=["calm"] * n),
    })  # fmt: skip
    empty_lake.sql("ALTER TABLE captions ADD COLUMN letters AS (length(text))")
    empty_lake.sql(
        "CREATE MATERIALIZED VIEW places WITH (key = 'image_id') AS "
        "SELECT image_id, image_id % 7 AS x, image_id % 5 AS y, if(image_id % 2 = 0, 'sea', 'hill') AS scene FROM images"
    )
    empty_lake.sql(
        "CREATE MATERIALIZED VIEW edited WITH (key = 'edit_id') AS SELECT image_id AS edit_id, image_id % 3 AS image_id, "
        "'a dog' AS label, image_id / 30 AS score, list_first([image]) AS image FROM images"
    )
    empty_lake.refresh("places", "edited")
    return empty_lake


def test_rules(browser, served, lake):
    address, source = served(lake, annotator="ann"), AXE.read_text(encoding="utf-8")
    browser("Page.navigate", url=f"{address}/?token=secret")
    browser.until("location.pathname === '/lakes/demo' && document.readyState === 'complete'")
    for page in PAGES:
        for scheme, width in (("light", 1280), ("dark", 390)):
            browser("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            browser("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            browser("Page.navigate", url=f"{address}/lakes/demo{page}")
            browser.until(
                "document.readyState === 'complete' && !/^(Counting|Running|reading)/m.test(document.body.innerText)"
            )
            browser("Runtime.evaluate", expression=source)
            told = browser("Runtime.evaluate", expression=RUN, awaitPromise=True, returnByValue=True)
            assert json.loads(told["result"]["value"]) == [], (page, scheme)
            wide = browser.js("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, (page, width)
    asked = [entry for entry in browser.failed if entry.startswith("http")]
    assert [url for url in asked if not url.startswith(address)] == []
    refused = [entry for entry in browser.failed if "Content Security Policy" in entry or "exceptionThrown" in entry]
    assert refused == []
