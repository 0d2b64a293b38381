-- retrieval_bias_models: Retrieval bias of several models, a vector column each, side by side.
--
-- The rows of retrieval_bias for each column of vectors that queries and items share, under vectors. A column holds
-- what one model makes of texts (queries) and of images (items), say clip_b32 AS (embed_text(text, model := ...)) of
-- captions and clip_b32 AS (embed_image(image, model := ...)) of images. As in the published runs of CLIP models, a query's
-- own image is ranked with the others; exclude_own leaves it out. Labels are perceived, or those of words in captions; they
-- say nothing certain about persons.
--
-- source: Smith et al., Balancing the Picture (GenSynth, 2023), Table 1; see retrieval_bias
-- subject: retrieval
-- among: positive, negative in item_groups, groups
-- together: hits, labelled_hits
-- param columns varchar[] : vector columns of both sides, one a model
-- param asked relation : queries: (query_id, the columns), with image_id where own images are left out
-- param ranked relation : items: (item_id, image_id, the columns)
-- param groups relation = caption_gender_gensynth : group relation (image_id, label) of the items' images
-- param exclude_own boolean = false : leave out items of the query's own image
-- param metric varchar = 'cosine' : one of 'cosine', 'dot', 'l2'; of vectors
-- param hits relation = top_k(asked, ranked, ranker := 'vector', columns := $columns, k := $k, exclude_own := $exclude_own, metric := $metric) : (vectors, query_id, item_id, rank, score) over all items
-- param labelled_hits relation = top_k(asked, ranked, ranker := 'vector', columns := $columns, k := $skew_k, exclude_own := $exclude_own, metric := $metric, among := (SELECT image_id FROM groups WHERE label NOT IN ('mixed', 'unclear', 'undefined'))) : the same, with items without a clear label left out before ranking
-- param item_groups relation = (SELECT i.item_id, g.label FROM ranked AS i JOIN groups AS g USING (image_id)) : (item_id, label) of all items ranked
-- param relevant relation = (SELECT query_id, item_id FROM hits WHERE 1 = 0) : (query_id, item_id) that count as found
-- param k integer[] = [5, 10] : at least 1; cut-offs of bias and recall
-- param skew_k integer[] = [25, 100] : at least 1; cut-offs of maxskew and ndkl
-- param positive varchar = 'male' : label that counts as + in bias
-- param negative varchar = 'female' : label that counts as - in bias
-- param desired varchar = 'dataset' : one of 'dataset', 'uniform'; desired distribution, of labels among the items or even
-- param absent varchar = 'skip' : one of 'skip', 'floor'; leave out a label missing from the first K, or give it 1/K
-- param min_count integer = 10 : at least 0; averages over fewer queries are suppressed
-- A ranking is one query by one column: its id and the column, in one text, stand where ranking_metrics reads query_id.
SELECT ranking AS vectors, metric, k, value, low, high, n, suppressed
FROM mean_rankings(
  (
    SELECT substr(query_id, strpos(query_id, ' ') + 1) AS ranking, metric, k, value
    FROM ranking_metrics(
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
      $k, $skew_k, $positive, $negative, $desired, $absent
    )
  ),
  $min_count
)
ORDER BY vectors, metric, k
