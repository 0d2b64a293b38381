-- proposal_recall: How much of a reference a proposal of attributes covers, and how diverse both are.
--
-- Rows by metric. 'recall': share of the n attributes of the reference to which one of the proposal is nearer than similarity
-- (cosine), with Wilson's 95 % interval; 'nearest': for each of them the nearest of the proposal (term, nearest, and the
-- cosine as value); 'dimension' and 'reference_dimension': how many principal components the n vectors of the proposal, and
-- of the reference, need for a share of their variance, centred. Vectors of both are of one model: give words
-- (proposed, known), such as two files, and they are embedded; or give vectors (proposal, reference).
-- Rows are words, not images; some may be words for what is perceived of people. Rows over fewer than min_count words are
-- suppressed (NULL).
--
-- source: Kabra et al., GELDA (2023), recall of reference attributes and effective dimension of a proposal
-- subject: what goes with whom
-- param proposed relation = (SELECT '' AS term WHERE 1 = 0) : (term) words of the proposal, or a file, such as the table that gelda writes
-- param known relation = (SELECT '' AS term WHERE 1 = 0) : (term) words of the reference, or a file
-- param model varchar = 'sentence-transformers/all-MiniLM-L6-v2' : model of embed_sentence
-- param proposal relation = (SELECT t.term, embed_sentence(t.term, $model) AS embedding FROM (SELECT DISTINCT term FROM proposed) AS t) : (term, embedding)
-- param reference relation = (SELECT t.term, embed_sentence(t.term, $model) AS embedding FROM (SELECT DISTINCT term FROM known) AS t) : (term, embedding)
-- param similarity double = 0.8 : from -1 to 1; cosine above which an attribute is covered
-- param variance double = 0.95 : from 0 to 1; share of the variance
-- param min_count integer = 1 : at least 0; rows that rest on fewer words are suppressed
-- local: calls embed_sentence(), nearest_vectors() and effective_dimension()
WITH own AS (
  SELECT
    count(*) AS n,
    list(term ORDER BY term, embedding) AS terms,
    list(CAST(embedding AS DOUBLE[]) ORDER BY term, embedding) AS vectors
  FROM (SELECT DISTINCT term, embedding FROM proposal) AS p
  WHERE term IS NOT NULL AND embedding IS NOT NULL
),
wanted AS (
  SELECT
    count(*) AS n,
    list(term ORDER BY term, embedding) AS terms,
    list(CAST(embedding AS DOUBLE[]) ORDER BY term, embedding) AS vectors
  FROM (SELECT DISTINCT term, embedding FROM reference) AS r
  WHERE term IS NOT NULL AND embedding IS NOT NULL
),
found AS (
  SELECT w.n, unnest(w.terms) AS term, o.terms AS terms, unnest(nearest_vectors(w.vectors, o.vectors)) AS near
  FROM wanted AS w
  CROSS JOIN own AS o
),
counts AS (
  SELECT max(n) AS n, count(CASE WHEN near.similarity > $similarity THEN 1 END) AS count FROM found
)
SELECT
  metric,
  term,
  nearest,
  CASE WHEN n >= $min_count THEN value END AS value,
  CASE WHEN n >= $min_count THEN low END AS low,
  CASE WHEN n >= $min_count THEN high END AS high,
  CASE WHEN n >= $min_count THEN n END AS n,
  n < $min_count AS suppressed
FROM (
  SELECT
    'recall' AS metric, CAST(NULL AS VARCHAR) AS term, CAST(NULL AS VARCHAR) AS nearest, CAST(count AS DOUBLE) / n AS value,
    wilson_low(count, n) AS low, wilson_high(count, n) AS high, n
  FROM counts
  WHERE n > 0
  UNION ALL
  SELECT
    'nearest' AS metric, term, terms[near.place] AS nearest, near.similarity AS value, CAST(NULL AS DOUBLE) AS low,
    CAST(NULL AS DOUBLE) AS high, CAST(1 AS BIGINT) AS n
  FROM found
  UNION ALL
  SELECT
    'dimension' AS metric, CAST(NULL AS VARCHAR) AS term, CAST(NULL AS VARCHAR) AS nearest,
    CAST(effective_dimension(vectors, $variance) AS DOUBLE) AS value, CAST(NULL AS DOUBLE) AS low, CAST(NULL AS DOUBLE) AS high,
    n
  FROM own
  WHERE n > 0
  UNION ALL
  SELECT
    'reference_dimension' AS metric, CAST(NULL AS VARCHAR) AS term, CAST(NULL AS VARCHAR) AS nearest,
    CAST(effective_dimension(vectors, $variance) AS DOUBLE) AS value, CAST(NULL AS DOUBLE) AS low, CAST(NULL AS DOUBLE) AS high,
    n
  FROM wanted
  WHERE n > 0
) AS r
ORDER BY metric, term, nearest
