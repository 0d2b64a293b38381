-- cluster_representation: Which clusters of images, or of their captions, show more of a perceived group than the whole set?
--
-- For every cluster and clear label: count of the n labelled images with something in the cluster, share = count / n with
-- Wilson's 95 % interval (share_low, share_high), base_share among all base_n labelled images, and difference = share -
-- base_share (0.1 is ten percentage points). Its interval (low, high) is Newcombe's for the cluster against the images
-- outside, times the part of the images that are outside: that is the same difference, and a cluster is not compared with
-- itself. 'mixed', 'unclear' and 'undefined' images are left out. An image whose captions are in several clusters counts in
-- each. Labels are perceived, or those of words in captions. For q-values over all clusters see cooccurrence.
--
-- A cluster in or outside of which a label has 1 to min_count - 1 images is suppressed (NULL), and with it the next smallest
-- clusters until at least two are hidden and their images of every label add up to min_count. Labels that group_sizes hides
-- take no part.
--
-- source: Smith et al., Balancing the Picture (2023), Table 5: % male in the cluster - % male in the dataset; intervals are ours
-- subject: what goes with whom
-- param clusters relation : (image_id, cluster), such as caption_clusters_set
-- param groups relation = caption_gender : group relation (image_id, label)
-- param min_count integer = 10 : at least 0; clusters with fewer images of a label are suppressed
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
sizes AS (
  SELECT
    cluster,
    min(n) AS n,
    max(CASE
      WHEN (count > 0 AND count < $min_count) OR (base_count > count AND base_count - count < $min_count) THEN 1
      ELSE 0
    END) AS secret
  FROM cells
  GROUP BY cluster
),
placed AS (
  SELECT
    cluster,
    max(secret) OVER () AS any_secret,
    secret,
    row_number() OVER (ORDER BY secret DESC, n, cluster) AS place
  FROM sizes
),
running AS (
  SELECT
    c.*,
    p.any_secret,
    p.secret,
    p.place,
    coalesce(
      sum(c.count) OVER (PARTITION BY c.label ORDER BY p.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0
    ) AS before
  FROM cells AS c
  JOIN placed AS p ON p.cluster = c.cluster
),
judged AS (
  SELECT
    *,
    max(CASE WHEN secret = 1 OR (any_secret = 1 AND (place = 2 OR before < $min_count)) THEN 1 ELSE 0 END)
      OVER (PARTITION BY cluster) = 1 AS suppressed
  FROM running
),
outside AS (
  SELECT
    *,
    base_n - n AS rest_n,
    base_count - count AS rest,
    CAST(count AS DOUBLE) / n AS share,
    CAST(base_count - count AS DOUBLE) / nullif(base_n - n, 0) AS rest_share
  FROM judged
),
measured AS (
  SELECT
    *,
    wilson_low(count, n) AS share_low,
    wilson_high(count, n) AS share_high,
    wilson_low(rest, rest_n) AS rest_low,
    wilson_high(rest, rest_n) AS rest_high,
    share - CAST(base_count AS DOUBLE) / base_n AS difference,
    CAST(rest_n AS DOUBLE) / base_n AS part
  FROM outside
)
SELECT
  cluster,
  label,
  CASE WHEN NOT suppressed THEN count END AS count,
  CASE WHEN NOT suppressed THEN n END AS n,
  CASE WHEN NOT suppressed THEN share END AS share,
  CASE WHEN NOT suppressed THEN share_low END AS share_low,
  CASE WHEN NOT suppressed THEN share_high END AS share_high,
  CAST(base_count AS DOUBLE) / base_n AS base_share,
  base_n,
  CASE WHEN NOT suppressed THEN difference END AS difference,
  CASE
    WHEN NOT suppressed AND rest_n > 0
      THEN difference - part * sqrt((share - share_low) * (share - share_low)
        + (rest_high - rest_share) * (rest_high - rest_share))
  END AS low,
  CASE
    WHEN NOT suppressed AND rest_n > 0
      THEN difference + part * sqrt((share_high - share) * (share_high - share)
        + (rest_share - rest_low) * (rest_share - rest_low))
  END AS high,
  suppressed
FROM measured
ORDER BY label, difference DESC NULLS LAST, cluster
