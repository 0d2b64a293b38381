/*--- toml
answers = "Which classes of listed terms occur in texts, as concepts (image_id, concept); 'any' for any term at all."
source = "matching as in Girrbach et al. (2025): lower case, lemmas, several words in any order; see match_terms"
presets = { paper = "Girrbach et al. (2025), crime words" }

[params.terms]
relation = ["term", "class"]
default = "lists.crime_words"
presets = { paper = { value = "lists.crime_words", source = "Table 2" } }

[params.texts]
relation = ["image_id", "text"]
default = "captions"
---*/
SELECT DISTINCT m.image_id, c.concept
FROM term_concepts(terms, texts) AS m
JOIN (SELECT term, class AS concept FROM terms UNION ALL SELECT term, 'any' AS concept FROM terms) AS c
  ON c.term = m.concept
WHERE c.concept IS NOT NULL
