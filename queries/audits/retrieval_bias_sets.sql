/*--- toml
answers = "Retrieval bias on the original images, a balanced subset and a contrast set, side by side."
details = """
The rows of retrieval_bias for each of the three, under dataset: bias, maxskew and ndkl averaged over n queries with a
95 % interval of the mean by their images; images and what is hidden as there. Each dataset has its own items, with their
labels, and is ranked for the same queries; maxskew and ndkl rank the items with a clear label alone, as there. A model
without a preference has a bias near 0 on the contrast set, whatever the original images are like. Labels are perceived,
or those asked of an edit; they say nothing certain about persons.

For instance, with vectors: contrast := (SELECT edit_id AS item_id, image_id, label, embedding FROM ...), and in asked
the captions' vectors. As in the published runs of CLIP models, a query's own image is ranked with the others.
"""
subject = "retrieval"
source = "Smith et al., Balancing the Picture (GenSynth, 2023), Tables 2 and 8; see retrieval_bias"
together = [
  "original_hits", "original_labelled", "balanced_hits", "balanced_labelled", "contrast_hits", "contrast_labelled",
]
among = [{ labels = ["positive", "negative"], relations = ["original"] }]
presets = { paper = "Smith et al. (2023)" }

[params.asked]
relation = ["query_id", "image_id"]
about = "queries, with the text or embedding that ranks; intervals go by their images"

[params.original]
relation = ["item_id", "image_id", "label"]
about = "the original images, with text or embedding likewise; a label may be NULL"

[params.balanced]
relation = ["item_id", "image_id", "label"]
about = "the balanced subset; see balanced_subset"

[params.contrast]
relation = ["item_id", "image_id", "label"]
about = "the contrast set; image_id is the image that an edit was made from"

[params.ranker]
type = "varchar"
default = "vector"
choices = ["tfidf", "vector", "random"]
about = "see top_k"

[params.exclude_own]
type = "boolean"
default = false
about = "leave out items of the query's own image"

[params.seed]
type = "integer"
default = 0
about = "of the random ranker"

[params.metric]
type = "varchar"
default = "cosine"
choices = ["cosine", "dot", "l2"]
about = "of vectors"

[params.original_hits]
relation = ["query_id", "item_id", "rank", "score"]
default = """\
top_k(asked, original, ranker := $ranker, k := $k, exclude_own := $exclude_own, metric := $metric, seed := $seed)"""
about = "over all of its items; give all six to audit any other rankings"

[params.original_labelled]
relation = ["query_id", "item_id", "rank", "score"]
default = """\
top_k(asked, original, ranker := $ranker, k := $skew_k, exclude_own := $exclude_own, metric := $metric, seed := $seed, \
among := (SELECT item_id FROM original WHERE is_clear(label)))"""
about = "over the items with a clear label"

[params.balanced_hits]
relation = ["query_id", "item_id", "rank", "score"]
default = """\
top_k(asked, balanced, ranker := $ranker, k := $k, exclude_own := $exclude_own, metric := $metric, seed := $seed)"""
about = "likewise"

[params.balanced_labelled]
relation = ["query_id", "item_id", "rank", "score"]
default = """\
top_k(asked, balanced, ranker := $ranker, k := $skew_k, exclude_own := $exclude_own, metric := $metric, seed := $seed, \
among := (SELECT item_id FROM balanced WHERE is_clear(label)))"""
about = "likewise"

[params.contrast_hits]
relation = ["query_id", "item_id", "rank", "score"]
default = """\
top_k(asked, contrast, ranker := $ranker, k := $k, exclude_own := $exclude_own, metric := $metric, seed := $seed)"""
about = "likewise"

[params.contrast_labelled]
relation = ["query_id", "item_id", "rank", "score"]
default = """\
top_k(asked, contrast, ranker := $ranker, k := $skew_k, exclude_own := $exclude_own, metric := $metric, seed := $seed, \
among := (SELECT item_id FROM contrast WHERE is_clear(label)))"""
about = "likewise"

[params.k]
type = "integer[]"
default = [5, 10]
min = 1
presets = { paper = { value = [5, 10], source = "Table 1" } }
about = "cut-offs of bias"

[params.skew_k]
type = "integer[]"
default = [25, 100]
min = 1
presets = { paper = { value = [25, 100], source = "Table 1" } }
about = "cut-offs of maxskew and ndkl"

[params.positive]
type = "varchar"
default = "male"
presets = { paper = { value = "male", source = "Eq. 3" } }
about = "label that counts as + in bias"

[params.negative]
type = "varchar"
default = "female"
presets = { paper = { value = "female", source = "Eq. 3" } }
about = "label that counts as - in bias"

[params.desired]
type = "varchar"
default = "dataset"
choices = ["dataset", "uniform"]
presets = { paper = { value = "dataset", source = "Eq. 4" } }
about = "desired distribution, of labels among the items or even"

[params.absent]
type = "varchar"
default = "skip"
choices = ["skip", "floor"]
about = "leave out a label missing from the first K, or give it 1/K"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "averages over fewer queries or images of a label are hidden"

[[cells]]
count = "n"
within = ["dataset", "metric", "k"]

[[cells]]
count = "query_images"
within = ["dataset", "metric", "k"]

[[cells]]
count = "images"
within = ["dataset", "metric", "k"]
---*/
WITH sets AS (
  SELECT 1 AS place, 'original' AS dataset, metric, k, value, low, high, n, query_images, images
  FROM average_rankings(
    original_hits, original_labelled, (SELECT item_id, label FROM original), (SELECT query_id, item_id FROM original_hits WHERE 1 = 0),
    (SELECT item_id, image_id FROM original), (SELECT query_id, image_id FROM asked), $k, $skew_k, $positive, $negative,
    $desired, $absent, false, $min_count
  )
  UNION ALL
  SELECT 2 AS place, 'balanced' AS dataset, metric, k, value, low, high, n, query_images, images
  FROM average_rankings(
    balanced_hits, balanced_labelled, (SELECT item_id, label FROM balanced), (SELECT query_id, item_id FROM balanced_hits WHERE 1 = 0),
    (SELECT item_id, image_id FROM balanced), (SELECT query_id, image_id FROM asked), $k, $skew_k, $positive, $negative,
    $desired, $absent, false, $min_count
  )
  UNION ALL
  SELECT 3 AS place, 'contrast' AS dataset, metric, k, value, low, high, n, query_images, images
  FROM average_rankings(
    contrast_hits, contrast_labelled, (SELECT item_id, label FROM contrast), (SELECT query_id, item_id FROM contrast_hits WHERE 1 = 0),
    (SELECT item_id, image_id FROM contrast), (SELECT query_id, image_id FROM asked), $k, $skew_k, $positive, $negative,
    $desired, $absent, false, $min_count
  )
)
SELECT metric, k, dataset, value, low, high, n, query_images, images
FROM sets
ORDER BY metric, k, place
