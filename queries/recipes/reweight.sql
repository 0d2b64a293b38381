/*--- toml
answers = "A baseline: all labelled images with weights under which every label is equally frequent."
details = """
weight is 1 on average; weights of every label add up to the same. For a sampler or a loss.

With concepts (such as concepts=category_concepts) attributes are balanced with labels: of the images with a concept,
weights of every label add up to the same, concept by concept. The set then has rows of an image and a concept, and an image with several of
them may be there several times; concepts that fewer than min_count images of some label have are left out. So a concept
goes with no label in the rows that stand for it, as Hirota et al. (2024, section 2.1) write resampling. Other concepts
of these images, and sets of them, still do: that is what the paper holds against it. Presets take
the objects that the paper keeps of COCO and of Open Images (B.1): those that go with a label more than 100 times, and no persons.
"""
source = "importance weights as usual, with attributes as Hirota et al. (2024), section 2.1; the audit balance gives them, too, but hides those that would tell of few images"
presets = { paper = "Hirota et al. (2024), COCO", paper_open_images = "Hirota et al. (2024), Open Images" }

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.concepts]
relation = ["image_id", "concept"]
default = "(SELECT image_id, category AS concept FROM detections WHERE 1 = 0)"
presets = { paper = { value = "(SELECT image_id, concept FROM category_concepts WHERE concept IN (SELECT term FROM lists.hirota_objects WHERE class = 'COCO'))", source = "section 2.1; B.1, of COCO" }, paper_open_images = { value = "(SELECT image_id, concept FROM category_concepts WHERE lower(concept) IN (SELECT term FROM lists.hirota_objects WHERE class = 'OpenImages'))", source = "section 2.1; B.1, of Open Images" } }
about = "attributes to balance with labels, such as category_concepts; without any, labels alone are: the default needs no objects"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "labels with fewer images are left out"
---*/

-- step weigh: the weight of every image
CREATE MATERIALIZED VIEW IF NOT EXISTS reweight_set WITH (key = 'edit_id') AS
WITH sizes AS (
  SELECT label
  FROM $groups AS g
  WHERE is_clear(label)
  GROUP BY label
  HAVING count(DISTINCT image_id) >= $min_count
),
members AS (
  SELECT DISTINCT g.image_id, g.label, c.concept
  FROM $groups AS g
  JOIN sizes AS s ON s.label = g.label
  JOIN $concepts AS c ON c.image_id = g.image_id
  WHERE c.concept IS NOT NULL
  UNION
  SELECT g.image_id, g.label, CAST(NULL AS VARCHAR) AS concept
  FROM $groups AS g
  JOIN sizes AS s ON s.label = g.label
  WHERE (SELECT count(*) FROM $concepts AS c) = 0
),
counted AS (
  SELECT
    *,
    count(*) OVER (PARTITION BY concept, label) AS images,
    count(*) OVER (PARTITION BY concept) AS n
  FROM members
),
bounds AS (
  SELECT concept, min(images) AS least, count(DISTINCT label) AS labels FROM counted GROUP BY concept
)
SELECT
  CASE
    WHEN m.concept IS NULL THEN m.image_id
    ELSE CAST(md5_number_lower(concat(m.image_id, ':', m.concept)) >> 1 AS BIGINT)
  END AS edit_id,
  m.image_id,
  m.label,
  m.concept,
  CAST(m.n AS DOUBLE) / b.labels / m.images AS weight
FROM counted AS m
JOIN bounds AS b ON b.concept IS NOT DISTINCT FROM m.concept
WHERE b.least >= $min_count AND b.labels = (SELECT count(*) FROM sizes);
REFRESH reweight_set;

-- step made: images and weight of each label
SELECT label, count(DISTINCT image_id) AS images, min(weight) AS weight FROM reweight_set GROUP BY label ORDER BY label;
