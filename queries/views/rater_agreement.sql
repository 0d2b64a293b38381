/*--- toml
answers = "How well raters agree: kappas, shares of equal labels and confusions, from one rating per target and rater."
details = """
Rows as in the audit agreement, which says what each metric means and hides small counts. A target is an image and a box
of it; detection_id is -1 where there is no box. Ratings of a model count like those of a person: labels are perceived.
"""
source = """
Cohen (1960); Fleiss, Cohen and Everitt (1969), variance; Fleiss (1971); Gwet, Large-sample variance of Fleiss
generalized kappa (2021); Krippendorff (2011); Jaccard (1901)"""

[params.ratings]
relation = ["image_id", "detection_id", "annotator", "value"]
about = "one row per target and annotator"
---*/
WITH
-- two annotators: how often they said what
said AS (
  SELECT a.annotator, b.annotator AS other, a.value AS label, b.value AS other_label, count(*) AS count
  FROM ratings AS a
  JOIN ratings AS b ON b.image_id = a.image_id AND b.detection_id = a.detection_id AND b.annotator > a.annotator
  GROUP BY a.annotator, b.annotator, a.value, b.value
),
said_labels AS (
  SELECT annotator, other, label FROM said
  UNION
  SELECT annotator, other, other_label AS label FROM said
),
-- all cells of the confusion, with the sums of rows and columns of both labels
cells AS (
  SELECT r.annotator, r.other, r.label, c.label AS other_label, coalesce(s.count, 0) AS count
  FROM said_labels AS r
  JOIN said_labels AS c ON c.annotator = r.annotator AND c.other = r.other
  LEFT JOIN said AS s
    ON s.annotator = r.annotator AND s.other = r.other AND s.label = r.label AND s.other_label = c.label
),
-- a kappa and its interval, or a share of a label's targets, are equations over all counts of a confusion, and the smallest one would follow from them
sums AS (
  SELECT
    annotator,
    other,
    CAST(sum(count) AS BIGINT) AS n,
    CAST(sum(CASE WHEN label = other_label THEN count ELSE 0 END) AS BIGINT) AS agreed,
    min(CASE WHEN count > 0 THEN count END) AS smallest,
    cohen_kappa(list(struct_pack(label := label, other_label := other_label, count := count))) AS cohen
  FROM cells
  GROUP BY annotator, other
),
-- three annotators: how many targets have the same of them, and how many of these are alike, follows from pairs
same AS (
  SELECT g.image_id, g.detection_id, g.annotator, min(o.annotator) AS first
  FROM ratings AS g
  JOIN ratings AS o ON o.image_id = g.image_id AND o.detection_id = g.detection_id AND o.value = g.value
  GROUP BY g.image_id, g.detection_id, g.annotator
),
answered AS (
  SELECT
    image_id,
    detection_id,
    list_sort(list(annotator)) AS members,
    list_sort(list(struct_pack(annotator := annotator, first := first))) AS pattern,
    count(*) AS annotators
  FROM same
  GROUP BY image_id, detection_id
),
alike AS (
  SELECT
    image_id,
    detection_id,
    count(*) OVER (PARTITION BY members) AS targets,
    CASE WHEN annotators > 2 THEN count(*) OVER (PARTITION BY pattern) END AS equal_targets
  FROM answered
  WHERE annotators > 1
),
few AS (
  SELECT s.annotator, least(min(a.targets), min(a.equal_targets)) AS few
  FROM same AS s
  JOIN alike AS a ON a.image_id = s.image_id AND a.detection_id = s.detection_id
  WHERE (SELECT max(annotators) FROM answered) > 2
  GROUP BY s.annotator
),
pairs AS (
  SELECT s.*, least(a.few, b.few) AS few
  FROM sums AS s
  LEFT JOIN few AS a ON a.annotator = s.annotator
  LEFT JOIN few AS b ON b.annotator = s.other
),
-- of the targets that either of two annotators gave a label, how many both did
jaccard AS (
  SELECT
    l.annotator,
    l.other,
    l.label,
    CAST(sum(CASE WHEN s.label = s.other_label THEN s.count ELSE 0 END) AS BIGINT) AS count,
    CAST(sum(s.count) AS BIGINT) AS n
  FROM said_labels AS l
  JOIN said AS s
    ON s.annotator = l.annotator AND s.other = l.other AND (s.label = l.label OR s.other_label = l.label)
  GROUP BY l.annotator, l.other, l.label
),
-- pairs of an annotator are those of each two annotators together
parts AS (
  SELECT annotator, least(coalesce(nullif(agreed, 0), n), coalesce(nullif(n - agreed, 0), n)) AS part FROM sums
  UNION ALL
  SELECT other AS annotator, least(coalesce(nullif(agreed, 0), n), coalesce(nullif(n - agreed, 0), n)) AS part FROM sums
),
-- all annotators at once
votes AS (
  SELECT
    g.image_id,
    g.detection_id,
    g.value,
    count(*) AS votes,
    sum(count(*)) OVER (PARTITION BY g.image_id, g.detection_id) AS target_votes
  FROM ratings AS g
  GROUP BY g.image_id, g.detection_id, g.value
),
rated AS (
  SELECT image_id, detection_id, value, votes, CAST(target_votes AS BIGINT) AS target_votes
  FROM votes
  WHERE target_votes >= 2
),
-- how many targets have the same votes
patterns AS (
  SELECT votes, count(*) AS targets
  FROM (
    SELECT list_sort(list(struct_pack(value := value, votes := votes))) AS votes
    FROM rated
    GROUP BY image_id, detection_id
  ) AS t
  GROUP BY votes
),
together AS (
  SELECT
    CAST(sum(targets) AS BIGINT) AS n,
    fleiss_kappa(list(struct_pack(votes := votes, targets := targets))) AS fleiss,
    krippendorff_alpha(list(struct_pack(votes := votes, targets := targets))) AS krippendorff
  FROM patterns
  HAVING count(*) > 0
),
-- of each annotator: pairs of its label with another's on the same target, and how many independent ones they are worth at
-- least, which is the number of targets where all have equally many labels (Kish)
own_pairs AS (
  SELECT
    g.annotator,
    CAST(sum(r.votes - 1) AS BIGINT) AS agreed,
    CAST(sum(r.target_votes - 1) AS BIGINT) AS n,
    CAST(sum((r.target_votes - 1) * (r.target_votes - 1)) AS BIGINT) AS squares
  FROM ratings AS g
  JOIN rated AS r ON r.image_id = g.image_id AND r.detection_id = g.detection_id AND r.value = g.value
  GROUP BY g.annotator
),
annotators AS (
  SELECT annotator, agreed, n, CAST(agreed AS DOUBLE) / n AS share, CAST(n AS DOUBLE) * n / squares AS worth FROM own_pairs
)
SELECT
  'cohen_kappa' AS metric, annotator, other, CAST(NULL AS VARCHAR) AS label, CAST(NULL AS VARCHAR) AS other_label,
  CAST(NULL AS BIGINT) AS count, cohen.kappa AS value, cohen.kappa - half_interval(cohen.error) AS low,
  cohen.kappa + half_interval(cohen.error) AS high, n, least(smallest, few) AS smallest
