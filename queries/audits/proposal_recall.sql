/*--- toml
answers = "How much of a reference a proposal of attributes covers, and how diverse both are."
details = """
Rows by metric. 'recall': share of the n attributes of the reference to which one of the proposal is nearer than
similarity (cosine), with Wilson's 95 % interval; 'nearest': for each of them the nearest of the proposal (term,
nearest, and the cosine as value); 'dimension' and 'reference_dimension': how many principal components the n vectors of
the proposal, and of the reference, need for a share of their variance, centred. Vectors of both are of one model: give
words (proposed, known), such as two files, and they are embedded; or give vectors (proposal, reference). Rows are
words, not images; some may be words for what is perceived of people. The engine hides rows over few words (docs/safety.md).
"""
subject = "what goes with whom"
source = "Kabra et al., GELDA (2023), recall of reference attributes and effective dimension of a proposal"
presets = { paper = "Kabra et al. (2024)" }

[params.proposed]
relation = ["term"]
default = "(SELECT '' AS term WHERE 1 = 0)"
about = "words of the proposal, or a file, such as the table that gelda writes"

[params.known]
relation = ["term"]
default = "(SELECT '' AS term WHERE 1 = 0)"
about = "words of the reference, or a file"

[params.model]
type = "varchar"
default = "sentence-transformers/all-MiniLM-L6-v2"
about = "model of embed_sentence"

[params.proposal]
relation = ["term", "embedding"]
default = "(SELECT t.term, embed_sentence(t.term, $model) AS embedding FROM (SELECT DISTINCT term FROM proposed) AS t)"
about = "vectors of the proposed terms"

[params.reference]
relation = ["term", "embedding"]
default = "(SELECT t.term, embed_sentence(t.term, $model) AS embedding FROM (SELECT DISTINCT term FROM known) AS t)"
about = "vectors of the known terms"

[params.similarity]
type = "double"
default = 0.8
min = -1
max = 1
presets = { paper = { value = 0.8, source = "section 4.1" } }
about = "cosine above which an attribute is covered"

[params.variance]
type = "double"
default = 0.95
min = 0
max = 1
presets = { paper = { value = 0.95, source = "section 4.1" } }
about = "share of the variance"

[params.min_count]
type = "integer"
default = 1
min = 0
about = "rows that rest on fewer words are hidden"

[[cells]]
count = "n"
within = ["metric"]
---*/
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
  value,
  low,
  high,
  n
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
