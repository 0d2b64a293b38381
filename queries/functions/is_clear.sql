/*--- toml
answers = "Whether a label says something: it is not 'mixed', 'unclear' or 'undefined'."
details = """
Labels of which no number may be told (docs/safety.md) are one label in audits of perceived labels, and that is not clear, either:
as group_sizes has it for small labels, audits of clear labels leave them out.
"""
source = "Girrbach et al. (2025), section 4.2: images with unclear or mixed identities are discarded"
returns = "boolean"

[params.label]
type = "varchar"
about = "a label, or NULL, of which the answer is NULL"
---*/
SELECT $label NOT IN ('mixed', 'unclear', 'undefined') AND NOT starts_with($label, 'labels that are hidden ') AS clear
