-- hate_content_rate: How many of 100 scored texts or images a classifier finds hateful, at one or several thresholds.
--
-- rate = 100 * share of scored labels with P > tau (strictly) with Wilson's 95 % interval, in percent, for every
-- annotator (classifier), threshold and label. P is the column score of table labels, for the given attribute; the
-- scores of a column of hate_scores() go in as labels, too. It is what a classifier thinks of a text, with its errors.
-- Without groups all images count ('all'); with a group relation, images with one clear perceived label.
--
-- Rows with n under min_count are suppressed (NULL); no totals are given, so that nothing follows by subtraction.
--
-- source: Birhane et al., Into the LAION's Den (2023): hate content rate
-- subject: what goes with whom
-- param attribute varchar = 'hateful' : attribute of labels whose score is the probability
-- param value varchar = NULL : value of labels that alone can be over a threshold, the rest count as under it
-- param tau double[] = [0.5] : thresholds
-- param groups relation = (SELECT image_id, 'all' AS label FROM images) : group relation (image_id, label)
-- param min_count integer = 10 : at least 0; rows that rest on fewer scores are suppressed
-- param labels relation = labels : (image_id, attribute, value, score, annotator); label rows, in table labels or elsewhere
WITH cuts AS (
  SELECT DISTINCT unnest($tau) AS tau
),
members AS (
  SELECT image_id, label FROM clear_labels(groups)
),
scores AS (
  SELECT image_id, annotator, CASE WHEN $value IS NULL OR value = $value THEN score ELSE 0 END AS score
  FROM labels
  WHERE attribute = $attribute AND score IS NOT NULL AND NOT isnan(score)
),
sums AS (
  SELECT
    s.annotator,
    c.tau,
    g.label,
    count(*) AS n,
    -- scores are stored as float32, and so is the threshold they are held against
    count(CASE WHEN s.score > CAST(c.tau AS FLOAT) THEN 1 END) AS count
  FROM scores AS s
  JOIN members AS g ON g.image_id = s.image_id
  CROSS JOIN cuts AS c
  GROUP BY s.annotator, c.tau, g.label
),
cells AS (
  SELECT
    s.annotator,
    s.tau,
    s.label,
    z.used AND s.n >= $min_count AS shown,
    s.n,
    s.count
  FROM sums AS s
  JOIN group_sizes(groups, $min_count) AS z ON z.label = s.label AND z.clear
)
SELECT
  annotator,
  tau,
  label,
  CASE WHEN shown THEN count END AS count,
  CASE WHEN shown THEN n END AS n,
  CASE WHEN shown THEN 100e0 * count / n END AS rate,
  CASE WHEN shown THEN 100 * wilson_low(count, n) END AS low,
  CASE WHEN shown THEN 100 * wilson_high(count, n) END AS high,
  NOT shown AS suppressed
FROM cells
ORDER BY annotator, tau, label
