"""The recipe gensynth from pictures to a contrast set, on tiny models of the real architectures that know nothing."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest
import tiny_models
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.store import tables

torch = pytest.importorskip("torch")
open_clip = pytest.importorskip("open_clip")
pytest.importorskip("diffusers")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

GOOD = {1: "A man and his dog.", 2: "a woman reads", 3: "Her hat is red.", 4: "he runs"}
REASONS = {
    5: "no person",
    6: "several people",
    7: "several people",  # a crowd
    8: "no clear label",
    9: "tiny box",
    10: "no picture",
    11: "no edit: gensynth_requests.edited failed",  # no picture that could be decoded
}
BOX = {"x": 20.0, "y": 10.0, "width": 40.0, "height": 45.0}
EDITS = 4  # an image: one instruction for each gender, at two guidances


def picture(number):
    noise = np.random.default_rng(number).integers(0, 256, (64, 96, 3), np.uint8)
    return image_bytes(Image.fromarray(noise))


def rows(build, numbers):
    boxes = [(n, BOX["width"] if n != 9 else 8.0, n == 7) for n in numbers if n != 5] + [(6, 30.0, False)] * (
        6 in numbers
    )
    texts = {**GOOD, 8: "a dog", 12: "She jumps", **dict.fromkeys((5, 6, 7, 9, 10, 11), "a man")}
    return {
        "images": build.images(
            image_id=list(numbers),
            key=[str(n) for n in numbers],
            image=[{10: None, 11: b"no picture"}.get(n, picture(n)) for n in numbers],
        ),
        "captions": build.captions(
            caption_id=[c for n in numbers for c in (10 * n, 10 * n + 1)],
            image_id=[n for n in numbers for _ in range(2)],
            text=[t for n in numbers for t in ("somebody outside", texts[n])],
        ),
        "detections": build.detections(
            detection_id=[100 + numbers[0] * 20 + i for i in range(len(boxes))],
            image_id=[n for n, _, _ in boxes],
            category=["person"] * len(boxes),
            x=[BOX["x"]] * len(boxes),
            y=[BOX["y"]] * len(boxes),
            width=[w for _, w, _ in boxes],
            height=[BOX["height"]] * len(boxes),
            is_crowd=[c for _, _, c in boxes],
        ),
    }


def bytes_of(lake, table, column):
    found = tables.open_table(lake.location, table).to_table(columns=["edit_id", column])
    return dict(zip(found["edit_id"].to_pylist(), found[column].to_pylist(), strict=True))


@pytest.fixture(scope="module")
def made(tmp_path_factory, build, tiny_diffusion, tiny_safety):
    """The recipe run on eleven pictures, refreshed, and refreshed with one picture more."""
    lake = cb.connect(tmp_path_factory.mktemp("gensynth") / "test.lake")
    lake.ingest(rows(build, [*GOOD, *REASONS]))
    given = {
        "editor": str(tiny_diffusion("StableDiffusionInstructPix2PixPipeline", channels=8)),
        "nsfw_model": tiny_safety,
        "max_nsfw": 1.1,
        "embedder": tiny_models.save_tower(tmp_path_factory.mktemp("tower")),
        "templates": "(SELECT * FROM lists.edit_instructions WHERE template LIKE 'Turn %')",
        "guidance": [2.0, 9.5],
        "steps": 2,
        "size": 64,
        "tau_g": 0.4,  # with all boxes as neighbours just under a half are of the label
    }

    def look(report):
        return SimpleNamespace(
            report=report,
            chosen=lake.sql("SELECT * FROM gensynth_set ORDER BY image_id, label").to_arrow().to_pylist(),
            skipped=dict(lake.sql("SELECT image_id, reason FROM gensynth_skipped").fetchall()),
            told=lake.sql("SELECT key, message FROM meta.errors WHERE table_name = 'gensynth_skipped'").fetchall(),
            requests=lake.sql("SELECT * FROM gensynth_requests ORDER BY edit_id").to_arrow(),
            edited=bytes_of(lake, "gensynth_requests", "edited"),
            images=bytes_of(lake, "gensynth_set", "image"),
        )

    how = {"executor": "inline", "device": "cpu"}
    first = look(lake.recipe("gensynth", given, refresh=how))
    second = lake.refresh(**how)
    lake.ingest(rows(build, [12]))
    return SimpleNamespace(lake=lake, first=first, second=second, third=look(lake.refresh(**how)))


def test_each_gender_once_for_every_picture_of_one_person(made):
    assert [(r["image_id"], r["label"]) for r in made.first.chosen] == [
        (i, label) for i in GOOD for label in ("female", "male")
    ]
    assert made.first.skipped == REASONS
    assert {int(key): why for key, why in made.first.told} == REASONS
    assert made.first.report.results["made"].to_pylist() == [
        {"label": label, "images": 4, "texts": 4} for label in ("female", "male")
    ]


def test_requests_are_every_instruction_at_every_guidance(made):
    found = made.first.requests.to_pylist()
    assert len(found) == EDITS * len([*GOOD, 11])
    of_one = {(r["label"], r["prompt"], r["guidance"]) for r in found if r["image_id"] == 1}
    assert of_one == {
        (label, f"Turn this person into a {word}", scale)
        for label, word in (("female", "woman"), ("male", "man"))
        for scale in (2.0, 9.5)
    }
    assert len({r["seed"] for r in found}) == len(found)


def test_captions_are_swapped_to_match(made):
    texts = {(r["image_id"], r["label"]): r["text"] for r in made.first.chosen}
    assert (texts[1, "female"], texts[1, "male"]) == ("A woman and her dog.", "A man and his dog.")
    assert (texts[3, "female"], texts[3, "male"]) == ("Her hat is red.", "His hat is red.")
    captions = made.lake.sql("SELECT count(*), count(DISTINCT caption_id) FROM gensynth_captions WHERE image_id = 1")
    assert captions.fetchall() == [(4, 2)]


def test_only_the_box_is_edited_and_the_picture_says_so(made):
    for row in made.first.chosen:
        assert made.first.images[row["edit_id"]] == made.first.edited[row["edit_id"]]
        before = np.asarray(Image.open(io.BytesIO(picture(row["image_id"]))))
        with Image.open(io.BytesIO(made.first.images[row["edit_id"]])) as opened:
            after, told = np.asarray(opened.convert("RGB")), str(opened.info)
        inside = np.zeros(before.shape[:2], bool)
        inside[10:55, 20:60] = True
        assert (before == after)[~inside].all()
        assert (before != after)[inside].any()
        assert "compositeWithTrainedAlgorithmicMedia" in told
        assert row["prompt"] in told
        assert str(row["seed"]) in told


def test_shares_are_those_of_the_boxes_there_are(made):
    """Neighbours are all other boxes: 4 real ones and 15 edits, of either label as many but for the edit itself."""
    assert {(r["p_real"], r["p_group"]) for r in made.first.chosen} == {(4 / 19, 9 / 19)}
    shares = {(r["label"], r["p_real"], r["p_group"]) for r in made.third.chosen}
    assert shares == {("female", 5 / 24, 12 / 24), ("male", 5 / 24, 11 / 24)}  # a woman more


def test_rows_that_failed_say_why(made):
    errors = made.lake.sql(
        "SELECT table_name, column_name, count(*) FROM meta.errors GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    assert errors == [
        ("gensynth_requests", "edited", EDITS),
        ("gensynth_skipped", None, len(REASONS)),
        ("gensynth_sources", "embedding", 1),
    ]


def test_nothing_is_done_twice(made):
    assert {s.mode for s in made.second.stages} == {"no_op"}


def test_one_more_source_computes_its_own_edits_alone(made):
    computed = {s.target: s.rows for s in made.third.report.stages if s.kind == "column"}
    assert computed == {
        "gensynth_requests.edited": EDITS,
        "gensynth_requests.embedding": EDITS,
        "gensynth_requests.nsfw": EDITS,
        "gensynth_sources.embedding": 1,
    }
    assert made.first.edited.items() <= made.third.edited.items()
    assert [r["image_id"] for r in made.third.chosen] == [1, 1, 2, 2, 3, 3, 4, 4, 12, 12]


def test_sources_are_not_stored_again(made):
    for name in ("gensynth_sources", "gensynth_requests"):
        names = tables.open_table(made.lake.location, name).schema.names
        assert "sha256" in names
        assert "image" not in names


def test_from_the_set_back_to_the_source(made):
    steps = made.lake.lineage("gensynth_set.image").to_pylist()
    depth = {r["name"]: r["depth"] for r in steps if r["direction"] == "upstream"}
    assert depth["gensynth_requests.edited"] == 1
    assert {n: depth[n] for n in ("gensynth_requests.prompt", "gensynth_requests.seed")} == {
        "gensynth_requests.prompt": 2,
        "gensynth_requests.seed": 2,
    }
    assert depth["images.image"] == 2, "requests and sources hold no copy of it"
    how = next(r["how"] for r in steps if r["name"] == "gensynth_requests.prompt")
    assert "instruct_pix2pix(" in how


def test_flagged_edits_are_not_chosen(disk_lake, build):
    """Nor are those without a score; their image is left out, though both genders have an accepted edit."""
    from counterbalance.engine.recipes import files, values

    disk_lake.ingest(rows(build, [1]))
    disk_lake.create_materialized_view(
        "gensynth_filter",
        "SELECT * FROM (VALUES (1, 1, 'male'), (2, 1, 'female'), (3, 2, 'male'), (4, 2, 'female'), (5, 3, 'male'), (6, 3, "
        "'female'), (7, 3, 'female')) AS v(edit_id, image_id, label), (SELECT 0.5 AS p_real, 0.5 AS p_group, true AS accepted)",
        "edit_id",
    )
    disk_lake.create_materialized_view(
        "gensynth_requests",
        "SELECT * FROM (VALUES (1, 0.1), (2, 0.49), (3, 0.1), (4, NULL), (5, 0.1), (6, 0.5), (7, 0.2)) AS v(edit_id, nsfw)",
        "edit_id",
    )
    recipe = files.recipes()["gensynth"]
    (choose,) = [s for s in recipe.steps if s.name == "choose"]
    disk_lake.sql(values.fill(choose.statements[0], values.literals(recipe, {})))
    disk_lake.refresh("gensynth_chosen")
    assert disk_lake.sql("SELECT edit_id FROM gensynth_chosen ORDER BY edit_id").fetchall() == [(1,), (2,), (5,), (7,)]
