/*--- toml
answers = "Edits of a contrast set with one clear label each, and no other: those that an audit of the set counts."
details = """
An edit that is asked for two labels, or for an unclear one, is of none: else the edits of a label, less those of it alone,
would tell how few have two. See clear_labels.
"""
source = "our definition"

[params.contrast]
relation = ["edit_id", "image_id", "label"]
about = "contrast relation"
---*/
SELECT DISTINCT e.edit_id, e.image_id, c.label
FROM contrast AS e
JOIN clear_labels((SELECT edit_id AS image_id, label FROM contrast)) AS c ON c.image_id = e.edit_id
