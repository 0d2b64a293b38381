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
-- subject: retrieval
-- among: positive, negative in item_groups, groups
-- together: hits, labelled_hits
-- param items relation = captions : what is ranked: (caption_id, image_id, text)
-- param queries relation = items : what it is ranked for, likewise
-- param groups relation = caption_gender_gensynth : group relation (image_id, label) of the items' images
-- param ranker varchar = 'tfidf' : one of 'tfidf', 'vector', 'random'; see top_k
-- param neutral varchar = 'published_delete' : one of 'published_delete', 'published', 'published_mask', 'replace', 'delete', 'mask'; mode of neutralize() that texts pass before they are compared
-- param exclude_own boolean = true : leave out items of the query's own image
-- param seed integer = 0 : of the random ranker
-- param asked relation = (SELECT caption_id AS query_id, image_id, neutralize(text, mode := $neutral) AS text FROM queries) : queries as ranked
-- param ranked relation = (SELECT caption_id AS item_id, image_id, neutralize(text, mode := $neutral) AS text FROM items) : items as ranked
-- param labelled_hits relation = top_k(asked, ranked, ranker := $ranker, k := $skew_k, exclude_own := $exclude_own, seed := $seed, among := (SELECT image_id FROM groups WHERE label NOT IN ('mixed', 'unclear', 'undefined'))) : (query_id, item_id, rank, score) over the items with a clear label
-- param hits relation = top_k(asked, ranked, ranker := $ranker, k := $k, exclude_own := $exclude_own, seed := $seed) : (query_id, item_id, rank, score) over all items; give both to audit any other ranking
-- param item_groups relation = (SELECT i.item_id, g.label FROM ranked AS i JOIN groups AS g USING (image_id)) : (item_id, label) of all items ranked
-- param relevant relation = (SELECT query_id, item_id FROM hits WHERE 1 = 0) : (query_id, item_id) that count as found
-- param k integer[] = [5, 10] : at least 1; cut-offs of bias and recall
-- param skew_k integer[] = [25, 100] : at least 1; cut-offs of maxskew and ndkl
-- param positive varchar = 'male' : label that counts as + in bias
-- param negative varchar = 'female' : label that counts as - in bias
-- param desired varchar = 'dataset' : one of 'dataset', 'uniform'; desired distribution, of labels among the items or even
-- param absent varchar = 'skip' : one of 'skip', 'floor'; leave out a label missing from the first K, or give it 1/K
-- param min_count integer = 10 : at least 0; averages over fewer queries are suppressed
SELECT metric, k, value, low, high, n, suppressed
FROM mean_rankings(
  (
    SELECT 'hits' AS ranking, metric, k, value
    FROM ranking_metrics(hits, labelled_hits, item_groups, relevant, $k, $skew_k, $positive, $negative, $desired, $absent)
  ),
  $min_count
)
ORDER BY metric, k
