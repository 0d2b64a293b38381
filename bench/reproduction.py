"""Compute again figures of the five papers that need no weights: ours beside theirs.

python bench/reproduction.py shared/data/coco/captions_val2017.json > docs/reproduction.md
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

Made by `python bench/reproduction.py captions_val2017.json > docs/reproduction.md`: figures of the five papers that need no
weights and no data but COCO's captions, and sizes of the lists that they print. GenSynth's own code, too, labels 1,205 images male and 513
female; its random row is one draw.

| where | what | paper | here |
|---|---|---|---|"""


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
    for ranker, theirs_of in (("tfidf", (0.22, 0.24, 0.29, 0.22)), ("random", (0.37, 0.40, 0.15, 0.06))):
        rows = lake.sql(
            f"SELECT metric, k, value FROM retrieval_bias(preset := 'code', ranker := '{ranker}')"
        ).fetchall()
        values = {(metric, k): value for metric, k, value in rows}
        for cut, theirs in zip(cuts, theirs_of, strict=True):
            yield "GenSynth, Table 1", f"{cut[0]}@{cut[1]}, {ranker}", f"{theirs:.2f}", f"{values[cut]:.3f}"


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
    lake = lake_of(Path(sys.argv[1]))
    print(ABOUT)
    for row in (*gensynth(lake), *lists()):
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
