"""``ingest --dry-run`` shows what would be read as what: the first rows of each table, no perceived labels."""

from __future__ import annotations

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
