/*--- toml
answers = "How well raters agree: kappas, shares of equal labels and confusions, from one rating per target and rater."
details = """
Rows as in the audit agreement, which says what each metric means and hides small counts. A target is an image and a box
of it; detection_id is -1 where there is no box. Ratings of a model count like those of a person: labels are perceived.
"""
source = """
Cohen (1960); Fleiss, Cohen and Everitt (1969), variance; Fleiss (1971); Gwet, Large-sample variance of Fleiss
generalized kappa (2021)"""

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
-- a kappa and its interval are equations over all counts of a confusion, and the smallest one would follow from them
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
fleiss AS (
  SELECT
    CAST(sum(targets) AS BIGINT) AS n,
    fleiss_kappa(list(struct_pack(votes := votes, targets := targets))) AS fleiss
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
  cohen.kappa + half_interval(cohen.error) AS high, n, smallest
FROM sums
UNION ALL
SELECT
  'agreement' AS metric, annotator, other, CAST(NULL AS VARCHAR) AS label, CAST(NULL AS VARCHAR) AS other_label,
  agreed AS count, CAST(agreed AS DOUBLE) / n AS value,
  wilson_low(agreed, n) AS low, wilson_high(agreed, n) AS high, n, CAST(NULL AS BIGINT) AS smallest
FROM sums
UNION ALL
SELECT
  'confusion' AS metric, c.annotator, c.other, c.label, c.other_label, c.count, CAST(c.count AS DOUBLE) / s.n AS value,
  wilson_low(c.count, s.n) AS low, wilson_high(c.count, s.n) AS high, s.n, CAST(NULL AS BIGINT) AS smallest
FROM cells AS c
JOIN sums AS s ON s.annotator = c.annotator AND s.other = c.other
UNION ALL
SELECT
  'annotator' AS metric, annotator, CAST(NULL AS VARCHAR) AS other, CAST(NULL AS VARCHAR) AS label,
  CAST(NULL AS VARCHAR) AS other_label, agreed AS count, share AS value,
  wilson_low(share * worth, worth) AS low, wilson_high(share * worth, worth) AS high, n,
  (SELECT min(part) FROM parts AS p WHERE p.annotator = a.annotator) AS smallest
FROM annotators AS a
UNION ALL
SELECT
  'fleiss_kappa' AS metric, CAST(NULL AS VARCHAR) AS annotator, CAST(NULL AS VARCHAR) AS other,
  CAST(NULL AS VARCHAR) AS label, CAST(NULL AS VARCHAR) AS other_label, CAST(NULL AS BIGINT) AS count, fleiss.kappa AS value,
  fleiss.kappa - half_interval(fleiss.error) AS low, fleiss.kappa + half_interval(fleiss.error) AS high, n,
  (SELECT min(smallest) FROM sums) AS smallest
FROM fleiss
