"""The recipe inpaint from pictures to both sets, on tiny models of the real architectures; one more picture adds only its own."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import tiny_models
from function_calls import called
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.store import tables
from counterbalance.udfs import masks

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("diffusers")
pytest.importorskip("open_clip")
if importlib.util.find_spec("ultralytics") is None:  # importing it changes the process, unless our module does it
    pytest.skip("ultralytics is not installed", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")]

WIDE, HIGH = 520, 300
LEFT = {"x": 0, "y": 10, "width": 250, "height": 260}
RIGHT = {"x": 260, "y": 20, "width": 240, "height": 240}  # 57,600 square pixels
LESS = {"x": 260, "y": 20, "width": 220, "height": 250}  # 55,000, and not more
POLYGON = "[[10, 20, 200, 20, 200, 250, 10, 250]]"
NEW, FLAG = 9, 0.6


def png(seed):
    pixels = np.random.default_rng(seed).integers(0, 255, (6, 8, 3), np.uint8)
    return image_bytes(Image.fromarray(pixels).resize((WIDE, HIGH), Image.Resampling.BICUBIC))


BOXES = [  # image, category, box, mask, crowd
    (1, "person", RIGHT, masks.encode(np.ones((HIGH, WIDE), bool) & (np.arange(WIDE) > 400)), False),
    (1, "person", LEFT, POLYGON, False),
    (1, "person", {**LEFT, "width": 100}, POLYGON, False),
    (2, "person", LEFT, None, False),
    (2, "person", LESS, POLYGON, False),
    (2, "dog", {**LEFT, "width": 400}, POLYGON, False),
    (3, "dog", LEFT, POLYGON, False),
    (3, "person", LEFT, POLYGON, True),
    (4, "person", LEFT, POLYGON, False),
    (5, "person", LEFT, POLYGON, False),
    (6, "person", {**LEFT, "width": 29}, POLYGON, False),
    (7, "person", LEFT, POLYGON, False),
    (8, "person", LEFT, masks.encode(np.ones((9, 9), bool)), False),
    (NEW, "person", LEFT, POLYGON, False),
]
CAPTIONS = [
    (1, 1, "two chairs"),
    (2, 1, "A man and his dog."),
    (3, 2, "a woman reads"),
    (4, 2, "a person reads"),
    *((10 + i, i, "a man") for i in (3, 4, 5, 6, 8)),
    (20, NEW, "people"),
]
PROMPTS = {
    (1, "female"): "A woman and her dog.",
    (1, "male"): "A man and his dog.",
    (2, "female"): "a woman reads",
    (2, "male"): "a man reads",
}
SKIPPED = {
    3: "no person",
    4: "corrupt picture",
    5: "no picture",
    6: "no person whose box is large enough",
    7: "no caption",
    8: "mask does not fit the picture",
}


def rows_of(images):
    pictures = {**{i: png(i) for i in (1, 2, 3, 6, 7, 8, NEW)}, 4: b"\x89PNG\r\n\x1a\n and no more", 5: None}
    boxes = [b for b in ((n, *box) for n, box in enumerate(BOXES, 1)) if b[1] in images]
    texts = [c for c in CAPTIONS if c[1] in images]
    sides = {s: pa.array([b[3][s] for b in boxes], pa.float32()) for s in LEFT}
    return {
        "images": pa.table(
            {
                "image_id": pa.array(images, pa.int64()),
                "key": [str(i) for i in images],
                "image": pa.array([pictures[i] for i in images], pa.binary()),
            }
        ),
        "captions": pa.table(dict(zip(("caption_id", "image_id", "text"), map(list, zip(*texts, strict=True)), strict=True))),
        "detections": pa.table(
            {
                "detection_id": [b[0] for b in boxes],
                "image_id": [b[1] for b in boxes],
                "category": [b[2] for b in boxes],
                **sides,
                "mask": pa.array([b[4] for b in boxes], pa.string()),
                "is_crowd": [b[5] for b in boxes],
            }
        ),
    }  # fmt: skip


@pytest.fixture(scope="module")
def given(tmp_path_factory, tiny_clip, tiny_diffusion, tiny_safety, tiny_detector):
    """Parameters that name the tiny models."""
    folder = tmp_path_factory.mktemp("models")
    tiny_models.save_segmenter(folder / "sam")
    made = {"segmenter": folder / "sam", "nsfw_model": tiny_safety, "detector": tiny_detector}
    made |= {"clip": tiny_clip(), "model": tiny_diffusion("StableDiffusionInpaintPipeline", channels=9)}
    return {
        **{k: str(v) for k, v in made.items()},
        "size": 64,
        "steps": 1,
        "edits": 1,
        "max_nsfw": FLAG,
        "c_object": 0.5,
    }


def run(lake, given):
    return lake.recipe("inpaint", given, refresh={"executor": "inline"})


def rows(lake, sql):
    return lake.sql(sql).to_arrow().to_pylist()


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def best(candidates, c_object):
    """The rank filter in plain Python."""
    chosen = {}
    for key in {(r["image_id"], r["label"]) for r in candidates}:
        group = [r for r in candidates if (r["image_id"], r["label"]) == key]

        def rank(row, score, group=group):
            return 1 + sum(other[score] > row[score] for other in group)

        chosen[key] = min(
            (rank(r, "s_prompt") + c_object * rank(r, "s_object") + rank(r, "s_color"), r["seed"], r["edit_id"])
            for r in group
        )
    return chosen


EDITS = """
SELECT r.edit_id, r.image_id, r.label, r.prompt, r.guidance, r.seed, r.s_prompt, r.s_object, r.s_color, r.nsfw,
  r.edited_objects, r.objects, list_first([r.edited]) AS edited, list_first([i.image]) AS image, list_first([r.mask]) AS mask
