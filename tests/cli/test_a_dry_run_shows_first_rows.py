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


def test_an_ingest_that_writes_shows_none(tmp_path, capsys):
    (tmp_path / "texts.csv").write_text("file_name,caption\na.png,a sea\n")
    assert main(["ingest", str(tmp_path / "a.lake"), str(tmp_path / "texts.csv")]) == 0
    assert "first rows" not in capsys.readouterr().out
