"""A user's own word list: every kind of file, and what is wrong with one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import parquet

from counterbalance.engine.errors import NotFoundError, SourceError
from counterbalance.udfs import wordlists


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        (
            "a.txt",
            "# note\nmurder\n\n  hate crime \r\ncaf\u00e9\nmurder\n",
            [("murder",), ("hate crime",), ("caf\u00e9",)],
        ),
        ("a.csv", 'term,class\nmurder,violent\n"a, b",other\n', [("murder", "violent"), ("a, b", "other")]),
        ("a.csv", "\ufeffclass,term\nviolent, murder\n,theft\n", [("murder", "violent"), ("theft", None)]),
        (
            "a.csv",
            'Synonym,"Racial Category"\nArab,"Middle Eastern / North African"\n',
            [("Arab", "Middle Eastern / North African")],
        ),
        ("a.csv", "Term\nmurder\n", [("murder",)]),
        ("a.csv", "group,word\nanimal,dog\n", [("dog", "animal")]),
        ("a.csv", "id,words,kind\n1,dog,x\n", [("dog", "x", "1")]),
        ("A.TSV", "term\tclass\tnote\nmurder\tx\tyes\n", [("murder", "x", "yes")]),
        (
            "a.jsonl",
            '{"class": "x", "term": "murder"}\n\n{"class": null, "term": "theft"}\n',
            [("murder", "x"), ("theft", None)],
        ),
        ("a.jsonl", '"murder"\n"hate crime"\n', [("murder",), ("hate crime",)]),
        ("a.txt", "", []),
    ],
)
def test_text_files(tmp_path, name, text, wanted):
    table = wordlists.load(write(tmp_path, name, text))
    assert table.column_names[:2] == ["term", "class"][: table.num_columns]
    assert [tuple(row.values()) for row in table.to_pylist()] == wanted
    assert table.schema.field("term").type == pa.string()


def test_same_term_in_two_classes_stays(tmp_path):
    path = write(tmp_path, "a.csv", "term,class\nAsian,East\nAsian,South\nAsian,East\n")
    assert wordlists.load(path).to_pylist() == [{"term": "Asian", "class": "East"}, {"term": "Asian", "class": "South"}]


def test_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(
        pa.table({"weight": [1.5, 2.0], "class": pa.array(["x", "y"]).dictionary_encode(), "term": ["a", "b"]}), path
    )
    table = wordlists.load(path)
    assert table.to_pylist() == [{"term": "a", "class": "x", "weight": 1.5}, {"term": "b", "class": "y", "weight": 2.0}]
    assert table.schema.field("class").type == pa.string()


@pytest.mark.parametrize(
    ("name", "text", "code", "message"),
    [
        ("a.csv", "term,class\nmurder\n", "E4050", "row 2: 1 fields under 2 names"),
        ("a.csv", "", "E4050", "empty"),
        ("a.csv", "term,class\nmurder,x\n ,y\n", "E4052", "row 2: no term"),
        ("a.csv", 'term\n"murder\n', "E4050", "cannot read"),
        ("a.csv", "dog,animal\ncat,animal\n", "E4053", "no column 'term': its first line names 'dog', 'animal'"),
        ("a.csv", "murder\ntheft\n", "E4053", "no column 'term'"),
        ("a.txt", b"caf\xe9\n", "E4050", "cannot read"),
        ("a.jsonl", '{"term": \n', "E4050", "cannot read"),
        ("a.jsonl", "[1]\n", "E4050", "line 1"),
        ("a.jsonl", "", "E4050", "no columns"),
        ("a.parquet", "no parquet", "E4050", "cannot read"),
        ("a.xlsx", "x", "E4051", "must end in one of"),
    ],
)
def test_wrong_files(tmp_path, name, text, code, message):
    with pytest.raises(SourceError, match=message) as error:
        wordlists.load(write(tmp_path, name, text))
    assert error.value.code == code
    assert name in str(error.value)


def test_missing_file(tmp_path):
    with pytest.raises(NotFoundError) as error:
        wordlists.load(tmp_path / "none.txt")
    assert error.value.code == "E1012"


@pytest.mark.parametrize("name", wordlists.names())
def test_shipped_files_are_user_files_too(tmp_path, name):
    table = wordlists.wordlist(name)
    rows = [",".join(f'"{v or ""}"' for v in row.values()) for row in table.to_pylist()]
    path = write(tmp_path, "copy.csv", "\n".join([",".join(table.column_names), *rows]))
    assert wordlists.load(path).to_pylist() == table.to_pylist()
