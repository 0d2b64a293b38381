/*--- toml
answers = "Attributes of categories as topics of images: what gelda found, for known_attributes."
details = """
topic is 'category: attribute', as 'weather: sunny'; 'unknown' is none.
"""
source = "Kabra et al., GELDA: A generative language annotation framework to reveal visual biases in datasets (2023)"

[params.attributes]
relation = ["image_id", "category", "attribute"]
about = "such as the view attributes of gelda"
---*/
SELECT DISTINCT image_id, concat(category, ': ', attribute) AS topic
FROM attributes
WHERE category IS NOT NULL AND attribute <> 'unknown'
