"""``ingest --dry-run`` shows what would be read as what: the first rows of each table, no perceived labels."""

from __future__ import annotations

import json

from counterbalance.__main__ import main


def test_first_rows(tmp_path, capsys):
    (tmp_path / "texts.csv").write_text("file_name,caption\n" + "".join(f"{i}.png,picture {i}\n" for i in range(9)))
    (tmp_path / "l.csv").write_text(
        "file_name,attribute,value\n0.png,scene,in\n0.png,perceived_gender,woman\n1.png,perceived_gender,man\n"
    )
    assert main(["ingest", str(tmp_path / "a.lake"), str(tmp_path), "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert "read as captions: texts.csv has columns file_name, caption" in err
    assert "first rows of captions:\n" in out
    assert "picture 2" in out
    assert "picture 3" not in out
    assert "first rows of labels:\n" in out
    assert "perceived_gender" not in out
    assert "woman" not in out
    assert not (tmp_path / "a.lake").exists()


def test_refused_rows_are_not_among_them_and_their_reasons_are_told(tmp_path, capsys):
    (tmp_path / "texts.csv").write_text("file_name,caption\n0.png,a sea\n")
    assert main(["ingest", str(tmp_path / "a.lake"), str(tmp_path / "texts.csv")]) == 0
    rows = "1,0.png,dog,0,0,5,5\n2,nowhere.png,emu,0,0,5,5\n3,0.png,cow,0,0,5,5\n4,0.png,pig,0,0,-5,5\n"
    (tmp_path / "boxes.csv").write_text("detection_id,file_name,category,x,y,width,height\n" + rows)
    assert main(["ingest", str(tmp_path / "a.lake"), str(tmp_path / "boxes.csv"), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert ("dog" in out, "emu" in out, "cow" in out) == (True, False, True)
    assert "2 refused: bad_box 1, unknown_image 1" in out


def test_an_ingest_that_writes_shows_none(tmp_path, capsys):
    (tmp_path / "texts.csv").write_text("file_name,caption\na.png,a sea\n")
    assert main(["ingest", str(tmp_path / "a.lake"), str(tmp_path / "texts.csv")]) == 0
    assert "first rows" not in capsys.readouterr().out


def test_it_counts_what_the_run_itself_counts(tmp_path, capsys):
    """Labels by the file names of pictures that the same source has by number."""
    images = [{"id": i, "file_name": f"p{i}.png", "width": 8, "height": 8} for i in range(3)]
    captions = [{"id": i, "image_id": i, "caption": "a sea"} for i in range(3)]
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "captions_val.json").write_text(json.dumps({"images": images, "annotations": captions}))
    (tmp_path / "d" / "labels.csv").write_text("image,attribute,value\np0.png,scene,in\np2.png,scene,out\n")
    counted = []
    for more in (["--dry-run"], []):
        assert main(["ingest", str(tmp_path / "a.lake"), str(tmp_path / "d"), *more]) == 0
        counted.append(
            [line.split()[:2] for line in capsys.readouterr().out.splitlines() if line.startswith("labels ")]
        )
    assert counted == [[["labels", "2"]]] * 2