FROM pairs
UNION ALL
SELECT
  'agreement' AS metric, annotator, other, CAST(NULL AS VARCHAR) AS label, CAST(NULL AS VARCHAR) AS other_label,
  agreed AS count, CAST(agreed AS DOUBLE) / n AS value,
  wilson_low(agreed, n) AS low, wilson_high(agreed, n) AS high, n, few AS smallest
FROM pairs
UNION ALL
SELECT
  'confusion' AS metric, c.annotator, c.other, c.label, c.other_label, c.count, CAST(c.count AS DOUBLE) / s.n AS value,
  wilson_low(c.count, s.n) AS low, wilson_high(c.count, s.n) AS high, s.n, s.few AS smallest
FROM cells AS c
JOIN pairs AS s ON s.annotator = c.annotator AND s.other = c.other
UNION ALL
SELECT
  'jaccard' AS metric, j.annotator, j.other, j.label, CAST(NULL AS VARCHAR) AS other_label, j.count,
  CAST(j.count AS DOUBLE) / j.n AS value, wilson_low(j.count, j.n) AS low, wilson_high(j.count, j.n) AS high, j.n,
  least(s.smallest, s.few) AS smallest
FROM jaccard AS j
JOIN pairs AS s ON s.annotator = j.annotator AND s.other = j.other
UNION ALL
SELECT
  'annotator' AS metric, annotator, CAST(NULL AS VARCHAR) AS other, CAST(NULL AS VARCHAR) AS label,
  CAST(NULL AS VARCHAR) AS other_label, agreed AS count, share AS value,
  wilson_low(share * worth, worth) AS low, wilson_high(share * worth, worth) AS high, n,
  least(
    (SELECT min(part) FROM parts AS p WHERE p.annotator = a.annotator),
    (SELECT min(few) FROM few AS f WHERE f.annotator = a.annotator)
  ) AS smallest
FROM annotators AS a
UNION ALL
SELECT
  'fleiss_kappa' AS metric, CAST(NULL AS VARCHAR) AS annotator, CAST(NULL AS VARCHAR) AS other,
  CAST(NULL AS VARCHAR) AS label, CAST(NULL AS VARCHAR) AS other_label, CAST(NULL AS BIGINT) AS count, fleiss.kappa AS value,
  fleiss.kappa - half_interval(fleiss.error) AS low, fleiss.kappa + half_interval(fleiss.error) AS high, n,
  (SELECT least(min(smallest), min(few)) FROM pairs) AS smallest
FROM together
UNION ALL
SELECT
  'krippendorff_alpha' AS metric, CAST(NULL AS VARCHAR) AS annotator, CAST(NULL AS VARCHAR) AS other,
  CAST(NULL AS VARCHAR) AS label, CAST(NULL AS VARCHAR) AS other_label, CAST(NULL AS BIGINT) AS count,
  krippendorff.alpha AS value, krippendorff.alpha - half_interval(krippendorff.error) AS low,
  krippendorff.alpha + half_interval(krippendorff.error) AS high, n,
  (SELECT least(min(smallest), min(few)) FROM pairs) AS smallest
FROM together
