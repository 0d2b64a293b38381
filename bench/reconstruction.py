"""Show what suppression does not hold against: perceived labels that follow from many counts and the open tables.

    python bench/reconstruction.py

Each count that an audit shows of a word and a label is an equation over the images whose captions have the word, and everybody
who has the lake reads these. With about as many words as images, least squares gives the label of each image, though no count
is under ten. Prints, by number of words, the share of images whose label is found by a session without a purpose.
The method is that of Dinur and Nissim, Revealing Information while Preserving Privacy (2003).
"""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa

import counterbalance as cb

IMAGES = 200
WORDS = (10, 50, 100, 200, 400)


def lake_of(words: int) -> tuple[cb.Lake, np.ndarray]:
    """Make a lake of images with a perceived label each, and captions of which every word stands in about a third."""
    draw = random.Random(words)
    ids = list(range(IMAGES))
    labels = [draw.choice(["female", "male"]) for _ in ids]
    texts = [" ".join(f"w{w}q" for w in range(words) if draw.random() < 0.3) for _ in ids]
    lake = cb.connect(f"memory://reconstruction-{words}")
    lake.ingest(
        {
            "images": pa.table({"image_id": ids, "key": [str(i) for i in ids]}),
            "captions": pa.table({"caption_id": ids, "image_id": ids, "text": texts}),
            "labels": pa.table(
                {"label_id": ids, "image_id": ids, "attribute": ["perceived_gender"] * IMAGES, "value": labels}
            ),
        }
    )
    return lake, np.array([label == "female" for label in labels])


def found(lake: cb.Lake) -> np.ndarray:
    """Return which images are taken to be labelled female, from what a session without a purpose is shown."""
    counts = lake.sql(
        "SELECT concept, count FROM cooccurrence(groups := image_labels('perceived_gender'), concepts := word_concepts) "
        "WHERE label = 'female'"
    ).fetchall()
    place = {concept: row for row, (concept, _) in enumerate(counts)}
    has = np.zeros((len(counts), IMAGES))
    for image, concept in lake.sql("SELECT image_id, concept FROM word_concepts").fetchall():
        if concept in place:
            has[place[concept], image] = 1
    return np.linalg.lstsq(has, np.array([n for _, n in counts], float), rcond=None)[0] > 0.5


def main() -> None:
    """Print the table."""
    print(f"{IMAGES} images, two labels\n\n| words | labels found |\n|---|---|")
    for words in WORDS:
        lake, truth = lake_of(words)
        print(f"| {words} | {np.mean(found(lake) == truth):.0%} |")


if __name__ == "__main__":
    main()
