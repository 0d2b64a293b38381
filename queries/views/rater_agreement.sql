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
-- two annotators: how often they said what of targets of one image, which are much alike
of_image AS (
  SELECT a.annotator, b.annotator AS other, a.image_id, a.value AS label, b.value AS other_label, count(*) AS count
  FROM ratings AS a
  JOIN ratings AS b ON b.image_id = a.image_id AND b.detection_id = a.detection_id AND b.annotator > a.annotator
  GROUP BY a.annotator, b.annotator, a.image_id, a.value, b.value
),
images AS (
  SELECT
    annotator,
    other,
    image_id,
    sum(count) AS n,
    sum(CASE WHEN label = other_label THEN count ELSE 0 END) AS agreed
  FROM of_image
  GROUP BY annotator, other, image_id
),
said AS (
  SELECT
    o.annotator,
    o.other,
    o.label,
    o.other_label,
    CAST(sum(o.count) AS BIGINT) AS count,
    CAST(sum(o.count * o.count) AS DOUBLE) AS squares,
    CAST(sum(o.count * i.n) AS DOUBLE) AS products
  FROM of_image AS o
  JOIN images AS i ON i.annotator = o.annotator AND i.other = o.other AND i.image_id = o.image_id
  GROUP BY o.annotator, o.other, o.label, o.other_label
),
-- as many independent targets tell the share of equal labels as well
worth AS (
  SELECT
    annotator,
    other,
    CAST(sum(n * n) AS DOUBLE) AS sizes,
    CAST(count(*) AS DOUBLE) AS images,
    effective_size(
      CAST(sum(agreed) AS DOUBLE), CAST(sum(n) AS DOUBLE), CAST(sum(agreed * agreed) AS DOUBLE),
      CAST(sum(agreed * n) AS DOUBLE), CAST(sum(n * n) AS DOUBLE), CAST(count(*) AS DOUBLE)
    ) / sum(n) AS worth
  FROM images
  GROUP BY annotator, other
),
said_labels AS (
  SELECT annotator, other, label FROM said
  UNION
  SELECT annotator, other, other_label AS label FROM said
),
-- all cells of the confusion, with the sums of rows and columns of both labels
cells AS (
  SELECT
    r.annotator,
    r.other,
    r.label,
    c.label AS other_label,
    coalesce(s.count, 0) AS count,
    coalesce(s.squares, 0) AS squares,
    coalesce(s.products, 0) AS products
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
  SELECT s.*, w.sizes, w.images, w.worth, least(a.few, b.few) AS few
  FROM sums AS s
  JOIN worth AS w ON w.annotator = s.annotator AND w.other = s.other
  LEFT JOIN few AS a ON a.annotator = s.annotator
  LEFT JOIN few AS b ON b.annotator = s.other
),
-- of the targets that either of two annotators gave a label, how many both did
either AS (
  SELECT
    l.annotator,
    l.other,
    l.label,
    o.image_id,
    sum(CASE WHEN o.label = o.other_label THEN o.count ELSE 0 END) AS count,
    sum(o.count) AS n
  FROM said_labels AS l
  JOIN of_image AS o
    ON o.annotator = l.annotator AND o.other = l.other AND (o.label = l.label OR o.other_label = l.label)
  GROUP BY l.annotator, l.other, l.label, o.image_id
),
jaccard AS (
  SELECT
    annotator,
    other,
    label,
    CAST(sum(count) AS BIGINT) AS count,
    CAST(sum(n) AS BIGINT) AS n,
    effective_size(
      CAST(sum(count) AS DOUBLE), CAST(sum(n) AS DOUBLE), CAST(sum(count * count) AS DOUBLE),
      CAST(sum(count * n) AS DOUBLE), CAST(sum(n * n) AS DOUBLE), CAST(count(*) AS DOUBLE)
    ) AS effective
  FROM either
  GROUP BY annotator, other, label
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
-- pairs of all annotators, by target and by image: how much less they are worth for being of one image
of_target AS (
  SELECT image_id, detection_id, sum(votes * (votes - 1)) / 2e0 AS agreed, max(target_votes * (target_votes - 1)) / 2e0 AS n
  FROM rated
  GROUP BY image_id, detection_id
),
pairs_of_image AS (
  SELECT image_id, sum(agreed) AS agreed, sum(n) AS n FROM of_target GROUP BY image_id
),
all_worth AS (
  SELECT
    (
      SELECT effective_size(sum(agreed), sum(n), sum(agreed * agreed), sum(agreed * n), sum(n * n), CAST(count(*) AS DOUBLE))
      FROM pairs_of_image
    ) / (
      SELECT effective_size(sum(agreed), sum(n), sum(agreed * agreed), sum(agreed * n), sum(n * n), CAST(count(*) AS DOUBLE))
      FROM of_target
    ) AS worth
),
together AS (
  SELECT
    CAST(sum(targets) AS BIGINT) AS n,
    fleiss_kappa(list(struct_pack(votes := votes, targets := targets))) AS fleiss,
    krippendorff_alpha(list(struct_pack(votes := votes, targets := targets))) AS krippendorff,
    (SELECT least(worth, 1) FROM all_worth) AS worth
  FROM patterns
  HAVING count(*) > 0
),
-- of each annotator: pairs of its label with another's on the same target, and how many independent ones tell as much
own_pairs AS (
  SELECT g.annotator, g.image_id, sum(r.votes - 1) AS agreed, sum(r.target_votes - 1) AS n
  FROM ratings AS g
  JOIN rated AS r ON r.image_id = g.image_id AND r.detection_id = g.detection_id AND r.value = g.value
  GROUP BY g.annotator, g.image_id
),
annotators AS (
  SELECT
    annotator,
    CAST(sum(agreed) AS BIGINT) AS agreed,
    CAST(sum(n) AS BIGINT) AS n,
    CAST(sum(agreed) AS DOUBLE) / sum(n) AS share,
    effective_size(
      CAST(sum(agreed) AS DOUBLE), CAST(sum(n) AS DOUBLE), CAST(sum(agreed * agreed) AS DOUBLE),
      CAST(sum(agreed * n) AS DOUBLE), CAST(sum(n * n) AS DOUBLE), CAST(count(*) AS DOUBLE)
    ) AS effective
  FROM own_pairs
  GROUP BY annotator
),
confusions AS (
  SELECT
    c.annotator, c.other, c.label, c.other_label, c.count, s.n, s.few, CAST(c.count AS DOUBLE) / s.n AS share,
    effective_size(CAST(c.count AS DOUBLE), CAST(s.n AS DOUBLE), c.squares, c.products, s.sizes, s.images) AS effective
  FROM cells AS c
  JOIN pairs AS s ON s.annotator = c.annotator AND s.other = c.other
)
SELECT
  'cohen_kappa' AS metric, annotator, other, CAST(NULL AS VARCHAR) AS label, CAST(NULL AS VARCHAR) AS other_label,
  CAST(NULL AS BIGINT) AS count, cohen.kappa AS value,
  beyond_chance_low(cohen.agreed, cohen.chance, cohen.effective * worth) AS low,
  beyond_chance_high(cohen.agreed, cohen.chance, cohen.effective * worth) AS high, n, least(smallest, few) AS smallest
FROM pairs
UNION ALL
SELECT
  'agreement' AS metric, annotator, other, CAST(NULL AS VARCHAR) AS label, CAST(NULL AS VARCHAR) AS other_label,
  agreed AS count, CAST(agreed AS DOUBLE) / n AS value,
  wilson_low(agreed * worth, n * worth) AS low, wilson_high(agreed * worth, n * worth) AS high, n, few AS smallest
FROM pairs
UNION ALL
SELECT
  'confusion' AS metric, annotator, other, label, other_label, count, share AS value,
  wilson_low(share * effective, effective) AS low, wilson_high(share * effective, effective) AS high, n, few AS smallest
FROM confusions
UNION ALL
SELECT
  'jaccard' AS metric, j.annotator, j.other, j.label, CAST(NULL AS VARCHAR) AS other_label, j.count,
  CAST(j.count AS DOUBLE) / j.n AS value,
  wilson_low(CAST(j.count AS DOUBLE) / j.n * j.effective, j.effective) AS low,
  wilson_high(CAST(j.count AS DOUBLE) / j.n * j.effective, j.effective) AS high, j.n,
  least(s.smallest, s.few) AS smallest
FROM jaccard AS j
JOIN pairs AS s ON s.annotator = j.annotator AND s.other = j.other
UNION ALL
SELECT
  'annotator' AS metric, annotator, CAST(NULL AS VARCHAR) AS other, CAST(NULL AS VARCHAR) AS label,
  CAST(NULL AS VARCHAR) AS other_label, agreed AS count, share AS value,
  wilson_low(share * effective, effective) AS low, wilson_high(share * effective, effective) AS high, n,
  least(
    (SELECT min(part) FROM parts AS p WHERE p.annotator = a.annotator),
    (SELECT min(few) FROM few AS f WHERE f.annotator = a.annotator)
  ) AS smallest
FROM annotators AS a
UNION ALL
SELECT
  'fleiss_kappa' AS metric, CAST(NULL AS VARCHAR) AS annotator, CAST(NULL AS VARCHAR) AS other,
  CAST(NULL AS VARCHAR) AS label, CAST(NULL AS VARCHAR) AS other_label, CAST(NULL AS BIGINT) AS count, fleiss.kappa AS value,
  beyond_chance_low(fleiss.agreed, fleiss.chance, fleiss.effective * worth) AS low,
  beyond_chance_high(fleiss.agreed, fleiss.chance, fleiss.effective * worth) AS high, n,
  (SELECT least(min(smallest), min(few)) FROM pairs) AS smallest
FROM together
UNION ALL
SELECT
  'krippendorff_alpha' AS metric, CAST(NULL AS VARCHAR) AS annotator, CAST(NULL AS VARCHAR) AS other,
  CAST(NULL AS VARCHAR) AS label, CAST(NULL AS VARCHAR) AS other_label, CAST(NULL AS BIGINT) AS count,
  krippendorff.alpha AS value,
  beyond_chance_low(krippendorff.agreed, krippendorff.chance, krippendorff.effective * worth) AS low,
  beyond_chance_high(krippendorff.agreed, krippendorff.chance, krippendorff.effective * worth) AS high, n,
  (SELECT least(min(smallest), min(few)) FROM pairs) AS smallest
FROM together
