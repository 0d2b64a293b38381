"""An option of ingest that the format ignores is named in a note, so that nobody waits for pictures that never come."""

from __future__ import annotations

import pytest

FILES = {
    "laion": "url,caption\nhttp://a.org/1.jpg,a man\n",
    "labels": "key,attribute,value\na,scene,sea\n",
    "detections": "key,x1,y1,x2,y2\na,1,2,3,4\n",
}


@pytest.mark.parametrize("format_", FILES)
def test_it_is_told(empty_lake, format_, tmp_path):
    source = tmp_path / "rows.csv"
    source.write_text(FILES[format_])
    report = empty_lake.ingest(str(source), format_, images="nowhere", store_images=True)
    more = "; without a format, the pictures of that folder are read, too" * (format_ in {"detections", "labels"})
    assert report.notes == [f"the format {format_} ignores images, store_images{more}"]
    assert empty_lake.ingest(str(source), format_, store_images=False, limit=1).notes == []
