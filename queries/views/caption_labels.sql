/*--- toml
answers = "One label per caption, from the classes of the listed words it holds."
details = """
'male' or 'female' when words of one class occur, 'mixed' with words of both, 'unclear' with none (the published
code calls these both and none). The label says which words are used, nothing about who is in the picture. Without words
of your own it is that of gender_label, by the same rule: 'words' counts those that name people, and not a man-made lake.

With words of your own, rule 'words': lower-case words, so that "man's" holds "man"; rule 'gensynth': lower-case, split at white space, so
that "man." and "man's" hold nothing.
"""
source = "Smith et al., Balancing the Picture (GenSynth, 2023) and its code"
presets = { paper = "Smith et al. (2023)", code = "its released code" }

[params.words]
relation = ["term", "class"]
default = "(SELECT term, class FROM lists.gender_words WHERE 1 = 0)"
presets = { paper = { value = "lists.gender_gensynth_paper", source = "Table 3" }, code = { value = "lists.gender_gensynth", source = "measure_bias.py" } }
about = "words of your own, in lower case; without any, gender_label says whom a caption names: the default knows more words than the paper and its code"

[params.rule]
type = "varchar"
default = "words"
choices = ["words", "gensynth"]
presets = { paper = { value = "gensynth", source = "the code's; the paper does not print how captions are cut" }, code = { value = "gensynth", source = "measure_bias.py" } }
about = "how captions are cut; by default punctuation is no part of a word"
---*/
WITH own AS (
  SELECT count(*) AS n FROM words
),
tokens AS (
  SELECT c.caption_id, unnest(regexp_extract_all(lower(c.text), '[\p{L}\p{N}_]+')) AS token
  FROM captions AS c
  CROSS JOIN own AS o
  WHERE $rule = 'words' AND o.n > 0
  UNION ALL
  SELECT c.caption_id, unnest(string_split_regex(lower(c.text), '[\p{Z}\x09-\x0D\x1C-\x1F\x{85}]+')) AS token
  FROM captions AS c
  CROSS JOIN own AS o
  WHERE $rule = 'gensynth' AND o.n > 0
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
CROSS JOIN own AS o
LEFT JOIN found AS f ON f.caption_id = c.caption_id
WHERE $rule IN ('words', 'gensynth') AND o.n > 0
UNION ALL
SELECT
  c.caption_id,
  c.image_id,
  CASE gender_label(c.text, $rule)
    WHEN 'both' THEN 'mixed'
    WHEN 'male' THEN 'male'
    WHEN 'female' THEN 'female'
    ELSE 'unclear'
  END AS label
FROM captions AS c
CROSS JOIN own AS o
WHERE $rule IN ('words', 'gensynth') AND o.n = 0
