/*--- toml
answers = "A baseline: as many images of every label as the rarest one has, drawn with a seed."
details = """
With concepts (such as concepts=category_concepts) attributes are balanced with labels: of the images with a concept, as
many of each label, concept by concept. The set then has rows of an image and a concept, and an image with several of
them may be there several times; concepts that fewer than min_count images of some label have are left out. So a concept
goes with no label in the rows that stand for it, as Hirota et al. (2024, section 2.1) write resampling. Other concepts
of these images, and sets of them, still do: that is what the paper holds against it. Presets take
the objects that the paper keeps of COCO and of Open Images (B.1): those that go with a label more than 100 times, and no persons.
"""
source = "sub-sampling as usual; draws as in balanced_subset; Hirota et al. (2024), section 2.1, with attributes"
presets = { paper = "Hirota et al. (2024), COCO", paper_open_images = "Hirota et al. (2024), Open Images", gensynth = "Smith et al. (2023), balanced COCO", gensynth_code = "its released code" }

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
presets = { gensynth = { value = "caption_gender(lists.gender_gensynth_paper, 'gensynth')", source = "Table 3; how captions are cut is the code's" }, gensynth_code = { value = "caption_gender_gensynth", source = "measure_bias.py" } }
about = "group relation; the default knows more words than GenSynth"

[params.concepts]
relation = ["image_id", "concept"]
default = "(SELECT image_id, category AS concept FROM detections WHERE 1 = 0)"
presets = { paper = { value = "(SELECT image_id, concept FROM category_concepts WHERE concept IN (SELECT term FROM lists.hirota_objects WHERE class = 'COCO'))", source = "section 2.1; B.1, of COCO" }, paper_open_images = { value = "(SELECT image_id, concept FROM category_concepts WHERE lower(concept) IN (SELECT term FROM lists.hirota_objects WHERE class = 'OpenImages'))", source = "section 2.1; B.1, of Open Images" } }
about = "attributes to balance with labels, such as category_concepts; without any, labels alone are: the default needs no objects"

[params.seed]
type = "integer"
default = 0
about = "another seed, another draw"

[params.rest]
type = "varchar"
default = "none"
choices = ["none", "all", "proportional"]
presets = { gensynth = { value = "none", source = "section 5.1" }, gensynth_code = { value = "proportional", source = "measure_bias.py" } }
about = "what becomes of images without a clear label"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "labels with fewer images are left out"
---*/

-- step draw: which images are kept
CREATE MATERIALIZED VIEW IF NOT EXISTS subsample_set WITH (key = 'edit_id') AS
WITH sizes AS (
  SELECT label
  FROM $groups AS g
  WHERE is_clear(label)
  GROUP BY label
  HAVING count(DISTINCT image_id) >= $min_count
),
pairs AS (
  SELECT DISTINCT
    g.image_id,
    g.label,
    c.concept,
    md5(concat(CAST($seed AS VARCHAR), ':', CAST(g.image_id AS VARCHAR), ':', c.concept)) AS lot
  FROM $groups AS g
  JOIN sizes AS s ON s.label = g.label
  JOIN $concepts AS c ON c.image_id = g.image_id
  WHERE c.concept IS NOT NULL
),
placed AS (
  SELECT
    *,
    count(*) OVER (PARTITION BY concept, label) AS images,
    row_number() OVER (PARTITION BY concept, label ORDER BY lot, image_id) AS place
  FROM pairs
),
strata AS (
  SELECT concept, min(images) AS least, max(images) AS most
  FROM placed
  GROUP BY concept
  HAVING min(images) >= $min_count AND count(DISTINCT label) = (SELECT count(*) FROM sizes)
),
drawn AS (
  SELECT image_id, label, CAST(NULL AS VARCHAR) AS concept
  FROM balanced_subset($groups, seed := $seed, method := 'under', rest := $rest, min_count := $min_count)
  WHERE (SELECT count(*) FROM $concepts AS c) = 0 OR NOT is_clear(label)
  UNION ALL
  SELECT p.image_id, p.label, p.concept
  FROM placed AS p
  JOIN strata AS s ON s.concept = p.concept
  WHERE p.place <= s.least
)
SELECT
  CASE
    WHEN concept IS NULL THEN image_id
    ELSE CAST(md5_number_lower(concat(image_id, ':', concept)) >> 1 AS BIGINT)
  END AS edit_id,
  image_id,
  label,
  concept
FROM drawn;
REFRESH subsample_set;

-- step made: images of each label
SELECT label, count(DISTINCT image_id) AS images FROM subsample_set GROUP BY label ORDER BY label;
