/*--- toml
answers = "Which countries texts name, and how perceived groups are represented in the images that go with them."
details = """
Rows with label 'all': count of the n images whose text names any country, share with Wilson's 95 % interval (an image
may name several). Rows of a label: count of the n labelled images that name the country, share, base_share among all
labelled images, delta = share / base_share - 1 with a 95 % interval, p as in over_representation, and q (Benjamini and
Hochberg over all of these rows, hidden ones as p = 1). Naming a country says
little about where a picture was taken; labels are perceived, or those of words in captions.

Small counts, and what would give them away, are hidden by the engine; see docs/safety.md. Rows with label 'all' (level 'country')
hide their own small counts and no neighbour: no perceived label is in them, an image may name several countries, so that
counts do not add up to n, and what they say of a label that is hidden is an upper bound only.
"""
subject = "who is in the pictures"
source = "Girrbach et al. (2025), countries and adjectives matched as crime words are"
presets = { paper = "Girrbach et al. (2025)" }

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation; the default needs captions only. The paper's labels are perceived ones, which presets leave to you: image_labels('perceived_gender', preset := 'paper')"

[params.texts]
relation = ["image_id", "text"]
default = "captions"
about = "what names countries"

[params.unit]
type = "varchar"
default = "image"
choices = ["image", "person"]
presets = { paper = { value = "image", source = "G.1" } }
about = "for 'person' give groups a row per person, as person_labels does (of perceived labels with a purpose)"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

[[cells]]
count = "count"
out_of = "base_count"
by = ["label"]
within = ["level", "country"]
tests = ["p", "q"]

[[cells]]
count = "images"
out_of = "base_images"
by = ["label"]
within = ["level", "country"]
---*/
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
  'country' AS level,
  country,
  'all' AS label,
  count,
  n,
  CAST(count AS DOUBLE) / n AS share,
  wilson_low(count, n) AS share_low,
  wilson_high(count, n) AS share_high,
  CAST(NULL AS DOUBLE) AS base_share,
  CAST(NULL AS BIGINT) AS base_count,
  CAST(NULL AS BIGINT) AS base_n,
  CAST(NULL AS DOUBLE) AS delta,
  CAST(NULL AS DOUBLE) AS delta_low,
  CAST(NULL AS DOUBLE) AS delta_high,
  CAST(NULL AS DOUBLE) AS p,
  CAST(NULL AS DOUBLE) AS q,
  CAST(NULL AS BIGINT) AS images,
  CAST(NULL AS BIGINT) AS base_images,
  false AS suppressed
FROM images
UNION ALL
SELECT
  'label' AS level, concept AS country, label, count, n, share, share_low, share_high, base_share, base_count, base_n, delta,
  delta_low, delta_high, p, q, images, base_images, suppressed
FROM false_discovery((SELECT * FROM over_representation(groups, country_concepts(texts), $unit, $min_count)))
ORDER BY country, label
