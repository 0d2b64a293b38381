/*--- toml
answers = "Retrieval bias on the original images, a balanced subset and a contrast set, side by side."
details = """
The rows of retrieval_bias for each of the three, under dataset: bias, maxskew and ndkl averaged over n queries with a
95 % interval of the mean by their images; images and what is hidden as there. Each dataset has its own items: hits over
all of them, and their labels. A model without a preference has a bias near 0 on the contrast set, whatever the original
images are like. Labels are perceived, or those asked of an edit; they say nothing certain about persons.

For instance, with vectors: contrast_hits := top_k(asked, (SELECT edit_id AS item_id, image_id, embedding FROM ...),
ranker := 'vector', k := [100]), contrast_groups := (SELECT edit_id AS item_id, label FROM gensynth_set).
"""
subject = "retrieval"
source = "Smith et al., Balancing the Picture (GenSynth, 2023), Tables 2 and 8; see retrieval_bias"
among = { labels = ["positive", "negative"], relations = ["original_groups"] }
presets = { paper = "Smith et al. (2023)" }

[params.original_hits]
relation = ["query_id", "item_id", "rank", "score"]
about = "over the original images"

[params.original_groups]
relation = ["item_id", "label"]
about = "labels of them"

[params.balanced_hits]
relation = ["query_id", "item_id", "rank", "score"]
about = "over the balanced subset; see balanced_subset"

[params.balanced_groups]
relation = ["item_id", "label"]
about = "labels of it"

[params.contrast_hits]
relation = ["query_id", "item_id", "rank", "score"]
about = "over the contrast set"

[params.contrast_groups]
relation = ["item_id", "label"]
about = "labels of it"

[params.original_labelled]
relation = []
default = "labelled_hits(original_hits, original_groups)"
about = "the hits with items without a clear label left out before ranking"

[params.balanced_labelled]
relation = []
default = "labelled_hits(balanced_hits, balanced_groups)"
about = "likewise"

[params.contrast_labelled]
relation = []
default = "labelled_hits(contrast_hits, contrast_groups)"
about = "likewise"

[params.original_images]
relation = ["item_id", "image_id"]
default = "(SELECT item_id, item_id AS image_id FROM original_groups)"
about = "of which image an item is; itself where it is left out"

[params.balanced_images]
relation = ["item_id", "image_id"]
default = "(SELECT item_id, item_id AS image_id FROM balanced_groups)"
about = "likewise"

[params.contrast_images]
relation = ["item_id", "image_id"]
default = "(SELECT item_id, item_id AS image_id FROM contrast_groups)"
about = "likewise"

[params.query_images]
relation = ["query_id", "image_id"]
default = "(SELECT query_id, query_id AS image_id FROM original_hits)"
about = "of which image a query is: give it where one has several, for intervals go by images"

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
    original_hits, original_labelled, original_groups, (SELECT query_id, item_id FROM original_hits WHERE 1 = 0),
    original_images, query_images, $k, $skew_k, $positive, $negative, $desired, $absent, false, $min_count
  )
  UNION ALL
  SELECT 2 AS place, 'balanced' AS dataset, metric, k, value, low, high, n, query_images, images
  FROM average_rankings(
    balanced_hits, balanced_labelled, balanced_groups, (SELECT query_id, item_id FROM balanced_hits WHERE 1 = 0),
    balanced_images, query_images, $k, $skew_k, $positive, $negative, $desired, $absent, false, $min_count
  )
  UNION ALL
  SELECT 3 AS place, 'contrast' AS dataset, metric, k, value, low, high, n, query_images, images
  FROM average_rankings(
    contrast_hits, contrast_labelled, contrast_groups, (SELECT query_id, item_id FROM contrast_hits WHERE 1 = 0),
    contrast_images, query_images, $k, $skew_k, $positive, $negative, $desired, $absent, false, $min_count
  )
)
SELECT metric, k, dataset, value, low, high, n, query_images, images
FROM sets
ORDER BY metric, k, place
