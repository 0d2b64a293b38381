/*--- toml
answers = "Pairs of captions that differ in a word, as format counterfactuals reads them: one row per pair."
details = """
pair is the published index; source_id and number take that of COCO-Counterfactuals apart: the COCO image, and which of
its captions, from 0. original_id and counterfactual_id are the images of either side, that is, of the generated
pictures.
"""
source = "Le et al., COCO-Counterfactuals (2023)"
---*/
WITH sides AS (
  SELECT
    regexp_extract(i.key, '^(.+)/(original|counterfactual)$', 1) AS pair,
    regexp_extract(i.key, '^(.+)/(original|counterfactual)$', 2) AS side,
    i.image_id,
    c.text
  FROM images AS i
  JOIN captions AS c ON c.image_id = i.image_id
  WHERE i.key LIKE '%/original' OR i.key LIKE '%/counterfactual'
)
SELECT
  a.pair,
  TRY_CAST(regexp_extract(a.pair, '^([0-9]+)_[0-9]+$', 1) AS BIGINT) AS source_id,
  TRY_CAST(regexp_extract(a.pair, '^[0-9]+_([0-9]+)$', 1) AS INTEGER) AS number,
  a.image_id AS original_id,
  b.image_id AS counterfactual_id,
  a.text AS original,
  b.text AS counterfactual
FROM sides AS a
JOIN sides AS b ON b.pair = a.pair AND b.side = 'counterfactual'
WHERE a.side = 'original'
