"""The recipe judge_captions: four captions of each person, all pairs in both orders, and who wins; on tiny models."""

from __future__ import annotations

import pytest

import counterbalance as cb

pytest.importorskip("torch")
pytest.importorskip("transformers")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")]

MODELS = ("first", "second", "third", "fourth")


@pytest.fixture(scope="module")
def given(tmp_path_factory, tiny_asker):
    folder = tmp_path_factory.mktemp("models")
    for name in (*MODELS, "judge"):
        tiny_asker(folder / name)
    return {name: str(folder / name) for name in (*MODELS, "judge")} | {
        "people": "(SELECT d.detection_id, d.image_id, list_first([i.image]) AS image, d.x, d.y, d.width, d.height FROM detections AS d "
        "JOIN images AS i ON i.image_id = d.image_id WHERE d.category = 'person')",
        "sample": 12,
    }


@pytest.fixture
def drawn(tmp_path):
    from counterbalance.sample import generate

    generate(tmp_path / "drawn", images=30)
    lake = cb.connect(tmp_path / "drawn.lake")
    lake.ingest(
        str(tmp_path / "drawn" / "annotations"), "coco", images=str(tmp_path / "drawn" / "images"), store_images=True
    )
    return lake


@pytest.mark.thorough
def test_every_pair_is_judged_in_both_orders(drawn, given):
    stopped = drawn.recipe(
        "judge_captions", {k: v for k, v in given.items() if k != "judge"}, refresh={"executor": "inline"}
    )
    assert (stopped.state, stopped.steps[-1].step) == ("stopped", "judge")
    done = drawn.recipe("judge_captions", given, refresh={"executor": "inline"})
    assert {s.state for s in done.steps if s.step in {"sample", "captions", "pairs"}} == {"unchanged"}
    names = {given[name] for name in MODELS}
    pairs = drawn.sql("SELECT detection_id, first, second, winner FROM caption_judgements").fetchall()
    assert len(pairs) == len({p[:3] for p in pairs}) == 12 * 4 * 3
    assert all(winner in {first, second, "tie"} for _, first, second, winner in pairs)
    shown = drawn.sql(
        "SELECT p.first_caption, p.second_caption, a.caption_1, p.first, p.second FROM judged_pairs AS p "
        "JOIN judged_people AS a ON a.detection_id = p.detection_id"
    ).fetchall()
    for a, b, caption, first, second in shown:
        assert (a == caption) >= (first == given["first"])
        assert (b == caption) >= (second == given["first"])
    rows = {(r["model"], r["other"]): r for r in done.results["win_rates"].to_pylist()}
    assert set(rows) == {(a, b) for a in names for b in names if a != b}
    for (model, other), row in rows.items():
        own = [w for _, f, s, w in pairs if {f, s} == {model, other}]
        if row["n"] is not None:
            assert (row["n"], row["wins"], row["ties"]) == (24, own.count(model), own.count("tie"))
        assert row["rate"] in {None, (own.count(model) + own.count("tie") / 2) / 24}


def test_the_papers_preset(lake):
    from counterbalance.engine.recipes.files import recipes
    from counterbalance.engine.recipes.values import literals

    given = literals(recipes()["judge_captions"], {"preset": "paper"})
    assert (given["sample"], given["judge"]) == ("500", None)
    assert [given[name] for name in MODELS] == [
        "'OpenGVLab/InternVL3-2B-hf'", "'OpenGVLab/InternVL3-8B-hf'", "'Qwen/Qwen2.5-VL-3B-Instruct'",
        "'Qwen/Qwen2.5-VL-7B-Instruct'",
    ]  # fmt: skip
