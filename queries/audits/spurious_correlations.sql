/*--- toml
answers = "For those without a hypothesis: what goes with a perceived group, ranked over all that the lake knows?"
details = """
Every attribute of known_attributes (objects, words, labels, topics, colours, positions and sizes of boxes, distances
from people) against every clear label. count of the n_label images of the label have it, rest_count of the n - n_label
images of the other labels. value = rate - rest_rate, with Newcombe's 95 % interval. Images are those with a clear
label; for positions, sizes and distances those of them that have the object at all (with a person beside it, for
distances), which n_apart images of the label or more have and lack such a box (NULL where all have one); family is what they are siblings in. G2 of the two-by-two table, its p-value and the q-value of Benjamini and
Hochberg over all rows, so that one of twenty with q < 0.05 is there by chance. With two labels an attribute has one row, of the label that has it more
often.

place ranks rows by the end of the interval that is nearer to 0: what is surely different comes first, by how much it
surely is. images_behind(kind, attribute, label) has the images of a row. Correlation is no
cause and may be no wrong; what a model would learn from it is for the reader to judge. Labels are perceived, or those
of words in captions.

Small counts are left out by the engine, also where few images of a label lack the attribute, and with them what would
tell them: another label of the attribute, another attribute of its family (docs/safety.md). n_suppressed counts rows.

Colours and topics are computed first, see known_attributes; then attributes := known_attributes(colors := images), or
attributes := known_attributes(topics := scene_topics(caption_clusters_set, caption_clusters_words)), or both.
"""
subject = "what goes with whom"
source = """
shortcuts and spurious attributes, as in Meister et al., Gender Artifacts in Visual Datasets (2023), and Wang et al.,
REVISE (2022); Newcombe (1998), method 10; Benjamini and Hochberg (1995)"""

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.attributes]
relation = ["image_id", "kind", "attribute", "scope"]
default = "known_attributes"
about = "see known_attributes"

[params.top]
type = "integer"
default = 100
optional = true
min = 1
free = true
about = "rows at most; NULL for all"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "attributes of fewer images are left out"

[[cells]]
count = "n_label"
of = "n"
by = ["label"]
within = ["kind", "family"]
omit = true

[[cells]]
count = "n_apart"
within = ["kind", "family"]
measures = ["n_label", "n", "n_concept", "count", "value", "low", "high", "rate", "rest_rate", "rest_count", "g2", "p", "q"]
omit = true

[[cells]]
count = "count"
of = "n_concept"
out_of = "n_label"
by = ["label"]
within = ["kind", "family", "attribute"]
measures = ["value", "low", "high", "rate", "rest_rate", "rest_count", "g2", "p", "q"]
omit = true

[[cells]]
count = "count"
of = "n_label"
by = ["attribute"]
within = ["kind", "family", "label"]
measures = ["value", "low", "high", "rate", "rest_rate", "rest_count", "g2", "p", "q"]
omit = true

[[cells]]
count = "count"
of = "n_label"
by = ["attribute"]
within = ["kind", "label"]
overlap = true
measures = ["value", "low", "high", "rate", "rest_rate", "rest_count", "g2", "p", "q"]
omit = true

[[cells]]
count = "rest_count"
measures = ["value", "low", "high", "rate", "rest_rate", "count", "g2", "p", "q"]
omit = true
tests = ["p", "q"]
places = ["place", "top"]
---*/
SELECT
  CASE
    WHEN is_listed
      THEN CAST(row_number() OVER (
        PARTITION BY is_listed ORDER BY round(greatest(low, -high), 12) DESC, p, kind, attribute, label
      ) AS BIGINT)
  END AS place,
  kind,
  family,
  attribute,
  label,
  rate - rest_rate AS value,
  low,
  high,
  rate,
  rest_rate,
  count,
  rest_count,
  n_label,
  n_concept,
  n,
  n_apart,
  g2,
  p,
  q
FROM false_discovery((
  SELECT
    * EXCLUDE (p),
    CASE WHEN is_listed THEN p END AS p,
    difference_low(rate, rate_low, rest_rate, rest_high) AS low,
    difference_high(rate, rate_high, rest_rate, rest_low) AS high
  FROM independence(attribute_contrasts(groups, attributes, $min_count))
))
ORDER BY place, kind, attribute, label
