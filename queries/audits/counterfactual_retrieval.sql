/*--- toml
answers = "How much worse images find their texts, and texts their images, in a counterfactual set than among the originals."
details = """
Recall at k in two directions, 'text' (an image asks for its text) and 'image' (a text for its image): value is the share
of the n queries whose own is among the first k in the counterfactual set, original the same of the n_original among the
originals, each with Wilson's 95 % interval. Queries made of one source image (there are images, images_original of them)
are alike: an interval is of as many independent queries as would tell as much. difference is value - original with
Newcombe's interval, as of independent queries, rather too wide where the sources are the same; change is that in percent of
original, as the paper has it, without an interval.

Each set is ranked by itself, exactly, by vectors; give hits to audit any other ranking, also a model's that reads text and
image together. A larger set is harder: the paper's has twice as many pairs as originals. An image with several texts finds
any. Equal texts count apart; queries without hits do not count. Words for people are perceived labels of what is depicted,
never claims about a person. For the recipe coco_counterfactuals and vectors by its own model:

texts := (SELECT s.edit_id AS text_id, s.edit_id AS image_id, s.image_id AS source_id, CASE s.label WHEN 'original' THEN
r.text_a ELSE r.text_b END AS embedding FROM coco_counterfactuals_set AS s JOIN coco_counterfactuals_requests AS r ON
r.edit_id = s.pair_id), images := (the same, with image_a and image_b), original_texts := (SELECT caption_id AS text_id,
image_id, image_id AS source_id, text_a AS embedding FROM coco_counterfactuals_pairs JOIN coco_counterfactuals_requests
USING (edit_id, caption_id, image_id)), original_images := images

CLIP chose the pictures, so that its own recall on them says little (A.6). Rows of few queries, or of few sources, are
hidden; digits of a recall tell single ones, so that sets of perceived labels need a purpose.
"""
subject = "retrieval"
exact = true
source = """
Le et al., COCO-Counterfactuals (2023), Tables 2 and 13; Newcombe (1998), difference; intervals by images are ours"""
presets = { paper = "Le et al. (2023)" }

[params.texts]
relation = ["text_id", "image_id", "source_id"]
about = "of the counterfactual set: which image each text is of, and the source image of both; with a vector, if hits are not given"

[params.original_texts]
relation = ["text_id", "image_id", "source_id"]
about = "likewise of the originals"

[params.images]
relation = ["image_id"]
default = "(SELECT DISTINCT image_id FROM texts)"
about = "of the counterfactual set, with a vector"

[params.original_images]
relation = ["image_id"]
default = "(SELECT DISTINCT image_id FROM original_texts)"
about = "likewise of the originals"

[params.k]
type = "integer[]"
default = [1, 5, 10]
min = 1
presets = { paper = { value = [1, 5, 10], source = "Table 2" } }
about = "cut-offs"

[params.column]
type = "varchar"
default = "embedding"
about = "vector column of texts and images"

[params.text_hits]
relation = ["query_id", "item_id", "rank", "score"]
default = "top_k(images, texts, ranker := 'vector', k := $k, exclude_own := false, column := $column)"
about = "of images over texts"

[params.image_hits]
relation = ["query_id", "item_id", "rank", "score"]
default = "top_k(texts, images, ranker := 'vector', k := $k, exclude_own := false, column := $column)"
about = "of texts over images"

[params.original_text_hits]
relation = ["query_id", "item_id", "rank", "score"]
default = "top_k(original_images, original_texts, ranker := 'vector', k := $k, exclude_own := false, column := $column)"
about = "of original images over original texts"

[params.original_image_hits]
relation = ["query_id", "item_id", "rank", "score"]
default = "top_k(original_texts, original_images, ranker := 'vector', k := $k, exclude_own := false, column := $column)"
about = "of original texts over original images"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "rows of fewer queries, or queries of fewer source images, of either set are hidden"

[[cells]]
count = "n"
within = ["direction", "k"]

[[cells]]
count = "images"
within = ["direction", "k"]

[[cells]]
count = "n_original"
within = ["direction", "k"]

[[cells]]
count = "images_original"
within = ["direction", "k"]
---*/
WITH ranks AS (
  SELECT 'c' AS dataset, direction, query_id, source_id, rank FROM two_way_ranks(texts, text_hits, image_hits)
  UNION ALL
  SELECT 'o' AS dataset, direction, query_id, source_id, rank
  FROM two_way_ranks(original_texts, original_text_hits, original_image_hits)
),
cuts AS (
  SELECT DISTINCT unnest($k) AS k
),
-- queries of one source are alike
by_source AS (
  SELECT
    r.dataset,
    r.direction,
    c.k,
    count(*) AS n,
    count(CASE WHEN r.rank <= c.k THEN 1 END) AS count
  FROM ranks AS r
  CROSS JOIN cuts AS c
  GROUP BY r.dataset, r.direction, c.k, r.source_id
),
counts AS (
  SELECT
    dataset,
    direction,
    k,
    CAST(sum(n) AS BIGINT) AS n,
    CAST(sum(count) AS BIGINT) AS count,
    count(*) AS images,
    CAST(sum(count * count) AS DOUBLE) AS squares,
    CAST(sum(count * n) AS DOUBLE) AS products,
    CAST(sum(n * n) AS DOUBLE) AS sizes
  FROM by_source
  GROUP BY dataset, direction, k
),
shares AS (
  SELECT
    *,
    CAST(count AS DOUBLE) / n AS value,
    effective_size(count, n, squares, products, sizes, images) AS effective
  FROM counts
),
bounds AS (
  SELECT
    *,
    wilson_low(value * effective, effective) AS low,
    wilson_high(value * effective, effective) AS high
  FROM shares
)
SELECT
  c.direction,
  c.k,
  c.count,
  c.n,
  c.images,
  c.value,
  c.low,
  c.high,
  o.count AS count_original,
  o.n AS n_original,
  o.images AS images_original,
  o.value AS original,
  o.low AS original_low,
  o.high AS original_high,
  c.value - o.value AS difference,
  difference_low(c.value, c.low, o.value, o.high) AS difference_low,
  difference_high(c.value, c.high, o.value, o.low) AS difference_high,
  100 * (c.value - o.value) / nullif(o.value, 0) AS change
FROM bounds AS c
JOIN bounds AS o ON o.direction = c.direction AND o.k = c.k AND o.dataset = 'o'
WHERE c.dataset = 'c'
ORDER BY c.direction, c.k
