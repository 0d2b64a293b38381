-- retrieval_bias_sets: Retrieval bias on the original images, a balanced subset and a contrast set, side by side.
--
-- The rows of retrieval_bias for each of the three, under dataset: bias, maxskew and ndkl averaged over n queries with a
-- normal 95 % interval of the mean. Each dataset has its own items: hits over all of them, and their labels. A model without
-- a preference has a bias near 0 on the contrast set, whatever the original images are like. Labels are perceived, or those
-- asked of an edit; they say nothing certain about persons.
--
-- For instance, with vectors: contrast_hits := top_k(asked, (SELECT edit_id AS item_id, image_id, embedding FROM ...),
-- ranker := 'vector', k := [100]), contrast_groups := (SELECT edit_id AS item_id, label FROM gensynth_set).
--
-- source: Smith et al., Balancing the Picture (GenSynth, 2023), Tables 2 and 8; see retrieval_bias
-- subject: retrieval
-- among: positive, negative in original_groups
-- param original_hits relation : (query_id, item_id, rank, score) over the original images
-- param original_groups relation : (item_id, label) of them
-- param balanced_hits relation : (query_id, item_id, rank, score) over the balanced subset; see balanced_subset
-- param balanced_groups relation : (item_id, label) of it
-- param contrast_hits relation : (query_id, item_id, rank, score) over the contrast set
-- param contrast_groups relation : (item_id, label) of it
-- param original_labelled relation = labelled_hits(original_hits, original_groups) : the hits with items without a clear label left out before ranking
-- param balanced_labelled relation = labelled_hits(balanced_hits, balanced_groups) : likewise
-- param contrast_labelled relation = labelled_hits(contrast_hits, contrast_groups) : likewise
-- param k integer[] = [5, 10] : at least 1; cut-offs of bias
-- param skew_k integer[] = [25, 100] : at least 1; cut-offs of maxskew and ndkl
-- param positive varchar = 'male' : label that counts as + in bias
-- param negative varchar = 'female' : label that counts as - in bias
-- param desired varchar = 'dataset' : one of 'dataset', 'uniform'; desired distribution, of labels among the items or even
-- param absent varchar = 'skip' : one of 'skip', 'floor'; leave out a label missing from the first K, or give it 1/K
-- param min_count integer = 10 : at least 0; averages over fewer queries are suppressed
WITH sets AS (
  SELECT 1 AS place, 'original' AS dataset, metric, k, value, low, high, n, suppressed
  FROM retrieval_bias(
    hits := original_hits, labelled_hits := original_labelled, item_groups := original_groups, k := $k, skew_k := $skew_k,
    positive := $positive, negative := $negative, desired := $desired, absent := $absent, min_count := $min_count
  )
  UNION ALL
  SELECT 2 AS place, 'balanced' AS dataset, metric, k, value, low, high, n, suppressed
  FROM retrieval_bias(
    hits := balanced_hits, labelled_hits := balanced_labelled, item_groups := balanced_groups, k := $k, skew_k := $skew_k,
    positive := $positive, negative := $negative, desired := $desired, absent := $absent, min_count := $min_count
  )
  UNION ALL
  SELECT 3 AS place, 'contrast' AS dataset, metric, k, value, low, high, n, suppressed
  FROM retrieval_bias(
    hits := contrast_hits, labelled_hits := contrast_labelled, item_groups := contrast_groups, k := $k, skew_k := $skew_k,
    positive := $positive, negative := $negative, desired := $desired, absent := $absent, min_count := $min_count
  )
)
SELECT metric, k, dataset, value, low, high, n, suppressed
FROM sets
ORDER BY metric, k, place
