/*--- toml
answers = "How many images have each attribute of each category, and how much of a category its largest one takes."
details = """
One row for every category and attribute: count of the n images that were asked for the category, share = count / n with
Wilson's 95 % interval. majority: no other attribute of the category is more frequent (of equal ones the first by name);
there majority_share = count / images with any attribute of the category. 'unknown' counts the images in which none was
found, and is not a majority. In a category of objects an image may have several attributes. What models see is perceived:
shares say how things and groups are depicted, never what they are.

Small counts, and what would give them away, are hidden by the engine, see docs/safety.md, and with any of a category its
majority_share.
"""
subject = "what goes with whom"
source = "Kabra et al., GELDA: A generative language annotation framework to reveal visual biases in datasets (2023)"
presets = { paper = { of = "Kabra et al. (2024)", source = "section 4.3, Table 2; section 4.4, Fig. 6" } }

[params.attributes]
relation = ["image_id", "category", "attribute"]
about = "'unknown' where an image has no such attribute"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

[[cells]]
count = "count"
of = "n"
out_of = "n"
by = ["attribute"]
within = ["category"]
whole = ["majority_share"]
---*/
SELECT category, attribute, count, n, share, low, high, majority, majority_share
FROM attribute_shares(attributes)
ORDER BY category, attribute
