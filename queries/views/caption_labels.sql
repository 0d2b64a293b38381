/*--- toml
answers = "One label per caption, from the classes of the listed words it holds."
details = """
'male' or 'female' when words of one class occur, 'mixed' with words of both, 'unclear' with none (the published
code calls these both and none). The label says which words are used, nothing about who is in the picture.

rule 'words': lower-case words, so that "man's" holds "man"; rule 'gensynth': lower-case, split at white space, so
that "man." and "man's" hold nothing.
"""
source = "Smith et al., Balancing the Picture (GenSynth, 2023) and its code"

[params.words]
relation = ["term", "class"]
default = "lists.gender_words"
about = "terms of one word, in lower case"

[params.rule]
type = "varchar"
default = "words"
choices = ["words", "gensynth"]
about = "how captions are cut"
---*/
WITH tokens AS (
  SELECT caption_id, unnest(regexp_extract_all(lower(text), '[\p{L}\p{N}_]+')) AS token
  FROM captions
  WHERE $rule = 'words'
  UNION ALL
  SELECT caption_id, unnest(string_split_regex(lower(text), '[\s\p{Z}\x0B\x1C-\x1F\x{85}]+')) AS token
  FROM captions
  WHERE $rule = 'gensynth'
),
found AS (
  SELECT t.caption_id, min(w.class) AS least_class, max(w.class) AS greatest_class
  FROM tokens AS t
  JOIN words AS w ON w.term = t.token
  GROUP BY t.caption_id
)
SELECT
  c.caption_id,
  c.image_id,
  CASE
    WHEN f.least_class <> f.greatest_class THEN 'mixed'
    ELSE coalesce(f.least_class, 'unclear')
  END AS label
FROM captions AS c
LEFT JOIN found AS f ON f.caption_id = c.caption_id
WHERE $rule IN ('words', 'gensynth')
