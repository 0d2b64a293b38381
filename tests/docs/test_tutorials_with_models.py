"""Commands of tutorials that need models run as they are written, with tiny models of the same kinds in the place of the papers'."""

from __future__ import annotations

import importlib.util
import re
import shlex

import pytest
import tiny_models
import typed

for module in ("torch", "transformers", "open_clip", "diffusers"):
    pytest.importorskip(module)
if importlib.util.find_spec("ultralytics") is None:  # importing it changes the process
    pytest.skip("ultralytics is not installed", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ANSWERS = "SELECT image_id, 'perceived_gender' AS attribute, label AS value, 'ann' AS annotator FROM image_gender"
"""Answers of an annotator who says what the model did."""


def commands(page):
    """The lines of a page's blocks without a language that are commands, without their remarks."""
    parts = re.split(r"^```(.*)\n", (typed.ROOT / page).read_text().replace("\\\n", ""), flags=re.MULTILINE)
    blocks = [parts[i + 1] for i in range(1, len(parts), 4) if not parts[i]]
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("cbal ")]
    return [re.sub(r"\s{2,}#.*", "", line) for line in lines]


def run(page, folder, before, given):
    """Run what a page says, on a CPU and with these models; returns how many commands there were."""
    found = commands(page)
    for line in found:
        if "answers.csv" in line:
            typed.run(
                f'cbal sql pictures.lake --sensitive "a test of it" "{ANSWERS}" --csv > answers.csv', folder, before
            )
        told = line.replace("--device cuda", "--device cpu").replace(" --allow-download", "")
        if line.startswith("cbal recipe ") and "--show" not in line:
            name = next(name for name in given if f" {name} " in f"{line} ")
            told += "".join(f" -p {shlex.quote(f'{k}={v}')}" for k, v in given[name].items())
            told += " || [ $? -eq 3 ]"  # it stops where something is to be decided
        typed.run(told, folder, before)
    return len(found)


@pytest.fixture
def shapes(tmp_path, without_network):
    typed.run("cbal sample shapes --images 40 --seed 1", tmp_path, without_network)
    return tmp_path


def test_from_images_to_labels(shapes, without_network, tiny_people_detector, tiny_asker):
    models = shapes / "models"
    tiny_asker(models / "asker")
    tiny_models.save_tower(models / "tower")
    tiny_models.save_encoder(models / "sentences")
    tiny_models.save_encoder(models / "hate", ["hateful", "targeted", "aggressive"])
    tiny_models.save_encoder(models / "sentiment", ["NEG", "NEU", "POS"])
    given = dict.fromkeys(("first", "second", "third", "fourth", "captioner"), models / "asker")
    given |= {"tower": models / "tower", "sentences": models / "sentences", "hate_model": models / "hate"}
    given |= {"sentiment_model": models / "sentiment", "detector": tiny_people_detector, "score": 0.9999}
    given |= {"sample": 120, "gender_epochs": 1, "race_epochs": 1}
    for line in (
        "cbal ingest pictures.lake shapes/images --format imagefolder",
        f"cbal sql pictures.lake \"ALTER TABLE images ADD COLUMN boxes AS (detect_people(image, model := '{tiny_people_detector}'))\"",
    ):
        typed.run(line, shapes, without_network)
    assert run("docs/tutorials/images-to-labels.md", shapes, without_network, {"laion400m": given}) >= 9


def test_a_contrast_set(shapes, without_network, tiny_clip, tiny_diffusion, tiny_safety, tiny_detector):
    tiny_models.save_segmenter(shapes / "sam")
    inpaint = {"segmenter": shapes / "sam", "detector": tiny_detector, "clip": tiny_clip(), "nsfw_model": tiny_safety}
    inpaint |= {"model": tiny_diffusion("StableDiffusionInpaintPipeline", channels=9), "edits": 1}
    gensynth = {
        "editor": tiny_diffusion("StableDiffusionInstructPix2PixPipeline", channels=8),
        "nsfw_model": tiny_safety,
    }
    gensynth |= {"embedder": tiny_models.save_tower(shapes / "tower"), "guidance": 9.5, "tau_g": 0, "tau_r": 0}
    small = {"size": 64, "steps": 1, "max_nsfw": 1.1}
    typed.run("cbal ingest sample.lake shapes/annotations --images shapes/images", shapes, without_network)
    given = {"inpaint": inpaint | small, "gensynth": gensynth | small}
    assert run("docs/tutorials/contrast-set.md", shapes, without_network, given) >= 6
