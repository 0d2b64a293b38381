/*--- toml
answers = "Weights and draws that make perceived groups equally frequent."
details = """
For every clear label: count of the n labelled images and its share with Wilson's 95 % interval; weight = desired share
/ share, the sampling or loss weight of its images (1 on average), desired being the same share for every label; keep =
the share of its images that sub-sampling to the rarest label keeps; repeats = how often over-sampling to the most
frequent label uses an image on average. The view balanced_subset draws the images. Labels are perceived, or those of
words in captions; balancing them balances the data, not the world.

Labels that group_sizes hides take no part. Small counts, and what would give them away, are hidden by the engine; see docs/safety.md.
"""
subject = "contrast sets"
source = "Smith et al., Balancing the Picture (GenSynth, 2023): balanced COCO; importance weights as usual"
presets = { paper = "Smith et al. (2023), balanced COCO", code = "its released code" }

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
presets = { paper = { value = "caption_gender(lists.gender_gensynth_paper, 'gensynth')", source = "Table 3; how captions are cut is the code's" }, code = { value = "caption_gender_gensynth", source = "measure_bias.py" } }
about = "group relation; the default knows more words than the paper"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller labels are left out"

[[cells]]
count = "count"
by = ["label"]
---*/
WITH sizes AS (
  SELECT label, images, used AS shown FROM group_sizes(groups, $min_count) WHERE clear
),
bounds AS (
  SELECT
    count(*) AS labels,
    CAST(sum(images) AS BIGINT) AS n,
    min(images) AS least_images,
    max(images) AS most_images
  FROM sizes
  WHERE shown
)
SELECT
  s.label,
  s.images AS count,
  b.n,
  CAST(s.images AS DOUBLE) / b.n AS share,
  CASE WHEN s.shown THEN wilson_low(s.images, b.n) END AS low,
  CASE WHEN s.shown THEN wilson_high(s.images, b.n) END AS high,
  CAST(b.n AS DOUBLE) / b.labels / s.images AS weight,
  CAST(b.least_images AS DOUBLE) / s.images AS keep,
  CAST(b.most_images AS DOUBLE) / s.images AS repeats
FROM sizes AS s
CROSS JOIN bounds AS b
ORDER BY s.label
