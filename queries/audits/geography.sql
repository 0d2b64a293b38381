-- geography: Which countries texts name, and how perceived groups are represented in the images that go with them.
--
-- Rows with label 'all': count of the n images whose text names any country, share with Wilson's 95 % interval (an image
-- may name several). Rows of a label: count of the n labelled images that name the country, share, base_share among all
-- labelled images, delta = share / base_share - 1 with a 95 % interval, as in over_representation. Naming a country says
-- little about where a picture was taken; labels are perceived, or those of words in captions.
--
-- Rows with label 'all' hide their own small counts and no neighbour: no perceived label is in them, an image may name several
-- countries, so that counts do not add up to n, and what they say of a label that is hidden is an upper bound only. Hiding more
-- of them would protect nobody.
--
-- source: Girrbach et al. (2025), countries and adjectives matched as crime words are
-- subject: who is in the pictures
-- param groups relation = caption_gender : group relation (image_id, label)
-- param texts relation = captions : (image_id, text)
-- param unit varchar = 'image' : one of 'image', 'person'; for 'person' give groups a row a person, as person_labels does
-- param min_count integer = 10 : at least 0; smaller counts are suppressed
-- local: calls country_mentions()
WITH mentions AS (
  SELECT image_id, concept AS country FROM country_concepts(texts)
),
total AS (
  SELECT count(DISTINCT image_id) AS n FROM mentions
),
images AS (
  SELECT
    m.country,
    count(*) AS count,
    max(t.n) AS n
  FROM mentions AS m
  CROSS JOIN total AS t
  GROUP BY m.country
)
SELECT
  country,
  'all' AS label,
  CASE WHEN count >= $min_count THEN count END AS count,
  CASE WHEN count >= $min_count THEN n END AS n,
  CASE WHEN count >= $min_count THEN CAST(count AS DOUBLE) / n END AS share,
  CASE WHEN count >= $min_count THEN wilson_low(count, n) END AS share_low,
  CASE WHEN count >= $min_count THEN wilson_high(count, n) END AS share_high,
  CAST(NULL AS DOUBLE) AS base_share,
  CAST(NULL AS BIGINT) AS base_n,
  CAST(NULL AS DOUBLE) AS delta,
  CAST(NULL AS DOUBLE) AS delta_low,
  CAST(NULL AS DOUBLE) AS delta_high,
  count < $min_count AS suppressed
FROM images
UNION ALL
SELECT
  concept AS country, label, count, n, share, share_low, share_high, base_share, base_n, delta, delta_low, delta_high,
  suppressed
FROM over_representation(groups, country_concepts(texts), $unit, $min_count)
ORDER BY country, label
