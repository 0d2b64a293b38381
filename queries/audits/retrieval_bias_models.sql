/*--- toml
answers = "Retrieval bias of several models, a vector column each, side by side."
details = """
The rows of retrieval_bias for each column of vectors that queries and items share, under vectors. A column holds what
one model makes of texts (queries) and of images (items), say clip_b32 AS (embed_text(text, model := ...)) of captions
and clip_b32 AS (embed_image(image, model := ...)) of images. As in the published runs of CLIP models, a query's own
image is ranked with the others; exclude_own leaves it out. Labels are perceived, or those of words in captions; they
say nothing certain about persons.

A ranking is one query by one column: its id and the column, in one text, stand where ranking_metrics reads query_id.
What images are and what is hidden: see retrieval_bias.
"""
subject = "retrieval"
source = "Smith et al., Balancing the Picture (GenSynth, 2023), Table 1; see retrieval_bias"
together = ["hits", "labelled_hits"]
among = [{ labels = ["positive", "negative"], relations = ["item_groups", "groups"] }]
presets = { paper = "Smith et al. (2023)", code = "its released code" }

[params.columns]
type = "varchar[]"
about = "vector columns of both sides, one a model"

[params.asked]
relation = ["query_id"]
about = "queries, with the columns, and with image_id where own images are left out"

[params.ranked]
relation = ["item_id", "image_id"]
about = "items, with the columns"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender_gensynth"
presets = { paper = { value = "caption_gender(lists.gender_gensynth_paper, 'gensynth')", source = "Table 3; how captions are cut is the code's" }, code = { value = "caption_gender_gensynth", source = "measure_bias.py" } }
about = "group relation of the items' images; the default is that of the released code"

[params.exclude_own]
type = "boolean"
default = false
presets = { code = { value = false, source = "its run of CLIP" } }
about = "leave out items of the query's own image"

[params.metric]
type = "varchar"
default = "cosine"
choices = ["cosine", "dot", "l2"]
about = "of vectors"

[params.hits]
relation = ["vectors", "query_id", "item_id", "rank", "score"]
default = """\
top_k(asked, ranked, ranker := 'vector', columns := $columns, k := $k, exclude_own := $exclude_own, metric := \
$metric)"""
about = "over all items"

[params.labelled_hits]
relation = []
default = """\
top_k(asked, ranked, ranker := 'vector', columns := $columns, k := $skew_k, exclude_own := $exclude_own, metric := \
$metric, among := (SELECT image_id FROM groups WHERE is_clear(label)))"""
about = "the same, with items without a clear label left out before ranking"

[params.item_groups]
relation = ["item_id", "label"]
default = "(SELECT i.item_id, g.label FROM ranked AS i JOIN groups AS g USING (image_id))"
about = "of all items ranked"

[params.relevant]
relation = ["query_id", "item_id"]
default = "(SELECT query_id, item_id FROM hits WHERE 1 = 0)"
about = "those that count as found"

[params.item_images]
relation = ["item_id", "image_id"]
default = "(SELECT item_id, image_id FROM ranked)"
about = "of which image an item is: few images are few, however many items each has"

[params.query_images]
relation = ["query_id", "image_id"]
default = "(SELECT query_id, query_id AS image_id FROM asked)"
about = "of which image a query is: give it where one has several, for intervals go by images"

[params.k]
type = "integer[]"
default = [5, 10]
min = 1
presets = { paper = { value = [5, 10], source = "Table 1" }, code = { value = [5, 10], source = "measure_bias.py" } }
about = "cut-offs of bias and recall"

[params.skew_k]
type = "integer[]"
default = [25, 100]
min = 1
presets = { paper = { value = [25, 100], source = "Table 1" }, code = { value = [25, 100], source = "measure_bias.py" } }
about = "cut-offs of maxskew and ndkl"

[params.positive]
type = "varchar"
default = "male"
presets = { paper = { value = "male", source = "Eq. 3" }, code = { value = "male", source = "measure_bias.py" } }
about = "label that counts as + in bias"

[params.negative]
type = "varchar"
default = "female"
presets = { paper = { value = "female", source = "Eq. 3" }, code = { value = "female", source = "measure_bias.py" } }
about = "label that counts as - in bias"

[params.desired]
type = "varchar"
default = "dataset"
choices = ["dataset", "uniform"]
presets = { paper = { value = "dataset", source = "Eq. 4" }, code = { value = "dataset", source = "measure_bias.py" } }
about = "desired distribution, of labels among the items or even"

[params.absent]
type = "varchar"
default = "skip"
choices = ["skip", "floor"]
presets = { code = { value = "skip", source = "measure_bias.py" } }
about = "leave out a label missing from the first K, or give it 1/K"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "averages over fewer queries or images of a label are hidden"

[[cells]]
count = "n"
within = ["vectors", "metric", "k"]

[[cells]]
count = "query_images"
within = ["vectors", "metric", "k"]

[[cells]]
count = "images"
within = ["vectors", "metric", "k"]
---*/
SELECT ranking AS vectors, metric, k, value, low, high, n, query_images, images
FROM average_rankings(
  (
    SELECT concat(query_id, ' ', vectors) AS query_id, item_id, rank, score
    FROM hits
    WHERE query_id IS NOT NULL AND vectors IS NOT NULL
  ),
  (
    SELECT concat(query_id, ' ', vectors) AS query_id, item_id, rank, score
    FROM labelled_hits
    WHERE query_id IS NOT NULL AND vectors IS NOT NULL
  ),
  item_groups,
  (
    SELECT concat(r.query_id, ' ', v.vectors) AS query_id, r.item_id
    FROM relevant AS r
    CROSS JOIN (SELECT DISTINCT vectors FROM hits WHERE vectors IS NOT NULL) AS v
    WHERE r.query_id IS NOT NULL
  ),
  item_images, query_images, $k, $skew_k, $positive, $negative, $desired, $absent, true, $min_count
)
ORDER BY vectors, metric, k
