/*--- toml
answers = "Are images or captions of one perceived gender ranked above those of another? From hits."
details = """
Rows are averages over queries (n, of so many query_images), with a 95 % interval by images, since the captions of one are
much alike: Student's t around the mean, Wilson's around recall, of as many independent queries as would tell as much.

bias: (positive - negative) / (positive + negative) among the first K of all items, 0 where neither occurs; with the
defaults + is male. maxskew: the largest ln(share of a label among the first K / desired share), items without a clear
label left out before ranking; at least 0 with absent := 'floor'. ndkl: divergence of every prefix from the desired
distribution, discounted by log2(i + 1) and normalised. recall: a relevant item is among the first K. Natural
logarithms. Labels are perceived, or those of words in captions; they say nothing certain about persons.

images: of how many different images the rarest of the labels has items among the first K of all queries. The engine
hides averages over few queries or images of these, or over few images of a label (docs/safety.md). Labels that group_sizes
hides take no part.
"""
subject = "retrieval"
source = """
Smith et al., Balancing the Picture (GenSynth, 2023), Section 4 and code: bias, maxskew with the defaults. Berg et al.
(2022) take desired := 'uniform', absent := 'floor'. Geyik et al. (2019): skew, ndkl"""
together = ["labelled_hits", "query_images", "hits"]
among = [{ labels = ["positive", "negative"], relations = ["item_groups", "groups"] }]
presets = { paper = "Smith et al. (2023)", code = "its released code" }

[params.items]
relation = ["caption_id", "image_id", "text"]
default = "captions"
about = "what is ranked"

[params.queries]
relation = []
default = "items"
about = "what it is ranked for, likewise"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender_gensynth"
presets = { paper = { value = "caption_gender(lists.gender_gensynth_paper, 'gensynth')", source = "Table 3; how captions are cut is the code's" }, code = { value = "caption_gender_gensynth", source = "measure_bias.py" } }
about = "group relation of the items' images; the default is that of the released code, which made Table 1"

[params.ranker]
type = "varchar"
default = "tfidf"
choices = ["tfidf", "vector", "random"]
about = "see top_k"

[params.neutral]
type = "varchar"
default = "published_delete"
choices = ["published_delete", "published", "published_mask", "replace", "delete", "mask"]
presets = { paper = { value = "replace", source = "B.1" }, code = { value = "published_delete", source = "measure_bias.py" } }
about = "mode of neutralize() that texts pass before they are compared; the default is that of the released code, which made Table 1"

[params.exclude_own]
type = "boolean"
default = true
presets = { code = { value = true, source = "measure_bias.py, its run of TF-IDF" } }
about = "leave out items of the query's own image"

[params.seed]
type = "integer"
default = 0
about = "of the random ranker"

[params.asked]
relation = []
default = "(SELECT caption_id AS query_id, image_id, neutralize(text, mode := $neutral) AS text FROM queries)"
about = "queries as ranked"

[params.ranked]
relation = []
default = "(SELECT caption_id AS item_id, image_id, neutralize(text, mode := $neutral) AS text FROM items)"
about = "items as ranked"

[params.labelled_hits]
relation = ["query_id", "item_id", "rank", "score"]
default = """\
top_k(asked, ranked, ranker := $ranker, k := $skew_k, exclude_own := $exclude_own, seed := $seed, among := (SELECT \
image_id FROM groups WHERE is_clear(label)))"""
about = "over the items with a clear label"

[params.hits]
relation = ["query_id", "item_id", "rank", "score"]
default = "top_k(asked, ranked, ranker := $ranker, k := $k, exclude_own := $exclude_own, seed := $seed)"
about = "over all items; give both to audit any other ranking"

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
default = "(SELECT query_id, image_id FROM asked)"
about = "of which image a query is: intervals go by images; one that is not there is of its own"

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
within = ["metric", "k"]

[[cells]]
count = "query_images"
within = ["metric", "k"]

[[cells]]
count = "images"
within = ["metric", "k"]
---*/
SELECT metric, k, value, low, high, n, query_images, images
FROM average_rankings(
  hits, labelled_hits, item_groups, relevant, item_images, query_images, $k, $skew_k, $positive, $negative, $desired,
  $absent, false, $min_count
)
ORDER BY metric, k
