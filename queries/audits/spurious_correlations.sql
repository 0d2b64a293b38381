/*--- toml
answers = "For those without a hypothesis: what goes with a perceived group, ranked over all that the lake knows?"
details = """
Every attribute of known_attributes (objects, words, labels, topics, colours, positions and sizes of boxes, distances
from people) against every clear label. count of the n_label images of the label have it, rest_count of the n - n_label
images of the other labels. value = rate - rest_rate, with Newcombe's 95 % interval. Images are those with a clear
label; for positions, sizes and distances those of them that have the object at all (with a person beside it, for
distances). G2 of the two-by-two table, its p-value and the q-value of Benjamini and Hochberg over all rows, so that one
of twenty with q < 0.05 is there by chance. With two labels an attribute has one row, of the label that has it more
often.

place ranks rows: first those with q < 0.05, by the end of the interval that is nearer to 0: what is surely different
comes first, by how much it surely is. images_behind(kind, attribute, label) has the images of a row. Correlation is no
cause and may be no wrong; what a model would learn from it is for the reader to judge. Labels are perceived, or those
of words in captions.

An attribute is left out where any clear label has it, or lacks it, in 1 to min_count - 1 images or itself has fewer than
min_count images to compare, and one of positions, sizes and distances with all the others of its object; with a label or topic as
'scene: kitchen' one more of the same 'scene'. n_suppressed counts rows.

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
count = "count"
of = "n_label"
omit = true

[[cells]]
count = "rest_count"
omit = true
---*/
WITH tested AS (
  SELECT * FROM independence(attribute_contrasts(groups, attributes, $min_count))
),
ranked AS (
  SELECT
    *,
    row_number() OVER (ORDER BY p, kind, attribute, label) AS p_rank,
    count(*) OVER () AS family,
    difference_low(rate, rate_low, rest_rate, rest_high) AS low,
    difference_high(rate, rate_high, rest_rate, rest_low) AS high
  FROM tested
),
controlled AS (
  SELECT
    *,
    greatest(
      p, least(min(p * family / p_rank) OVER (ORDER BY p_rank DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), 1)
    ) AS q
  FROM ranked
),
placed AS (
  SELECT
    *,
    row_number() OVER (
      ORDER BY
        CASE WHEN q < 0.05e0 THEN 0 ELSE 1 END,
        round(greatest(low, -high), 12) DESC,
        p_rank
    ) AS place
  FROM controlled
)
SELECT
  CAST(r.place AS BIGINT) AS place,
  r.kind,
  r.attribute,
  r.label,
  r.value,
  r.low,
  r.high,
  r.rate,
  r.rest_rate,
  r.count,
  r.rest_count,
  r.n_label,
  r.n,
  r.g2,
  r.p,
  r.q,
  r.pairs - r.family AS n_suppressed
FROM (SELECT *, rate - rest_rate AS value FROM placed) AS r
WHERE $top IS NULL OR r.place <= $top
ORDER BY r.place
