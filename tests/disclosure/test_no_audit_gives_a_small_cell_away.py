"""Over random lakes of perceived labels no count under ten is shown by an audit, nor follows from all that its calls show.

The counts are computed with a purpose; what a default session is shown of them, by calls with several values of ``min_count``
together, goes into equations, and linear programming looks for the least and the largest value of each small count.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy.optimize import linprog

import counterbalance as cb

K = 10
PURPOSE = "a test of the wall"
G = "image_labels('perceived_gender')"
CALLS = {
    "demographics": f"groups := {G}",
    "crime_words": f"groups := {G}",
    "sentiment": f"groups := {G}",
    "cooccurrence": f"groups := {G}, concepts := category_concepts",
    "concept_ratio": f"groups := {G}, concepts := category_concepts, label := 'a', against := 'b'",
    "geography": f"groups := {G}",
    "balance": f"groups := {G}",
    "intersections": f"groups := {G}, others := image_labels('scene')",
    "spurious_correlations": f"groups := {G}",
    "compare_demographics": f"groups := {G}, others := {G}",
    "agreement": "'perceived_gender'",
}
WORDS = ["murder", "thief", "robbery", "assault", "gang"]
PLACES = ["France", "Brazil", "Japan"]


def random_lake(build, seed):
    draw = random.Random(seed)
    lake = cb.connect(f"memory://cells-{seed}")
    size = draw.choice([60, 120, 200])
    ids = list(range(1, size + 1))
    shares = draw.choice([(50, 45, 5), (80, 15, 5), (48, 48, 4), (60, 30, 10)])
    values = draw.choices("abc", shares, k=size)
    second = [v if draw.random() < 0.9 else draw.choice("abc") for v in values]
    texts = [
        f"a {draw.choice(['good', 'bad', 'nice', 'awful', 'plain'])} {draw.choice([*WORDS, 'walk', 'walk', 'walk'])} in "
        f"{draw.choice([*PLACES, 'town', 'town'])}"
        for _ in ids
    ]
    boxes = [
        (i, c) for i in ids for c in ("dog", "car", "tree") if draw.random() < {"dog": 0.5, "car": 0.1, "tree": 0.03}[c]
    ]
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
            "detections": build.detections(
                detection_id=list(range(len(boxes))), image_id=[i for i, _ in boxes], category=[c for _, c in boxes]
            ),
            "labels": build.labels(
                label_id=list(range(3 * size)), image_id=ids * 3,
                attribute=["perceived_gender"] * 2 * size + ["scene"] * size,
                value=[*values, *second, *draw.choices(["in", "out", "far"], [60, 35, 5], k=size)],
                annotator=["x"] * size + ["y"] * size + ["x"] * size,
            ),
        }
    )  # fmt: skip
    return lake


def key_of(cells, row):
    return tuple(row.get(c) for c in (*cells.within, *cells.totals, *cells.by))


def rows_of(session, audit, call, least):
    return session.sql(f"SELECT * FROM {audit}({call}, min_count := {least})").to_arrow().to_pylist()


def bounds(counts, shown, equations):
    """Least and largest value of every hidden count, from those that are shown and sums that are known."""
    hidden = [k for k in counts if k not in shown]
    place = {k: i for i, k in enumerate(hidden)}
    rows, right = [], []
    for parts, total in equations:
        row = np.zeros(len(hidden) + len(equations))
        for part in parts:
            if part in place:
                row[place[part]] = 1
        row[len(hidden) + len(rows)] = 1  # what the parts lack of their total, which is seen by nobody
        rows.append(row)
        right.append(total - sum(counts[p] for p in parts if p in shown))
    size = len(hidden) + len(equations)
    for key in hidden:
        ends = []
        for sign in (1, -1):
            aim = np.zeros(size)
            aim[place[key]] = sign
            solved = linprog(
                aim,
                A_eq=np.array(rows) if rows else None,
                b_eq=np.array(right) if rows else None,
                bounds=(0, None),
                method="highs",
            )
            ends.append(sign * solved.fun if solved.status == 0 else np.inf)
        yield key, ends[1] - ends[0]


@pytest.mark.parametrize("audit", CALLS)
@pytest.mark.parametrize("seed", range(3))
def test_no_small_cell(build, audit, seed):
    lake = random_lake(build, seed)
    query = cb.audits()[audit]
    with lake.session() as session:
        told = [row for least in (10, 11, 20, 50) for row in rows_of(session, audit, CALLS[audit], least)]
    with lake.session(sensitive=PURPOSE) as session:
        whole = rows_of(session, audit, CALLS[audit], 0)
    assert whole, "nothing is tested"
    for cells in query.cells:
        if cells.below < K:
            continue
        raw = {key_of(cells, r): r for r in whole if r[cells.count] is not None}
        counts = {k: float(r[cells.count]) for k, r in raw.items()}
        shown = {key_of(cells, r) for r in told if r[cells.count] is not None}
        small = {k for k, n in counts.items() if 0 < n < K}
        assert not shown & small, (audit, cells, sorted(map(str, shown & small)))
        if len(cells.by) != 1 or cells.of is None or cells.overlap:
            continue
        tables = {}
        for key in counts:
            tables.setdefault(key[:-1], []).append(key)
        seen = {key[:-1] for key in shown}
        equations = [(parts, float(raw[parts[0]][cells.of])) for table, parts in tables.items() if table in seen]
        exact = {table for table, parts in tables.items() if sum(counts[p] for p in parts) == raw[parts[0]][cells.of]}
        known = {k: w for k, w in bounds(counts, shown, equations) if k in small and k[:-1] in seen & exact}
        assert all(width >= K - 1e-6 for width in known.values()), (audit, known)
