/*--- toml
answers = "The words of texts as concepts: (image_id, concept), each word once per image."
details = """
Words are runs of letters, digits and underscores in lower case, of any script. For concepts of captions rather than of
images, pass texts := (SELECT caption_id AS image_id, text FROM captions).
"""
source = "tokens as in GenSynth's default rule, see caption_labels"

[params.texts]
relation = ["image_id", "text"]
default = "captions"
---*/
SELECT DISTINCT image_id, unnest(regexp_extract_all(lower(text), '[\p{L}\p{N}_]+')) AS concept FROM texts
