"""The baselines beside contrast sets: other faces, images repeated, left out, or weighted until labels are equal."""

from __future__ import annotations

import io
import json
from collections import Counter, defaultdict
from types import SimpleNamespace

import numpy as np
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine.store import tables

LABELS = {1: "male", 2: "male", 3: "male", 4: "female", 5: "female", 6: "male"}
TEXTS = {"male": "a man with his dog", "female": "a woman with her dog"}


def picture(number):
    """A grey picture whose face has stripes that tell its number."""
    pixels = np.full((60, 60, 3), 90, np.uint8)
    pixels[10:40, 15:45] = np.random.default_rng(number).integers(0, 256, (30, 30, 3))
    return image_bytes(Image.fromarray(pixels))


def rows(build, labels, odd=()):
    numbers = [*labels, *odd]
    boxes = [(n, 30.0) for n in labels] + [(n, {8: 30.0, 9: 4.0}[n]) for n in (8, 8, 9) if n in odd]
    others = [n for n in (10, 11, 12, 13) if n in odd]
    count, more = len(boxes), len(others)
    pictures = {n: picture(n) for n in numbers} | {11: None, 12: picture(12)[:200]}
    return {
        "images": build.images(
            image_id=numbers, key=[str(n) for n in numbers], image=[pictures[n] for n in numbers]
        ),
        "captions": build.captions(
            caption_id=numbers, image_id=numbers, text=[TEXTS.get(labels.get(n), "a man" if n != 10 else "dogs") for n in numbers]
        ),
        "detections": build.detections(
            detection_id=[numbers[0] * 100 + i for i in range(count + more)],
            image_id=[n for n, _ in boxes] + others,
            category=["face"] * (count + more),
            x=[15.0] * count + [400.0 if n == 13 else 15.0 for n in others],
            y=[10.0] * (count + more),
            width=[w for _, w in boxes] + [30.0] * more,
            height=[30.0] * (count + more),
        ),
    }  # fmt: skip


def run(lake, name, **given):
    return lake.recipe(name, given, refresh={"executor": "inline"})


def chosen(lake, view, columns):
    return lake.sql(f"SELECT {columns} FROM {view} ORDER BY ALL").fetchall()


@pytest.fixture(scope="module")
def faces(build, tmp_path_factory):
    """genswap on thirteen pictures, refreshed, and refreshed with one more."""
    lake = cb.connect(tmp_path_factory.mktemp("genswap") / "test.lake")
    lake.ingest(rows(build, LABELS, odd=(7, 8, 9, 10, 11, 12, 13)))
    report = run(lake, "genswap")
    first = chosen(lake, "genswap_set", "image_id, label, face_of, text")
    skipped = dict(chosen(lake, "genswap_skipped", "image_id, reason"))
    again = lake.refresh(executor="inline")
    lake.ingest(rows(build, {20: "male"}))
    more = lake.refresh(executor="inline")
    return SimpleNamespace(lake=lake, report=report, first=first, skipped=skipped, again=again, more=more)


def test_faces_of_other_pictures_of_each_label(faces):
    assert [r[:2] for r in faces.first] == [(i, label) for i in LABELS for label in ("female", "male")]
    assert all(LABELS[of] == label and of != i for i, label, of, _ in faces.first)
    assert all(text == TEXTS[label] for _, label, _, text in faces.first)
    assert faces.skipped == {
        7: "no face", 8: "several faces", 9: "tiny box", 10: "no clear label", 11: "no picture",
        12: "corrupt picture", 13: "box outside the picture",
    }  # fmt: skip
    told = faces.lake.sql("SELECT key, message FROM meta.errors WHERE table_name = 'genswap_skipped'").fetchall()
    assert {int(key): why for key, why in told} == dict(chosen(faces.lake, "genswap_skipped", "image_id, reason"))
    assert dict(told).items() >= {str(i): why for i, why in faces.skipped.items()}.items()
    failed = faces.lake.sql("SELECT key FROM meta.errors WHERE column_name = 'face' ORDER BY key").fetchall()
    assert failed == [("12",), ("13",)], "these rows fail alone"
    made = faces.report.results["made"].to_pylist()
    assert made == [{"label": k, "images": 6, "texts": 6} for k in ("female", "male")]
    assert {s.mode for s in faces.again.stages} == {"no_op"}


