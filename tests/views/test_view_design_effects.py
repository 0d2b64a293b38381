"""design_effects: how much less units tell of which some share a source, against numpy; without sources nothing changes."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from repeats import again

import counterbalance as cb


@pytest.fixture(scope="module")
def session(build):
    made = cb.connect(f"memory://design-effects-{os.getpid()}")
    made.ingest({"images": build.images(image_id=[1])})
    with made.session() as opened:
        yield opened


def units_of(draw, sources, labels="ab", concepts=40, alike=0.7):
    """Units with a source, a label that a source's units mostly share, and concepts that they share as often."""
    source = np.repeat(np.arange(sources), draw.integers(1, 7, sources))
    of_source = draw.random((sources, concepts + 1))
    own = draw.random((len(source), concepts + 1))
    drawn = np.where(draw.random(own.shape) < alike, of_source[source], own)
    has = drawn[:, 1:] < np.linspace(0.05, 0.6, concepts)
    return source, np.array(list(labels))[(drawn[:, 0] * len(labels)).astype(int)], has


def relations(source, label, has):
    ids = np.arange(len(source))
    unit, concept = np.nonzero(has)
    return {
        "g": pa.table({"image_id": ids, "label": label}),
        "c": pa.table({"image_id": unit, "concept": [f"c{i:03}" for i in concept]}),
        "s": pa.table({"image_id": ids, "source_id": source}),
    }


def test_it_is_numpys(session):
    source, label, has = units_of(np.random.default_rng(1), 300)
    rows = session.sql("SELECT * FROM design_effects(g, c, s)", **relations(source, label, has)).to_arrow().to_pylist()
    assert len(rows) == 80
    sizes = np.bincount(source)
    for row in rows:
        is_label, has_it = label == row["label"], has[:, int(row["concept"][1:])]
        p, q = is_label.mean(), has_it.mean()
        scores = (is_label - p) * (has_it - q)
        whole = len(source) * p * (1 - p) * q * (1 - q)
        effect = max(1, 1 + ((np.bincount(source, scores) ** 2).sum() - (scores**2).sum()) / whole)
        seen = len(set(source[is_label & has_it]))
        most = (sizes**2).sum() / len(source)
        assert row["effect"] == pytest.approx(max(effect, effect + (most - effect) / (1 + seen)), rel=1e-9)
        assert (row["met"], row["sources"]) == ((is_label & has_it).sum(), seen)


def test_units_with_a_source_each_are_independent(session):
    source, label, has = units_of(np.random.default_rng(2), 200)
    given = relations(np.arange(len(source)), label, has)
    rows = session.sql("SELECT effect FROM design_effects(g, c, s)", **given).fetchall()
    assert [effect for (effect,) in rows] == pytest.approx([1] * len(rows), abs=1e-9)


def test_units_without_a_source_are_on_their_own(session):
    source, label, has = units_of(np.random.default_rng(3), 100)
    given = relations(source, label, has)
    assert session.sql("SELECT * FROM design_effects(g, c, (SELECT * FROM s WHERE 1 = 0))", **given).fetchall() == []
    nothing = {**given, "s": given["s"].append_column("x", pa.nulls(len(source))).select(["image_id", "x"])}
    empty = nothing["s"].rename_columns(["image_id", "source_id"]).cast(given["s"].schema)
    assert session.sql("SELECT * FROM design_effects(g, c, s)", **{**given, "s": empty}).fetchall() == []


def test_cooccurrence_divides_by_it(session):
    given = relations(*units_of(np.random.default_rng(4), 300))
    effects = session.sql("SELECT * FROM design_effects(g, c, s)", **given).to_arrow().to_pylist()
    of_pair = {(r["label"], r["concept"]): r for r in effects}
    plain, by_source = (
        session.sql(f"SELECT * FROM cooccurrence(g, c{more})", **{n: t for n, t in given.items() if n != "s" or more})
        .to_arrow()
        .to_pylist()
        for more in ("", ", s")
    )
    assert plain
    for one, other in zip(plain, by_source, strict=True):
        found = of_pair[one["label"], one["concept"]]
        assert one["g2"] / other["g2"] == pytest.approx(found["effect"], rel=1e-9)
        assert (other["pmi"], other["count"]) == (pytest.approx(one["pmi"], abs=1e-12), one["count"])
        assert (one["images"], other["images"]) == (one["count"], found["sources"])
        assert other["high"] - other["low"] > one["high"] - one["low"]


@pytest.mark.thorough
@pytest.mark.parametrize("sources", [60, *again(400)])
@pytest.mark.parametrize("alike", [*again(0.0, 0.5), 0.9])
def test_intervals_by_sources_hold_what_they_say(session, sources, alike):
    """Label and concepts are independent, so that the true PMI is 0; without sources it is held far less often."""
    draw = np.random.default_rng(sources + int(10 * alike))
    held = []
    for _ in range(8):
        given = relations(*units_of(draw, sources, concepts=150, alike=alike))
        rows = session.sql("SELECT low, high, p FROM cooccurrence(g, c, s, min_count := 0)", **given).to_arrow()
        low, high, p = (rows[c].to_numpy() for c in ("low", "high", "p"))
        held.append([np.mean((low <= 0) & (high >= 0)), np.mean(p >= 0.05)])
    inside, kept = np.mean(held, axis=0)
    assert 0.93 < inside < 0.985
    assert 0.93 < kept < 0.985
