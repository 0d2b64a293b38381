"""No note says that closed labels and concepts have nothing in common: of two labels hidden together, it would tell the small one."""

from __future__ import annotations

import counterbalance as cb

PURPOSE = "a test of the wall"
CALL = "FROM directional_amplification(groups := image_labels('scene'), predicted_concepts := {}, concepts := closed)"


def notes_of(folder, build, sizes):
    values = [label for label, n in sizes.items() for _ in range(n)]
    ids = list(range(1, len(values) + 1))
    lake = cb.connect(folder)
    labels = {
        "attribute": ["perceived_gender"] * len(ids) + ["scene"] * len(ids),
        "value": [*values, *(["in", "out"] * len(ids))[: len(ids)]],
    }
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "labels": build.labels(
                label_id=range(2 * len(ids)), image_id=ids * 2, annotator=["z"] * (2 * len(ids)), **labels
            ),
        }
    )
    body = "SELECT image_id, value AS concept FROM labels WHERE attribute = 'perceived_gender'"
    lake.create_materialized_view("closed", body, "image_id", purpose=PURPOSE)
    for name in "cd":
        lake.create_materialized_view(f"say_{name}", f"SELECT image_id, '{name}' AS concept FROM images", "image_id")
    lake.refresh()
    with lake.session() as session:
        results = [session.sql(CALL.format(f"say_{name}")) for name in "cd"]
        return [r.notes for r in results if r.fetchall() is not None]


def test_the_notes_are_alike(tmp_path, build):
    one = notes_of(tmp_path / "one.lake", build, {"a": 60, "b": 40, "c": 10, "d": 1})
    other = notes_of(tmp_path / "other.lake", build, {"a": 60, "b": 40, "c": 1, "d": 10})
    assert one == other
