/*--- toml
answers = "Bias@K, MaxSkew@K, NDKL@K and Recall@K of every single query; see retrieval_bias."
details = """
n is the number of items that the value rests on. Averaged over queries these rows give retrieval_bias. low and high: the
95 % interval of a bias, by Wilson's of the positive share of the n items, as if these were drawn. The others have none: a
largest skew and a divergence of few items are too large by chance, and an item is found or is not.
"""
subject = "retrieval"
source = "Smith et al., Balancing the Picture (GenSynth, 2023); Geyik et al. (2019); Berg et al. (2022)"
level = "ranking"
together = ["labelled_hits", "hits"]
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
---*/
SELECT
  query_id,
  metric,
  k,
  value,
  CASE WHEN metric = 'bias' THEN 2 * wilson_low(round(n * (1 + value) / 2), n) - 1 END AS low,
  CASE WHEN metric = 'bias' THEN 2 * wilson_high(round(n * (1 + value) / 2), n) - 1 END AS high,
  n
FROM ranking_metrics(hits, labelled_hits, item_groups, relevant, $k, $skew_k, $positive, $negative, $desired, $absent)
ORDER BY query_id, metric, k
