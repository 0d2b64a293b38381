"""Files of one source that disagree: the first statement about a value stands, the others are refused, each time the same."""

from __future__ import annotations

import itertools
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from repeats import again

import counterbalance as cb
from counterbalance.engine.ingest_types import Chunk, Source
from counterbalance.engine.write.ingest import ingest

QUERY = "SELECT image_id, key, split, width FROM images ORDER BY 1"
lakes = itertools.count()


def load(lake, *files, dry_run=False):
    """Ingest files: a list of rows of ``images`` each, every row a chunk."""
    chunks = [Chunk({"images": rows}, rows_read=1, source=f"{name}.json") for name, rows in files]
    return ingest(lake.location, Source("folder", iter(chunks)), "test", dry_run=dry_run)


def counts(report):
    return report.written, report.updated, report.unchanged, report.rejected


def errors(lake):
    return lake.sql("SELECT source, position, code, message FROM meta.errors ORDER BY ALL").fetchall()


def test_the_first_file_stands_and_both_places_are_named(disk_lake, build):
    files = [
        ("a", build.images(image_id=[1, 2], key=["x", "same"])),
        ("b", build.images(image_id=[2, 1], key=["same", "y"])),
    ]
    assert counts(load(disk_lake, *files)) == (2, 0, 0, 1)
    versions = disk_lake.session().versions
    for _ in range(2):
        again = load(disk_lake, *files)
        assert counts(again) == (0, 0, 2, 1)
        assert not again.changed
    assert disk_lake.session().versions == versions
    assert disk_lake.sql("SELECT key FROM images ORDER BY image_id").fetchall() == [("x",), ("same",)]
    message = "image_id 1 stands in this source twice, with other key; first in a.json"
    assert errors(disk_lake) == [("b.json", "row 2", "duplicate_key", message)]
    assert disk_lake.sql("SELECT mode FROM meta.runs WHERE state = 'finished' ORDER BY at").fetchall() == [
        ("incremental",),
        ("no_op",),
        ("no_op",),
    ]


def test_a_lake_that_was_read_the_other_way_round_settles(disk_lake, build):
    """What a run says first replaces what is stored, and then stays."""
    a = ("a", build.images(image_id=[1], key=["x"]))
    b = ("b", build.images(image_id=[1], key=["y"]))
    load(disk_lake, b)
    assert counts(load(disk_lake, a, b)) == (0, 1, 0, 1)
    assert counts(load(disk_lake, a, b)) == (0, 0, 1, 1)
    assert disk_lake.sql("SELECT key FROM images").fetchall() == [("x",)]


def test_files_that_complete_each_other_are_taken(disk_lake, build):
    files = [
        ("a", build.images(image_id=[1], key=["x"], width=[None])),
        ("b", build.images(image_id=[1], key=["x"], width=[9])),
        ("c", build.images(image_id=[1], split=["val"])),
        ("d", build.images(image_id=[1], key=[None], width=[9], split=["val"])),
        ("e", build.images(image_id=[1], split=["train"])),
    ]
    assert counts(load(disk_lake, *files)) == (1, 0, 0, 1)
    assert disk_lake.sql(QUERY).fetchall() == [(1, "x", "val", 9)]
    assert counts(load(disk_lake, *files)) == (0, 0, 1, 1)


def test_what_only_the_lake_said_is_replaced_by_a_later_file(disk_lake, build):
    """That an earlier file lists an image says nothing about the columns that it leaves out."""
    disk_lake.ingest({"images": build.images(image_id=[1], key=["x"], width=[5])})
    files = [("a", build.images(image_id=[1], key=["x"])), ("b", build.images(image_id=[1], width=[9]))]
    assert counts(load(disk_lake, *files)) == (0, 1, 0, 0)
    assert counts(load(disk_lake, *files)) == (0, 0, 1, 0)
    assert disk_lake.sql("SELECT width FROM images").fetchall() == [(9,)]


def test_a_refused_row_changes_nothing_at_all(disk_lake, build):
    files = [("a", build.images(image_id=[1], key=["x"])), ("b", build.images(image_id=[1], key=["y"], width=[9]))]
    load(disk_lake, *files, ("c", build.images(image_id=[1], width=[7])))
    assert disk_lake.sql(QUERY).fetchall() == [(1, "x", None, 7)]


def test_rows_of_one_chunk_name_the_first_place(disk_lake, build):
    load(disk_lake, ("a", build.images(image_id=[4, 4], key=["x", "y"])))
    message = "image_id 4 stands in this source twice, with other content; first at row 1"
    assert errors(disk_lake) == [("a.json", "row 2", "duplicate_key", message)]


