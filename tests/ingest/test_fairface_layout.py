"""FairFace as it is downloaded is met with its pictures: its tables lie above the folder that holds both splits."""

from __future__ import annotations

import pytest
from PIL import Image

import counterbalance as cb

HEADER = "file,age,gender,race,service_test\n"
ROWS = ["50-59,Male,East Asian,True", "3-9,Female,Black,False", "30-39,Female,Latino_Hispanic,True"]


@pytest.mark.parametrize("inside", ["", "fairface-img-margin025-trainval", "a/b"])
def test_tables_above_pictures_of_equal_names(tmp_path, inside):
    root = tmp_path / "fairface"
    for split in ("train", "val"):
        (root / inside / split).mkdir(parents=True)
        for number in range(1, 4):
            picture = root / inside / split / f"{number}.jpg"
            Image.new("RGB", (8, 8), (number, 0, 9 * (split == "val"))).save(picture)
        lines = (f"{split}/{number}.jpg,{row}\n" for number, row in enumerate(ROWS, 1))
        (root / f"fairface_label_{split}.csv").write_text(HEADER + "".join(lines))
    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(str(root))
    assert (report.format, report.rejected) == ("imagefolder, labels", 0)
    sql = "SELECT key, attribute, value FROM labels JOIN images USING (image_id) WHERE attribute <> 'service_test' ORDER BY ALL"
    assert lake.sql(sql).fetchall() == []
    shown = lake.session(sensitive="a test of readers").sql(sql).fetchall()
    assert len(shown) == 2 * 3 * len(ROWS)
    prefix = f"{inside}/" if inside else ""
    assert (f"{prefix}val/2.jpg", "race", "Black") in shown
    assert (f"{prefix}train/1.jpg", "gender", "Male") in shown
