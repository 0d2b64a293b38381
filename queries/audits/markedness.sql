-- markedness: How often a model finds "a person" the best description of a perceived group's images, no label that marks it.
--
-- Every image takes the prompt whose vector has the largest cosine with its own; ties go to the first prompt by name.
-- For every clear label: count of its n images that take the prompt called unmarked, share = count / n with Wilson's 95 %
-- interval. A group with a lower share is marked by the model: it is described by what sets it apart, where others are
-- persons. prompts are one unmarked description and one for each way of marking, such as 'a photo of a person' and 'a
-- photo of a female person', 'a photo of a male person'; a prompt may have several rows. Labels are perceived, or those of
-- words in captions.
--
-- Rows are suppressed (NULL) where a label has fewer than min_count images or group_sizes hides it, and where 1 to 9 (or fewer
-- than min_count, if that is less) of its images take the unmarked prompt, or do not.
--
-- source: Wolfe and Caliskan, Markedness in visual semantic AI (2022): share of images ranked nearest to "person"; rule and
-- prompts as in public code of that study (the paper's abstract agrees, its text was not found), which averages over
-- samples of groups of equal size: that changes the error of a share, not what it is
-- subject: what a model associates
-- param images relation : (image_id, ...) and a vector column: embeddings of images by the model
-- param prompts relation : (category, embedding): embeddings of prompts by the same model
-- param groups relation = caption_gender : group relation (image_id, label)
-- param unmarked varchar = 'person' : category of the prompt that marks nothing
-- param column varchar = 'embedding' : vector column of images
-- param min_count integer = 10 : at least 0; fewer images of a label are suppressed
-- local: nearest_counts() is computed outside of SQL
WITH sizes AS (
  SELECT label, used FROM group_sizes(groups, $min_count) WHERE clear
),
taken AS (
  SELECT label, count, n
  FROM nearest_counts(
    images,
    (SELECT category AS item, CAST(embedding AS FLOAT[]) AS embedding FROM prompts),
    groups,
    column := $column
  )
  WHERE item = $unmarked
),
judged AS (
  SELECT
    s.label,
    t.count,
    t.n,
    NOT s.used
    OR coalesce(t.n, 0) < greatest($min_count, 1)
    OR (t.count > 0 AND t.count < least($min_count, 10))
    OR (t.n > t.count AND t.n - t.count < least($min_count, 10)) AS suppressed
  FROM sizes AS s
  LEFT JOIN taken AS t ON t.label = s.label
)
SELECT
  label,
  CASE WHEN NOT suppressed THEN count END AS count,
  CASE WHEN NOT suppressed THEN n END AS n,
  CASE WHEN NOT suppressed THEN CAST(count AS DOUBLE) / n END AS share,
  CASE WHEN NOT suppressed THEN wilson_low(count, n) END AS share_low,
  CASE WHEN NOT suppressed THEN wilson_high(count, n) END AS share_high,
  suppressed
FROM judged
ORDER BY label
