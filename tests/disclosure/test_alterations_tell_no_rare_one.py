"""subject_alterations: no few pairs that are unaltered, and none that follow from words of one side and from pairs of words."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.store import tables


def asked(build, uri, pairs):
    """What each way of counting tells of pairs that are closed."""
    texts = [pair for pair, n in pairs.items() for _ in range(n)]
    ids = list(range(len(texts)))
    lake = cb.connect(uri)
    labels = {"label_id": ids, "image_id": ids, "attribute": ["perceived_gender"] * len(ids), "value": ["x"] * len(ids)}
    lake.ingest({"images": build.images(image_id=ids), "labels": build.labels(**labels)})
    columns = {"original": [f"a {a} runs" for a, _ in texts], "counterfactual": [f"a {b} runs" for _, b in texts]}
    tables.append(lake.location, "texts", pa.table({"pair_id": ids, **columns}))
    reads = "SELECT * FROM texts WHERE pair_id IN (SELECT label_id FROM labels)"
    lake.create_materialized_view("pairs", reads, "pair_id", purpose="the owner's")
    lake.refresh(executor="inline")
    return {
        by: lake.sql(f"FROM subject_alterations(pairs, by := '{by}')").to_arrow().to_pylist()
        for by in ("pair", "original", "counterfactual")
    }


def counts(rows):
    return {(r["original"], r["counterfactual"]): r["count"] for r in rows}


MANY = {("man", "woman"): 40, ("boy", "girl"): 50, ("boy", "woman"): 30, ("cat", "dog"): 60, ("dog", "cat"): 70}


@pytest.mark.parametrize(("same", "hidden"), [(3, True), (0, False), (20, False)])
def test_few_unaltered_pairs(build, tmp_path, same, hidden):
    found = asked(build, str(tmp_path / "a.lake"), MANY | {("man", "man"): same})
    for rows in found.values():
        assert rows
        assert {r[c] is None for r in rows for c in ("n", "unaltered", "share", "low", "high")} == {hidden}
    n = 250
    for by in ("original", "counterfactual"):
        told = counts(found[by])
        assert all(told.values())
        assert (n - sum(told.values()) >= 10) == hidden  # which would tell how many are left of all pairs
    assert (n - sum(counts(found["pair"]).values()) >= 10) == hidden


def test_a_pair_does_not_follow_from_a_word(build, tmp_path):
    """Of 45 men 5 became dogs: if 40 became women, and 45 were altered, that is known; so it is by the dogs."""
    found = asked(build, str(tmp_path / "a.lake"), MANY | {("man", "dog"): 5, ("man", "man"): 20})
    pairs = counts(found["pair"])
    assert ("man", "dog") not in pairs
    assert counts(found["original"])["man", None] == 45
    assert ("man", "woman") not in pairs
    assert counts(found["counterfactual"])[None, "dog"] == 65
    assert ("cat", "dog") not in pairs
    assert pairs["dog", "cat"] == 70


def test_a_word_does_not_follow_from_its_pairs(build, tmp_path):
    """Few pairs had a cow: the next rarer word is hidden with it, and none of its pairs is told."""
    found = asked(build, str(tmp_path / "a.lake"), MANY | {("cow", "cat"): 5, ("man", "man"): 20})
    words = counts(found["original"])
    assert not {("cow", None), ("man", None)} & words.keys()
    assert not {a for a, _ in counts(found["pair"])} & {"cow", "man"}


def test_a_word_whose_pairs_are_all_hidden_shelters_no_other(build, tmp_path):
    """Few pairs had a cow, and each pair of an ox is rare: by words the ox is shown, and the man is hidden with the cow."""
    rare = {("cow", "cat"): 5, ("man", "woman"): 12, ("ox", "dog"): 6, ("ox", "cat"): 8, ("man", "man"): 20}
    found = asked(build, str(tmp_path / "a.lake"), MANY | rare)
    words, pairs = counts(found["original"]), counts(found["pair"])
    assert not {("cow", None), ("man", None)} & words.keys()
    assert words["ox", None] == 14
    assert not {a for a, _ in pairs} & {"cow", "man", "ox"}


def test_a_word_that_the_other_side_hides_shelters_none(build, tmp_path):
    """Five boys became kids. Of the words that came, the next rarer is hidden with it, though few cows and men hide another one."""
    rare = {("cow", "x"): 5, ("man", "woman"): 12, ("boy", "kid"): 5, ("dad", "lad"): 11, ("boy", "tot"): 12}
    many = {("boy", "girl"): 50, ("cat", "x"): 40, ("dad", "girl"): 40, ("cat", "dog"): 60}
    found = asked(build, str(tmp_path / "a.lake"), rare | many)
    assert not {(None, "kid"), (None, "lad")} & counts(found["counterfactual"]).keys()
    assert not {b for _, b in counts(found["pair"])} & {"kid", "lad"}


def test_plurals_are_not_told_apart_by_folding(build, tmp_path):
    """Of closed pairs only one way to fold is counted: 45 with plurals, less 40 without, are five of them."""
    uri = str(tmp_path / "a.lake")
    asked(build, uri, MANY | {("dogs", "cat"): 5})
    with pytest.raises(SensitiveError, match="fold"):
        cb.connect(uri).sql("FROM subject_alterations(pairs, fold := 'none')").fetchall()
    told = cb.connect(uri).sql("FROM subject_alterations(pairs, fold := 'none')", sensitive="a test")
    assert told.fetchall()


def test_pairs_of_words_do_not_show_what_is_hidden_of_a_word(build, tmp_path):
    """The sums of both words beside each pair are the margins of a table: of dense ones they told a hidden pair, now and then."""
    more = {
        (a, b): 20 + 3 * i + 7 * k
        for i, a in enumerate(("man", "boy", "lad", "dad"))
        for k, b in enumerate(("girl", "kid", "tot", "cub"))
    }
    dense = MANY | more | {("boy", "tot"): 3}
    rows = asked(build, str(tmp_path / "a.lake"), dense)["pair"]
    shown = counts(rows)
    assert ("boy", "tot") not in shown
    hidden = dense.keys() - shown.keys()
    words = {"original": {a for a, _ in hidden}, "counterfactual": {b for _, b in hidden}}
    for row in rows:
        for side, few in words.items():
            assert (row[f"{side}_n"] is None) == (row[side] in few)
    assert {row["original_n"] is None for row in rows} == {True, False}
