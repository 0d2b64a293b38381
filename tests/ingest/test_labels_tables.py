"""Labels are read one a row or one attribute a column, by anybody, about images and boxes."""

from __future__ import annotations

import pytest
from reading import rejects_of, rows_of, write_rows

from counterbalance.engine.errors import NotFoundError, RequestError, SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.engine.schema import LABELS
from counterbalance.ingest.hashing import hash63
from counterbalance.ingest.labels import read


def load(uri, **options):
    chunks = list(read(str(uri), ReadOptions(**options)).chunks)
    whole = set(LABELS.schema().names)
    assert all(set(c.tables["labels"].column_names) == whole for c in chunks if "labels" in c.tables)
    return rows_of(chunks)["labels"], rejects_of(chunks), chunks


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_one_label_a_row(tmp_path, ending, hash_columns):
    rows = [
        {"image_id": 7, "detection_id": None, "attribute": "scene", "value": "Beach", "score": 0.5, "annotator": "ann"},
        {"image_id": 7, "detection_id": None, "attribute": "scene", "value": "city", "score": None, "annotator": "bob"},
        {"image_id": 7, "detection_id": 3, "attribute": "pose", "value": "sits", "score": 1, "annotator": None},
        {"image_id": None, "detection_id": 4, "attribute": "pose", "value": "runs", "score": 0, "annotator": None},
    ]
    found, rejects, _ = load(write_rows(tmp_path / f"a.{ending}", rows), annotator="me")
    assert not rejects
    names = ["ann", "bob", "me", "me"]
    wanted = [{**r, "annotator": n} for r, n in zip(rows, names, strict=True)]
    assert [{k: v for k, v in r.items() if k != "label_id"} for r in found] == wanted
    columns = [[r[c] for r in wanted] for c in ("image_id", "detection_id", "attribute", "annotator")]
    assert [r["label_id"] for r in found] == hash_columns(*columns).to_pylist()


def test_the_same_question_to_the_same_annotator_is_the_same_label(tmp_path):
    rows = [{"key": "k", "attribute": "scene", "value": v} for v in ("beach", "city")]
    found, _, _ = load(write_rows(tmp_path / "a.csv", rows))
    assert len({r["label_id"] for r in found}) == 1  # the engine refuses the second answer


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_one_attribute_a_column(tmp_path, ending):
    rows = [
        {"key": "a", "scene": "beach", "scene_score": 0.5, "people": 2, "rater": "ann"},
        {"key": "b", "scene": None, "scene_score": None, "people": 0, "rater": "bob"},
    ]
    found, rejects, chunks = load(write_rows(tmp_path / f"a.{ending}", rows))
    assert not rejects
    assert [(r["image_id"], r["attribute"], r["value"], r["score"], r["annotator"]) for r in found] == [
        (hash63("a"), "scene", "beach", 0.5, "ann"),
        (hash63("a"), "people", "2", None, "ann"),
        (hash63("b"), "people", "0", None, "bob"),
    ]
    place = "row {}" if ending == "parquet" else "line {}"
    first = 2 if ending == "csv" else 1
    assert list(chunks[0].positions["labels"]) == [place.format(n) for n in (first, first, first + 1)]
    assert chunks[0].rows_read == 2


def test_row_numbers_of_data_frames_are_no_labels(tmp_path):
    (tmp_path / "a.csv").write_text(",Unnamed: 0,key,scene\n0,0,k,beach\n")
    found, _, _ = load(tmp_path / "a.csv")
    assert [r["attribute"] for r in found] == ["scene"]


def test_bad_rows_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "key,detection_id,attribute,value,score\nk,,a,v,0.5\n,,a,v,\nk,,,v,\nk,,a,,\nk,,a,v,7\nk,,a,v,x\nk,,a,v\n,5,a,v,nan\n"
    )
    found, rejects, (chunk,) = load(path)
    assert [(r["image_id"], r["detection_id"], r["score"]) for r in found] == [
        (hash63("k"), None, 0.5),
        (None, 5, None),
    ]
    assert sorted(rejects) == [
        ("line 3", "missing_key"),
        ("line 4", "missing_attribute"),
        ("line 5", "missing_value"),
        ("line 6", "bad_score"),
        ("line 7", "bad_score"),
        ("line 8", "bad_columns"),
    ]
    assert chunk.rows_read == 8


def test_a_late_key_of_json_lines_is_not_lost(tmp_path, monkeypatch):
    from counterbalance.ingest import tabular

    monkeypatch.setattr(tabular, "HEAD", 40)
    path = write_rows(
        tmp_path / "a.jsonl", [{"key": f"k{i}", "scene": "x"} for i in range(5)] + [{"key": "l", "mood": "y"}]
    )
    found, rejects, _ = load(path)
    assert len(found) == 5
    assert rejects == [("line 6", "unknown_key")]


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("attribute,value\n", "no key column"),
        ("key\n", "has no labels"),
        ("scene,mood\n", "no key column"),
        ("key,scene,scene\n", "two columns of one name"),
    ],
)
def test_a_file_without_its_columns_is_one_error(tmp_path, head, said):
    (tmp_path / "a.csv").write_text(head)
    with pytest.raises(SourceError, match=said):
        read(str(tmp_path / "a.csv"), ReadOptions())


def test_mapping(tmp_path):
    path = write_rows(tmp_path / "a.csv", [{"pic": "k", "q": "scene", "a": "beach", "who": "ann"}])
    found, _, _ = load(path, mapping={"key": "pic", "attribute": "q", "value": "a", "annotator": "who"})
    assert [(r["attribute"], r["value"], r["annotator"]) for r in found] == [("scene", "beach", "ann")]
    with pytest.raises(NotFoundError, match="did you mean 'pic'"):
        read(str(path), ReadOptions(mapping={"key": "pics"}))
    with pytest.raises(RequestError, match="no field"):
        read(str(path), ReadOptions(mapping={"picture": "pic"}))


def test_several_files_and_a_limit(tmp_path):
    for n in range(3):
        write_rows(tmp_path / f"{n}.csv", [{"key": f"k{n}{i}", "attribute": "a", "value": "v"} for i in range(4)])
    assert len(load(tmp_path)[0]) == 12
    assert len(load(tmp_path, limit=6)[0]) == 6
    assert {c.source for c in load(f"{tmp_path}/{{0..1}}.csv")[2]} == {f"{tmp_path}/0.csv", f"{tmp_path}/1.csv"}


def test_a_list_of_captions_is_no_table_of_labels(tmp_path):
    path = tmp_path / "list.csv"
    path.write_text("url,caption,width\nhttp://x/1.jpg,a man,10\n")
    with pytest.raises(SourceError, match="looks like a list of captions") as caught:
        read(str(path), ReadOptions())
    assert caught.value.hint == "read it with --format laion"
