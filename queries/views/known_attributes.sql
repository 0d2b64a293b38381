/*--- toml
answers = "All that the lake knows of what images show, as attributes: (image_id, kind, attribute, scope)."
details = """
kind 'object': categories of detections but people. 'word': words of texts without listed ones. 'label': values of
labels, as 'scene: kitchen', but of perceived attributes. 'color': colours of at least min_share of a picture's cells.
'position': where the centre of a box lies, by thirds, as 'dog: left', 'dog: top'. 'size': share of the picture that a
box fills, as 'dog: small' (under 5 %), 'medium', 'large' (25 % or more). 'distance': from an object to the nearest
person, between the edges of their boxes in parts of the picture's diagonal: 'dog: at a person' (they meet), 'near'
(under 10 %), 'far'. Boxes of people have positions and sizes, too; crowds have none, and boxes without a picture's size
neither. A label with a score is one only above min_score: for others, such as the best of a hundred classes, min_score
:= 0.

Two kinds are computed first and then given. 'color': ALTER TABLE images ADD COLUMN grid AS (color_grid(image)), REFRESH
images.grid, then colors := images; where no perceived labels are counted, also, and each time anew,
colors := (SELECT image_id, color_grid(image) AS grid FROM images). 'topic': topics :=
text_topics(feature_rows(sae_texts), sae_feature_topics) after the recipe sae_topics;
scene_topics(caption_clusters_set, caption_clusters_words) after caption_clusters; attribute_topics(attributes) after
gelda, in audits only, as its views are closed. Several together: a materialized view of their UNION ALL.

Of labels only those count that need no purpose. Where an image has one topic of several only, topics are best named as
'family: topic', as labels are: spurious_correlations then hides what would follow by subtraction.

scope says which images an attribute is compared among: '' for all, else those with any attribute of the same kind and
scope, such as pictures with a dog for 'dog: left'. Classes of colours, sizes and distances are our own.
"""
source = "kinds as in Wang et al., REVISE (2022), and Meister et al., Gender Artifacts in Visual Datasets (2023)"
open_labels = true

[params.texts]
relation = ["image_id", "text"]
default = "captions"

[params.detections]
relation = ["image_id", "category", "x", "y", "width", "height", "is_crowd"]
default = "detections"

[params.images]
relation = ["image_id", "width", "height"]
default = "images"
about = "sizes of the pictures"

[params.labels]
relation = ["image_id", "attribute", "value", "score"]
default = "labels"

[params.colors]
relation = ["image_id", "grid"]
default = "(SELECT image_id, CAST(NULL AS FLOAT[]) AS grid FROM images WHERE 1 = 0)"
about = "what color_grid(image) gives"

[params.without]
relation = ["term"]
default = "(SELECT term FROM lists.gender_words UNION SELECT term FROM lists.stop_words)"
about = "words to leave out"

[params.min_share]
type = "double"
default = 0.25
min = 0
max = 1
about = "share of a picture's cells that have a colour"

[params.min_score]
type = "double"
default = 0.5
min = 0
max = 1
about = "what the score of a label that has one must be above"

[params.topics]
relation = ["image_id", "topic"]
default = "(SELECT image_id, CAST(NULL AS VARCHAR) AS topic FROM images WHERE 1 = 0)"
---*/
WITH boxes AS (
  SELECT
    d.image_id,
    d.category,
    CAST(d.x AS DOUBLE) AS x,
    CAST(d.y AS DOUBLE) AS y,
    CAST(d.x AS DOUBLE) + d.width AS x_end,
    CAST(d.y AS DOUBLE) + d.height AS y_end,
    CAST(i.width AS DOUBLE) AS across,
    CAST(i.height AS DOUBLE) AS down
  FROM detections AS d
  JOIN images AS i ON i.image_id = d.image_id
  WHERE d.category IS NOT NULL
    AND NOT coalesce(d.is_crowd, false)
    AND d.x IS NOT NULL
    AND d.y IS NOT NULL
    AND d.width >= 0
    AND d.height >= 0
    AND i.width > 0
    AND i.height > 0
),
gaps AS (
  SELECT
    o.image_id,
    o.category,
    min(sqrt(
      power(greatest(p.x - o.x_end, o.x - p.x_end, 0), 2) + power(greatest(p.y - o.y_end, o.y - p.y_end, 0), 2)
    ) / sqrt(o.across * o.across + o.down * o.down)) AS gap
  FROM boxes AS o
  JOIN boxes AS p ON p.image_id = o.image_id AND p.category = 'person'
  WHERE o.category <> 'person'
  GROUP BY o.image_id, o.category
),
values_of AS (
  SELECT image_id, unnest(list_transform(grid, lambda value, place: {'value': CAST(value AS DOUBLE), 'place': place})) AS at
  FROM colors
),
-- engines count places from 0 or from 1
channels AS (
  SELECT v.image_id, v.at.value AS value, v.at.place - f.place AS place
  FROM values_of AS v
  CROSS JOIN (SELECT min(at.place) AS place FROM values_of) AS f
),
cells AS (
  SELECT
    image_id,
    place // 3 AS cell,
    max(CASE WHEN place % 3 = 0 THEN value END) AS r,
    max(CASE WHEN place % 3 = 1 THEN value END) AS g,
    max(CASE WHEN place % 3 = 2 THEN value END) AS b
  FROM channels
  GROUP BY image_id, place // 3
),
turned AS (
  SELECT
    image_id,
    greatest(r, g, b) AS light,
    greatest(r, g, b) - least(r, g, b) AS chroma,
    CASE
      WHEN greatest(r, g, b) = least(r, g, b) THEN 0e0
      WHEN r >= g AND r >= b THEN 60 * (g - b) / (greatest(r, g, b) - least(r, g, b))
      WHEN g >= b THEN 120 + 60 * (b - r) / (greatest(r, g, b) - least(r, g, b))
      ELSE 240 + 60 * (r - g) / (greatest(r, g, b) - least(r, g, b))
    END AS hue
  FROM cells
),
named AS (
  SELECT
    image_id,
    CASE
      WHEN light < 0.2e0 THEN 'black'
      WHEN chroma < 0.15e0 * light AND light >= 0.8e0 THEN 'white'
      WHEN chroma < 0.15e0 * light THEN 'grey'
      WHEN hue < -15 THEN 'pink'
      WHEN hue < 15 THEN 'red'
      WHEN hue < 45 THEN 'orange'
      WHEN hue < 70 THEN 'yellow'
      WHEN hue < 170 THEN 'green'
      WHEN hue < 200 THEN 'cyan'
      WHEN hue < 260 THEN 'blue'
      ELSE 'purple'
    END AS color
  FROM turned
),
shares AS (
  SELECT image_id, color, count(*) AS cells, CAST(sum(count(*)) OVER (PARTITION BY image_id) AS BIGINT) AS all_cells
  FROM named
  GROUP BY image_id, color
)
SELECT DISTINCT image_id, 'object' AS kind, category AS attribute, '' AS scope
FROM detections
WHERE category <> 'person'
UNION ALL
SELECT w.image_id, 'word' AS kind, w.concept AS attribute, '' AS scope
FROM word_concepts(texts) AS w
LEFT JOIN (SELECT DISTINCT term FROM without) AS l ON l.term = w.concept
WHERE l.term IS NULL AND w.concept IS NOT NULL
UNION ALL
SELECT DISTINCT image_id, 'label' AS kind, concat(attribute, ': ', value) AS attribute, '' AS scope
FROM labels
WHERE value IS NOT NULL
  AND attribute IS NOT NULL
  AND (score IS NULL OR (score > CAST($min_score AS FLOAT) AND NOT isnan(score)))
  AND lower(attribute) NOT LIKE 'perceived%'
  AND lower(attribute) NOT IN (
    'gender', 'sex', 'race', 'ethnicity', 'race_ethnicity', 'skin_tone', 'skin_color', 'predicted_gender', 'predicted_race',
    'religion', 'disability', 'sexual_orientation'
  )
