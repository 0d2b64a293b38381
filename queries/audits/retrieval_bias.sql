-- retrieval_bias: Are images or captions of one perceived gender ranked above those of another? From hits.
--
-- Rows are averages over queries (n), with a normal 95 % interval of the mean (Wilson's for recall) that takes queries as
-- independent draws.
--
-- bias: (positive - negative) / (positive + negative) among the first K of all items, 0 where neither occurs; with the
-- defaults + is male. maxskew: the largest ln(share of a label among the first K / desired share), items without a clear
-- label left out before ranking; at least 0 with absent := 'floor'. ndkl: divergence of every prefix from the desired
-- distribution, discounted by log2(i + 1) and normalised. recall: a relevant item is among the first K. Natural logarithms.
-- Labels are perceived, or those of words in captions; they say nothing certain about persons.
--
-- source: Smith et al., Balancing the Picture (GenSynth, 2023), Section 4 and code: bias, maxskew with the defaults. Berg
-- et al. (2022) take desired := 'uniform', absent := 'floor'. Geyik et al. (2019): skew, ndkl
-- param items relation = captions : what is ranked: (caption_id, image_id, text)
-- param queries relation = items : what it is ranked for, likewise
-- param groups relation = caption_gender_gensynth : group relation (image_id, label) of the items' images
-- param ranker varchar = 'tfidf' : one of 'tfidf', 'vector', 'random'; see top_k
-- param neutral varchar = 'published_delete' : one of 'published_delete', 'published', 'published_mask', 'replace', 'delete', 'mask'; mode of neutralize() that texts pass before they are compared
-- param exclude_own boolean = true : leave out items of the query's own image
-- param seed integer = 0 : of the random ranker
-- param asked relation = (SELECT caption_id AS query_id, image_id, neutralize(text, mode := $neutral) AS text FROM queries) : queries as ranked
-- param ranked relation = (SELECT caption_id AS item_id, image_id, neutralize(text, mode := $neutral) AS text FROM items) : items as ranked
-- param hits relation = top_k(asked, ranked, ranker := $ranker, k := $k, exclude_own := $exclude_own, seed := $seed) : (query_id, item_id, rank, score) over all items; give it to audit any other ranking
-- param labelled_hits relation = top_k(asked, ranked, ranker := $ranker, k := $skew_k, exclude_own := $exclude_own, seed := $seed, among := (SELECT image_id FROM groups WHERE label NOT IN ('mixed', 'unclear', 'undefined'))) : the same, with items without a clear label left out before ranking
-- param item_groups relation = (SELECT i.item_id, g.label FROM ranked AS i JOIN groups AS g USING (image_id)) : (item_id, label) of all items ranked
-- param relevant relation = (SELECT query_id, item_id FROM hits WHERE 1 = 0) : (query_id, item_id) that count as found
-- param k integer[] = [5, 10] : at least 1; cut-offs of bias and recall
-- param skew_k integer[] = [25, 100] : at least 1; cut-offs of maxskew and ndkl
-- param positive varchar = 'male' : label that counts as + in bias
-- param negative varchar = 'female' : label that counts as - in bias
-- param desired varchar = 'dataset' : one of 'dataset', 'uniform'; desired distribution, of labels among the items or even
-- param absent varchar = 'skip' : one of 'skip', 'floor'; leave out a label missing from the first K, or give it 1/K
-- param min_count integer = 10 : at least 0; averages over fewer queries are suppressed
WITH sums AS (
  SELECT
    metric,
    k,
    count(value) AS n,
    CAST(sum(CAST(value AS DECIMAL(38, 18))) AS DOUBLE) AS total,
    CAST(sum(CAST(value * value AS DECIMAL(38, 18))) AS DOUBLE) AS squares
  FROM ranking_metrics(hits, labelled_hits, item_groups, relevant, $k, $skew_k, $positive, $negative, $desired, $absent)
  GROUP BY metric, k
),
means AS (
  SELECT
    metric,
    k,
    n,
    total / nullif(n, 0) AS mean,
    sqrt(greatest(squares - total * total / nullif(n, 0), 0) / nullif(n - 1, 0) / n) AS standard_error
  FROM sums
),
bounds AS (
  SELECT
    metric,
    k,
    n,
    mean,
    CASE WHEN metric = 'recall' THEN (mean * n + 1.920729410347062e0) / (n + 3.841458820694124e0) ELSE mean END AS centre,
    1.959963984540054e0 * CASE
      WHEN metric = 'recall'
        THEN sqrt(mean * (1 - mean) * n + 0.960364705173531e0) / (n + 3.841458820694124e0)
      ELSE standard_error
    END AS half
  FROM means
)
SELECT
  metric,
  k,
  CASE WHEN n >= $min_count THEN mean END AS value,
  CASE WHEN n >= $min_count THEN centre - half END AS low,
  CASE WHEN n >= $min_count THEN centre + half END AS high,
  CASE WHEN n >= $min_count THEN n END AS n,
  n < $min_count AS suppressed
FROM bounds
ORDER BY metric, k
