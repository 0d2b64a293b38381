/*--- toml
answers = "The words of every pair of a group of one list and a group of another, for prompts of intersections."
details = """
A row a term, class and word, as group_prompts takes them; class is 'one & other'. Where both lists have a word for the
term, the word of one list is put in the place of the term in the word of the other: 'woman' into 'darker-skinned person'
gives 'darker-skinned woman'. Where neither word holds the term, the words follow each other; where only one list has the
term, its word is used. The result can be crossed again.
"""
source = "Hirota et al., Resampled Datasets Are Not Enough (2024), any protected group; crossing lists is our own"

[params.words]
relation = ["term", "class", "word"]
default = "lists.group_words_gender"
about = "what stands for a neutral word, a row a group"

[params.other_words]
relation = ["term", "class", "word"]
default = "lists.group_words_skin_tone"
about = "the same of other groups"
---*/
WITH classes AS (
  SELECT a.class, b.class AS other_class
  FROM (SELECT DISTINCT class FROM words) AS a
  CROSS JOIN (SELECT DISTINCT class FROM other_words) AS b
),
terms AS (
  SELECT term FROM words
  UNION
  SELECT term FROM other_words
)
SELECT
  t.term,
  concat(c.class, ' & ', c.other_class) AS class,
  CASE
    WHEN a.word IS NULL THEN b.word
    WHEN b.word IS NULL THEN a.word
    WHEN contains(b.word, t.term) THEN replace(b.word, t.term, a.word)
    WHEN contains(a.word, t.term) THEN replace(a.word, t.term, b.word)
    ELSE concat(b.word, ' ', a.word)
  END AS word
FROM classes AS c
CROSS JOIN terms AS t
LEFT JOIN words AS a ON a.class = c.class AND a.term = t.term
LEFT JOIN other_words AS b ON b.class = c.other_class AND b.term = t.term
WHERE a.word IS NOT NULL OR b.word IS NOT NULL
