/*--- toml
answers = "How female (or any other label) the images of a concept are, by perceived label."
details = """
Of the n images with the concept and one of two labels: count carry label, rest carry against. value by definition:
'share' = count / n (Wilson's 95 % interval), 'difference' = (count - rest) / n (the same interval, rescaled), or
'rate_difference' = the concept's rate among images of label minus its rate among images of against (Newcombe's 95 %
interval). n_label and n_against are all images of the two labels. Images with two labels are left out (see
clear_labels). p is that of G2 (chi-square, one degree of freedom): has the concept to do with which of the two labels
an image has? q is p by Benjamini and Hochberg over all concepts of min_count images, with those that are hidden as p =
1. Labels are perceived, or those of words in captions.

Concepts with n under min_count are left out, and by the engine those where 1 to 9 images of a label have the concept,
or have it not (docs/safety.md), whichever label that is: what each two labels show would tell a third. fewest is the least such
number over all labels, and 10 where it is more. n_suppressed counts what is left out. Where group_sizes hides either
label there are no rows.
"""
subject = "what goes with whom"
source = "Girrbach et al. (2025), concepts in captions: share, difference, and rate_difference of the appendix"
among = [{ labels = ["label", "against"], relations = ["groups"] }]
presets = { paper = "Girrbach et al. (2025), section 5", paper_words = { of = "Girrbach et al. (2025), G.5: crime words and traits", like = "paper" } }

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation; the default needs captions only. The paper's labels are perceived ones, which presets leave to you: image_labels('perceived_gender', preset := 'paper')"

[params.concepts]
relation = ["image_id", "concept"]
default = "word_concepts"
about = "see cooccurrence for others"

[params.definition]
type = "varchar"
default = "share"
choices = ["share", "difference", "rate_difference"]
presets = { paper = { value = "share", source = "section 5" }, paper_words = { value = "rate_difference", source = "G.5" } }
about = "share: of the images with the concept, those of label; difference: shares of both; rate_difference: how often each label has it"

[params.label]
type = "varchar"
default = "female"
presets = { paper = { value = "female", source = "section 5" } }
about = "label whose share is asked"

[params.against]
type = "varchar"
default = "male"
presets = { paper = { value = "male", source = "section 5" } }
about = "label it is held against"

[params.min_count]
type = "integer"
default = 100
min = 0
presets = { paper = { value = 100, source = "section 5" }, paper_words = { value = 100, source = "G.5" } }
about = "concepts with fewer images are left out"

[params.top]
type = "integer"
optional = true
min = 1
free = true
about = "how many concepts, from the highest value on; NULL for all"

[[cells]]
count = "fewest"
within = ["concept"]
below = 10
omit = true

[[cells]]
count = "count"
of = "n"
out_of = "n_label"
below = 10
tests = ["p", "q"]
omit = true
places = ["place", "top"]

[[cells]]
count = "rest"
out_of = "n_against"
below = 10
omit = true

[[cells]]
count = "others"
below = 10
omit = true

[[cells]]
count = "count"
of = "n_label"
by = ["concept"]
overlap = true
below = 10
omit = true

[[cells]]
count = "rest"
of = "n_against"
by = ["concept"]
overlap = true
below = 10
omit = true
---*/
SELECT
  concept,
  CASE
    WHEN is_listed THEN CAST(row_number() OVER (ORDER BY is_listed DESC, value DESC, concept) AS INTEGER)
  END AS place,
  count,
  rest,
  n,
  others,
  value,
  low,
  high,
  n_label,
  n_against,
  fewest,
  p,
  q,
  n_suppressed
