"""gensynth_deciles: the edits of an image by one template and guidance, one of each gender, by the mean of their p_real."""

from __future__ import annotations

from counterbalance.engine.recipes import files, values

EDITS = [  # edit, image, label, template, guidance, share of real neighbours, accepted
    (1, 1, "male", "a", 9.5, 0.08, True),
    (2, 1, "female", "a", 9.5, 0.12, True),
    (3, 1, "male", "a", 15.0, 0.0, False),
    (4, 1, "female", "a", 15.0, 0.1, True),
    (5, 1, "male", "b", 9.5, 1.0, True),
    (6, 1, "female", "b", 9.5, 1.0, True),
    (7, 2, "male", "a", 9.5, 0.7, True),
    (8, 2, "female", "a", 9.5, None, False),  # could not be compared: its pair is not whole
    (9, 3, "male", "a", 9.5, 0.62, True),
    (10, 3, "female", "a", 9.5, 0.2, False),
]
WANTED = {1: (0.1, True, 2), 3: (0.05, False, 1), 5: (1.0, True, 10), 9: (0.41, False, 5)}
"""By the first edit of each pair: mean, whether both are accepted, and decile."""


def test_a_pair_has_a_decile(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    rows = ", ".join(
        f"({e}, {i}, '{label}', '{t}', {g}, {'NULL' if p is None else p}, {a})" for e, i, label, t, g, p, a in EDITS
    )
    names = "edit_id, image_id, label, template, guidance, p_real, accepted"
    for view in ("gensynth_filter", "gensynth_requests"):
        disk_lake.create_materialized_view(
            view, f"SELECT *, 0.6 AS p_group FROM (VALUES {rows}) AS v({names})", "edit_id"
        )
    recipe = files.recipes()["gensynth"]
    steps = {s.name: s.statements for s in recipe.steps}
    (deciles,) = [s for s in steps["choose"] if "EXISTS gensynth_deciles " in s]
    disk_lake.sql(values.fill(deciles, values.literals(recipe, {})))
    disk_lake.refresh(executor="inline")
    found = disk_lake.sql(
        "SELECT edit_id, pair_real, pair_accepted, decile FROM gensynth_deciles ORDER BY edit_id"
    ).fetchall()
    assert found == [(e, *WANTED[first]) for first in WANTED for e in (first, first + 1)]
    told = disk_lake.sql(values.fill(steps["deciles"][0], values.literals(recipe, {}))).fetchall()
    assert told == [(1, 1, 0.05, 0.05, 0), (2, 1, 0.1, 0.1, 1), (5, 1, 0.41, 0.41, 0), (10, 1, 1.0, 1.0, 1)]
