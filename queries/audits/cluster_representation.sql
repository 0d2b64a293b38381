/*--- toml
answers = "Which clusters of images, or of their captions, show more of a perceived group than the whole set?"
details = """
For every cluster and clear label: count of the n labelled images with something in the cluster, share = count / n with
Wilson's 95 % interval (share_low, share_high), base_share = base_count / base_n among all labelled images, and difference = share -
base_share (0.1 is ten percentage points), which is that of the cluster and the images outside, times the part of the
images that are outside. Its interval (low, high) adds the squared distances to Wilson's ends of the three, as Newcombe
does of two shares. 'mixed', 'unclear' and 'undefined' images are left out. An image whose captions are in several clusters counts
in each. p is of G2 of the two-by-two table of cluster and label (chi-square, one degree of freedom), q by Benjamini and
Hochberg over all rows, hidden ones as p = 1. Labels are perceived, or those of words in captions.

Small counts in and outside of a cluster are hidden by the engine (docs/safety.md). Labels that group_sizes hides take no part.
"""
subject = "what goes with whom"
source = """
Smith et al., Balancing the Picture (2023), Table 5: % male in the cluster - % male in the dataset; intervals and
tests are ours"""
presets = { paper = "Smith et al. (2023)" }

[params.clusters]
relation = ["image_id", "cluster"]
about = "such as caption_clusters_set"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
presets = { paper = { value = "caption_gender(lists.gender_gensynth_paper, 'gensynth')", source = "Table 3; how captions are cut is the code's" } }
about = "group relation; the default knows more words than the paper"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "clusters with fewer images of a label are suppressed"

[[cells]]
count = "count"
by = ["cluster", "label"]
measures = ["n", "share", "share_low", "share_high", "difference", "low", "high", "p", "q"]
tests = ["p", "q"]

[[cells]]
count = "count"
of = "n"
out_of = "base_count"
by = ["label"]
within = ["cluster"]
measures = ["n", "share", "share_low", "share_high", "difference", "low", "high", "p", "q"]
---*/
SELECT
  cluster,
  label,
  count,
  n,
  share,
  share_low,
  share_high,
  CAST(base_count AS DOUBLE) / base_n AS base_share,
  base_count,
  base_n,
  difference,
  CASE
    WHEN rest_n > 0
      THEN difference - sqrt(
        pow(part * (share - share_low), 2) + pow(part * (rest_high - rest_share), 2)
        + pow((share - rest_share) * (part - CASE WHEN share > rest_share THEN part_low ELSE part_high END), 2)
      )
  END AS low,
  CASE
    WHEN rest_n > 0
      THEN difference + sqrt(
        pow(part * (share_high - share), 2) + pow(part * (rest_share - rest_low), 2)
        + pow((share - rest_share) * (part - CASE WHEN share > rest_share THEN part_high ELSE part_low END), 2)
      )
  END AS high,
  p,
  q
FROM false_discovery((
  WITH members AS (
    SELECT DISTINCT g.image_id, g.label
    FROM groups AS g
    JOIN group_sizes(groups, $min_count) AS s ON s.label = g.label AND s.used
    WHERE g.image_id IS NOT NULL
  ),
  labels_n AS (
    SELECT label, count(*) AS base_count, CAST(sum(count(*)) OVER () AS BIGINT) AS base_n FROM members GROUP BY label
  ),
  found AS (
    SELECT DISTINCT image_id, cluster FROM clusters WHERE cluster IS NOT NULL
  ),
  counts AS (
    SELECT f.cluster, m.label, count(*) AS count
    FROM found AS f
    JOIN members AS m ON m.image_id = f.image_id
    GROUP BY f.cluster, m.label
  ),
  cells AS (
    SELECT
      c.cluster,
      l.label,
      coalesce(n.count, 0) AS count,
      CAST(sum(coalesce(n.count, 0)) OVER (PARTITION BY c.cluster) AS BIGINT) AS n,
      l.base_count,
      l.base_n
    FROM (SELECT DISTINCT cluster FROM counts) AS c
    CROSS JOIN labels_n AS l
    LEFT JOIN counts AS n ON n.cluster = c.cluster AND n.label = l.label
  ),
  outside AS (
    SELECT
      *,
      base_n - n AS rest_n,
      base_count - count AS rest,
      CAST(count AS DOUBLE) / n AS share,
      CAST(base_count - count AS DOUBLE) / nullif(base_n - n, 0) AS rest_share
    FROM cells
  ),
  measured AS (
    SELECT
      *,
      wilson_low(count, n) AS share_low,
      wilson_high(count, n) AS share_high,
      wilson_low(rest, rest_n) AS rest_low,
      wilson_high(rest, rest_n) AS rest_high,
      share - CAST(base_count AS DOUBLE) / base_n AS difference,
      CAST(rest_n AS DOUBLE) / base_n AS part,
      wilson_low(rest_n, base_n) AS part_low,
      wilson_high(rest_n, base_n) AS part_high,
      chi_square_p(log_likelihood_ratio(count, n, base_count, base_n), CAST(1 AS BIGINT)) AS p
    FROM outside
  )
  SELECT * FROM measured
))
ORDER BY label, difference DESC NULLS LAST, cluster
