/*--- toml
answers = "How well annotators, or models, agree on the labels of one attribute."
details = """
Rows by metric. 'cohen_kappa' and 'agreement' (share of equal labels), for two annotators on the n images or boxes that
both labelled; 'jaccard', how many both gave a label of the n that either did; 'confusion', how often one said label and
the other other_label (count of n, value = share); 'annotator', the share of equal labels among all pairs of one
annotator's label with another's on the same target (n pairs); 'fleiss_kappa', over the n targets with two labels or
more, chance agreement from the mean share of each label over targets, which is Fleiss' kappa where all have equally
many labels; 'krippendorff_alpha', over the same targets, for labels without an order. 95 % intervals are Wilson's, of as
many independent targets as would tell as much: boxes of one image, and pairs on one target, are much alike
(effective_size). Kappas and alpha are such an interval of the share of equal labels, of as many pairs as fit their
variance, less chance agreement (beyond_chance_low). Agreement is not truth: labels are perceived, and annotators can be
wrong together.

Small counts, and what would give them away, are hidden by the engine, see docs/safety.md: rows with few images, however many boxes each has; counts of a
confusion, and others of equal or of unequal labels (is_same) with them; and what rests on a small one: smallest is the
smallest count that follows from a kappa, an alpha or the Jaccard indices of two annotators, from the pairs of one, or,
where three labelled one target, from theirs two by two.
"""
subject = "who is in the pictures"
source = """
Cohen (1960); Fleiss, Cohen and Everitt (1969), variance; Fleiss (1971); Gwet, Large-sample variance of Fleiss
generalized kappa (2021); Krippendorff, Computing Krippendorff's alpha-reliability (2011); Jaccard (1901)"""

[params.attribute]
type = "varchar"
values = "labels.attribute"
about = "attribute of labels, such as 'perceived_gender'"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "rows that rest on fewer images, and smaller counts, are suppressed"

[params.labels]
relation = ["image_id", "detection_id", "attribute", "value", "annotator"]
default = "labels"
about = "label rows, in table labels or elsewhere"

[[cells]]
count = "n"
within = ["metric", "annotator", "other", "label", "other_label"]
measures = ["count", "value", "low", "high", "smallest"]

[[cells]]
count = "count"
of = "n"
within = ["metric", "annotator", "other", "label", "other_label"]
measures = ["value", "low", "high", "n", "smallest"]

[[cells]]
count = "count"
by = ["label", "other_label"]
within = ["metric", "annotator", "other"]
joint = true
measures = ["value", "low", "high", "n", "smallest"]

[[cells]]
count = "count"
by = ["label", "other_label"]
within = ["metric", "annotator", "other", "is_same"]
joint = true
measures = ["value", "low", "high", "n", "smallest"]

[[cells]]
count = "smallest"
within = ["metric", "annotator", "other", "label", "other_label"]
measures = ["value", "low", "high", "count", "n"]
---*/
SELECT metric, annotator, other, label, other_label, count, value, low, high, n, label = other_label AS is_same, smallest
FROM rater_agreement(label_ratings($attribute, labels))
ORDER BY metric, annotator, other, label, other_label
