/*--- toml
answers = "How many images (or other units) carry each label, and which of these numbers may be shown."
details = """
clear is false for 'mixed', 'unclear' and 'undefined'. shown is false for labels with fewer than min_count images and,
so that nobody finds such a number by subtracting the others from the total, for further labels until at least two are
hidden and the hidden ones add up to at least min_count: unclear ones and 'others' first, then small ones first. used says
the same of clear labels for audits that give no number of unclear images: there only few images of a clear label are a
secret. 'mixed' and 'unknown' shelter no other label: how many images are mixed follows from how far annotators agree, and
audits of attributes leave 'unknown' out.
"""
source = "complementary suppression as in disclosure control of official statistics"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "labels with fewer images are not shown"
---*/
WITH counts AS (
  SELECT
    label,
    is_clear(label) AS clear,
    count(DISTINCT image_id) AS images
  FROM groups
  WHERE label IS NOT NULL
  GROUP BY label
),
-- in which order labels are hidden: small ones, unclear ones, the rest; where small means all of them, or clear ones only
steps AS (
  SELECT
    *,
    CASE
      WHEN label IN ('mixed', 'unknown') THEN 3 WHEN images < $min_count THEN 0 WHEN NOT clear OR label = 'others' THEN 1 ELSE 2
    END AS step,
    CASE
      WHEN label IN ('mixed', 'unknown') THEN 3 WHEN NOT clear OR label = 'others' THEN 1 WHEN images < $min_count THEN 0 ELSE 2
    END AS clear_step
  FROM counts
),
placed AS (
  SELECT
    label,
    clear,
    images,
    min(images) OVER () < $min_count AS any_small,
    row_number() OVER (ORDER BY step, images, label) AS place,
    sum(images) OVER (ORDER BY step, images, label ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - images AS before,
    min(clear_step) OVER () = 0 AS any_small_clear,
    row_number() OVER (ORDER BY clear_step, images, label) AS clear_place,
    sum(images) OVER (ORDER BY clear_step, images, label ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    - images AS clear_before
  FROM steps
)
SELECT
  label,
  clear,
  images,
  NOT (images < $min_count OR (any_small AND before < greatest($min_count, place))) AS shown,
  clear
  AND NOT (images < $min_count OR (any_small_clear AND clear_before < greatest($min_count, clear_place))) AS used
FROM placed
