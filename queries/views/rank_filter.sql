/*--- toml
answers = "The best of many edits of an image for each group, by the ranks of three scores."
details = """
Within an image and a label, edits are ranked by each score, the highest first (rank 1); equal scores share the smaller
rank. rank_sum = c_prompt * prompt_rank + c_object * object_rank + c_color * color_rank; place orders edits by it, then
by seed and edit_id, and edits up to place keep are returned: only the chosen one unless more are asked for. Weights
count to six decimals, so that equal sums are equal. Edits without one of the scores (NULL or no number) are not
ranked, unless its weight is 0: such a filter is off, and needs no score. Infinity is a score like any other (colours
that did not change).

The ranks, the smallest weighted sum and weights of 1 (section 3) are the paper's; how it orders equal sums is not said.
"""
source = "Hirota et al., Resampled Datasets Are Not Enough (2024), data filtering"
presets = { paper = "Hirota et al. (2024)", paper_skin_tone = "Hirota et al. (2024), skin tone" }

[params.candidates]
relation = ["edit_id", "image_id", "label", "seed", "s_prompt", "s_object", "s_color"]
about = "a row an edit"

[params.c_prompt]
type = "double"
default = 1
presets = { paper = { value = 1, source = "section 3" }, paper_skin_tone = { value = 1, source = "section 3" } }
about = "weight of s_prompt, how well the edit fits its prompt"

[params.c_object]
type = "double"
default = 1
presets = { paper = { value = 1, source = "section 3" }, paper_skin_tone = { value = 1, source = "section 3" } }
about = "weight of s_object, how many objects stayed"

[params.c_color]
type = "double"
default = 1
presets = { paper = { value = 1, source = "section 3" }, paper_skin_tone = { value = 0, source = "B.1: without the filter of colours" } }
about = "weight of s_color, how little colours changed"

[params.keep]
type = "integer"
default = 1
min = 1
about = "how many edits of an image and label are returned"
---*/
WITH scored AS (
  SELECT
    edit_id,
    image_id,
    label,
    seed,
    CASE WHEN NOT isnan(s_prompt) THEN s_prompt END AS s_prompt,
    CASE WHEN NOT isnan(s_object) THEN s_object END AS s_object,
    CASE WHEN NOT isnan(s_color) THEN s_color END AS s_color
  FROM candidates
),
complete AS (
  SELECT *
  FROM scored
  WHERE ($c_prompt = 0 OR s_prompt IS NOT NULL)
    AND ($c_object = 0 OR s_object IS NOT NULL)
    AND ($c_color = 0 OR s_color IS NOT NULL)
),
ranked AS (
  SELECT
    edit_id,
    image_id,
    label,
    seed,
    rank() OVER (PARTITION BY image_id, label ORDER BY s_prompt DESC NULLS LAST) AS prompt_rank,
    rank() OVER (PARTITION BY image_id, label ORDER BY s_object DESC NULLS LAST) AS object_rank,
    rank() OVER (PARTITION BY image_id, label ORDER BY s_color DESC NULLS LAST) AS color_rank
  FROM complete
),
summed AS (
  SELECT
    *,
    CAST(round(CAST($c_prompt AS DOUBLE) * 1000000) AS BIGINT) * prompt_rank
    + CAST(round(CAST($c_object AS DOUBLE) * 1000000) AS BIGINT) * object_rank
    + CAST(round(CAST($c_color AS DOUBLE) * 1000000) AS BIGINT) * color_rank AS millionths
  FROM ranked
),
placed AS (
  SELECT
    *,
    row_number() OVER (PARTITION BY image_id, label ORDER BY millionths, seed, edit_id) AS place
  FROM summed
)
SELECT
  edit_id,
  image_id,
  label,
  seed,
  CAST(prompt_rank AS INTEGER) AS prompt_rank,
  CAST(object_rank AS INTEGER) AS object_rank,
  CAST(color_rank AS INTEGER) AS color_rank,
  CAST(millionths AS DOUBLE) / 1000000 AS rank_sum,
  CAST(place AS INTEGER) AS place
FROM placed
WHERE place <= $keep