FROM false_discovery((
  -- labels that are large enough for everybody, whatever min_count is: others are no pair's label
  WITH sizes AS (
    SELECT label, images, used FROM group_sizes((SELECT image_id, label FROM clear_labels(groups)), 10)
  ),
  pair AS (
    SELECT label, images, used
    FROM group_sizes((SELECT image_id, label FROM clear_labels(groups)), $min_count)
    WHERE label IN ($label, $against)
  ),
  totals AS (
    SELECT
      coalesce(max(CASE WHEN label = $label THEN images END), 0) AS n_label,
      coalesce(max(CASE WHEN label = $against THEN images END), 0) AS n_against
    FROM pair
    HAVING count(CASE WHEN NOT used THEN 1 END) = 0
  ),
  pairs_n AS (
    SELECT c.concept, m.label, count(*) AS count
    FROM (SELECT DISTINCT image_id FROM groups WHERE label IS NOT NULL) AS g
    JOIN (SELECT DISTINCT image_id, concept FROM concepts WHERE concept IS NOT NULL) AS c ON c.image_id = g.image_id
    LEFT JOIN clear_labels(groups) AS m ON m.image_id = g.image_id
    GROUP BY c.concept, m.label
  ),
  counts AS (
    SELECT
      p.concept,
      CAST(sum(CASE WHEN p.label = $label THEN p.count ELSE 0 END) AS BIGINT) AS count,
      CAST(sum(CASE WHEN p.label = $against THEN p.count ELSE 0 END) AS BIGINT) AS rest,
      CAST(sum(CASE WHEN p.label IN ($label, $against) THEN p.count ELSE 0 END) AS BIGINT) AS n,
      CAST(sum(CASE WHEN p.label IN ($label, $against) THEN 0 ELSE p.count END) AS BIGINT) AS others,
      CAST(least(
        min(CASE WHEN s.used THEN p.count END),
        min(CASE WHEN s.used THEN nullif(s.images - p.count, 0) END),
        nullif(sum(CASE WHEN s.used THEN 0 ELSE p.count END), 0),
        10
      ) AS BIGINT) AS fewest
    FROM pairs_n AS p
    LEFT JOIN sizes AS s ON s.label = p.label
    GROUP BY p.concept
  ),
  -- concepts that are not listed are there for the sums of others
  judged AS (
    SELECT c.*, t.n_label, t.n_against, c.n > 0 AND c.n >= $min_count AS is_listed
    FROM counts AS c
    CROSS JOIN totals AS t
  ),
  listed AS (
    SELECT
      *,
      CASE WHEN is_listed THEN n END AS n_listed,
      count(CASE WHEN n > 0 AND NOT is_listed THEN 1 END) OVER () AS n_suppressed
    FROM judged
  ),
  tested AS (
    SELECT *, log_likelihood_ratio(count, n_listed, n_label, n_label + n_against) AS g2 FROM listed
  ),
  rated AS (
    SELECT
      *,
      CAST(count AS DOUBLE) / nullif(n_label, 0) AS rate,
      wilson_low(count, n_label) AS rate_low,
      wilson_high(count, n_label) AS rate_high,
      CAST(rest AS DOUBLE) / nullif(n_against, 0) AS rest_rate,
      wilson_low(rest, n_against) AS rest_low,
      wilson_high(rest, n_against) AS rest_high
    FROM tested
  )
  SELECT
    concept,
    is_listed,
    count,
    rest,
    n,
    others,
    CASE $definition
      WHEN 'share' THEN CAST(count AS DOUBLE) / n_listed
      WHEN 'difference' THEN CAST(count - rest AS DOUBLE) / n_listed
      WHEN 'rate_difference' THEN rate - rest_rate
    END AS value,
    CASE $definition
      WHEN 'share' THEN wilson_low(count, n_listed)
      WHEN 'difference' THEN 2 * wilson_low(count, n_listed) - 1
      WHEN 'rate_difference' THEN difference_low(rate, rate_low, rest_rate, rest_high)
    END AS low,
    CASE $definition
      WHEN 'share' THEN wilson_high(count, n_listed)
      WHEN 'difference' THEN 2 * wilson_high(count, n_listed) - 1
      WHEN 'rate_difference' THEN difference_high(rate, rate_high, rest_rate, rest_low)
    END AS high,
    n_label,
    n_against,
    fewest,
    two_sided_p(g2) AS p,
    n_suppressed
  FROM rated
))
ORDER BY value DESC, concept
