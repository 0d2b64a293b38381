"""Show how often intervals hold the truth, of every audit that has one: 95 % is asked.

    python bench/coverage.py > docs/coverage.md
    python bench/coverage.py --only "Areas under a curve"

Draws samples of which the truth is known, such as clusters of rows that are alike to a degree, and computes from each the
intervals of audits: by the engine's own SQL functions where an audit does no more, and else by asking the audit. Many
samples go into one call where an audit has a row for each of many labels, concepts or categories.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

import counterbalance as cb

sys.path.append(str(Path(__file__).parent))  # where a test loads this file by its path

from coverage_of_agreement import of_agreement, of_annotators, of_answered_persons, of_answers, of_judgements
from coverage_of_differences import of_differences, of_shifts, of_two_datasets, of_wholes
from coverage_of_models import of_amplification, of_areas, of_categories, of_cuts, of_precisions, of_topics
from coverage_of_ratios import of_captions, of_contrast_sets, of_ratios, of_words
from coverage_of_shares import (
    RATES,
    WILSON,
    of_audits_with_shares,
    of_clusters,
    of_more_frequent,
    of_persons,
    of_rows,
    of_shares,
    of_sourced_persons,
)
from coverage_of_vectors import of_cosines, of_edits, of_effects, of_means, of_pairs
from coverage_samples import DRAWS, SIZES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AUDITS: dict[str, dict[str, str]] = {
    "agreement": {
        "Wilson: share of equal labels, confusion, Jaccard": "Shares",
        "kappas and alpha (beyond_chance_low)": "Agreement",
        "Wilson, of as many pairs as an annotator's are worth": "Agreement of one annotator, and of labels",
        "Wilson, boxes of one image": "Rows of one image",
    },
    "artifact_shift": {"cuts (split_interval)": "Cuts of a dataset", "Wilson": "Shares"},
    "association": {
        "effect_interval": "Effect sizes",
        "Student's t over a standard deviation": "Mean cosines",
        "effect_interval, of sources": "Vectors of one source",
    },
    "attribute_auc": {"Newcombe (area_interval)": "Areas under a curve"},
    "attribute_frequencies": {"Wilson": "Shares"},
    "attribute_matrix": {"Wilson": "Shares", "ratio_low, ratio_high": "Ratios of what is seen to chance"},
    "average_precision": {"Student's t over the jackknife, on the logit": "Average precision"},
    "balance": {"Wilson": "Shares"},
    "bias_transfer": {"Fisher, normal, bootstrap": "Correlations over categories", "Wilson": "Shares"},
    "casc": {"effect_interval": "Effect sizes", "the same, of sources": "Vectors of one source"},
    "cluster_representation": {"Wilson": "Shares", "squared distances to Wilson's ends": "A cluster and the whole"},
    "compare_attributes": {"Newcombe": "Differences of two shares, and log-odds"},
    "compare_crime_words": {"squares of the ends of two ratios": "Two datasets"},
    "compare_demographics": {
        "Newcombe": "Differences of two shares, and log-odds",
        "the same, of effective sizes": "Persons with sources",
    },
    "compare_intersections": {
        "Newcombe": "Differences of two shares, and log-odds",
        "the same, of effective sizes": "Persons with sources",
    },
    "compare_sentiment": {"Newcombe, of effective sizes": "Two datasets"},
    "concept_ratio": {"Wilson": "Shares", "Newcombe": "Differences of two shares, and log-odds"},
    "contrast_balance": {"Wilson": "Shares", "ratio_low, ratio_high": "Objects of a contrast set"},
    "cooccurrence": {
        "ratio_low, ratio_high": "Ratios of what is seen to chance",
        "the same, of captions (design_effects)": "Labels and concepts of captions",
    },
    "counterfactual_retrieval": {
        "Wilson, of effective sizes": "Shares and means of rows in clusters",
        "Newcombe": "Differences of two shares, and log-odds",
    },
    "crime_words": {
        "Wilson": "Shares",
        "ratio_low, ratio_high": "Ratios of what is seen to chance",
        "both, of persons (effective_size, design_effect)": "Persons of images",
    },
    "demographics": {"Wilson": "Shares", "Wilson, of effective sizes": "Persons with sources"},
    "detection_recall": {
        "Wilson, of effective sizes": "Rows of one image",
    },
    "directional_amplification": {"Agresti and Min, Agresti and Caffo, Student's t": "Amplification"},
    "edit_quality": {"Wilson, of effective sizes": "Shares and means of rows in clusters"},
    "generated_ratio": {"Wilson": "Shares"},
    "geography": {"Wilson": "Shares", "ratio_low, ratio_high": "Ratios of what is seen to chance"},
    "harmful_zero_shot": {"Wilson": "Shares"},
    "hate_content_rate": {"Wilson, of effective sizes": "Rows of one image"},
    "ieat": {"effect_interval": "Effect sizes", "the same, of sources": "Vectors of one source"},
    "image_text_matching": {
        "Student's t": "Means of pairs",
        "Wilson": "Shares",
        "both, of pairs of one image": "Shares and means of rows in clusters",
    },
    "intersections": {
        "Wilson": "Shares",
        "ratio_low, ratio_high": "Ratios of what is seen to chance",
        "the same, of persons (design_effects)": "Persons with sources",
    },
    "keyword_profile": {"inverse hyperbolic sine of log-odds": "Differences of two shares, and log-odds"},
    "label_validation": {
        "squares of Wilson's ends, weighted; Wilson": "Labels beside answers",
        "kappas (beyond_chance_low)": "Agreement",
        "the same, of persons": "Labels of persons beside answers",
    },
    "leakage": {"cuts (split_interval)": "Cuts of a dataset"},
    "lic": {"cuts (split_interval)": "Cuts of a dataset"},
    "markedness": {"Wilson": "Shares"},
    "min_size_study": {
        "Wilson": "Shares",
        "kappa (beyond_chance_low)": "Agreement",
        "Wilson, of effective sizes": "Labels of persons beside answers",
    },
    "proposal_recall": {"Wilson": "Shares"},
    "ratio": {
        "odds of Wilson's ends": "The more frequent of two",
        "the same, of effective sizes": "Shares and means of rows in clusters",
    },
    "ratio_shift": {"logarithm of a ratio of odds, by images": "A ratio before and after"},
    "retrieval_bias": {"Student's t by images, Wilson of effective sizes": "Shares and means of rows in clusters"},
    "retrieval_bias_models": {"Student's t by images, Wilson of effective sizes": "Shares and means of rows in clusters"},
    "retrieval_bias_queries": {"Wilson: bias": "Shares"},
    "retrieval_bias_sets": {"Student's t by images": "Shares and means of rows in clusters"},
    "self_similarity": {"Student's t over the jackknife": "Pairs of one label"},
    "score_distribution": {"Wilson, of effective sizes": "Rows of one image"},
    "sentiment": {"Wilson of effective sizes, Student's t by images": "Shares and means of rows in clusters"},
    "similarity_bias": {"Welch": "Mean cosines", "Welch, of sources": "Vectors of one source"},
    "so_b_it": {"Wilson": "Shares", "ratio_low, ratio_high, of the first K": "What is retrieved for a word"},
    "spurious_correlations": {"Newcombe": "Differences of two shares, and log-odds"},
    "spurious_probe": {"cuts (split_interval)": "Cuts of a dataset"},
    "subject_alterations": {"Wilson": "Shares"},
    "subject_errors": {"Wilson, of effective sizes": "Shares and means of rows in clusters"},
    "topic_pmi": {"Student's t over autoencoders": "Topics over autoencoders"},
    "weat": {"effect_interval": "Effect sizes"},
    "win_rates": {"Wilson, of effective sizes": "What a judge prefers"},
}  # fmt: skip
"""Of each audit: how its intervals are made, and which section says how often they hold the truth."""


class Section(NamedTuple):
    """Hold what a section says, the columns of its table, and what gives its rows."""

    about: str
    columns: str
    rows: Callable[[cb.Session, np.random.Generator], Iterator[tuple[object, ...]]]


SECTIONS = {
    "Shares": Section(
        """Wilson's interval of a share of n independent rows, by the chance of every count (exact, nothing is drawn). *least* and
