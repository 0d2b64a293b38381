"""A label beside all other images, and beside the unclear ones: two calls, or one, leave no small label as what is unknown."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from repeats import again

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.store import tables

G = "image_labels('perceived_gender')"
ALL = f"labels_and_others(images := images, groups := {G}, others := 'all')"
CASC = "SELECT label, images, n_images FROM casc(vectors, prompts, groups := {}, others := '{}')"
FORMS = {
    "unclear": lambda draw: {"unclear": draw.randint(12, 60)},
    "unlabelled": lambda draw: {None: draw.randint(12, 60)},
    "both": lambda draw: {"unclear": draw.randint(12, 60), None: draw.randint(12, 60)},
    "mixed": lambda draw: {"unclear": draw.randint(12, 60), "mixed": draw.randint(12, 60)},
}


def lake_of(build, path, counts):
    values = [label for label, count in counts.items() for _ in range(count)]
    ids = list(range(len(values)))
    own = [i for i, value in enumerate(values) if value is not None]
    lake = cb.connect(str(path))
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "labels": build.labels(
                label_id=own, image_id=own, attribute=["perceived_gender"] * len(own), value=[values[i] for i in own],
                annotator=["x"] * len(own),
            ),
        }
    )  # fmt: skip
    pair = pa.list_(pa.float32(), 2)
    vectors = pa.table({"image_id": ids, "embedding": pa.array([[i % 7, 1] for i in ids], pair)})
    tables.append(lake.location, "vectors", vectors)
    prompts = pa.table({"image_id": [0], "category": ["p"], "embedding": pa.array([[1, 2]], pair)})
    tables.append(lake.location, "prompts", prompts)
    return lake


def told(session, query):
    """Return what rows tell: counts of labels, and of all."""
    try:
        return session.sql(query).fetchall()
    except SensitiveError:
        return []


@pytest.mark.cases(2)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [0, *again(1)])
def test_what_is_left_is_no_small_label(build, tmp_path, form, seed):
    draw = random.Random(f"{form}{seed}")
    counts = {
        "male": draw.randint(30, 60),
        "female": draw.randint(12, 60),
        "nonbinary": draw.randint(1, 9),
        **FORMS[form](draw),
    }
    lake = lake_of(build, tmp_path / "a.lake", counts)
    known, answers = {}, 0
    with lake.session() as session:
        for query in (
            f"SELECT label, count, n FROM demographics({G})",
            f"SELECT label, count, n FROM demographics({ALL})",
            f"SELECT label, label_count, n FROM intersections(groups := {G}, others := {ALL})",
            f"SELECT other, other_count, n FROM intersections(groups := {G}, others := {ALL})",
            CASC.format(G, "labelled"),
            CASC.format(G, "all"),
        ):
            rows = told(session, query)
            known |= {label: count for label, count, _ in rows if count is not None}
            answers += bool(rows)
    assert answers > 1
    clear = {"male", "female", "nonbinary"} - known.keys()
    unclear = {label for label in counts.keys() - {"male", "female", "nonbinary", None} if label not in known}
    # whoever knows the others knows how many have no clear label
    unknown = clear | (set() if "others" in known and len(unclear) == 1 else unclear)
    assert "nonbinary" in unknown
    assert len(unknown) > 1
    assert sum(counts[label] for label in unknown) >= 10


def test_labels_of_many_are_shown_beside_all_others(build, tmp_path):
    lake = lake_of(build, tmp_path / "a.lake", {"male": 50, "female": 40, "unclear": 20, None: 30})
    shown = [("female", 40), ("male", 50), ("others", 50)]
    with lake.session() as session:
        assert session.sql(f"SELECT label, count FROM demographics({ALL}) ORDER BY label").fetchall() == shown
        assert sorted(session.sql(CASC.format(G, "all")).fetchall()) == [(*row, 140) for row in shown]
