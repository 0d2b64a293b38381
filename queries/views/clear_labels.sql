/*--- toml
answers = "Images that carry one clear label, and which; those with two, and mixed or unclear ones, are left out."
source = "Girrbach et al., Person-Centric Annotations of LAION-400M (2025): mixed and unclear images are dropped"

[params.groups]
relation = ["image_id", "label"]
about = "group relation"
narrowed = true
---*/
SELECT image_id, min(label) AS label
FROM groups
WHERE is_clear(label)
GROUP BY image_id
HAVING min(label) = max(label)
