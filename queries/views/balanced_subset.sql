/*--- toml
answers = "A subset of images in which every perceived label is equally frequent, drawn with a seed."
details = """
A group relation with a third column, copies: how often to use the image. method 'under' draws as many images of every
label as the rarest one has (copies is 1); 'over' keeps all and repeats those of rarer labels until each label is as
frequent as the most frequent one, copies differing by at most one within a label. Labels with fewer than min_count
images are left out. The draw takes images in the order of the MD5 of "seed:image_id", so that it is the same
everywhere.

rest says what becomes of images without a clear label ('mixed', 'unclear', 'undefined'): 'none' are kept, 'all', or as
many as keep their proportion to the labelled ones ('proportional', as in GenSynth's balanced COCO; with 'over' they are
repeated, too).
"""
source = "Smith et al., Balancing the Picture (GenSynth, 2023), code: balanced COCO"
presets = { paper = "Smith et al. (2023), balanced COCO", code = "its released code" }

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
presets = { paper = { value = "caption_gender(lists.gender_gensynth_paper, 'gensynth')", source = "Table 3; how captions are cut is the code's" }, code = { value = "caption_gender_gensynth", source = "measure_bias.py" } }
about = "group relation; the default knows more words than the paper"
narrowed = true
drawn = true

[params.seed]
type = "integer"
default = 0
about = "another seed, another draw"

[params.method]
type = "varchar"
default = "under"
choices = ["under", "over"]
presets = { paper = { value = "under", source = "section 5.1" }, code = { value = "under", source = "measure_bias.py" } }
about = "draw from the frequent labels or repeat the rare ones"

[params.rest]
type = "varchar"
default = "none"
choices = ["none", "all", "proportional"]
presets = { paper = { value = "none", source = "section 5.1" }, code = { value = "proportional", source = "measure_bias.py" } }
about = "what becomes of images without a clear label"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "labels with fewer images are left out"
---*/
WITH members AS (
  SELECT DISTINCT
    image_id,
    label,
    is_clear(label) AS clear,
    md5(concat(CAST($seed AS VARCHAR), ':', CAST(image_id AS VARCHAR))) AS lot
  FROM groups
  WHERE label IS NOT NULL AND $method IN ('under', 'over') AND $rest IN ('none', 'all', 'proportional')
),
sizes AS (
  SELECT label, count(*) AS images FROM members WHERE clear GROUP BY label HAVING count(*) >= $min_count
),
bounds AS (
  SELECT
    count(*) AS labels,
    min(images) AS least,
    max(images) AS most,
    CAST(sum(images) AS BIGINT) AS total
  FROM sizes
),
drawn AS (
  SELECT
    m.image_id,
    m.label,
    s.images,
    row_number() OVER (PARTITION BY m.label ORDER BY m.lot, m.image_id) AS place
  FROM members AS m
  JOIN sizes AS s ON s.label = m.label
),
others AS (
  SELECT
    image_id,
    label,
    count(*) OVER () AS images,
    row_number() OVER (ORDER BY lot, image_id, label) AS place
  FROM members
  WHERE NOT clear
),
-- how many of them there shall be, repeats included
wanted AS (
  SELECT
    o.image_id,
    o.label,
    o.images,
    o.place,
    CASE
      WHEN $rest = 'all' THEN o.images
      WHEN $rest = 'proportional'
        THEN o.images * b.labels * (CASE WHEN $method = 'over' THEN b.most ELSE b.least END) // b.total
      ELSE 0
    END AS rows_wanted
  FROM others AS o
  CROSS JOIN bounds AS b
)
SELECT d.image_id, d.label, 1 AS copies
FROM drawn AS d
CROSS JOIN bounds AS b
WHERE $method = 'under' AND d.place <= b.least
UNION ALL
SELECT
  d.image_id,
  d.label,
  CAST(b.most // d.images + CASE WHEN d.place <= b.most % d.images THEN 1 ELSE 0 END AS INTEGER) AS copies
FROM drawn AS d
CROSS JOIN bounds AS b
WHERE $method = 'over'
UNION ALL
SELECT
  image_id,
  label,
  CAST(rows_wanted // images + CASE WHEN place <= rows_wanted % images THEN 1 ELSE 0 END AS INTEGER) AS copies
FROM wanted
WHERE rows_wanted // images + CASE WHEN place <= rows_wanted % images THEN 1 ELSE 0 END > 0