def test_of_a_picture_the_face_alone_is_stored_twice(faces):
    for name, own in {"genswap_sources": {"face"}, "genswap_requests": {"face", "edited"}}.items():
        names = set(tables.open_table(faces.lake.location, name).schema.names)
        assert names >= {*own, "sha256"}
        assert "image" not in names


def test_nothing_but_the_face_is_changed(faces):
    table = tables.open_table(faces.lake.location, "genswap_set").to_table(columns=["image_id", "image"]).to_pylist()
    for row in table:
        before, after = (
            np.asarray(Image.open(io.BytesIO(b)).convert("RGB")) for b in (picture(row["image_id"]), row["image"])
        )
        face = np.zeros((60, 60), bool)
        face[10:40, 15:45] = True
        assert (before == after)[~face].all()
        assert (before != after)[face].any()


@pytest.mark.thorough
def test_a_picture_more_changes_few_draws(faces):
    before = {r[:3] for r in faces.first}
    after = set(chosen(faces.lake, "genswap_set", "image_id, label, face_of"))
    changed = {r[:2] for r in before - after}
    assert all((*r, 20) in after for r in changed), "those that changed show the new face"
    computed = {s.target: s.rows for s in faces.more.stages if s.kind == "column"}
    faces_cut = {"genswap_sources.face": 1, "genswap_sources.color": 1}
    assert computed == {**faces_cut, "genswap_requests.edited": len(after - before)}
    assert len(after - before) == 2 + len(changed)


@pytest.fixture
def labelled(empty_lake, build):
    labels = ["male"] * 30 + ["female"] * 12 + ["mixed"] * 5 + ["other"] * 3
    ids = list(range(len(labels)))
    empty_lake.ingest({"images": build.images(image_id=ids, key=[str(i) for i in ids])})
    empty_lake.ingest(
        {"labels": build.labels(label_id=ids, image_id=ids, attribute=["scene"] * len(ids), value=labels)}
    )
    return empty_lake, dict(enumerate(labels))


GROUPS = {"groups": "image_labels('scene')"}


def test_oversampling_repeats_the_rare(labelled):
    lake, labels = labelled
    done = run(lake, "oversample", **GROUPS)
    rows = chosen(lake, "oversample_set", "edit_id, image_id, label, copy")
    assert Counter(r[2] for r in rows) == {"male": 30, "female": 30}
    assert {r[1] for r in rows} == {i for i, label in labels.items() if label in {"male", "female"}}
    copies = defaultdict(list)
    for _, image, _, copy in rows:
        copies[image].append(copy)
    assert all(sorted(c) == list(range(1, len(c) + 1)) for c in copies.values())
    assert len({r[0] for r in rows}) == 60
    assert done.results["made"].to_pylist()[0] == {"label": "female", "rows": 30, "images": 12}


def test_subsampling_leaves_out_the_frequent(labelled):
    lake, labels = labelled
    run(lake, "subsample", **GROUPS)
    rows = chosen(lake, "subsample_set", "image_id, label")
    assert Counter(label for _, label in rows) == {"male": 12, "female": 12}
    assert all(labels[i] == label for i, label in rows)


def test_weights_make_labels_equal(labelled):
    lake, _ = labelled
    run(lake, "reweight", **GROUPS)
    rows = chosen(lake, "reweight_set", "label, weight")
    totals = defaultdict(float)
    for label, weight in rows:
        totals[label] += weight
    assert totals == {"male": pytest.approx(21), "female": pytest.approx(21)}
    assert set(rows) == {("male", 0.7), ("female", 1.75)}


OBJECTS = {"dog": lambda i: i % 2 == 0, "tie": lambda i: i < 25 or i >= 38, "cake": lambda i: i < 30}