*mean* are over 99 true shares from 0.01 to 0.99. Counts are whole, so that coverage jumps: that of a share of 0.01 of 10 is 90.4 %
or 99.6 %, whatever the interval, and no interval without a draw of its own holds 93 to 97 % everywhere. Wilson's does on
average, and falls short where fewer than about three are expected to have it, or to lack it.""",
        "n | " + " | ".join(map(str, RATES)) + " | least | mean",
        of_shares,
    ),
    "Shares that audits give": Section(
        """Audits with such shares are asked for all counts that they can have of 10, or for the counts 1 to 10 of their sum: the
ends are those of the table above.""",
        "audit | ends | furthest from Wilson's",
        partial(of_audits_with_shares, WILSON),
    ),
    "Shares and means of rows in clusters": Section(
        f"""The intervals of `sentiment`, the `retrieval_bias` family, `counterfactual_retrieval`, `subject_errors`, `edit_quality`, `ratio`
and `image_text_matching`, over clusters of
{", ".join(map(str, SIZES))} rows, such as images with captions; {DRAWS} samples. Rows of a cluster have the cluster's own value
with a probability whose square is the correlation.

* *share*: Wilson's interval of `effective_size` independent rows. *seen* is the median number of clusters with what is
  counted. Where few have it (or lack it), how alike their rows are cannot be seen, and the interval holds more than it says.
