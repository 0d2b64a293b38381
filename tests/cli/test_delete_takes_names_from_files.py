"""``cbal delete`` reads names from lines, CSV, Parquet and stdin, tells first, and its exit codes tell how it went."""

from __future__ import annotations

import io
import json

import copies
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from counterbalance.__main__ import main


@pytest.fixture
def filled(kept, disk_lake, build):
    def fill(lake):
        ids = list(range(1, 9))
        lake.ingest(
            {
                "images": build.images(
                    image_id=ids,
                    key=[f"key{i}" for i in ids],
                    uri=[f"http://x/{i}.jpg" for i in ids],
                    split=["a", "b"] * 4,
                ),
                "captions": build.captions(caption_id=ids, image_id=ids, text=[f"text {i}" for i in ids]),
            }
        )

    return copies.filled(kept, disk_lake, fill)


def left(lake):
    return [r[0] for r in lake.sql("SELECT image_id FROM images ORDER BY 1").fetchall()]


def test_it_tells_first(filled, capsys):
    assert main(["delete", filled.uri, "--where", "split = 'a'"]) == 0
    out, _ = capsys.readouterr()
    assert out == "would remove 4 images, 4 captions\nnothing was removed: add --apply\n"
    assert len(left(filled)) == 8
    assert main(["delete", filled.uri, "--where", "split = 'a'", "--apply"]) == 0
    out, err = capsys.readouterr()
    assert out == "removed 4 images, 4 captions\n"
    assert "old versions still hold them" in err
    assert left(filled) == [2, 4, 6, 8]


def test_lines(filled, tmp_path, capsys):
    (tmp_path / "ids.txt").write_text("3\n\n  key4 \nhttp://x/5.jpg\nnobody\n", "utf-8-sig")
    assert main(["delete", filled.uri, "--ids", str(tmp_path / "ids.txt"), "--apply"]) == 0
    assert "1 of 4 names are of no image in the lake" in capsys.readouterr().out
    assert left(filled) == [1, 2, 6, 7, 8]


def test_stdin(filled, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("3\nkey4\n"))
    assert main(["delete", filled.uri, "--ids", "-", "--apply"]) == 0
    assert left(filled) == [1, 2, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("text", "words", "gone"),
    [
        ("who,url\n1,http://x/5.jpg\n2,http://x/6.jpg\n", [], [5, 6]),
        ("who,what\n1,key5\n2,7\n", ["--column", "what"], [5, 7]),
        ("image_id\n5\nkey6\n", [], [5]),
    ],
)
def test_csv(text, words, gone, filled, tmp_path):
    (tmp_path / "ids.csv").write_text(text)
    assert main(["delete", filled.uri, "--ids", str(tmp_path / "ids.csv"), *words, "--apply"]) == 0
    assert left(filled) == [i for i in range(1, 9) if i not in gone]


def test_parquet(filled, tmp_path, capsys):
    pq.write_table(pa.table({"image_id": [5, 6, 99], "why": ["x"] * 3}), tmp_path / "ids.parquet")
    assert main(["delete", filled.uri, "--ids", str(tmp_path / "ids.parquet"), "--apply", "--purge", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["images"], done["unknown"], done["complete"], done["found_by"]) == (2, 1, True, {"image_id": 2})
    assert left(filled) == [1, 2, 3, 4, 7, 8]


@pytest.mark.parametrize(
    ("name", "text", "words", "code", "told"),
    [
        ("ids.csv", "a,b\n1,2\n", [], 2, "which column of"),
        ("ids.csv", "a,b\n1,2\n", ["--column", "c"], 2, "there is no column 'c'"),
        ("ids.parquet", "a,b\n", [], 1, "E4054"),
        (None, "", [], 1, "E1006"),
        ("ids.txt", "1\n", ["--where", "true"], 1, "E3082"),
        ("ids.txt", "1\n", ["--drop-tag", "x"], 2, "goes with --purge"),
        ("ids.txt", "1\n", ["--purge", "--drop-tag", "x"], 1, "no tag 'x'"),
    ],
)
def test_what_cannot_be_meant(name, text, words, code, told, filled, tmp_path, capsys):
    file = tmp_path / (name or "missing.txt")
    if name:
        file.write_text(text)
    assert main(["delete", filled.uri, "--ids", str(file), *words, "--apply"]) == code
    out, err = capsys.readouterr()
    assert told in err or told in out
    assert len(left(filled)) == 8


def test_names_that_no_image_has(filled, tmp_path, capsys):
    (tmp_path / "ids.txt").write_text("nobody\n")
    assert main(["delete", filled.uri, "--ids", str(tmp_path / "ids.txt"), "--apply"]) == 0
    assert capsys.readouterr().out == "none of them is in the lake\n"


def test_a_tag_ends_with_1_and_a_reader_with_75(filled, capsys):
    filled.tag("paper")
    words = ["delete", filled.uri, "--where", "image_id = 3", "--apply", "--purge", "--wait", "0"]
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert "not complete" in out
    assert "still held by tag paper" in err
    with filled.session(at="paper"):
        assert main(["delete", filled.uri, "--apply", "--purge", "--wait", "0", "--drop-tag", "paper"]) == 75
    capsys.readouterr()
    assert main(["delete", filled.uri, "--apply", "--purge"]) == 0
    assert "nothing is left" in capsys.readouterr().out
    assert main(["history", filled.uri, "--format", "jsonl"]) == 0
    kinds = [json.loads(line)["kind"] for line in capsys.readouterr().out.splitlines()]
    assert kinds.count("delete") == 1
    assert "purge" in kinds
