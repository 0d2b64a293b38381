"""What an ingest did is shown in Python as the command line tells it: counts, what was refused and why, and notes."""

from __future__ import annotations

import re

import counterbalance as cb

ROWS = """[{"image": "a.jpg", "caption": "a man", "n": 3}, {"image": "b.jpg", "caption": "a dog"}, 7]"""


def test_a_report(tmp_path):
    (tmp_path / "a.json").write_text(ROWS)
    lake = cb.connect(tmp_path / "a.lake")
    looked = repr(lake.ingest(tmp_path / "a.json", dry_run=True)).splitlines()
    assert looked[0].startswith("would read 3 rows of ")
    assert any(re.fullmatch(r"  caption_id=-?\d+, image_id=\d+, text='a man', origin='human'", line) for line in looked)
    told = repr(lake.ingest(tmp_path / "a.json", keep=["n"])).splitlines()
    assert re.fullmatch(r"read 3 rows of \S+a.json \(captions\) in \d+\.\d s", told[0])
    assert told[1:] == [
        "  images: 2 written",
        "  captions: 2 written",
        "  labels: 1 written",
        "1 refused: bad_json 1; see lake.sql('FROM meta.errors')",
        "note: read as captions: a.json has columns image, caption",
    ]