* *mean*: Student's t around a mean of normal values, with the root of `clustered_variance`.
* *independent*: Wilson's interval as if no row had a cluster, beside it.""",
        "clusters | true share | correlation | seen | share | mean | independent",
        of_clusters,
    ),
    "Rows of one image": Section(
        """Images of 1 to 10 rows, 0.3 of which have what is counted; 400 samples, so that figures are off by 1.1 points. Scores of
`hate_content_rate` and `score_distribution` and boxes of `detection_recall` (mean_recall beside recall) and `agreement` go by
images; of the boxes that are found a third overlap enough for all ten recalls, a third for 7, a third for 3. Persons counted
without their images are off in the same way: see *independent* in the table above.""",
        "images | correlation | recall_50 | mean_recall | agreement | hate_content_rate | score_distribution",
        of_rows,
    ),
    "Persons of images": Section(
        """The share of a label, and its delta, among persons in images that have something: `crime_words` and others with unit
'person'; 400 samples.""",
        "images | correlation | share | delta",
        of_persons,
    ),
    "Persons with sources": Section(
        """The share of a label in `demographics`, the ratio of a pair in `intersections` and the difference of two datasets in
`compare_demographics`, of persons whose images `sources` names, 1 to 10 of each image; `compare_intersections` is made as the
latter. A hundred labels that 0.3 of the persons have, 400 intervals; of pairs ten labels and two, one of each a person, 480
intervals.""",
        "images | correlation | demographics | intersections | compare_demographics",
        of_sourced_persons,
    ),
    "Ratios of what is seen to chance": Section(
        f"""The intervals of `ratio_low` and `ratio_high`: PMI in `cooccurrence`, delta in `crime_words` and `geography`, the ratio
in `intersections` and `attribute_matrix`; {DRAWS} samples. Images have the one thing, the other, or both; *seen* is the median
number of both. *delta* is the interval of the delta method, beside them, which has none for a count of 0. No interval can end
at what the counts allow, and hold a truth that lies there or close to it: where (nearly) all of one have the other, the lower
end alone tells.""",
        "images | have one | have the other | ratio | seen | ratio_low to ratio_high | delta",
        of_ratios,
    ),
    "Labels and concepts of captions": Section(
        """PMI in `cooccurrence` with `sources`: ten labels of images, and concepts that a tenth of the captions have, each of
which goes with one label; 400 pairs. Beside it the same without sources, as if captions of one image were independent.""",
        "images | ratio | correlation | with sources | without",
        of_captions,
    ),
    "What is retrieved for a word": Section(
        """The share of a label among the first K images for a word in `so_b_it`, and its delta: 400 words, 10 of which share their
images.""",
        "images | K | base share | share among the first K | share | delta",
        of_words,
    ),
    "Objects of a contrast set": Section(
        """The label's share of the edits in which an object is found, and its delta, in `contrast_balance`: two edits of each source,
one of each label, alike to a degree; 400 objects. The sides of a contrast set are equal by construction, and edits of one source
are compared with each other: intervals that know of neither hold more than they say.""",
        "sources | share with the object | ratio | correlation | share | delta",
        of_contrast_sets,
    ),
    "Differences of two shares, and log-odds": Section(
        f"""The intervals of `concept_ratio`, `spurious_correlations` and the `compare_` family (Newcombe's), and of the log-odds of
`keyword_profile`; {DRAWS} samples.""",
        "images | others | share | other share | difference | log-odds",
        of_differences,
    ),
    "Two datasets": Section(
        f"""The difference of two shares of rows in clusters in `compare_sentiment`, and of two deltas in `compare_crime_words`, of a
label that half of the images have and a word that a tenth have; {DRAWS} samples.""",
        "difference of | clusters, or images | of the other | value | other value | correlation | held",
        of_two_datasets,
    ),
    "A cluster and the whole": Section(
        """The difference of a label's share in a cluster from that of all images, in `cluster_representation`: 400 clusters, 10 of
which share their images.""",
        "images | part in the cluster | share of all | share in the cluster | difference",
        of_wholes,
    ),
    "Effect sizes": Section(
        f"""The intervals of `weat`, `ieat`, `association` and `casc` (`effect_interval`): normal values of two groups that are apart
by so many standard deviations of the first; {DRAWS} samples. How uncertain a variance is, is taken to be as of normal values:
*exponential* are values with a long tail, beside them, where intervals of large effects are too narrow.""",
        "values | others | apart | spread of the others | normal | exponential",
        of_effects,
    ),
    "Vectors of one source": Section(
        """The intervals of `association`, `similarity_bias`, `casc` and `ieat` where labels do not differ, of five vectors a source, such
as edits, of which so much is common to those of one; all of a source have one label, or both labels stand there, or three, two of
which are compared. *each alone* is `association` without `sources`; 384 intervals each, so that figures are off by 1.1 points (192 of
`ieat`, 1.6 points).""",
        "sources | alike | labels of a source | association | similarity_bias | casc | ieat | each alone",
        of_edits,
    ),
    "Mean cosines": Section(
        """The difference of mean cosines in `similarity_bias`, and over one standard deviation in `association` ('group', and 'global',
which takes the deviation as known): 192 categories, 16 of which share their images; off by 1.6 points.""",
        "images | others | apart | similarity_bias | group | global",
        of_cosines,
    ),
    "Pairs of one label": Section(
        """The mean cosine of the pairs of a label in `self_similarity`; 400 labels. Where the vectors have no direction in common
(0.00) what varies first varies not at all.""",
        "vectors | mean cosine | held",
        of_pairs,
    ),
    "Means of pairs": Section(
        f"""The mean difference of scores in `image_text_matching`, by Student's t; {DRAWS} samples, of normal values and of values
with a long tail. *point of the normal* is what it was before, beside it.""",
        "pairs | point of the normal | normal values | point of the normal | exponential values",
        of_means,
    ),
    "The more frequent of two": Section(
        """The value of `ratio`, the odds of the more frequent of two classes of captions, by the chance of every count (exact), for
true shares of the one class.""",
        "captions | 0.5 | 0.6 | 0.8 | 0.95 | 0.99",
        of_more_frequent,
    ),
    "A ratio before and after": Section(
        """The value of `ratio_shift`, of images with one text on either side: *alike* is the share of images of which the second text
names what the first does, whatever it would be else; 100 samples, so that figures
are off by 2.2 points.""",
        "images | share of men before | alike | after 0.3 | as before | after 0.8",
        of_shifts,
    ),
    "Agreement": Section(
        """The intervals of kappas and alpha in `agreement` and `label_validation`: two raters, or three, give one of three labels,
right with a chance; else any of the three; 1000 samples, 400 of 1000 targets.""",
        "targets | right | Cohen's kappa | Fleiss' kappa of three | Krippendorff's alpha of three",
        of_agreement,
    ),
    "Agreement of one annotator, and of labels": Section(
        """In `agreement`, the share of equal labels of one annotator of three with both others, of as many pairs as these are
worth, and Jaccard's index of a label: 450 and 1350 of 150 samples.""",
        "targets | right | annotator | jaccard",
        of_annotators,
    ),
    "Labels beside answers": Section(
        """In `label_validation`, of so many answers about each of three labels of a model, whose shares are 0.6, 0.3 and 0.1; 300
annotators.""",
        "answers each | right | weighted_agreement | precision | recall of 0.6 | of 0.3 | of 0.1",
        of_answers,
    ),
    "Labels of persons beside answers": Section(
        """`label_validation` and `min_size_study` of 1 to 10 persons an image, 0.8 of whom an annotator labels as the model, more
or less alike within an image; 200 annotators, so that figures are off by 1.5 points.""",
        "images | correlation | weighted_agreement | precision | recall | min_size_study",
        of_answered_persons,
    ),
    "Cuts of a dataset": Section(
        """The intervals of `leakage`, `lic`, `spurious_probe` and `artifact_shift` (`split_interval`), of a regression over vectors of
five numbers, of images with one or five rows that are alike (correlation 0.8), by so many cuts; 200 samples, so that figures
are off by 1.5 points. The truth is the mean score of classifiers that learn from datasets of this size. *folded* is 50 % +
|accuracy - 50 %|, as `leakage` has it; *difference* that of the confidence of two classifiers by the same cuts. That cuts have as
much in common as they have rows (Nadeau and Bengio's correction) is too little; see the argument `ratio` of `split_interval`.""",
        "images | rows each | to judge by | cuts | mean AUC | auc | accuracy | folded | confidence | difference",
        of_cuts,
    ),
    "Correlations over categories": Section(
        """The intervals of `bias_transfer`, of categories whose two biases are normal; 1000 samples, 200 with the bootstrap, 100 of these of 100. *cubic* is
r2 of degree 3. The bootstrap gives none of fewer than 30 categories.""",
        "interval | categories | rho | rho | r2 | slope | intercept | cubic",
        of_categories,
    ),
    "Areas under a curve": Section(
        """`attribute_auc` (area_interval) of normal scores; 1000 samples. Near 1 it holds more often than it says.""",
        "images with the label | without | true area | held",
        of_areas,
    ),
    "Average precision": Section(
        """`average_precision` of normal scores of ten concepts; 100 samples of each, so that figures of single concepts (`ap`) are off by
0.7 points, those of the mean (`map`) by 2.2. The truth is the precision of 200,000 images.""",
        "images | share with the concept | shift of scores | ap | map",
        of_precisions,
    ),
    "Topics over autoencoders": Section(
        """The scores of `topic_pmi`: how they vary over autoencoders, with the images as they are; 200 topics that
go with a label, or do not.""",
        "autoencoders | true score | held",
        of_topics,
    ),
    "Amplification": Section(
        """Pairs, and their mean, in `directional_amplification`, of two labels and six concepts: 200 means, off by 1.5 points, and 12
pairs of each.""",
        "images | base | direction | pairs | mean",
        of_amplification,
    ),
    "What a judge prefers": Section(
        """The rates of `win_rates`: two judgements of each image, in both orders, alike to a degree, a fifth of which
are ties, a tenth where a model wins mostly; 400 pairs of models. A tie is taken to vary as a win does, which makes the interval
of 'half' wider than it need be.""",
        "images | true rate | correlation | ties 'half' | ties 'excluded'",
        of_judgements,
    ),
}  # fmt: skip
ABOUT = """# How often intervals hold the truth

Made by `python bench/coverage.py > docs/coverage.md`: samples with a known truth, as many as each section says; nominal 95 %. Of
N samples a figure is off by 0.22 / sqrt(N): 1.1 points of 400, 0.3 of 4000.

Figures beyond 93 to 97 % have one of these reasons. So few samples that they are off by as much. Counts, which are whole, so that
coverage jumps from one to the next (shares, and what is made of them). Clusters of which few have what is counted, where the
interval is wide for want of knowing. And known weaknesses, which a better interval would mend: objects of edits of one source are
paired and treated as independent, so that the interval is too wide; with long tails, intervals of few values and of effect sizes
are too short; intervals of ratios end where the margins of the sample end, and are too short at that end; scores over cuts of a
small dataset, and areas near 1, have intervals that are too wide.

| audit | interval | section |
|---|---|---|"""


def anchor(title: str) -> str:
    """Return what a heading is linked by."""
    return title.lower().replace(",", "").replace("'", "").replace(" ", "-")


def line(*cells: object) -> None:
    """Print a row of a table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(SECTIONS), choices=list(SECTIONS), metavar="SECTION")
    given = parser.parse_args()
    lake = cb.connect("memory://coverage")
    lake.ingest({"images": pa.table({"image_id": [1], "key": ["one"]})})
    print(ABOUT)
    for audit, intervals in AUDITS.items():
        for interval, title in intervals.items():
            line(f"`{audit}`", interval, f"[{title}](#{anchor(title)})")
    with lake.session() as session:
        for title, section in SECTIONS.items():
            if title in given.only:
                began = time.process_time()
                columns = section.columns.split(" | ")
                print(f"\n## {title}\n\n{section.about}\n")
                line(*columns)
                print("|" + "---|" * len(columns))
                for row in section.rows(session, np.random.default_rng(zlib.crc32(title.encode()))):
                    line(*row)
                print(f"{title}: {time.process_time() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
