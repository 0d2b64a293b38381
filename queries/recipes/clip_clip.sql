/*--- toml
answers = "Vectors without the dimensions that tell a perceived group best: the baseline CLIP-clip, to be audited beside CLIP."
details = """
Of the images of fit that have a clear label, the count dimensions are chosen whose mutual information with the label is
highest (telling_dimensions), and left out of the vectors of images and texts alike. clip_clip_images and clip_clip_texts
have the vectors, clip_clip_dimensions says what was left out. They have no length of 1 any more, which cosines do not
mind; embed_image(image, model, drop := [...]) gives the same vectors at length 1.

retrieval_bias_sets or retrieval_bias say what it changes. Some thousand images of fit are enough, other ones than those
of the audit, as in the paper (COCO's train for GenSynth). Labels are perceived, or those of words in captions.
"""
source = """
Wang, Liu and Wang, Are gender-neutral queries really gender-neutral? (2021), section 4.2; m = 100 as in Smith et al.,
Balancing the Picture (GenSynth, 2023)"""
presets = { paper = "Smith et al. (2023)" }

[params.images]
relation = ["image_id", "embedding"]
default = "images"
about = "vectors of images"

[params.texts]
relation = ["caption_id", "image_id", "embedding"]
default = "captions"
about = "vectors of texts by the same model"

[params.fit]
relation = ["image_id", "embedding"]
default = "images"
about = "vectors of the images that dimensions are chosen by"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender_gensynth"
presets = { paper = { value = "caption_gender(lists.gender_gensynth_paper, 'gensynth')", source = "Table 3; how captions are cut is the code's" } }
about = "group relation of these; the default is that of the released code"

[params.count]
type = "integer"
default = 100
min = 1
presets = { paper = { value = 100, source = "section 5.1" } }
about = "dimensions that are left out"

[params.seed]
type = "integer"
default = 0
about = "of the noise that tells equal values apart"
---*/

-- step choose: the dimensions that tell the label best
CREATE MATERIALIZED VIEW IF NOT EXISTS clip_clip_dimensions WITH (key = 'dimension') AS
WITH labelled AS (
  SELECT f.image_id, g.label, f.embedding
  FROM $fit AS f
  JOIN $groups AS g ON g.image_id = f.image_id
  WHERE f.embedding IS NOT NULL AND is_clear(g.label)
)
SELECT
  unnest(
    telling_dimensions(
      list(embedding ORDER BY image_id, label), list(label ORDER BY image_id, label), $count, $seed
    )
  ) AS dimension
FROM labelled;
REFRESH clip_clip_dimensions;

-- step leave_out: vectors without them
CREATE MATERIALIZED VIEW IF NOT EXISTS clip_clip_images WITH (key = 'image_id') AS
WITH kept AS (
  SELECT list(d.place ORDER BY d.place) AS places
  FROM (SELECT unnest(range(1, most + 1)) AS place FROM (SELECT max(len(embedding)) AS most FROM $images AS i) AS m) AS d
  WHERE d.place - 1 NOT IN (SELECT dimension FROM clip_clip_dimensions)
)
SELECT i.image_id, list_select(CAST(i.embedding AS FLOAT[]), k.places) AS embedding
FROM $images AS i
CROSS JOIN kept AS k
WHERE i.embedding IS NOT NULL;
CREATE MATERIALIZED VIEW IF NOT EXISTS clip_clip_texts WITH (key = 'caption_id') AS
WITH kept AS (
  SELECT list(d.place ORDER BY d.place) AS places
  FROM (SELECT unnest(range(1, most + 1)) AS place FROM (SELECT max(len(embedding)) AS most FROM $texts AS i) AS m) AS d
  WHERE d.place - 1 NOT IN (SELECT dimension FROM clip_clip_dimensions)
)
SELECT i.caption_id, i.image_id, list_select(CAST(i.embedding AS FLOAT[]), k.places) AS embedding
FROM $texts AS i
CROSS JOIN kept AS k
WHERE i.embedding IS NOT NULL;
REFRESH clip_clip_images, clip_clip_texts;

-- step made: how many vectors there are, and how long
SELECT 'images' AS vectors, count(*) AS count, max(len(embedding)) AS length FROM clip_clip_images
UNION ALL
SELECT 'texts' AS vectors, count(*) AS count, max(len(embedding)) AS length FROM clip_clip_texts;
