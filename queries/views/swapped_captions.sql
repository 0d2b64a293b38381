/*--- toml
answers = "The captions of edited images, with gendered words swapped to match what each edit was to show."
details = """
One row an edit and caption; place 1 is the caption to take: one with a gendered word first. Of labels other than male and
female the caption stays as it is.
"""
source = "Smith et al., Balancing the Picture (GenSynth, 2023)"

[params.edits]
relation = ["edit_id", "image_id", "label"]
about = "edited images, and the label that each was to show"

[params.texts]
relation = ["caption_id", "image_id", "text"]
default = "captions"
about = "captions of the images"
---*/
SELECT
  e.edit_id,
  t.caption_id,
  e.image_id,
  e.label,
  CASE e.label
    WHEN 'male' THEN swap_gender(t.text, 'male')
    WHEN 'female' THEN swap_gender(t.text, 'female')
    ELSE t.text
  END AS text,
  row_number() OVER (PARTITION BY e.edit_id ORDER BY gender_label(t.text) IS NULL, t.caption_id) AS place
FROM edits AS e
JOIN texts AS t ON t.image_id = e.image_id
WHERE t.text IS NOT NULL
