"""Compute again figures of the five papers that need no weights: ours beside theirs.

python bench/reproduction.py captions_val2017.json captions.jsonl > docs/reproduction.md

The first file is COCO's, the second that of COCO-Counterfactuals.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import counterbalance as cb
from counterbalance.engine.recipes.files import recipe
from counterbalance.udfs.wordlists import wordlist

if TYPE_CHECKING:
    from collections.abc import Iterator

    Row = tuple[str, str, str, str]
    """Where it stands, what it is, theirs and ours."""

ABOUT = """# What the papers print, computed again

Made by `python bench/reproduction.py captions_val2017.json captions.jsonl > docs/reproduction.md`: figures of the five papers that
need no weights and no data but captions of COCO and of COCO-Counterfactuals, and sizes of the lists that they print. GenSynth's own
code, too, labels 1,205 images male and 513 female; Table 1 is what that code makes, not quite what its text says (preset `paper`); its
random row is one draw, the balanced one the mean of ours over five seeds. Its Table 4 prints *car* where the caption has *cat*.

| where | what | paper | here |
|---|---|---|---|"""


NEUTRAL = {
    "The woman brushes her teeth in the bathroom.": "The person brushes their teeth in the bathroom.",
    "A man sleeping with his cat next to him.": "A person sleeping with their car next to them.",
    "Two women and two girls in makeup and one is talking on a cellphone.": (
        "Two people and two children in makeup and one is talking on a cellphone."
    ),
}
"""Captions, and what Table 4 of GenSynth makes of them; its code writes lower case."""


def lake_of(captions: Path) -> cb.Lake:
    """Return a lake of the images and captions of a file in COCO's format."""
    given = json.loads(captions.read_text(encoding="utf-8"))
    lake = cb.connect("memory://reproduction")
    of_texts = {"caption_id": "id", "image_id": "image_id", "text": "caption"}
    images = {"image_id": [i["id"] for i in given["images"]], "key": [i["file_name"] for i in given["images"]]}
    texts = {column: [t[field] for t in given["annotations"]] for column, field in of_texts.items()}
    lake.ingest({"images": pa.table(images), "captions": pa.table(texts)})
    return lake


def gensynth(lake: cb.Lake) -> Iterator[Row]:
    """Yield labels of images, and rows of Table 1."""
    found = Counter(label for _, label in lake.sql("FROM caption_gender_gensynth").fetchall())
    for label, theirs in (("male", 1275), ("female", 539), ("undefined", 3186)):
        ours = found["mixed"] + found["unclear"] if label == "undefined" else found[label]
        yield "GenSynth, section 3.2", f"images of COCO val2017 labelled {label}", f"{theirs:,}", f"{ours:,}"
    cuts = (("bias", 5), ("bias", 10), ("maxskew", 25), ("maxskew", 100))
    balanced = "balanced_subset(caption_gender_gensynth, seed := {}, rest := 'proportional')"
    drawn = [f"(SELECT c.* FROM captions AS c SEMI JOIN {balanced.format(n)} AS b USING (image_id))" for n in range(5)]
    tables = {
        "tfidf": ((0.22, 0.24, 0.29, 0.22), ["preset := 'code'"]),
        "tfidf, by the text (preset paper)": ((0.22, 0.24, 0.29, 0.22), ["preset := 'paper'"]),
        "tfidf, balanced": ((-0.06, -0.08, 0.25, 0.18), [f"preset := 'code', items := {items}" for items in drawn]),
        "random": ((0.37, 0.40, 0.15, 0.06), ["preset := 'code', ranker := 'random'"]),
    }
    for row, (theirs_of, calls) in tables.items():
        answers = [lake.sql(f"SELECT metric, k, value FROM retrieval_bias({call})").fetchall() for call in calls]
        values = [{(metric, k): value for metric, k, value in answer} for answer in answers]
        for cut, theirs in zip(cuts, theirs_of, strict=True):
            ours = sum(one[cut] for one in values) / len(values)
            yield "GenSynth, Table 1", f"{cut[0]}@{cut[1]}, {row}", f"{theirs:.2f}", f"{ours:.3f}"
    for text, theirs in NEUTRAL.items():
        ours = lake.sql("SELECT neutralize($text, 'published')", text=text).fetchall()[0][0]
        yield "GenSynth, Table 4", text, theirs, ours


def counterfactuals(captions: Path) -> Iterator[Row]:
    """Yield what COCO-Counterfactuals has."""
    lake = cb.connect("memory://counterfactuals")
    lake.ingest(str(captions))
    pairs = lake.sql("SELECT count(*) FROM caption_pairs").fetchall()[0][0]
    images = lake.sql("SELECT count(*) FROM images").fetchall()[0][0]
    yield "COCO-Counterfactuals, section 3", "captions of COCO that have a counterfactual", "17,410", f"{pairs:,}"
    yield "COCO-Counterfactuals, section 3", "pairs of image and caption", "34,820", f"{images:,}"
    yield "COCO-Counterfactuals, A.3.2", "1,864 errors of 4,117 human subjects", "44.3 %", f"{100 * 1864 / 4117:.1f} %"


def lists() -> Iterator[Row]:
    """Yield sizes of lists and of what settings make."""
    pairs = Counter(row["class"] for row in wordlist("gender_gensynth_paper").to_pylist())
    yield "GenSynth, Table 3", "gendered words, male and female", "14, 14", f"{pairs['male']}, {pairs['female']}"
    forms = {row["template"] for row in wordlist("edit_instructions").to_pylist()}
    yield "GenSynth, Table 6", "templates of instructions", "4", f"{len(forms)}"
    crime = wordlist("crime_words").to_pylist()
    classes = len({row["class"] for row in crime})
    yield "Girrbach et al., Table 2", "words of crime (the text says 63), classes", "71, 6", f"{len(crime)}, {classes}"
    given = {p.name: p for p in recipe("sae_topics").parameters}
    settings = (preset.value for name in ("kinds", "lr", "expansion", "k") for preset in given[name].presets)
    made_of = math.prod(value.count(",") + 1 for value in settings)
    yield "Girrbach et al., B.2", "autoencoders", "24", f"{made_of}"
    objects = Counter(row["class"] for row in wordlist("hirota_objects").to_pylist())
    yield (
        "Hirota et al., B.1",
        "objects of COCO, of Open Images",
        "51, 126",
        f"{objects['COCO']}, {objects['OpenImages']}",
    )
    attributes = wordlist("gelda_attributes").to_pylist()
    made = Counter((row["dataset"], row["class"]) for row in attributes)
    yield (
        "GELDA, section 4.1",
        "attributes of a category (M), categories of a dataset (N)",
        "5, 10",
        f"{max(made.values())}, {len(made) // len({row['dataset'] for row in attributes})}",
    )
    templates = wordlist("gelda_templates").num_rows
    yield "GELDA, Table S1", "templates", "5", f"{templates}"


def main() -> None:
    """Print the page."""
    coco, contrasts = map(Path, sys.argv[1:])
    print(ABOUT)
    for row in (*gensynth(lake_of(coco)), *counterfactuals(contrasts), *lists()):
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
