"""Of three annotators the pairs tell how often they said which three labels: where that is few, nothing of them is shown."""

from __future__ import annotations

import os

import pytest

import counterbalance as cb


def shown(build, few):
    """Of 130 images one annotator alone differs in so many, each of the others in 24; half of these are of each label."""
    said = {a: ["f", "m"] * 65 for a in "abc"}
    for annotator, at in (("a", range(few)), ("b", range(30, 54)), ("c", range(60, 84))):
        for i in at:
            said[annotator][i] = "m" if said[annotator][i] == "f" else "f"
    rows = [(i, a, v) for a, values in said.items() for i, v in enumerate(values)]
    lake = cb.connect(f"memory://three-{os.getpid()}-{few}")
    columns = {
        "label_id": range(len(rows)),
        "image_id": [i for i, *_ in rows],
        "attribute": ["perceived_gender"] * len(rows),
    }
    columns |= {"value": [v for *_, v in rows], "annotator": [a for _, a, _ in rows]}
    lake.ingest(
        {
            "images": build.images(image_id=list(range(130))),
            "labels": build.labels(**{k: list(v) for k, v in columns.items()}),
        }
    )
    found = lake.sql("FROM agreement('perceived_gender')").to_arrow().to_pylist()
    return [r for r in found if r["value"] is not None or r["count"] is not None]


@pytest.mark.parametrize("few", [1, 2, 9, 12])
def test_few_are_not_told(build, few):
    assert shown(build, few) == []


@pytest.mark.parametrize("many", [0, 24])
def test_none_and_many_are(build, many):
    metrics = {r["metric"] for r in shown(build, many)}
    assert {"agreement", "fleiss_kappa", "krippendorff_alpha", "annotator"} <= metrics


def test_a_hidden_cell_is_no_difference_of_two_pairs(build):
    """Of 55 that a calls f, b calls 12 m; c calls 50 of the 55 f: the 5 left are a cell of a and c, which is hidden."""
    counts = {"fff": 40, "ffm": 3, "mmf": 15, "mmm": 40, "fmf": 10, "mfm": 12, "mff": 14, "fmm": 2}
    said = [pattern for pattern, count in counts.items() for _ in range(count)]
    rows = [(i, a, v) for i, pattern in enumerate(said) for a, v in zip("abc", pattern, strict=True)]
    lake = cb.connect(f"memory://sums-{os.getpid()}")
    columns = {"label_id": range(len(rows)), "image_id": [i for i, *_ in rows], "value": [v for *_, v in rows]}
    columns |= {"annotator": [a for _, a, _ in rows], "attribute": ["perceived_gender"] * len(rows)}
    tables = {"images": build.images(image_id=[*range(len(said))])}
    lake.ingest(tables | {"labels": build.labels(**{k: [*v] for k, v in columns.items()})})
    shown = lake.sql("SELECT count FROM agreement('perceived_gender') WHERE metric = 'confusion' AND count IS NOT NULL")
    assert shown.fetchall() == []


def said_by(build, unseen):
    """Of 260 images, of which half are each label, the third annotator has not seen so many of each label; each is alone in 24."""
    alone = {"a": range(100, 124), "b": range(140, 164), "c": range(180, 204)}
    rows = [(i, a, "fm"[(i + (i in alone[a])) % 2]) for a in "abc" for i in range(260) if a != "c" or i >= 2 * unseen]
    lake = cb.connect(f"memory://unseen-{os.getpid()}-{unseen}")
    columns = {"label_id": range(len(rows)), "image_id": [i for i, *_ in rows], "value": [v for *_, v in rows]}
    columns |= {"annotator": [a for _, a, _ in rows], "attribute": ["perceived_gender"] * len(rows)}
    tables = {"images": build.images(image_id=[*range(260)])}
    lake.ingest(tables | {"labels": build.labels(**{k: [*v] for k, v in columns.items()})})
    found = lake.sql("FROM agreement('perceived_gender')").to_arrow().to_pylist()
    return {r["annotator"] + r["other"] for r in found if r["metric"] == "confusion" and r["count"]}


@pytest.mark.parametrize("unseen", [0, 12])
def test_pairs_are_told_where_one_has_not_seen_many(build, unseen):
    assert said_by(build, unseen) == {"ab", "ac", "bc"}


@pytest.mark.parametrize("unseen", [5, 9])
def test_few_of_a_label_that_one_has_not_seen_are_not(build, unseen):
    """10 and 18 images in all, 5 and 9 of each label: what two pairs count of it would differ by these."""
    assert said_by(build, unseen) == set()


def test_what_two_of_three_say_of_few_does_not_follow_from_a_kappa(build):
    """Of 60 images the third has not seen, the others differ in six: all three kappas and the pairs' sums are equations for these."""
    seen = [("fff", 60), ("mmm", 60), ("ffm", 20), ("mmf", 20), ("fmf", 20), ("mfm", 20), ("fmm", 20), ("mff", 20)]
    unseen = [("ff", 30), ("mm", 24), ("fm", 1), ("mf", 5)]
    said = [pattern for pattern, count in seen + unseen for _ in range(count)]
    rows = [(i, a, v) for i, pattern in enumerate(said) for a, v in zip("abc", pattern, strict=False)]
    lake = cb.connect(f"memory://two-of-three-{os.getpid()}")
    columns = {"label_id": range(len(rows)), "image_id": [i for i, *_ in rows], "value": [v for *_, v in rows]}
    columns |= {"annotator": [a for _, a, _ in rows], "attribute": ["perceived_gender"] * len(rows)}
    tables = {"images": build.images(image_id=[*range(len(said))])}
    lake.ingest(tables | {"labels": build.labels(**{k: [*v] for k, v in columns.items()})})
    found = lake.sql("SELECT metric, annotator FROM agreement('perceived_gender') WHERE value IS NOT NULL")
    assert found.fetchall() == [("annotator", "c")]  # of what all three have seen
