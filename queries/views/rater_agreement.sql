/*--- toml
answers = "How well raters agree: kappas, shares of equal labels and confusions, from one rating a target and rater."
details = """
Rows as in the audit agreement, which says what each metric means and hides small counts. A target is an image and a box
of it; detection_id is -1 where there is no box. Ratings of a model count like those of a person: labels are perceived.
"""
source = """
Cohen (1960); Fleiss, Cohen and Everitt (1969), variance; Fleiss (1971); Gwet, Large-sample variance of Fleiss
generalized kappa (2021)"""

[params.ratings]
relation = ["image_id", "detection_id", "annotator", "value"]
about = "one row a target and annotator"
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
firsts AS (
  SELECT annotator, other, label, CAST(sum(count) AS BIGINT) AS count FROM cells GROUP BY annotator, other, label
),
seconds AS (
  SELECT annotator, other, other_label AS label, CAST(sum(count) AS BIGINT) AS count
  FROM cells
  GROUP BY annotator, other, other_label
),
sums AS (
  SELECT
    annotator,
    other,
    CAST(sum(count) AS BIGINT) AS n,
    CAST(sum(CASE WHEN label = other_label THEN count ELSE 0 END) AS BIGINT) AS agreed
  FROM cells
  GROUP BY annotator, other
),
chances AS (
  SELECT f.annotator, f.other, CAST(sum(CAST(f.count * s.count AS DECIMAL(38, 0))) AS DOUBLE) AS products
  FROM firsts AS f
  JOIN seconds AS s ON s.annotator = f.annotator AND s.other = f.other AND s.label = f.label
  GROUP BY f.annotator, f.other
),
kappas AS (
  SELECT
    s.annotator,
    s.other,
    s.n,
    s.agreed,
    c.products / s.n / s.n AS chance,
    (CAST(s.agreed AS DOUBLE) / s.n - c.products / s.n / s.n) / nullif(1 - c.products / s.n / s.n, 0) AS kappa
  FROM sums AS s
  JOIN chances AS c ON c.annotator = s.annotator AND c.other = s.other
),
variances AS (
  SELECT
    k.annotator,
    k.other,
    k.n,
    k.agreed,
    k.kappa,
    (
      CAST(sum(CAST(
        CASE
          WHEN c.label = c.other_label
            THEN power(1 - (CAST(f.count AS DOUBLE) / k.n + CAST(s.count AS DOUBLE) / k.n) * (1 - k.kappa), 2)
          ELSE power((CAST(f.count AS DOUBLE) / k.n + CAST(s.count AS DOUBLE) / k.n) * (1 - k.kappa), 2)
        END * c.count / k.n AS DECIMAL(38, 18)
      )) AS DOUBLE)
      - power(k.kappa - k.chance * (1 - k.kappa), 2)
    ) / nullif(power(1 - k.chance, 2), 0) / k.n AS variance
  FROM kappas AS k
  JOIN cells AS c ON c.annotator = k.annotator AND c.other = k.other
  -- how often the second annotator said the first one's label, and the first one the second one's
  JOIN seconds AS s ON s.annotator = c.annotator AND s.other = c.other AND s.label = c.label
  JOIN firsts AS f ON f.annotator = c.annotator AND f.other = c.other AND f.label = c.other_label
  GROUP BY k.annotator, k.other, k.n, k.agreed, k.kappa, k.chance
),
-- a kappa and its interval are equations over all counts of a confusion, and one that is small would follow
fewest AS (
  SELECT annotator, other, min(CASE WHEN count > 0 THEN count END) AS smallest FROM cells GROUP BY annotator, other
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
targets AS (
  SELECT count(*) AS n FROM (SELECT DISTINCT image_id, detection_id FROM rated) AS t
),
means AS (
  SELECT
    r.value,
    CAST(sum(CAST(CAST(r.votes AS DOUBLE) / r.target_votes AS DECIMAL(38, 18))) AS DOUBLE) / max(t.n) AS mean
  FROM rated AS r
  CROSS JOIN targets AS t
  GROUP BY r.value
),
fleiss_chance AS (
  SELECT CAST(sum(CAST(mean * mean AS DECIMAL(38, 18))) AS DOUBLE) AS chance FROM means
),
per_target AS (
  SELECT
    r.image_id,
    r.detection_id,
    CAST(sum(r.votes * (r.votes - 1)) AS DOUBLE) / max(r.target_votes) / (max(r.target_votes) - 1) AS agreed,
    CAST(sum(CAST(m.mean * r.votes / r.target_votes AS DECIMAL(38, 18))) AS DOUBLE) AS own_chance
  FROM rated AS r
  JOIN means AS m ON m.value = r.value
  GROUP BY r.image_id, r.detection_id
),
fleiss AS (
  SELECT
    t.n,
    c.chance,
    (CAST(sum(CAST(p.agreed AS DECIMAL(38, 18))) AS DOUBLE) / t.n - c.chance) / nullif(1 - c.chance, 0) AS kappa
  FROM per_target AS p
  CROSS JOIN targets AS t
  CROSS JOIN fleiss_chance AS c
  GROUP BY t.n, c.chance
),
fleiss_variance AS (
  SELECT
    f.n,
    f.kappa,
    CAST(sum(CAST(power(
      ((p.agreed - f.chance) - 2 * (1 - f.kappa) * (p.own_chance - f.chance)) / nullif(1 - f.chance, 0) - f.kappa, 2
    ) AS DECIMAL(38, 18))) AS DOUBLE) / nullif(f.n - 1, 0) / f.n AS variance
  FROM fleiss AS f
  CROSS JOIN per_target AS p
  GROUP BY f.n, f.kappa
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
  'cohen_kappa' AS metric, v.annotator, v.other, CAST(NULL AS VARCHAR) AS label, CAST(NULL AS VARCHAR) AS other_label,
  CAST(NULL AS BIGINT) AS count, kappa AS value, kappa - 1.959963984540054e0 * sqrt(greatest(variance, 0)) AS low,
  kappa + 1.959963984540054e0 * sqrt(greatest(variance, 0)) AS high, n, f.smallest
FROM variances AS v
JOIN fewest AS f ON f.annotator = v.annotator AND f.other = v.other
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
  CAST(NULL AS VARCHAR) AS label, CAST(NULL AS VARCHAR) AS other_label, CAST(NULL AS BIGINT) AS count, kappa AS value,
  kappa - 1.959963984540054e0 * sqrt(variance) AS low, kappa + 1.959963984540054e0 * sqrt(variance) AS high, n,
  (SELECT min(smallest) FROM fewest) AS smallest
FROM fleiss_variance
