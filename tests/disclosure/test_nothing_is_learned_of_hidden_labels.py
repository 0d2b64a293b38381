"""Of two labels that are hidden together neither is learned or tested: an error, or the time, would tell which is the small one."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError

G = "image_labels('perceived_gender')"
PAIR = "label := '{}', against := 'many'"
CALLS = {
    "lic": f"lic(human := captions, generated := told, groups := {G}, {PAIR}, seeds := 1, attacker := 'bert', model := '/no/such')",
    "spurious_probe": f"spurious_probe(groups := {G}, texts := told, {PAIR}, seeds := 1, attacker := 'bert', model := '/no/such')",
    "leakage": f"leakage(data := label_concepts('scene'), groups := {G}, {PAIR}, seeds := 1)",
    "ieat": f"ieat(vectors, image_labels('scene'), {G}, 'sea', 'city', x := '{{}}', y := 'many', permutations := 2000000000)",
}


@pytest.fixture(scope="module")
def lake(build, tmp_path_factory):
    """60 images of one label, 15 of another, which is hidden with a third that has 7."""
    values = ["many"] * 60 + ["beside"] * 15 + ["small"] * 7
    ids, n = [*range(len(values))], len(values)
    lake = cb.connect(str(tmp_path_factory.mktemp("hidden") / "a.lake"))
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=["a dog" if i % 2 else "a cat" for i in ids]),
            "labels": build.labels(
                label_id=[*range(2 * n)], image_id=ids * 2, attribute=["perceived_gender"] * n + ["scene"] * n,
                value=values + ["sea" if i % 2 else "city" for i in ids], annotator=["m"] * 2 * n,
            ),
        }
    )  # fmt: skip
    lake.create_materialized_view("told", "SELECT caption_id, image_id, text FROM captions", "caption_id")
    lake.create_materialized_view(
        "vectors", "SELECT image_id, [image_id % 7, 1]::FLOAT[2] AS embedding FROM images", "image_id"
    )
    lake.refresh(executor="inline")
    return lake


@pytest.mark.parametrize("call", CALLS)
def test_both_have_the_same_answer(lake, call):
    """Two thousand million divisions would take hours, and a model that is not there is an error where one is asked for."""
    answers, notes = [], []
    for label in ("beside", "small"):
        try:
            result = lake.sql(f"FROM {CALLS[call].format(label)}")
            rows = result.to_arrow().to_pylist()
            notes.append(list(result.notes))
            answers.append([{k: v for k, v in row.items() if k != "params"} for row in rows])
        except CounterbalanceError as error:
            answers.append(error.code)
    assert answers[0] == answers[1]
    assert isinstance(answers[0], list)
    assert notes[0] == notes[1]
    assert "shows no number: a label that it names has fewer than 10 images" in notes[0][0]


def test_fewer_vectors_than_asked_for_are_not_tested(lake):
    sets = "(SELECT label, [x, 1e0] AS embedding, NULL::BIGINT AS source FROM (VALUES ('a', 1e0), ('a', 2e0), ('b', 0e0), ('b', -1e0)) AS t(label, x))"
    call = f"SELECT value IS NULL, n_x FROM tested_association({sets}, {sets}, 'a', 'b', 'a', 'b', min_count := {{}})"
    assert lake.sql(call.format(2)).fetchall() == [(False, 2)]
    assert lake.sql(call.format(3)).fetchall() == [(True, 2)]
