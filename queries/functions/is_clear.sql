/*--- toml
answers = "Whether a label says something: it is not 'mixed', 'unclear' or 'undefined'."
details = """
Labels of which no number may be told (docs/safety.md) are one label in audits of perceived labels, and that is not clear, either:
as in group_sizes they take no part.
"""
source = "Girrbach et al. (2025), section 3: 'mixed' and 'unclear' images are left out"
returns = "boolean"

[params.label]
type = "varchar"
about = "a label, or NULL, of which the answer is NULL"
---*/
SELECT $label NOT IN ('mixed', 'unclear', 'undefined') AND NOT starts_with($label, 'labels that are hidden ') AS clear
