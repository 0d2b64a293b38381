/*--- toml
answers = "Bias@K, MaxSkew@K, NDKL@K and Recall@K of every single query, from hits."
details = """
One row per query, metric and k; n is the number of items the value rests on. retrieval_bias averages these rows and
says what each metric means.

Every item counts once per query, at its best rank, and ranks are numbered anew (ranked_once). Rows without query, item or
rank and repeated ones change nothing.
"""
source = """
Smith et al., Balancing the Picture (GenSynth, 2023); Geyik et al., Fairness-Aware Ranking (2019); Berg et al. (2022)"""
presets = { paper = "Smith et al. (2023)", code = "its released code" }

[params.hits]
relation = ["query_id", "item_id", "rank", "score"]
about = "over all items"

[params.labelled_hits]
relation = []
about = "the same, with items without a clear label left out before ranking"

[params.item_groups]
relation = ["item_id", "label"]
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
WITH cuts AS (
  SELECT DISTINCT unnest($k) AS k
),
labelled AS (
  SELECT DISTINCT item_id, label FROM item_groups WHERE item_id IS NOT NULL
),
skew_cuts AS (
  SELECT DISTINCT unnest($skew_k) AS k
),
-- bias: items of either side among the first K of all items
sides AS (
  SELECT
    h.query_id,
    c.k,
    count(CASE WHEN g.label = $positive THEN 1 END) AS plus,
    count(CASE WHEN g.label = $negative THEN 1 END) AS minus
  FROM ranked_once(hits) AS h
  JOIN cuts AS c ON h.rank <= c.k
  LEFT JOIN labelled AS g ON g.item_id = h.item_id
  GROUP BY h.query_id, c.k
),
-- skew: what share of the first K each label should have ...
label_counts AS (
  SELECT label, count(*) AS items
  FROM labelled
  WHERE is_clear(label)
  GROUP BY label
),
wanted AS (
  SELECT
    label,
    row_number() OVER (ORDER BY label) AS number,
    CASE $desired
      WHEN 'uniform' THEN 1e0 / count(*) OVER ()
      WHEN 'dataset' THEN CAST(items AS DOUBLE) / sum(items) OVER ()
    END AS share
  FROM label_counts
  WHERE $desired IN ('uniform', 'dataset') AND $absent IN ('skip', 'floor')
),
-- ... and what share it has
ranked AS (
  SELECT h.query_id, h.rank, w.number, w.share
  FROM ranked_once(labelled_hits) AS h
  JOIN labelled AS g ON g.item_id = h.item_id
  JOIN wanted AS w ON w.label = g.label
  WHERE h.rank <= (SELECT max(k) FROM skew_cuts)
),
tops AS (
  SELECT r.query_id, c.k, r.number, count(*) AS items
  FROM ranked AS r
  JOIN skew_cuts AS c ON r.rank <= c.k
  GROUP BY r.query_id, c.k, r.number
),
sizes AS (
  SELECT query_id, k, CAST(sum(items) AS BIGINT) AS items FROM tops GROUP BY query_id, k
),
skews AS (
  SELECT
    s.query_id,
    s.k,
    s.items,
    CASE
      WHEN t.items IS NOT NULL THEN ln(CAST(t.items AS DOUBLE) / s.items / w.share)
      WHEN $absent = 'floor' THEN ln(1e0 / s.k / w.share)
    END AS skew
  FROM sizes AS s
  CROSS JOIN wanted AS w
  LEFT JOIN tops AS t ON t.query_id = s.query_id AND t.k = s.k AND t.number = w.number
),
-- ndkl: divergence of the labels of the first i items from the desired ones, for every i up to K, discounted. From one of
-- its items up to the next, a label's count stands still.
lengths AS (
  SELECT query_id, max(rank) AS length FROM ranked GROUP BY query_id
),
stretches AS (
  SELECT
    query_id,
    share,
    rank,
    row_number() OVER (PARTITION BY query_id, number ORDER BY rank) AS seen,
    lead(rank) OVER (PARTITION BY query_id, number ORDER BY rank) AS next
  FROM ranked
),
prefixes AS (
  SELECT s.query_id, s.share, s.seen, unnest(range(s.rank, coalesce(s.next, l.length + 1))) AS i
  FROM stretches AS s
  JOIN lengths AS l ON l.query_id = s.query_id
),
terms AS (
  SELECT
    query_id,
    i,
    CAST(CAST(seen AS DOUBLE) / i * ln(CAST(seen AS DOUBLE) / i / share) / log2(i + 1) AS DECIMAL(38, 18)) AS term
  FROM prefixes
),
divergences AS (
  SELECT t.query_id, c.k, max(t.i) AS items, CAST(sum(t.term) AS DOUBLE) AS total
  FROM terms AS t
  JOIN skew_cuts AS c ON t.i <= c.k
  GROUP BY t.query_id, c.k
),
positions AS (
  SELECT unnest(range(1, most + 1)) AS i FROM (SELECT max(k) AS most FROM skew_cuts) AS m
),
discounts AS (
  SELECT i, CAST(sum(CAST(1 / log2(i + 1) AS DECIMAL(38, 18))) OVER (ORDER BY i) AS DOUBLE) AS total FROM positions
),
-- recall: the rank at which the first relevant item comes
firsts AS (
  SELECT r.query_id, count(*) AS items, min(h.rank) AS rank
  FROM (SELECT DISTINCT query_id, item_id FROM relevant WHERE query_id IS NOT NULL AND item_id IS NOT NULL) AS r
  LEFT JOIN ranked_once(hits) AS h ON h.query_id = r.query_id AND h.item_id = r.item_id
  GROUP BY r.query_id
)
SELECT
  query_id,
  'bias' AS metric,
  k,
  coalesce(CAST(plus - minus AS DOUBLE) / nullif(plus + minus, 0), 0) AS value,
  plus + minus AS n
FROM sides
UNION ALL
SELECT
  query_id,
  'maxskew' AS metric,
  k,
  CASE WHEN $absent = 'floor' THEN greatest(max(skew), 0) ELSE max(skew) END AS value,
  max(items) AS n
FROM skews
GROUP BY query_id, k
UNION ALL
SELECT d.query_id, 'ndkl' AS metric, d.k, d.total / z.total AS value, d.items AS n
FROM divergences AS d
JOIN discounts AS z ON z.i = d.items
UNION ALL
SELECT f.query_id, 'recall' AS metric, c.k, CASE WHEN f.rank <= c.k THEN 1e0 ELSE 0e0 END AS value, f.items AS n
FROM firsts AS f
CROSS JOIN cuts AS c
