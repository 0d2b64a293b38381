-- balance: Weights and draws that make perceived groups equally frequent.
--
-- For every clear label: count of the n labelled images and its share with Wilson's 95 % interval; weight = desired share /
-- share, the sampling or loss weight of its images (1 on average), desired being the same share for every label; keep = the
-- share of its images that sub-sampling to the rarest label keeps; repeats = how often over-sampling to the most frequent
-- label uses an image on average. The view balanced_subset draws the images. Labels are perceived, or those of words in
-- captions; balancing them balances the data, not the world.
--
-- Labels under min_count are suppressed (NULL) and take no part, as in demographics; see group_sizes.
--
-- source: Smith et al., Balancing the Picture (GenSynth, 2023): balanced COCO; importance weights as usual
-- subject: contrast sets
-- param groups relation = caption_gender : group relation (image_id, label)
-- param min_count integer = 10 : at least 0; smaller labels are left out
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
  CASE WHEN s.shown THEN s.images END AS count,
  CASE WHEN s.shown THEN b.n END AS n,
  CASE WHEN s.shown THEN CAST(s.images AS DOUBLE) / b.n END AS share,
  CASE WHEN s.shown THEN wilson_low(s.images, b.n) END AS low,
  CASE WHEN s.shown THEN wilson_high(s.images, b.n) END AS high,
  CASE WHEN s.shown THEN CAST(b.n AS DOUBLE) / b.labels / s.images END AS weight,
  CASE WHEN s.shown THEN CAST(b.least_images AS DOUBLE) / s.images END AS keep,
  CASE WHEN s.shown THEN CAST(b.most_images AS DOUBLE) / s.images END AS repeats,
  NOT s.shown AS suppressed
FROM sizes AS s
CROSS JOIN bounds AS b
ORDER BY s.label
