/*--- toml
answers = "The terms of a word list that texts hold, by lemma, as concepts: (image_id, concept), each once per image."
source = "matching as in Girrbach et al. (2025): lower case, lemmas, several words in any order; see match_terms"
presets = { paper = "Girrbach et al. (2025), crime words" }

[params.terms]
relation = ["term"]
default = "lists.crime_words"
presets = { paper = { value = "lists.crime_words", source = "Table 2" } }

[params.texts]
relation = ["image_id", "text"]
default = "captions"
---*/
SELECT DISTINCT image_id, unnest(match_terms(text, (SELECT list(term ORDER BY term) FROM terms))) AS concept FROM texts
