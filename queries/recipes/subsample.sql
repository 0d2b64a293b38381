-- subsample: A baseline: as many images of every label as the rarest one has, drawn with a seed.
--
-- source: sub-sampling as usual; draws as in balanced_subset
-- param groups relation = caption_gender : group relation (image_id, label)
-- param seed integer = 0 : another seed, another draw
-- param rest varchar = 'none' : one of 'none', 'all', 'proportional'; what becomes of images without a clear label
-- param min_count integer = 10 : at least 0; labels with fewer images are left out

-- step draw: which images are kept
CREATE MATERIALIZED VIEW IF NOT EXISTS subsample_set WITH (key = 'edit_id') AS
SELECT image_id AS edit_id, image_id, label
FROM balanced_subset($groups, seed := $seed, method := 'under', rest := $rest, min_count := $min_count);
REFRESH subsample_set;

-- step made: images of each label
SELECT label, count(*) AS images FROM subsample_set GROUP BY label ORDER BY label;
