/*--- toml
answers = """
Which perceived groups a model retrieves for a word: distribution of labels among its first K images (So-B-IT)."""
details = """
For every word and clear label: count of the n images with a clear label among the first K for the word, share = count /
n with Wilson's 95 % interval, base_share among all labelled images and delta = share / base_share - 1. entropy of a
word: -sum share ln share / ln of the number of labels; 1 where all labels are retrieved equally often, 0 where one is;
it does not take the base into account. p is that of G2 of over_representation, q by Benjamini and Hochberg over all
rows, hidden ones as p = 1. Images without a clear label, or with one that group_sizes hides, are left out before
ranking. Give hits for any other ranking.
Labels are perceived, or those of words in captions; what a model retrieves says nothing of persons.

number tells words of one category apart. Small counts, and what would give them away, are hidden by the engine, and so is
the entropy of such a word; see docs/safety.md.
"""
subject = "retrieval"
source = """
Hamidieh et al., Identifying implicit social biases in vision-language models (2024), So-B-IT, as Girrbach et al. (2025)
print it (H.2): 374 words in nine categories (405 in their section 5), prompts such as 'a photo of a [word]', the 100
nearest images of FairFace, and the distribution of groups among them. They print neither the words (those of crime,
extended, are lists.crime_words) nor a number for the distribution: entropy is that of a public reimplementation. The word list
states no licence that we found and is not shipped"""
presets = { paper = "Hamidieh et al. (2024), as Girrbach et al. (2025) print it" }

[params.images]
relation = ["image_id"]
about = "with a vector column: embeddings of images by the model"

[params.words]
relation = ["category", "embedding"]
about = "words, with embeddings of their prompts by the same model"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.k]
type = "integer"
default = 100
min = 1
presets = { paper = { value = 100, source = "Girrbach et al. (2025), H.2" } }
about = "images retrieved for a word"

[params.column]
type = "varchar"
default = "embedding"
about = "vector column of images"

[params.asked]
relation = ["query_id", "category"]
default = """\
(SELECT row_number() OVER (ORDER BY category, embedding) AS query_id, category, embedding FROM words WHERE category \
IS NOT NULL AND embedding IS NOT NULL)"""
about = "words as ranked"

[params.hits]
relation = ["query_id", "item_id", "rank"]
default = """\
nearest_items(images, asked, (SELECT g.image_id FROM groups AS g JOIN group_sizes(groups, $min_count) AS s ON s.label = \
g.label AND s.used), k := $k, column := $column)"""
about = "images ranked for the words"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

[[cells]]
count = "count"
of = "n"
out_of = "base_count"
by = ["label"]
within = ["category", "number"]
whole = ["entropy"]
tests = ["p", "q"]
---*/
SELECT
  category, number, label, count, n, share, share_low, share_high, base_share, base_count, delta, delta_low, delta_high, p, q,
  entropy, suppressed
FROM false_discovery((
  WITH rows_all AS MATERIALIZED (
    SELECT *
    FROM over_representation(
      groups,
      (
        SELECT query_id AS concept, item_id AS image_id
        FROM (
          SELECT h.query_id, h.item_id, row_number() OVER (PARTITION BY h.query_id ORDER BY h.rank, h.item_id) AS place
          FROM hits AS h
          WHERE h.item_id IN (
            SELECT g.image_id
            FROM groups AS g
            JOIN group_sizes(groups, $min_count) AS s ON s.label = g.label AND s.used
          )
        ) AS ranked
        WHERE place <= $k
      ),
      min_count := $min_count
    )
  ),
  entropies AS (
    SELECT
      concept,
      CAST(
        sum(CAST(CASE WHEN share > 0 THEN -share * ln(share) ELSE 0 END AS DECIMAL(38, 18))) AS DOUBLE
      ) / nullif(ln(count(*)), 0) AS entropy
    FROM rows_all
    GROUP BY concept
  )
  SELECT
    a.category,
    dense_rank() OVER (PARTITION BY a.category ORDER BY r.concept) AS number,
    r.label,
    r.count,
    r.n,
    r.share,
    r.share_low,
    r.share_high,
    r.base_share,
    r.base_count,
    r.delta,
    r.delta_low,
    r.delta_high,
    r.p,
    e.entropy,
    r.suppressed
  FROM rows_all AS r
  JOIN entropies AS e ON e.concept = r.concept
  JOIN asked AS a ON a.query_id = r.concept
))
ORDER BY category, number, label
