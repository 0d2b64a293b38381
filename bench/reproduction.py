"""Compute again figures of the five papers that need no weights: ours beside theirs.

python bench/reproduction.py captions_val2017.json captions.jsonl > docs/reproduction.md

The first file is COCO's, the second that of COCO-Counterfactuals. What the papers print is in printed.toml.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING

import printed
import printed_sums
import pyarrow as pa

import counterbalance as cb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from printed import Row

ABOUT = """# What the papers print, computed again

Made by `python bench/reproduction.py captions_val2017.json captions.jsonl > docs/reproduction.md`: every figure of the five papers that
needs no weights and no data but captions of COCO and of COCO-Counterfactuals, theirs beside ours. What they print is held in
`bench/printed.toml`, and a test finds each line of it in the texts of the papers. Differences of .01 are of rounding: they had more digits."""

CAPTIONS = """
## Numbers from captions

GenSynth's own code, too, labels 1,205 images male and 513 female; Table 1 is what that code makes, not quite what its text says (preset
`paper`); its random row is one draw; ± is the deviation over five seeds, ours are other seeds. Its Table 4 prints *car* where the caption
has *cat*. What COCO-Counterfactuals counts as human (4,117), or as a label of CIFAR, no rule that we tried gives: ours take the altered
word of each caption as it stands."""

LISTS = """
## Lists, word by word

How many of their words are ours, in the same class, and the names of any that differ."""

QUESTIONS = """
## Questions to models, word by word

Those that our presets put, by a digest of their words. The three of GELDA we put in words of our own."""

SETTINGS = """
## Settings of presets named after the papers

Every number and name that a preset takes from a paper. A model's name is the same where it has all parts of the printed one."""

SUMS = """
## Sums of what they print

Means, shares and scores whose terms are printed, too. *Eq. 2* wants more than τ_R, so that one neighbour of 5,000 is not enough; in A.1,
Flava's gain is not that of Table 5; Table 1 of GELDA takes means over the attributes of CUB-200, of which only categories are printed."""

ABSENT = """
## What is not here, and why

- **It needs weights or pictures**: all rows of CLIP and other encoders, clusters of embeddings, classifiers and captioners, edited and
  generated pictures (GenSynth, Tables 1, 2, 5, 7 to 9 and D.4; Hirota et al., Tables 1, 2 and 5 to 7; COCO-Counterfactuals, Tables 2 to 5
  and 11 to 13; GELDA, Tables 1, 2, S4 and S5), and the 24,508 pairs of which 17,410 are left, which two language models choose.
- **It needs LAION-400M**, FairFace, Phase, FACET or CC12M: all counts, shares, correlations and topics of Girrbach et al. but the sums above.
- **It needs other data**: GenSynth's 3,973 images and Hirota et al.'s 28,487 and 13,487 are of other parts of COCO; the other classes of
  COCO-Counterfactuals, Table 6, are of Caltech, Food101 and ImageNet.
- **It needs answers of people** that are not published: COCO-Counterfactuals, Tables 1 and 7 to 10 and the kappa of 4.1; GenSynth, F.1; Hirota et al.,
  Table 4; GELDA, Table S6 and Figure 3; Girrbach et al., Figure 4 and section 3.
- **It needs replies of a language model** that are not printed: GELDA, Figure 2 (the replies of Tables S2 and S3 are above); win rates of captioners.
- **The list is not printed**: words of So-B-IT (405, or 374), social categories (3,488), topics (2,392), personality traits (42), adjectives of countries.
  `race_synonyms.csv` of Girrbach et al. states no licence and is not shipped; its words, as far as they are printed, are Tables 8 and 9.
- **It is drawn, not printed**: the other figures."""

