"""Audits that are pinned stand at the top of a report, with their chart, rows and SQL; what is no audit is an error."""

from __future__ import annotations

import html
import re

import pytest

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine.errors import NotFoundError, SqlError
from counterbalance.report.build import render

PINS = ["demographics(caption_gender, min_count := 2)", "demographics(image_labels('no such attribute <b>'))"]


@pytest.fixture(scope="module")
def lake(build):
    made = cb.connect("memory://report-pins")
    texts = ["a man <b>", "a woman", "a man and a woman", "a dog"] * 10
    ids = list(range(40))
    images = build.images(image_id=ids, key=[str(i) for i in ids])
    made.ingest({"images": images, "captions": build.captions(caption_id=ids, image_id=ids, text=texts)})
    return made


@pytest.fixture(scope="module")
def page(lake):
    return render(lake, pinned=PINS)


def test_a_pin_has_its_chart_its_rows_and_its_call(lake, page):
    found = re.search(r'<section id="pinned">(.*?)</section>', page, flags=re.DOTALL)
    assert found is not None
    assert found.start() < page.index('<section id="tables">')
    body = html.unescape(found[1])
    assert body.count("<svg") == 2
    assert f"<h3>{PINS[0]}</h3>" in body
    assert f"<code>SELECT * FROM {PINS[0]}</code>" in body
    assert body.count("<tr>") == 1 + lake.sql(f"SELECT * FROM {PINS[0]}").to_arrow().num_rows
    assert '<a href="#pinned">Pinned</a>' in page


def test_one_without_rows_is_named_among_what_is_left_out(page):
    assert "no such attribute &lt;b&gt;" in page[page.index('<section id="absent">') :]
    assert 'id="pin-2"' not in page


@pytest.mark.parametrize("pin", ["captions", "vader('x')", "(SELECT 1)", "nothing(1)"])
def test_what_is_no_audit_is_told(lake, pin):
    with pytest.raises(NotFoundError, match="audit") as told:
        render(lake, pinned=[pin])
    assert told.value.code == "E1004"


def test_more_than_a_call_is_told(lake):
    with pytest.raises(SqlError) as told:
        render(lake, pinned=["demographics() WHERE true"])
    assert told.value.code == "E3113"


def test_one_of_ones_own_is_found_in_a_folder(tmp_path, build):
    made = cb.connect(tmp_path / "bare.lake")
    made.ingest({"images": build.images(image_id=[1, 2], key=["1", "2"])})
    made.close()
    (tmp_path / "mine").mkdir()
    text = '/*--- toml\nanswers = "How many there are."\nsource = "us"\n---*/\nSELECT count(*) AS pictures FROM images'
    (tmp_path / "mine" / "pictures_of_ours.sql").write_text(text)
    words = ["report", str(tmp_path / "bare.lake"), "-o", str(tmp_path / "r.html"), "--queries", str(tmp_path / "mine")]
    assert main([*words, "--pin", "pictures_of_ours()"]) == 0
    assert "How many there are." in (tmp_path / "r.html").read_text()
