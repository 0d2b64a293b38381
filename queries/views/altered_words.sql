/*--- toml
answers = "The word that two versions of a text differ in, pair by pair: (pair_id, original, counterfactual)."
details = """
Words are runs of letters, digits and underscores in lower case, of any script; they are compared place by place. A
pair whose texts differ in no word, in several, or in their number of words has no row.
"""
source = """
word replaced in a caption as in Le et al., COCO-Counterfactuals (2023); the authors' code takes the first word of
either caption that the other one lacks altogether, which misses "a man and a woman" made "a man and a man""""

[params.pairs]
relation = ["pair_id", "original", "counterfactual"]
about = "keys and two versions of a text"
---*/
WITH original_words AS (
  SELECT
    pair_id,
    unnest(list_transform(
      regexp_extract_all(lower(original), '[\p{L}\p{N}_]+'), lambda word, place: {'word': word, 'place': place}
    )) AS at
  FROM pairs
  WHERE pair_id IS NOT NULL
),
counterfactual_words AS (
  SELECT
    pair_id,
    unnest(list_transform(
      regexp_extract_all(lower(counterfactual), '[\p{L}\p{N}_]+'), lambda word, place: {'word': word, 'place': place}
    )) AS at
  FROM pairs
  WHERE pair_id IS NOT NULL
),
places AS (
  SELECT pair_id, at.place AS place, at.word AS original, CAST(NULL AS VARCHAR) AS counterfactual FROM original_words
  UNION ALL
  SELECT pair_id, at.place AS place, CAST(NULL AS VARCHAR) AS original, at.word AS counterfactual
  FROM counterfactual_words
),
words AS (
  SELECT pair_id, max(original) AS original, max(counterfactual) AS counterfactual
  FROM places
  GROUP BY pair_id, place
  HAVING coalesce(max(original) <> max(counterfactual), true)
)
SELECT pair_id, max(original) AS original, max(counterfactual) AS counterfactual
FROM words
GROUP BY pair_id
HAVING count(*) = 1 AND count(original) = 1 AND count(counterfactual) = 1
