"""spurious_correlations tells no sizes of an object that few images of a label have without one."""

from __future__ import annotations

import pytest

import counterbalance as cb


def shown(build, folder, *, without, alone):
    """Kinds of what is told of dogs, which all 200 images have; of each label so many have no size, and no person, too."""
    ids, labels = [*range(200)], ["female" if i % 2 else "male" for i in range(200)]
    sized, person = ids[2 * without :], ids[2 * (without + alone) :]
    n = len(sized) + 2 * without
    boxes = {
        "detection_id": range(n + len(person)),
        "image_id": ids + person,
        "category": ["dog"] * n + ["person"] * len(person),
        "x": [(i * 7) % 90 for i in ids] + [50] * len(person),
        "y": [(i * 3) % 90 for i in ids] + [50] * len(person),
        "width": [None if i < 2 * without else 5 + i % 60 for i in ids] + [9] * len(person),
        "height": [5 + i % 60 for i in ids] + [9] * len(person),
    }
    lake = cb.connect(str(folder))
    lake.ingest(
        {
            "images": build.images(image_id=ids, width=[100] * 200, height=[100] * 200),
            "detections": build.detections(**{k: [*v] for k, v in boxes.items()}),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 200, value=labels),
        }
    )
    rows = lake.sql("FROM spurious_correlations(image_labels('perceived_gender'), top := NULL)").to_arrow().to_pylist()
    return {r["kind"] for r in rows if r["family"] == "dog"}


BOXES = {"position", "size"}


@pytest.mark.parametrize(
    ("without", "alone", "kinds"),
    [
        (0, 0, BOXES | {"distance"}),
        (3, 0, set()),
        (12, 0, BOXES | {"distance"}),
        (0, 3, BOXES),
        (12, 3, BOXES),
        (12, 12, BOXES | {"distance"}),
    ],
)
def test_few_without_one_hide_those_with(build, tmp_path, without, alone, kinds):
    assert shown(build, tmp_path / "a.lake", without=without, alone=alone) - {"object"} == kinds
