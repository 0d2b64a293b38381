"""Labels add up to more than the images where some have two: such classes need a purpose, and of open ones there must not be few."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.disclosure.cells import Cells
from counterbalance.engine.disclosure.protection import protect
from counterbalance.engine.errors import SensitiveError

GROUPS = "person_labels('perceived_gender')"
CALLS = (
    f"demographics({GROUPS})",
    f"intersections({GROUPS}, image_labels('scene'))",
    f"cooccurrence({GROUPS}, category_concepts)",
)


def made(build, folder, both):
    """60 women and 50 men in as many images, and so many images with one of each."""
    ids = list(range(110 + both))
    boxes = [(i, "female") for i in range(60)] + [(i, "male") for i in range(60, 110)]
    boxes += [(i, value) for i in ids[110:] for value in ("female", "male")]
    numbers = list(range(len(boxes)))
    lake = cb.connect(str(folder / "a.lake"))
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "detections": build.detections(
                detection_id=numbers, image_id=[i for i, _ in boxes], category=["person"] * len(boxes),
                width=[90.0] * len(boxes), height=[90.0] * len(boxes),
            ),
            "labels": build.labels(
                label_id=numbers + [10_000 + i for i in ids],
                image_id=[i for i, _ in boxes] + ids,
                detection_id=numbers + [None] * len(ids),
                attribute=["perceived_gender"] * len(boxes) + ["scene"] * len(ids),
                value=[value for _, value in boxes] + ["in" if i % 2 else "out" for i in ids],
            ),
        }
    )  # fmt: skip
    return lake


@pytest.mark.parametrize("both", [1, 12])
@pytest.mark.parametrize("call", CALLS)
def test_classes_that_overlap_need_a_purpose(build, tmp_path, call, both):
    lake = made(build, tmp_path, both=both)
    with pytest.raises(SensitiveError, match="an image has several perceived labels") as caught:
        lake.sql(f"FROM {call}").fetchall()
    assert caught.value.code == "E3326"
    assert lake.sql(f"FROM {call}", sensitive="a test of the wall").columns
    assert lake.sql("FROM demographics(image_labels('perceived_gender'))").fetchall()


def of_three(build, folder, ab=0, bc=0, ac=0, abc=0):
    """A closed view in which 40 images each are of women, men and others, and so many more of two of these, or all."""
    values = {i: [("female", "male", "other")[i // 40]] for i in range(120)}
    for labels, count in (
        (("female", "male"), ab),
        (("male", "other"), bc),
        (("female", "other"), ac),
        (("female", "male", "other"), abc),
    ):
        values |= {len(values) + i: labels for i in range(count)}
    rows = [(image, label) for image, own in values.items() for label in own]
    ids = list(range(len(rows)))
    lake = cb.connect(str(folder / "a.lake"))
    lake.ingest(
        {
            "images": build.images(image_id=list(values)),
            "captions": build.captions(caption_id=list(values), image_id=list(values), text=["a thief"] * len(values)),
            "labels": build.labels(
                label_id=ids, image_id=[i for i, _ in rows], value=[v for _, v in rows],
                attribute=["perceived_gender"] * len(rows), annotator=[f"n{i}" for i in ids],
            ),
        }
    )  # fmt: skip
    reads = "SELECT label_id, image_id, value AS label FROM labels"
    lake.create_materialized_view("closed", reads, "label_id", purpose="the owner's")
    lake.refresh(executor="inline")
    return lake


@pytest.mark.parametrize(
    "few",
    [
        {"ab": 3, "bc": 20},  # what counts them for both, and what for none, differ by three of women
        {"ab": 15, "bc": 15, "ac": 4},  # ... by 19, 30 and 19: half of their sum less 30
        {"ab": 60, "bc": 15, "ac": 15, "abc": 12},  # images with women, less those with men, too: of one scene, few
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        "demographics(closed)",
        "crime_words(closed)",
        "crime_words(closed, unit := 'person')",
        "compare_demographics(closed, caption_gender)",
    ],
)
def test_so_do_three(build, tmp_path, call, few):
    lake = of_three(build, tmp_path, **few)
    with pytest.raises(SensitiveError) as caught:
        lake.sql(f"FROM {call}").fetchall()
    assert caught.value.code == "E3326"


def test_labels_apart_are_told(build, tmp_path):
    lake = of_three(build, tmp_path)
    told = [("female", 40), ("male", 40), ("other", 40)]
    assert lake.sql("SELECT label, count FROM demographics(closed) ORDER BY label").fetchall() == told
    persons = "SELECT base_count FROM crime_words(closed, unit := 'person') WHERE level = 'pooled'"
    assert lake.sql(persons).fetchall() == [(40,)] * 3


@pytest.mark.parametrize(("both", "is_told"), [(0, True), (3, False), (12, True)])
def test_of_open_labels_beside_them_few_are_refused(build, tmp_path, both, is_told):
    lake = made(build, tmp_path, both=0)
    lake.create_materialized_view(
        "scenes",
        "SELECT label_id, image_id, value AS label FROM labels WHERE attribute = 'scene' "
        f"UNION ALL SELECT 50000 + image_id, image_id, 'sky' FROM images WHERE image_id < {both}",
        "label_id",
    )
    lake.refresh(executor="inline")
    ask = lake.sql("FROM intersections(image_labels('perceived_gender'), scenes)")
    if is_told:
        assert ask.fetchall()
        return
    with pytest.raises(SensitiveError) as caught:
        ask.fetchall()
    assert caught.value.code == "E3326"


def test_of_one_concept_they_are_hidden():
    """Twenty images have several labels, three of them with the one concept."""
    counts = pa.table(
        {"concept": ["a", "a", "b", "b"], "label": ["x", "y"] * 2, "count": [20, 23, 60, 60], "n": [40, 40, 100, 100]}
    )
    cells = [Cells("count", of="n", by=("label",), within=("concept",), overlap=True)]
    shown = protect(counts, cells, 10, "{}", closed=True, in_order=True)
    assert shown["count"].to_pylist() == [None, None, 60, 60]


def test_what_is_asked_of_a_generator_is_no_second_question(build, tmp_path):
    """Images of two labels are unclear, whichever label's share is asked."""
    lake = made(build, tmp_path, both=15)
    lake.create_materialized_view(
        "pictures", "SELECT image_id, 'a' AS category, image_id AS place FROM images", "image_id"
    )
    lake.refresh(executor="inline")
    images = "image_labels('perceived_gender')"
    call = "SELECT n FROM generated_ratio(pictures, {}, label := '{}')"
    asked = [lake.sql(call.format(images, label)).fetchall() for label in ("female", "male")]
    assert asked[0] == asked[1]
    with lake.session(sensitive="a test of the wall") as session:
        assert [session.sql(call.format(images, n)).fetchall() for n in ("female", "zzz")] == [[(100,)]] * 2


def test_words_whose_total_is_known_tell_no_hidden_label(build, tmp_path):
    ids = list(range(106))
    values = ["female"] * 46 + ["male"] * 48 + ["nonbinary"] * 12
    words = ["a guitar" if i < 23 or 46 <= i < 70 or i >= 100 else "a tree" for i in ids]
    lake = cb.connect(str(tmp_path / "a.lake"))
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=words),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 106, value=values),
        }
    )
    groups = "image_labels('perceived_gender')"
    assert lake.sql(f"FROM concept_ratio({groups}, min_count := 10) WHERE concept = 'guitar'").fetchall() == []