FROM inpaint_requests AS r JOIN images AS i ON i.image_id = r.image_id ORDER BY r.image_id, r.label, r.guidance
"""
SET = "SELECT *, list_first([image]) AS image FROM inpaint_set ORDER BY image_id, label"


def test_from_pictures_to_both_sets(disk_lake, given):
    lake = disk_lake
    lake.ingest(rows_of(list(range(1, 9))))
    done = run(lake, given)
    assert done.state == "done"
    assert dict(lake.sql("SELECT image_id, reason FROM inpaint_skipped").fetchall()) == SKIPPED
    told = lake.sql("SELECT key, message FROM meta.errors WHERE table_name = 'inpaint_skipped'").fetchall()
    assert {int(key): why for key, why in told} == SKIPPED
    errors = lake.sql("SELECT * FROM meta.errors").to_arrow().to_pylist()
    assert {(e["table_name"], e["column_name"]) for e in errors} == {
        ("images", "inpaint_objects"),
        ("inpaint_skipped", None),
        ("inpaint_sources", "mask"),
    }
    _check_people(lake)
    _check_copies(lake)

    edits = rows(lake, EDITS)
    assert {(e["image_id"], e["label"]): e["prompt"] for e in edits} == PROMPTS
    assert [(e["guidance"], e["seed"]) for e in edits] == [
        (g, edits[n]["seed"]) for n, g in enumerate([7.5, 9.5, 15])
    ] * 4
    assert len({e["seed"] for e in edits}) == 3
    for edit in edits:
        before, after, white = (pixels(edit[name]) for name in ("image", "edited", "mask"))
        assert (before == after)[white == 0].all()
        assert (before != after)[white > 0].any()
    assert len({e["edited"] for e in edits}) == len(edits) == 12
    _check_scores(edits, given)

    chosen = best([e for e in edits if e["nsfw"] < FLAG], 0.5)
    assert len(chosen) == 4, "the tiny classifier flags some edits of every group, not all"
    kept = rows(lake, SET)
    assert {(k["image_id"], k["label"]): (k["rank_sum"], k["seed"], k["edit_id"]) for k in kept} == chosen
    made = {e["edit_id"]: e["edited"] for e in edits}
    assert all(k["image"] == made[k["edit_id"]] for k in kept)
    assert [k["text"] for k in kept] == list(PROMPTS.values())
    _check_lineage(lake, kept, given)

    counts = done.results["counts"].to_pylist()
    assert [(c["label"], c["requests"], c["edits"], c["kept"]) for c in counts] == [
        ("female", 6, 6, 2),
        ("male", 6, 6, 2),
    ]
    assert sum(c["flagged"] for c in counts) == sum(e["nsfw"] >= FLAG for e in edits) > 0
    sample = "SELECT image_id, label, text, synthetic FROM {} ORDER BY synthetic, image_id, label"
    synthetic = [(i, label, text, True) for (i, label), text in PROMPTS.items()]
    originals = [(1, "male", "A man and his dog.", False), (2, "female", "a woman reads", False)]
    others = [edit for edit in synthetic if edit[:2] not in {(1, "male"), (2, "female")}]
    assert lake.sql(sample.format("s_synthetic")).fetchall() == synthetic
    assert lake.sql(sample.format("s_augment")).fetchall() == [*originals, *others]
    pictures = lake.sql("SELECT image_id, list_first([image]) FROM s_augment WHERE NOT synthetic").fetchall()
    assert {i: (pixels(data) == pixels(png(i))).all() for i, data in pictures} == {1: True, 2: True}

    lake.ingest(rows_of([NEW]))
    more = run(lake, given)
    computed = {s.step: s.rows for s in more.steps}
    # a view brings its columns up to date: 6 edits, and 5 scores of each
    assert (computed["objects"], computed["requests"], computed["edit"], computed["scores"]) == (
        1,
        6 + 5 * 6,
        None,
        None,
    )
    after = rows(lake, EDITS)
    assert [e for e in after if e["image_id"] != NEW] == edits
    assert {e["prompt"] for e in after if e["image_id"] == NEW} == {"women", "men"}
    assert [k for k in rows(lake, SET) if k["image_id"] != NEW] == kept
    assert {s.mode for s in lake.refresh(executor="inline").stages} == {"no_op"}


def _check_people(lake):
    """Both people of the first picture, one of the second, whose mask the segmenter made."""
    people = lake.sql(
        "SELECT detection_id, image_id, place, given IS NULL, found IS NULL FROM inpaint_people ORDER BY 2, 3"
    )
    found = [r for r in people.fetchall() if r[1] < 3]
    assert found == [(2, 1, 1, False, True), (1, 1, 2, False, True), (4, 2, 1, True, False)]
    (box,) = lake.sql("SELECT x, y, width, height FROM inpaint_sources WHERE image_id = 1").fetchall()
    assert box == (0, 10, 500, 260)
    ((data,),) = lake.sql("SELECT list_first([mask]) FROM inpaint_sources WHERE image_id = 1").fetchall()
    white = pixels(data)[:, :, 0]
    wanted = masks.decode(POLYGON, HIGH, WIDE) | (np.arange(WIDE) > 400)
    assert ((white == 255) == wanted).all()


def _check_copies(lake):
    """Nothing but the sets and the images themselves holds a source, as masks of people and edits are made."""
    made = ("inpaint_people", "inpaint_sources", "inpaint_requests")
    names = {name: tables.open_table(lake.location, name).schema.names for name in made}
    assert all("image" not in found and "sha256" in found for found in names.values())
    folders = [Path(lake.uri) / f"{name}.lance" for name in made[:2]]
    stored = sum(f.stat().st_size for folder in folders for f in folder.rglob("*") if f.is_file())
    assert stored < len(png(1)), "both tables hold less than one picture"


def _check_scores(edits, given):
    """Every score is what its function says of the edit alone."""

    def call(name, constants, *columns):
        found = called(name, constants, *(pa.array([e[c] for e in edits]) for c in columns))
        return getattr(found, "values", found).to_pylist()

    assert call("clip_score", {"model": given["clip"]}, "edited", "prompt") == pytest.approx(
        [e["s_prompt"] for e in edits], abs=1e-6
    )
    assert call("color_fidelity", {}, "edited", "image") == [e["s_color"] for e in edits]
    assert call("nsfw_score", {"model": given["nsfw_model"]}, "edited") == pytest.approx(
        [e["nsfw"] for e in edits], abs=1e-6
    )
    for edit in edits:
        one, other = set(edit["edited_objects"]), set(edit["objects"])
        assert edit["s_object"] == pytest.approx(2 * len(one & other) / (len(one) + len(other)))
    assert len({e["s_object"] for e in edits}) > 1


def _check_lineage(lake, kept, given):
    """A picture of the set says what made it, and the lake where it came from."""
    for edit in kept:
        told = edit["made_by"]
        assert (told["prompt"], told["seed"]) == (edit["text"], edit["seed"])
        assert told["type"] == "compositeWithTrainedAlgorithmicMedia"
        assert edit["model"] == given["model"]
    from counterbalance.udfs.models.diffusion_files import fingerprint

    assert {e["made_by"]["weights"] for e in kept} == {fingerprint(given["model"])}
    up = {r["name"] for r in lake.lineage("s_augment").to_pylist() if r["direction"] == "upstream"}
    assert {
        "inpaint_set.image",
        "inpaint_requests.edited",
        "inpaint_sources.mask",
        "images.image",
        "captions.text",
    } <= up


@pytest.mark.thorough
def test_intersections_and_edits_that_are_all_flagged(disk_lake, given):
    """A row for every product of the groups; where no edit may be kept, the lake says why, and nothing is kept."""
    disk_lake.ingest(rows_of([2]))
    crossed = {**given, "words": "crossed_words()", "guidances": "7.5", "max_nsfw": 0}
    disk_lake.recipe("inpaint", crossed, until="choose", refresh={"executor": "inline"})
    wanted = {
        f"{gender} & {tone}": f"a {tone}-skinned {word} reads"
        for gender, word in (("female", "woman"), ("male", "man"))
        for tone in ("lighter", "darker")
    }
    assert dict(disk_lake.sql("SELECT label, prompt FROM inpaint_requests").fetchall()) == wanted
    dropped = disk_lake.sql("SELECT image_id, label, reason FROM inpaint_dropped").fetchall()
    assert set(dropped) == {(2, label, "every edit is flagged as nudity") for label in wanted}
    for name in ("inpaint_set", "inpaint_skipped"):
        assert disk_lake.sql(f"SELECT count(*) FROM {name}").fetchall() == [(0,)]
