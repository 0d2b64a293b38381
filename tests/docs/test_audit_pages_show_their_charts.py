"""The page of an audit shows the chart of its example beside the rows."""

from __future__ import annotations

import collections
import importlib
import xml.etree.ElementTree as ET

import counterbalance as cb


def test_a_chart_has_a_mark_for_each_row_with_a_value(project_root, monkeypatch, build, tmp_path):
    monkeypatch.syspath_prepend(str(project_root / "tools"))
    pages = importlib.import_module("docs_audits")
    ids = list(range(60))
    texts = ["a woman" if i < 25 else "a man" if i < 45 else "a dog" for i in ids]
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(
        {"images": build.images(image_id=ids), "captions": build.captions(caption_id=ids, image_id=ids, text=texts)}
    )
    with lake.session() as session:
        page = pages.audit(cb.audits()["demographics"], session, collections.defaultdict(str))
    before, drawn = page.split("````{raw} html\n")
    tree = ET.fromstring(drawn.partition("\n````")[0])
    shown = [t.text for t in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert {"female", "male", "unclear"} <= set(shown)
    assert "share, 95 % interval" in before
    assert "In every release since 0.2.0." in page