NEUTRAL = {
    ("section 3.2", "A man sleeping with his cat next to him"): "A person sleeping with their cat next to them",
    ("Table 4", "The woman brushes her teeth in the bathroom."): "The person brushes their teeth in the bathroom.",
    ("Table 4", "A man sleeping with his cat next to him."): "A person sleeping with their car next to them.",
    ("Table 4", "Two women and two girls in makeup and one is talking on a cellphone."): (
        "Two people and two children in makeup and one is talking on a cellphone."
    ),
}
"""Captions, and what GenSynth makes of them; its code writes lower case."""
CIFAR10 = "airplane automobile bird cat deer dog frog horse ship truck"
CIFAR100 = """apple baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can castle caterpillar cattle chair
chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin elephant flatfish forest fox girl hamster house kangaroo
keyboard lamp leopard lion lizard lobster man motorcycle mountain mouse mushroom orange orchid otter pear plain plate poppy porcupine
possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake spider squirrel streetcar sunflower table
tank telephone television tiger tractor train trout tulip turtle wardrobe whale wolf woman worm"""
"""Classes of one word: an altered word is no other."""


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
    """Yield labels of images, rows of Table 1, and texts."""
    found = Counter(label for _, label in lake.sql("FROM caption_gender_gensynth").fetchall())
    for label, theirs in (("male", "1,275 (25.5 %)"), ("female", "539 (10.8 %)"), ("undefined", "3,186 (63.7 %)")):
        ours = found["mixed"] + found["unclear"] if label == "undefined" else found[label]
        share = 100 * ours / found.total()
        yield "GenSynth, section 3.2", f"images of COCO val2017 labelled {label}", theirs, f"{ours:,} ({share:.1f} %)"
    times = found["male"] / found["female"]
    yield "GenSynth, D", "male images for each female one", "more than 2", f"{times:.2f}"
    cuts = (("bias", 5), ("bias", 10), ("maxskew", 25), ("maxskew", 100))
    balanced = "balanced_subset(caption_gender_gensynth, seed := {}, rest := 'proportional')"
    drawn = [
        f"items := (SELECT c.* FROM captions AS c SEMI JOIN {balanced.format(n)} AS b USING (image_id))"
        for n in range(5)
    ]
    tables = {
        "tfidf": ((0.22, 0.24, 0.29, 0.22), None, ["preset := 'code'"]),
        "tfidf, by the text (preset paper)": ((0.22, 0.24, 0.29, 0.22), None, ["preset := 'paper'"]),
        "tfidf, balanced": (
            (-0.06, -0.08, 0.25, 0.18),
            (0, 0, 0, 0),
            [f"preset := 'code', {items}" for items in drawn],
        ),
        "random": ((0.37, 0.40, 0.15, 0.06), None, ["preset := 'code', ranker := 'random'"]),
        "random, balanced": (
            (0, 0, 0.14, 0.07),
            (0.07, 0.07, 0, 0),
            [f"preset := 'code', ranker := 'random', seed := {n}, {items}" for n, items in enumerate(drawn)],
        ),
    }
    for row, (theirs_of, spread, calls) in tables.items():
        answers = [lake.sql(f"SELECT metric, k, value FROM retrieval_bias({call})").fetchall() for call in calls]
        values = [{(metric, k): value for metric, k, value in answer} for answer in answers]
        for at, (cut, theirs) in enumerate(zip(cuts, theirs_of, strict=True)):
            ours = [one[cut] for one in values]
            wanted = f"{theirs:.2f}" + (f" ± {spread[at]:.2f}" if spread else "")
            made = f"{fmean(ours):.3f}" + (f" ± {pstdev(ours):.3f}" if spread else "")
            yield "GenSynth, Table 1", f"{cut[0]}@{cut[1]}, {row}", wanted, made
    for (where, text), theirs in NEUTRAL.items():
        ours = lake.sql("SELECT neutralize($text, 'published')", text=text).fetchall()[0][0]
        yield f"GenSynth, {where}", text, theirs, ours
    (ours,) = lake.sql("SELECT swap_gender('she', 'male'), neutralize('she', 'replace')").fetchall()
    yield "GenSynth, B.1", "she, with the gender switched or neutral", "he, they", ", ".join(ours)


def plain(text: str) -> str:
    """Return the words of a caption: some end in a line's end in one file, in a space in the other."""
    return " ".join(text.split())


def counterfactuals(captions: Path, originals: Path) -> Iterator[Row]:
    """Yield what COCO-Counterfactuals has."""
    lake = cb.connect("memory://counterfactuals")
    lake.ingest(str(captions))
    coco = Counter(plain(one["caption"]) for one in json.loads(originals.read_text(encoding="utf-8"))["annotations"])
    pairs = [plain(text) for (text,) in lake.sql("SELECT original FROM caption_pairs").fetchall()]
    images = lake.sql("SELECT count(*) FROM images").fetchall()[0][0]
    known = sum(text in coco for text in pairs)
    yield "COCO-Counterfactuals, section 3.3", "captions of COCO val2017", "25,014", f"{coco.total():,}"
    yield "COCO-Counterfactuals, section 3.3", "captions that have a counterfactual", "17,410", f"{len(pairs):,}"
    yield "COCO-Counterfactuals, section 3.3", "of these captions of COCO, word for word", "17,410", f"{known:,}"
    yield "COCO-Counterfactuals, section 3.3", "pairs of image and caption", "34,820", f"{images:,}"
    given = "(SELECT pair AS pair_id, original, counterfactual FROM caption_pairs)"
    altered = lake.sql(f"SELECT original, counterfactual FROM altered_words({given})").fetchall()
    human = printed_sums.human_words()
    own, either = (
        sum(word in human for pair in altered for word in pair),
        sum(bool({*pair} & human) for pair in altered),
    )
    where = "COCO-Counterfactuals, A.3.2"
    yield where, "image-text pairs whose own altered subject is human", "4,117", f"{own:,}"
    yield where, "pairs of captions of which either altered subject is human", "4,117", f"{either:,}"
    for name, theirs, words in (("CIFAR10", "398", CIFAR10), ("CIFAR100", "3,446", CIFAR100)):
        labels = set(words.split())
        ours = sum(bool(labels & set(words)) for words in altered)
        yield (
            "COCO-Counterfactuals, Table 6",
            f"pairs with an altered subject that is a class of {name}",
            theirs,
            f"{ours:,}",
        )


def student_p(t: float, df: int) -> float:
    """Return the two-sided p of Student's t."""
    lake = cb.connect("memory://reproduction")
    return float(lake.sql("SELECT student_p($t, $df)", t=t, df=df).fetchall()[0][0])


def section(about: str, rows: Iterator[Row]) -> None:
    """Print a table under what it is about."""
    print(about)
    print("\n| where | what | paper | here |\n|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def main() -> None:
    """Print the page."""
    coco, contrasts = map(Path, sys.argv[1:])
    print(ABOUT)
    lake = lake_of(coco)
    section(CAPTIONS, (row for rows in (gensynth(lake), counterfactuals(contrasts, coco)) for row in rows))
    section(LISTS, printed.lists())
    section(QUESTIONS, printed.questions())
    section(SETTINGS, printed.settings())
    section(SUMS, printed_sums.sums(len(contrasts.read_text(encoding="utf-8").splitlines()), student_p))
    print(ABSENT)


if __name__ == "__main__":
    main()
