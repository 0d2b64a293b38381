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
    CAST(sum(count) AS DOUBLE) AS n,
    CAST(sum(CASE WHEN label = other_label THEN count ELSE 0 END) AS DOUBLE) AS agreed
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
    count(*) AS images,
    CAST(sum(o.count * o.count) AS DOUBLE) AS squares,
    sum(o.count * i.n) AS products
  FROM of_image AS o
  JOIN images AS i ON i.annotator = o.annotator AND i.other = o.other AND i.image_id = o.image_id
  GROUP BY o.annotator, o.other, o.label, o.other_label
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
    s.images,
    coalesce(s.squares, 0) AS squares,
    coalesce(s.products, 0) AS products
  FROM said_labels AS r
  JOIN said_labels AS c ON c.annotator = r.annotator AND c.other = r.other
  LEFT JOIN said AS s
    ON s.annotator = r.annotator AND s.other = r.other AND s.label = r.label AND s.other_label = c.label
),
by_image AS (
  SELECT
    annotator,
    other,
    CAST(sum(agreed) AS BIGINT) AS agreed,
    sum(agreed * agreed) AS squares,
    sum(agreed * n) AS products,
    sum(n * n) AS sizes,
    count(*) AS images,
    least(nullif(count(CASE WHEN agreed > 0 THEN 1 END), 0), nullif(count(CASE WHEN agreed < n THEN 1 END), 0)) AS part
  FROM images
  GROUP BY annotator, other
),
-- a kappa and its interval, or a share of a label's targets, are equations over all counts of a confusion, and the smallest one would follow from them
sums AS (
  SELECT
    c.annotator,
    c.other,
    CAST(sum(c.count) AS BIGINT) AS n,
    min(c.images) AS smallest,
    cohen_kappa(list(struct_pack(label := c.label, other_label := c.other_label, count := c.count))) AS cohen
  FROM cells AS c
  GROUP BY c.annotator, c.other
),
-- of three annotators: all that pairs count, less what other pairs count, is of targets whose annotators and their labels are the same; in images
answered AS (
  SELECT
    image_id,
    detection_id,
    list_sort(list(annotator)) AS members,
    list_sort(list(struct_pack(annotator := annotator, value := value))) AS pattern
  FROM ratings
  GROUP BY image_id, detection_id
),
alike AS (
  SELECT members, count(DISTINCT image_id) AS images FROM answered WHERE len(members) > 1 GROUP BY members
  UNION ALL
  SELECT members, count(DISTINCT image_id) AS images FROM answered WHERE len(members) > 1 GROUP BY members, pattern
),
few AS (
  SELECT a.annotator, min(a.images) AS few
  FROM (SELECT unnest(members) AS annotator, images FROM alike) AS a
  WHERE (SELECT count(DISTINCT annotator) FROM ratings) > 2
  GROUP BY a.annotator
),
pairs AS (
  SELECT s.*, i.agreed, i.squares, i.products, i.sizes, i.images, i.part, least(a.few, b.few) AS few
  FROM sums AS s
  JOIN by_image AS i ON i.annotator = s.annotator AND i.other = s.other
  LEFT JOIN few AS a ON a.annotator = s.annotator
  LEFT JOIN few AS b ON b.annotator = s.other
),
-- pairs of an annotator are those of each two annotators together
parts AS (
  SELECT annotator, part FROM pairs
  UNION ALL
  SELECT other AS annotator, part FROM pairs
),
-- of the targets that either of two annotators gave a label, how many both did
either AS (
  SELECT
    l.annotator,
    l.other,
    l.label,
    o.image_id,
    CAST(sum(CASE WHEN o.label = o.other_label THEN o.count ELSE 0 END) AS DOUBLE) AS count,
    CAST(sum(o.count) AS DOUBLE) AS n
  FROM said_labels AS l
  JOIN of_image AS o
    ON o.annotator = l.annotator AND o.other = l.other AND (o.label = l.label OR o.other_label = l.label)
  GROUP BY l.annotator, l.other, l.label, o.image_id
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
of_target AS (
  SELECT image_id, detection_id, sum(votes * (votes - 1)) / 2e0 AS agreed, max(target_votes * (target_votes - 1)) / 2e0 AS n
  FROM rated
  GROUP BY image_id, detection_id
),
-- of each annotator: pairs of its label with another's on the same target
own_pairs AS (
  SELECT g.annotator, g.image_id, CAST(sum(r.votes - 1) AS DOUBLE) AS count, CAST(sum(r.target_votes - 1) AS DOUBLE) AS n
  FROM ratings AS g
  JOIN rated AS r ON r.image_id = g.image_id AND r.detection_id = g.detection_id AND r.value = g.value
  GROUP BY g.annotator, g.image_id
),
-- what is counted in clusters whose rows are alike: targets of one image, pairs on one target
clusters AS (
  SELECT 'jaccard' AS metric, annotator, other, label, count, n FROM either
  UNION ALL
  SELECT 'annotator' AS metric, annotator, CAST(NULL AS VARCHAR) AS other, CAST(NULL AS VARCHAR) AS label, count, n
  FROM own_pairs
  UNION ALL
  SELECT
    'targets' AS metric, CAST(NULL AS VARCHAR) AS annotator, CAST(NULL AS VARCHAR) AS other, CAST(NULL AS VARCHAR) AS label,
    agreed AS count, n
  FROM of_target
  UNION ALL
  SELECT
    'images' AS metric, CAST(NULL AS VARCHAR) AS annotator, CAST(NULL AS VARCHAR) AS other, CAST(NULL AS VARCHAR) AS label,
    sum(agreed) AS count, sum(n) AS n
  FROM of_target
  GROUP BY image_id
),
shares AS (
  SELECT
    metric, annotator, other, label, CAST(NULL AS VARCHAR) AS other_label, sum(count) AS count, sum(n) AS n,
    sum(count * count) AS squares, sum(count * n) AS products, sum(n * n) AS sizes, count(*) AS images,
    least(nullif(count(CASE WHEN count > 0 THEN 1 END), 0), nullif(count(CASE WHEN count < n THEN 1 END), 0)) AS part
  FROM clusters
  GROUP BY metric, annotator, other, label
  UNION ALL
  SELECT
    'agreement' AS metric, annotator, other, CAST(NULL AS VARCHAR) AS label, CAST(NULL AS VARCHAR) AS other_label,
    CAST(agreed AS DOUBLE) AS count, CAST(n AS DOUBLE) AS n, squares, products, sizes, images, part
  FROM pairs
  UNION ALL
  SELECT
    'confusion' AS metric, c.annotator, c.other, c.label, c.other_label,
    CAST(c.count AS DOUBLE) AS count, CAST(s.n AS DOUBLE) AS n, c.squares, c.products, s.sizes, s.images, least(c.images, s.images) AS part
  FROM cells AS c
  JOIN pairs AS s ON s.annotator = c.annotator AND s.other = c.other
),
-- as many independent ones tell the share as well
measured AS (
  SELECT *, count / n AS share, effective_size(count, n, squares, products, sizes, CAST(images AS DOUBLE)) AS effective
  FROM shares
),
kappas AS (
  SELECT
    'cohen_kappa' AS metric, p.annotator, p.other, p.cohen.kappa AS value, p.cohen.agreed, p.cohen.chance,
    p.cohen.effective * (m.effective / m.n) AS effective, p.n, least(p.smallest, p.few) AS smallest
  FROM pairs AS p
  JOIN measured AS m ON m.metric = 'agreement' AND m.annotator = p.annotator AND m.other = p.other
  UNION ALL
  SELECT
    k.metric, CAST(NULL AS VARCHAR) AS annotator, CAST(NULL AS VARCHAR) AS other, k.value, k.agreed, k.chance,
    k.effective * least(i.effective / t.effective, 1) AS effective, k.n,
    (SELECT least(min(smallest), min(few)) FROM pairs) AS smallest
  FROM (
    SELECT 'fleiss_kappa' AS metric, fleiss.kappa AS value, fleiss.agreed, fleiss.chance, fleiss.effective, n FROM together
    UNION ALL
    SELECT
      'krippendorff_alpha' AS metric, krippendorff.alpha AS value, krippendorff.agreed, krippendorff.chance,
      krippendorff.effective, n
    FROM together
  ) AS k
  JOIN measured AS i ON i.metric = 'images'
  JOIN measured AS t ON t.metric = 'targets'
)
SELECT
  metric, annotator, other, CAST(NULL AS VARCHAR) AS label, CAST(NULL AS VARCHAR) AS other_label,
  CAST(NULL AS BIGINT) AS count, value, beyond_chance_low(agreed, chance, effective) AS low,
  beyond_chance_high(agreed, chance, effective) AS high, n, smallest
FROM kappas
UNION ALL
SELECT
  m.metric, m.annotator, m.other, m.label, m.other_label, CAST(m.count AS BIGINT) AS count, m.share AS value,
  wilson_low(m.share * m.effective, m.effective) AS low, wilson_high(m.share * m.effective, m.effective) AS high,
  CAST(m.n AS BIGINT) AS n,
  CASE m.metric
    WHEN 'annotator' THEN least(
      m.part,
      (SELECT min(part) FROM parts AS p WHERE p.annotator = m.annotator),
      (SELECT min(few) FROM few AS f WHERE f.annotator = m.annotator)
    )
    WHEN 'jaccard' THEN least(m.part, p.smallest, p.few)
    ELSE least(m.part, p.few)
  END AS smallest
FROM measured AS m
LEFT JOIN pairs AS p ON p.annotator = m.annotator AND p.other = m.other
WHERE m.metric NOT IN ('targets', 'images')
