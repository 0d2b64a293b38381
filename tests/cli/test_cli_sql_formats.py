"""``sql`` writes each format to stdout or a file."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from counterbalance.__main__ import main

QUERY = "SELECT caption_id, text, similarity FROM captions WHERE caption_id IN (11, 16, 17) ORDER BY caption_id"
ROWS = [(11, "a man rides a horse", 0.5), (16, "", float("nan")), (17, None, 1.0)]


def run(lake, capfdbinary, *words):
    assert main(["sql", lake.uri, QUERY, *words]) == 0
    return capfdbinary.readouterr().out


def test_json(lake, capfdbinary):
    rows = json.loads(run(lake, capfdbinary, "--json"))
    assert rows == [
        {"caption_id": 11, "text": "a man rides a horse", "similarity": 0.5},
        {"caption_id": 16, "text": "", "similarity": None},
        {"caption_id": 17, "text": None, "similarity": 1.0},
    ]


def test_jsonl(lake, capfdbinary):
    lines = run(lake, capfdbinary, "--format", "jsonl").splitlines()
    assert [json.loads(line)["caption_id"] for line in lines] == [11, 16, 17]


@pytest.mark.parametrize(("words", "delimiter"), [(["--csv"], ","), (["--format", "tsv"], "\t")])
def test_delimited(words, delimiter, lake, capfdbinary):
    rows = list(csv.reader(io.StringIO(run(lake, capfdbinary, *words).decode()), delimiter=delimiter))
    assert rows == [
        ["caption_id", "text", "similarity"],
        ["11", "a man rides a horse", "0.5"],
        ["16", "", "nan"],
        ["17", "", "1.0"],
    ]


def test_markdown(lake, capfdbinary):
    assert run(lake, capfdbinary, "--format", "markdown").decode().splitlines() == [
        "| caption_id | text | similarity |",
        "| ---: | --- | ---: |",
        "| 11 | a man rides a horse | 0.5 |",
        "| 16 |  | nan |",
        "| 17 |  | 1.0 |",
    ]


def test_table_is_the_default(lake, capfdbinary):
    assert run(lake, capfdbinary).decode().splitlines() == [
        "caption_id  text                 similarity",
        "----------  -------------------  ----------",
        "        11  a man rides a horse         0.5",
        "        16                              nan",
        "        17  NULL                        1.0",
    ]


def same(table):
    assert table["caption_id"].to_pylist() == [r[0] for r in ROWS]
    assert table["text"].to_pylist() == [r[1] for r in ROWS]
    assert str(table["similarity"].to_pylist()) == str([r[2] for r in ROWS])


def test_parquet(lake, capfdbinary):
    same(pq.read_table(io.BytesIO(run(lake, capfdbinary, "--format", "parquet"))))


def test_arrow(lake, capfdbinary):
    same(pa.ipc.open_file(run(lake, capfdbinary, "--format", "arrow")).read_all())


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "tsv", "md", "txt", "parquet", "arrow"])
def test_a_file_takes_its_format_from_its_suffix(suffix, lake, tmp_path, capfdbinary):
    names = {"md": "markdown", "txt": "table"}
    on_stdout = run(lake, capfdbinary, "--format", names.get(suffix, suffix))
    path = tmp_path / f"out.{suffix}"
    assert run(lake, capfdbinary, "-o", str(path)) == b""
    assert path.read_bytes() == on_stdout


def test_format_goes_before_suffix(lake, tmp_path, capfdbinary):
    path = tmp_path / "out.csv"
    run(lake, capfdbinary, "-o", str(path), "--format", "json")
    assert len(json.loads(path.read_text())) == 3


def test_columns_of_bytes_are_left_out_with_a_note(lake, capfd):
    assert main(["sql", lake.uri, "SELECT 1 AS a, 'x'::BLOB AS picture", "--json"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out) == [{"a": 1}]
    assert (
        err
        == "note: column 'picture' holds bytes and is left out of json; parquet and arrow keep it, and export writes pictures as files\n"
    )


def test_a_folder_is_told_what_writes_pictures(lake, tmp_path, capfd):
    assert main(["sql", lake.uri, QUERY, "-o", str(tmp_path)]) == 2
    assert "export writes pictures as files" in capfd.readouterr().err
