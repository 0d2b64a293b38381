/*--- toml
answers = "The gender of the words that an image's captions use, as a group relation."
details = """
'male' or 'female' when all gendered words of the image's captions are of one gender, 'mixed' when both occur (in one
caption or in two), 'unclear' when none does. Only these words are seen: the label is that of the text, perceived at
best, and never a fact about a person.
"""
source = "Smith et al., Balancing the Picture (GenSynth, 2023); words and rule are those of gender_label"
presets = { paper = "Smith et al. (2023)", code = "its released code" }

[params.words]
relation = ["term", "class"]
default = "(SELECT term, class FROM lists.gender_words WHERE 1 = 0)"
presets = { paper = { value = "lists.gender_gensynth_paper", source = "Table 3" }, code = { value = "lists.gender_gensynth", source = "measure_bias.py" } }
about = "words of your own, see caption_labels; the default knows more words than the paper and its code"

[params.rule]
type = "varchar"
default = "words"
choices = ["words", "gensynth"]
presets = { paper = { value = "gensynth", source = "the code's; the paper does not print how captions are cut" }, code = { value = "gensynth", source = "measure_bias.py" } }
about = "how captions are cut, see caption_labels; by default punctuation is no part of a word"
---*/
WITH captions_of AS (
  SELECT image_id, nullif(label, 'unclear') AS said FROM caption_labels(words, $rule)
)
SELECT
  image_id,
  CASE
    WHEN max(CASE WHEN said = 'mixed' THEN 1 ELSE 0 END) = 1 OR min(said) <> max(said) THEN 'mixed'
    ELSE coalesce(min(said), 'unclear')
  END AS label
FROM captions_of
GROUP BY image_id
