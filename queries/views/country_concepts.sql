/*--- toml
answers = "The countries that texts name, by name or adjective, as concepts (image_id, concept)."
source = "matching as in Girrbach et al. (2025); countries and adjectives are those of lists.countries"

[params.texts]
relation = ["image_id", "text"]
default = "captions"
---*/
SELECT DISTINCT image_id, unnest(country_mentions(text)) AS concept FROM texts WHERE image_id IS NOT NULL