def test_attributes_are_balanced_with_labels(labelled, build):
    """Hirota et al. 2024, section 2.1: in the rows that stand for an attribute, every label is equally frequent."""
    lake, labels = labelled
    boxes = [(i, name) for name, has in OBJECTS.items() for i in labels if has(i)]
    columns = {"image_id": [b[0] for b in boxes], "category": [b[1] for b in boxes]}
    sides = {s: [9.0] * len(boxes) for s in ("x", "y", "width", "height")}
    lake.ingest({"detections": build.detections(detection_id=list(range(len(boxes))), **columns, **sides)})
    given = {**GROUPS, "concepts": "category_concepts", "min_count": 4}
    pairs = {(i, labels[i], c) for i, c in boxes if labels[i] in {"male", "female"}}
    sizes = Counter((c, label) for _, label, c in pairs)
    assert sizes == {
        ("dog", "male"): 15,
        ("dog", "female"): 6,
        ("tie", "male"): 25,
        ("tie", "female"): 4,
        ("cake", "male"): 30,
    }

    run(lake, "subsample", **given, rest="all")
    rows = chosen(lake, "subsample_set", "image_id, label, concept, edit_id")
    clear = {r[:3] for r in rows if r[2] is not None}
    assert clear <= pairs
    # no woman is with a cake: the attribute is left out
    assert Counter((c, label) for _, label, c in clear) == {
        (c, label): n for c, n in (("dog", 6), ("tie", 4)) for label in ("male", "female")
    }
    assert Counter(r[1] for r in rows if r[2] is None) == {"mixed": 5}
    assert len({r[3] for r in rows}) == len(rows) == 25

    run(lake, "oversample", **given)
    rows = chosen(lake, "oversample_set", "edit_id, image_id, label, concept, copy")
    assert Counter((c, label) for _, _, label, c, _ in rows) == {
        (c, label): n for c, n in (("dog", 15), ("tie", 25)) for label in ("male", "female")
    }
    assert {r[1:4] for r in rows} == {p for p in pairs if p[2] != "cake"}
    uses = Counter(r[1:4] for r in rows if r[2] == "female")
    assert {uses[p] for p in uses if p[2] == "dog"} == {2, 3}
    assert len({r[0] for r in rows}) == len(rows)

    run(lake, "reweight", **given)
    weights = dict(chosen(lake, "reweight_set", "DISTINCT concept || ' ' || label, weight"))
    wanted = {"dog male": 21 / 2 / 15, "dog female": 21 / 2 / 6, "tie male": 29 / 2 / 25, "tie female": 29 / 2 / 4}
    assert weights == {k: pytest.approx(v) for k, v in wanted.items()}


def test_a_second_run_draws_the_same(labelled):
    lake, _ = labelled
    run(lake, "oversample", **GROUPS)
    before = lake.sql("SELECT * FROM oversample_set ORDER BY ALL").fetchall()
    assert [s.state for s in run(lake, "oversample", **GROUPS).steps if not s.results] == ["unchanged"]
    assert lake.sql("SELECT * FROM oversample_set ORDER BY ALL").fetchall() == before


def test_without_labels_nothing_is_drawn(empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    run(empty_lake, "reweight")
    assert chosen(empty_lake, "reweight_set", "count(*)") == [(0,)]


def test_labels_that_are_not_shown_are_told(empty_lake, build, capsys):
    """A baseline over perceived labels is empty without a purpose, and says so, the second time too."""
    ids = list(range(40))
    labels = {"attribute": ["perceived_gender"] * 40, "value": ["male", "female"] * 20, "annotator": ["ann"] * 40}
    images = build.images(image_id=ids, key=list(map(str, ids)))
    empty_lake.ingest({"images": images, "labels": build.labels(label_id=ids, image_id=ids, **labels)})
    groups = "groups=(SELECT image_id, value AS label FROM labels WHERE attribute = 'perceived_gender')"
    words = ["recipe", empty_lake.uri, "reweight", "--param", groups, "--progress", "never"]
    assert main(words) == 0
    told = capsys.readouterr()
    hidden = 'note: labels of perceived_gender are not shown; to read them, state a purpose: --sensitive "why"'
    assert told.err.count(hidden) == 1
    assert "note" not in told.out
    assert main([*words, "--sensitive", "test of notes"]) == 0
    assert (
        "reweight_set was declared without a purpose and has no labels of perceived_gender" in capsys.readouterr().err
    )
    assert empty_lake.sql("SELECT count(*) FROM reweight_set").fetchall() == [(0,)]
    empty_lake.sql("DROP MATERIALIZED VIEW reweight_set")
    assert main([*words, "--sensitive", "test of notes", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [s["notes"] for s in steps] == [[], []]
    assert [r["images"] for r in steps[-1]["results"][0]] == [20, 20]
