"""``ingest`` reads a source, counts, and says so."""

from __future__ import annotations

import json

import pytest

from counterbalance.__main__ import main


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "captions_val.json"
    images = [{"id": i, "file_name": f"{i}.jpg", "width": 640, "height": 480} for i in (1, 2)]
    captions = [{"id": 10 + i, "image_id": i, "caption": f"caption {i}"} for i in (1, 2)]
    path.write_text(json.dumps({"images": images, "annotations": captions}))
    return path


@pytest.fixture
def spoilt(tmp_path):
    path = tmp_path / "captions_val.json"
    images = [{"id": 1, "file_name": "1.jpg"}]
    captions = [{"id": 11, "image_id": 1, "caption": "fine"}, {"id": 12, "image_id": None, "caption": "of nothing"}]
    path.write_text(json.dumps({"images": images, "annotations": captions}))
    return path


def test_counts(source, tmp_path, capsys):
    words = ["ingest", str(tmp_path / "a.lake"), str(source), "--format", "coco", "--progress", "never"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith(f"read 4 rows of {source} (coco) in ")
    assert lines[1].split() == ["written", "updated", "unchanged", "rejected"]
    assert ["images", "2", "0", "0", "0"] in [line.split() for line in lines]
    assert ["captions", "2", "0", "0", "0"] in [line.split() for line in lines]
    assert err == ""


def test_the_same_again_changes_nothing_and_says_so(source, tmp_path, capsys):
    words = ["ingest", str(tmp_path / "a.lake"), str(source), "--format", "coco"]
    main(words)
    capsys.readouterr()
    assert main(words) == 0
    assert "nothing changed: all of it was there already" in capsys.readouterr().out


def test_what_is_declared_is_to_be_refreshed(source, tmp_path, capsys):
    lake = str(tmp_path / "a.lake")
    words = ["ingest", lake, str(source), "--format", "coco", "--progress", "never"]
    assert main([*words, "--limit", "1"]) == 0
    assert main(["sql", lake, "ALTER TABLE captions ADD COLUMN size AS (length(text))"]) == 0
    assert "refresh" not in capsys.readouterr().err
    assert main([*words, "--dry-run"]) == 0
    assert "refresh" not in capsys.readouterr().err
    assert main(words) == 0
    assert f"counterbalance refresh {lake}" in capsys.readouterr().err
    assert main(words) == 0
    assert "refresh" not in capsys.readouterr().err


def test_json_is_all_there_is_on_stdout(source, tmp_path, capsys):
    words = ["ingest", str(tmp_path / "a.lake"), str(source), "--format", "coco", "--json", "--progress", "always"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert (report["rows_read"], report["written"], report["rejected"]) == (4, 4, 0)
    assert err != ""


def test_progress_in_a_log_is_lines(source, tmp_path, capsys, monkeypatch):
    from counterbalance.shell import progress

    monkeypatch.setattr(progress, "_AT_MOST_EVERY", 0.0)
    assert main(["ingest", str(tmp_path / "a.lake"), str(source), "--format", "coco"]) == 0
    err = capsys.readouterr().err
    assert "\r" not in err
    assert "\x1b" not in err
    assert "100% of" in err


def test_dry_run_writes_nothing(source, tmp_path, capsys):
    words = ["ingest", str(tmp_path / "a.lake"), str(source), "--format", "coco", "--dry-run"]
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("would read 4 rows")
    assert not (tmp_path / "a.lake" / "images.lance").exists()


def test_limit_and_split(source, tmp_path, capsys):
    lake = str(tmp_path / "a.lake")
    assert main(["ingest", lake, str(source), "--format", "coco", "--split", "mine", "--limit", "1"]) == 0
    capsys.readouterr()
    assert main(["sql", lake, "SELECT DISTINCT split FROM images", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"split": "mine"}]


def test_map(tmp_path, capsys):
    path = tmp_path / "part.csv"
    path.write_text("url,alt\nhttp://x/1.jpg,a dog\n")
    lake = str(tmp_path / "a.lake")
    assert main(["ingest", lake, str(path), "--format", "laion", "--map", "caption=alt"]) == 0
    capsys.readouterr()
    assert main(["sql", lake, "SELECT text FROM captions", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"text": "a dog"}]


@pytest.mark.parametrize(("flag", "code"), [([], 0), (["--strict"], 1)])
def test_refused_items_do_not_stop_a_load(flag, code, spoilt, tmp_path, capsys):
    lake = str(tmp_path / "a.lake")
    assert main(["ingest", lake, str(spoilt), "--format", "coco", *flag]) == code
    out = capsys.readouterr().out
    assert f"1 refused; see: counterbalance errors {lake}" in out
    assert main(["errors", lake, "--json"]) == 0
    (refused,) = json.loads(capsys.readouterr().out)
    assert refused["source"].endswith("captions_val.json")
    assert refused["position"] == "annotations[1]"
    assert refused["code"]
    assert refused["message"]
    assert main(["errors", lake, "--json", "--code", "no_such_code"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_file_that_is_something_else_is_one_error(tmp_path, capsys):
    path = tmp_path / "captions_val.json"
    path.write_text("not json")
    assert main(["ingest", str(tmp_path / "a.lake"), str(path), "--format", "coco"]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("error[E4")
    assert not (tmp_path / "a.lake" / "images.lance").exists()


def test_items_that_reach_no_table_are_told_apart(tmp_path, capsys):
    path = tmp_path / "list.tsv"
    path.write_text("caption\turl\na dog\thttp://x/1.jpg\nno url\t\n")
    assert main(["ingest", str(tmp_path / "a.lake"), str(path), "--format", "laion"]) == 0
    out = capsys.readouterr().out
    assert "1 refused; see: counterbalance errors " in out
    assert out.endswith(" (1 of them as they were read, before any table)\n")


def test_a_source_without_rows_says_so(tmp_path, capsys):
    path = tmp_path / "labels.csv"
    path.write_text("key,attribute,value\n")
    assert main(["ingest", str(tmp_path / "a.lake"), str(path), "--format", "labels"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["the source has no rows"]


def test_pictures_that_are_missing_are_told(source, tmp_path, capsys):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "1.jpg").write_bytes(b"")
    words = [
        "ingest",
        str(tmp_path / "a.lake"),
        str(source),
        "--format",
        "coco",
        "--images",
        str(tmp_path / "pictures"),
    ]
    assert main([*words, "--json", "--progress", "never"]) == 0
    out, err = capsys.readouterr()
    (note,) = json.loads(out)["notes"]
    assert note.startswith("1 of 2 pictures were not found in ")
    assert note.endswith("/2.jpg")
    assert err == f"note: {note}\n"


def test_a_folder_of_other_files_says_what_is_wanted(tmp_path, capsys):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "1.jpg").write_bytes(b"")
    assert main(["ingest", str(tmp_path / "a.lake"), str(tmp_path / "pictures"), "--format", "labels"]) == 1
    assert "no *.parquet or *.arrow or *.csv or *.tsv or *.jsonl or *.ndjson in the folder" in capsys.readouterr().err


def test_a_coco_file_of_another_format_is_recognised(source, tmp_path, capsys):
    assert main(["ingest", str(tmp_path / "a.lake"), str(source), "--format", "labels"]) == 1
    assert "--format coco" in capsys.readouterr().err


def test_unknown_format_suggests(source, tmp_path, capsys):
    assert main(["ingest", str(tmp_path / "a.lake"), str(source), "--format", "cocoo"]) == 1
    assert "did you mean 'coco'?" in capsys.readouterr().err


def test_interrupted(source, tmp_path, capsys, monkeypatch):
    from counterbalance.engine.lake import Lake

    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(Lake, "ingest", interrupted)
    assert main(["ingest", str(tmp_path / "a.lake"), str(source), "--format", "coco"]) == 130
    err = capsys.readouterr().err
    assert "run the same command again to go on" in err
    assert err.endswith("interrupted\n")


def test_a_source_of_which_all_is_refused_has_failed(tmp_path, capsys):
    path, lake = tmp_path / "list.tsv", str(tmp_path / "a.lake")
    path.write_text("caption\turl\nno url\t\nnone either\t\n")
    words = ["ingest", lake, str(path), "--format", "laion"]
    assert main([*words, "--dry-run"]) == 1
    assert "2 refused, all that was read: " in capsys.readouterr().out
    assert main(words) == 1
    assert f"2 refused, all that was read; see: counterbalance errors {lake} " in capsys.readouterr().out
    path.write_text("caption\turl\n")
    assert main(words) == 0