def test_an_image_that_this_run_wrote_is_not_unchanged(disk_lake, build):
    rows = build.images(image_id=[1, 2], key=["x", "y"])
    files = [(name, rows) for name in "abc"]
    assert counts(load(disk_lake, *files, dry_run=True)) == (2, 0, 0, 0)
    assert counts(load(disk_lake, *files)) == (2, 0, 0, 0)
    assert counts(load(disk_lake, *files)) == (0, 0, 2, 0)
    more = ("d", build.images(image_id=[1, 2], width=[5, None]))
    assert counts(load(disk_lake, *files, more, dry_run=True)) == (0, 1, 1, 0)
    assert counts(load(disk_lake, *files, more)) == (0, 1, 1, 0)


def test_coco_files_of_a_split(disk_lake, tmp_path):
    images = [{"id": i, "file_name": f"{i}.jpg", "width": 10, "height": 10} for i in range(3)]
    boxes = [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}]
    documents = {
        "captions": {"images": images, "annotations": [{"id": 1, "image_id": 1, "caption": "a dog"}]},
        "instances": {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "dog"}]},
        "stuff": {"images": [images[0] | {"width": 11}], "annotations": []},
    }
    for name, document in documents.items():
        (tmp_path / f"{name}_val2017.json").write_text(json.dumps(document))
    first, again = (disk_lake.ingest(str(tmp_path), format="coco") for _ in range(2))
    assert (first.by_table["images"].written, first.by_table["images"].unchanged) == (3, 0)
    assert (again.changed, again.by_table["images"].unchanged) == (False, 3)
    assert [first.rejected, again.rejected] == [1, 1]
    ((source, position, _, message),) = errors(disk_lake)
    assert (source, position) == (str(tmp_path / "stuff_val2017.json"), "images[0]")
    assert message.endswith(f"with other width; first in {tmp_path / 'captions_val2017.json'}")


values = st.none() | st.sampled_from(["a", "b"])
files = st.lists(st.dictionaries(st.integers(0, 2), st.tuples(values, values), min_size=1), min_size=1, max_size=4)


def as_a_dictionary(stored, statements):
    """What a run leaves: for every value the first that is told, a row being refused that disagrees with one."""
    rows, told, refused = {k: list(v) for k, v in stored.items()}, {}, 0
    for statement in statements:
        for key, row in statement.items():
            known = told.setdefault(key, [None, None])
            if any(n is not None and k is not None and n != k for n, k in zip(row, known, strict=True)):
                refused += 1
                continue
            held = rows.setdefault(key, [None, None])
            for i, value in enumerate(row):
                if value is not None:
                    known[i] = held[i] = value
    return {k: tuple(v) for k, v in rows.items()}, refused


@settings(
    max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(stored=files, statements=files)
def test_any_files_are_as_a_dictionary_and_settle_at_once(build, stored, statements):
    lake = cb.connect(f"memory://disagree-{next(lakes)}")

    def run(statements):
        parts = [
            (
                str(number),
                build.images(
                    image_id=list(rows), key=[r[0] for r in rows.values()], split=[r[1] for r in rows.values()]
                ),
            )
            for number, rows in enumerate(statements)
        ]
        return load(lake, *parts)

    def table():
        return {r[0]: r[1:] for r in lake.sql("SELECT image_id, key, split FROM images").fetchall()}

    run(stored)
    before = table()
    assert before == as_a_dictionary({}, stored)[0]
    expected, refused = as_a_dictionary(before, statements)
    report = run(statements)
    assert table() == expected
    told = {k for s in statements for k in s}
    changed = {k for k in told & before.keys() if before[k] != expected[k]}
    assert counts(report) == (len(told - before.keys()), len(changed), len(told & before.keys() - changed), refused)
    again = run(statements)
    assert (counts(again), again.changed) == ((0, 0, len(told), refused), False)


def test_sensitive_labels_that_disagree_are_refused_without_a_word_of_them(disk_lake, build):
    def chunk(name, value):
        rows = build.labels(label_id=[1], image_id=[1], attribute=["race"], value=[value], annotator=["ann"])
        return Chunk({"images": build.images(image_id=[1]), "labels": rows}, rows_read=1, source=name)

    def source():
        return Source("folder", iter([chunk("a.csv", "SECRET-1"), chunk("b.csv", "SECRET-2")]))

    assert [ingest(disk_lake.location, source(), "test").rejected for _ in range(2)] == [1, 1]
    assert "SECRET" not in str(errors(disk_lake))


@pytest.mark.parametrize("number", [1, *again(0, 2)])
def test_many_files(disk_lake, build, number):
    """The first place is told among several."""
    names = ["a", "b", "c"]
    files = [(n, build.images(image_id=[i], key=["x"])) for i, n in enumerate(names)]
    load(disk_lake, *files, ("last", build.images(image_id=[number], key=["y"])))
    assert errors(disk_lake)[0][3].endswith(f"first in {names[number]}.json")