UNION ALL
SELECT DISTINCT image_id, 'topic' AS kind, topic AS attribute, '' AS scope
FROM topics
WHERE topic IS NOT NULL
UNION ALL
SELECT image_id, 'color' AS kind, color AS attribute, '' AS scope
FROM shares
WHERE cells >= $min_share * all_cells
UNION ALL
SELECT DISTINCT
  image_id,
  'position' AS kind,
  concat(category, CASE
    WHEN x + x_end < across * 2 / 3 THEN ': left' WHEN x + x_end < across * 4 / 3 THEN ': centre' ELSE ': right'
  END) AS attribute,
  category AS scope
FROM boxes
UNION ALL
SELECT DISTINCT
  image_id,
  'position' AS kind,
  concat(category, CASE
    WHEN y + y_end < down * 2 / 3 THEN ': top' WHEN y + y_end < down * 4 / 3 THEN ': middle' ELSE ': bottom'
  END) AS attribute,
  category AS scope
FROM boxes
UNION ALL
SELECT DISTINCT
  image_id,
  'size' AS kind,
  concat(category, CASE
    WHEN (x_end - x) * (y_end - y) < 0.05e0 * across * down THEN ': small'
    WHEN (x_end - x) * (y_end - y) < 0.25e0 * across * down THEN ': medium'
    ELSE ': large'
  END) AS attribute,
  category AS scope
FROM boxes
UNION ALL
SELECT
  image_id,
  'distance' AS kind,
  concat(
    category, CASE WHEN gap = 0 THEN ': at a person' WHEN gap < 0.1e0 THEN ': near a person' ELSE ': far from a person' END
  ) AS attribute,
  category AS scope
FROM gaps
