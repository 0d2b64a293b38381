/*--- toml
answers = "Captions that ask for a group, one for each group: the caption without gender, with the words of the group."
details = """
One row per caption and label: the caption is neutralised, as neutralize() does, then every word that is a term of the list
becomes the word of the group, with its capitals, and 'a' or 'an' before it to fit. Pronouns (they, them, their, theirs,
themselves) are replaced only where the caption had a gendered one. named is the number of words that were replaced;
where there is none, the group is told at the end (", a woman") if the list has a word for 'person', and the prompt is
NULL if not. So the prompts of a caption differ in the words of the group only.

With neutral := false the gender that a caption names stays: where a group's word holds its term, the caption's own word
takes the term's place ('woman' in 'darker-skinned person' gives 'darker-skinned woman'), and words that are no term stay
as they were. Else a model that paints people of two skin tones would choose their gender, and could go by the tone.
"""
source = "Hirota et al., Resampled Datasets Are Not Enough (2024), prompts of inpainting; the rules are our own"
presets = { paper = "Hirota et al. (2024)", paper_skin_tone = "Hirota et al. (2024), skin tone" }

[params.texts]
relation = ["caption_id", "image_id", "text"]
default = "captions"

[params.words]
relation = ["term", "class", "word"]
default = "lists.group_words_gender"
presets = { paper_skin_tone = { value = "lists.group_words_skin_tone", source = "B.1" }, paper = { value = "lists.group_words_gender", source = "2.2: woman and man; further words are not printed" } }
about = "what stands for a neutral word, class is the group"

[params.neutral]
type = "boolean"
default = true
presets = { paper_skin_tone = { value = false, source = "limitations: a woman becomes an elderly woman" } }
about = "whether the caption's own gender is taken out"
---*/
WITH told AS (
  SELECT caption_id, image_id, text, neutralize(text) AS neutral
  FROM texts
  WHERE text IS NOT NULL
),
cut AS (
  SELECT
    caption_id,
    unnest(regexp_extract_all(neutral, '[\p{L}\p{N}_]+|[^\p{L}\p{N}_]+')) AS token,
    unnest(regexp_extract_all(text, '[\p{L}\p{N}_]+|[^\p{L}\p{N}_]+')) AS said,
    unnest(range(1, length(neutral) + 1)) AS place
  FROM told
),
groups AS (
  SELECT class AS label, max(CASE WHEN term = 'person' THEN word END) AS person
  FROM words
  WHERE class IS NOT NULL AND word IS NOT NULL
  GROUP BY class
),
sizes AS (
  SELECT caption_id, count(token) = count(said) AS aligned FROM cut GROUP BY caption_id
),
matched AS (
  SELECT
    c.caption_id,
    g.label,
    c.place,
    c.token,
    CASE WHEN NOT $neutral AND z.aligned THEN c.said ELSE c.token END AS kept,
    CASE WHEN NOT $neutral AND z.aligned THEN replace(w.word, w.term, lower(c.said)) ELSE w.word END AS word
  FROM cut AS c
  JOIN sizes AS z ON z.caption_id = c.caption_id
  CROSS JOIN groups AS g
  LEFT JOIN words AS w
    ON w.term = lower(c.token)
    AND w.class = g.label
    AND (w.term NOT IN ('they', 'them', 'their', 'theirs', 'themselves') OR lower(c.said) <> lower(c.token))
  WHERE c.token IS NOT NULL
),
swapped AS (
  SELECT
    caption_id,
    label,
    place,
    kept AS token,
    CASE
      WHEN word IS NULL THEN NULL
      WHEN length(token) > 1 AND token = upper(token) THEN upper(word)
      WHEN left(token, 1) <> lower(left(token, 1)) THEN concat(upper(left(word, 1)), substr(word, 2))
      ELSE word
    END AS word
  FROM matched
),
seen AS (
  SELECT *, lead(word, 2) OVER (PARTITION BY caption_id, label ORDER BY place) AS later
  FROM swapped
),
written AS (
  SELECT
    caption_id,
    label,
    string_agg(
      CASE
        WHEN word IS NOT NULL THEN word
        WHEN lower(token) NOT IN ('a', 'an') OR later IS NULL THEN token
        WHEN lower(left(later, 1)) IN ('a', 'e', 'i', 'o', 'u') THEN concat(left(token, 1), 'n')
        ELSE left(token, 1)
      END, '' ORDER BY place
    ) AS prompt,
    count(word) AS named
  FROM seen
  GROUP BY caption_id, label
)
SELECT
  t.caption_id,
  t.image_id,
  w.label,
  CASE
    WHEN w.named > 0 THEN w.prompt
    ELSE rtrim(rtrim(w.prompt), '.')
      || CASE WHEN lower(left(g.person, 1)) IN ('a', 'e', 'i', 'o', 'u') THEN ', an ' ELSE ', a ' END
      || g.person
  END AS prompt,
  w.named
FROM told AS t
JOIN written AS w ON w.caption_id = t.caption_id
JOIN groups AS g ON g.label = w.label
