"""A picture in two files of annotations is one image with the boxes of both."""

from __future__ import annotations

from PIL import Image

import counterbalance as cb


def document(*boxes):
    shapes = "".join(f'<box label="{label}" xtl="1" ytl="1" xbr="{x}" ybr="9"/>' for label, x in boxes)
    return f'<image name="a.jpg" width="64" height="48">{shapes}</image>'


def test_jobs_of_cvat(tmp_path):
    root = tmp_path / "task"
    for job, content in (
        ("job1", document(("dog", 5))),
        ("job2", document(("cat", 6), ("dog", 5)) + document(("cow", 7))),
    ):
        (root / job).mkdir(parents=True)
        (root / job / "annotations.xml").write_text(f"<annotations>{content}</annotations>")
    Image.new("RGB", (64, 48)).save(root / "a.jpg")
    lake = cb.connect(tmp_path / "l.lake")
    assert lake.ingest(str(root)).rejected == 0
    sql = "SELECT key, category FROM images JOIN detections USING (image_id) ORDER BY category"
    assert lake.sql(sql).fetchall() == [("a.jpg", "cat"), ("a.jpg", "cow"), ("a.jpg", "dog")]
    assert lake.sql("SELECT count(*) FROM images").fetchall() == [(1,)]
    assert lake.ingest(str(root)).written == 0
