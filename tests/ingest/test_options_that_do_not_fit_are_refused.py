"""Options and columns that a source does not have, and files that are larger than what is read, are refused."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import CounterbalanceError
from counterbalance.ingest import files

REFUSED = [
    ("E1002", "laion", "key,text\na,b\n", {"mapping": {"caption": "title"}}),
    ("E3001", "coco", '{"images": []}', {"mapping": {"caption": "title"}}),
    ("E3002", "coco", '{"images": []}', {"store_images": True}),
    ("E3005", "laion", "key,text\na,b\n", {"mapping": {"colour": "text"}}),
    ("E4011", "laion", "url,caption,caption\na,b,c\n", {}),
]


@pytest.mark.parametrize(("code", "format_", "text", "options"), REFUSED, ids=[code for code, *_ in REFUSED])
def test_refused(empty_lake, tmp_path, code, format_, text, options):
    source = tmp_path / ("a.json" if format_ == "coco" else "a.csv")
    source.write_text(text)
    with pytest.raises(CounterbalanceError) as caught:
        empty_lake.ingest(str(source), format_, **options)
    assert caught.value.code == code


def test_no_more_than_the_limit_is_read(tmp_path):
    (tmp_path / "a.csv").write_text("0123456789")
    (file,) = files.expand(str(tmp_path / "a.csv"), {}, (".csv",))
    assert file.read(10) == b"0123456789"
    with pytest.raises(CounterbalanceError) as caught:
        file.read(9)
    assert caught.value.code == "E4002"
