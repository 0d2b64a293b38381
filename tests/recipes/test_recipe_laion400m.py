"""The recipe laion400m from pictures to audits, on tiny models of the real architectures that know nothing."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import tiny_models

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.recipes.model import StepError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
open_clip = pytest.importorskip("open_clip")
if importlib.util.find_spec("ultralytics") is None:  # importing it changes the process, unless our module does it
    pytest.skip("ultralytics is not installed", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")]

PURPOSE = "a test of the whole pipeline"


@pytest.fixture(scope="module")
def given(tmp_path_factory, tiny_people_detector, tiny_asker):
    """Parameters that name the tiny models."""
    folder = tmp_path_factory.mktemp("models")
    for name in ("one", "two", "three"):
        tiny_asker(folder / name)
    tiny_models.save_tower(folder / "tower")
    tiny_models.save_encoder(folder / "sentences")
    tiny_models.save_encoder(folder / "hate", ["hateful", "targeted", "aggressive"])
    tiny_models.save_encoder(folder / "sentiment", ["NEG", "NEU", "POS"])
    names = {"first": "one", "second": "two", "third": "three", "fourth": "one", "captioner": "one", "tower": "tower"}
    models = {"sentences": "sentences", "hate_model": "hate", "sentiment_model": "sentiment"}
    paths = {k: str(folder / v) for k, v in {**names, **models}.items()}
    return {
        **paths,
        "detector": tiny_people_detector,
        "score": 0.9999,
        "sample": 120,
        "gender_epochs": 1,
        "race_epochs": 1,
    }


@pytest.fixture
def drawn(tmp_path):
    """A lake of 40 drawn pictures."""
    from counterbalance.sample import generate

    generate(tmp_path / "drawn", images=40)
    lake = cb.connect(tmp_path / "drawn.lake")
    lake.ingest(
        str(tmp_path / "drawn" / "annotations"), "coco", images=str(tmp_path / "drawn" / "images"), store_images=True
    )
    return lake


def run(lake, given, **more):
    return lake.recipe("laion400m", given, refresh={"executor": "inline"}, **more)


def counts(lake, *tables):
    with lake.session(sensitive=PURPOSE) as session:
        return {t: session.sql(f"SELECT count(*) FROM {t}").fetchall()[0][0] for t in tables}


@pytest.mark.thorough
def test_from_pictures_to_audits(drawn, given, tmp_path):
    with pytest.raises(StepError, match=r"step ask_mixed of laion400m: people_sample.* holds perceived labels"):
        run(drawn, given)
    stopped = run(drawn, given, sensitive=PURPOSE)
    assert (stopped.state, stopped.steps[-1].step) == ("stopped", "train_gender")
    folders = {f"{name}_checkpoint": str(tmp_path / name) for name in ("gender", "race")}
    done = run(drawn, {**given, **folders}, sensitive=PURPOSE)
    states = {s.step: s.state for s in done.steps}
    assert {s for s, state in states.items() if state == "unchanged"} == {
        "detect", "people", "sample", "ask_gender", "ask_mixed", "answers"
    }  # fmt: skip

    assert drawn.sql(
        "SELECT min(least(width, height)) >= 30, count(*) = count(DISTINCT detection_id) FROM people"
    ).fetchall() == [(True, True)]
    found = counts(
        drawn, "people", "people_sample", "answers", "consensus", "training", "race_people", "race_answers",
        "race_consensus", "race_training", "people_labels", "image_gender",
    )  # fmt: skip
    asked = found["people_sample"]
    assert asked == min(120, found["people"]) > 100
    mixed = counts(drawn, "answers WHERE value = 'mixed' AND place = 1")
    assert found["answers"] == 3 * asked + sum(mixed.values()), "the fourth is asked about whom another calls mixed"
    assert found["consensus"] == asked, "all models say A to the same order of options"
    assert (found["race_people"], found["race_answers"], found["race_consensus"]) == (asked, 3 * asked, asked)
    assert (found["training"], found["race_training"]) == (asked, asked)
    assert found["people_labels"] == 2 * found["people"]
    assert all((Path(f) / "model.safetensors").exists() for f in folders.values())

    people = [r for r in done.results["demographics"].to_pylist() if r["unit"] == "person" and not r["suppressed"]]
    assert {r["n"] for r in people} == {found["people"]}
    kappas = [
        r
        for step in ("agreement", "race_agreement")
        for r in done.results[step].to_pylist()
        if r["metric"] == "cohen_kappa"
    ]
    assert len(kappas) == 6
    assert all(r["value"] in {None, 1.0} for r in kappas)
    assert {r["attribute"] for r in done.results["geography"].to_pylist()} <= {
        "perceived_gender",
        "perceived_race_ethnicity",
    }
    hate = done.results["hate"].to_pylist()
    captions = counts(drawn, "captions")["captions"]
    assert {(r["score"], r["tau"]) for r in hate} == {
        (score, tau) for score in ("hateful", "targeted", "aggressive") for tau in (0.3, 0.5, 0.7, 0.9)
    }
    assert {(r["n"], r["label"]) for r in hate if r["groups"] == "all"} == {(captions, "all")}
    spread = [r for r in done.results["classified_sentiment"].to_pylist() if r["groups"] == "all"]
    for score in ("positive", "negative"):
        own = [r for r in spread if r["score"] == score]
        assert (len(own), sum(r["count"] or 0 for r in own)) == (7, captions)
    near = "SELECT count(*) FROM vector_search(people, 'caption_embedding', (SELECT any_value(caption_embedding) FROM people), k := 3)"
    assert drawn.sql(near).fetchall() == [(3,)]

    with pytest.raises(SensitiveError):
        drawn.sql("SELECT * FROM image_gender")
    assert "perceived_gender" not in drawn.sql("SELECT * FROM people").columns
    again = run(drawn, {**given, **folders}, sensitive=PURPOSE)
    computed = [s.step for s in again.steps if s.rows]
    assert computed == []
    assert "was there already" in next(s.message for s in again.steps if s.step == "train_race")
    assert again.results["demographics"].equals(done.results["demographics"])
