/*--- toml
answers = "Which edited pictures of people look real and show the wanted group, by their nearest neighbours."
details = """
R are real boxes, S the edited ones. For every edit the k_r nearest of R and S together are taken: p_real is the share
of R among them. Of the k_g nearest, p_group is the share whose label is the one the edit was to show. accepted: p_real
> tau_r and p_group > tau_g, both strictly. Nearest are exact, by Euclidean distance of vectors of length 1 (metric
'cosine' ranks so) or as they are ('l2'); ties by id. neighbours: how many there were, k_r or all. An edit without an
embedding is not accepted, and its shares are NULL.

All edits are compared with all boxes, every time: one box more may change the shares of any edit, so that a stored
result has no part that is known to hold. The products take a GPU where torch finds one.

What counts as a neighbour: leave_out 'self' leaves out the edit itself; 'source' every edit of the same image as well
(edits of one image are near each other whatever they show); 'none' counts even the edit itself.

Defaults are the paper's for CLIP, but for metric, which is what CLIP's vectors are compared by; preset paper_dino has those for
DINO: tau_r := 0.0002, of which the paper says that it is one real neighbour at least; by its Eq. 2 it is two, and one is
tau_r := 0.0001. Whether it counts the edit itself, or other edits of its image, and whether vectors have length 1, the paper leaves open.
Labels are those that edits aim at and those of words in captions, or perceived ones; they say nothing certain about persons.
"""
source = "Smith et al., Balancing the Picture (GenSynth, 2023), filtering of edited images by nearest neighbours"
presets = { paper = "Smith et al. (2023), CLIP", paper_dino = { of = "Smith et al. (2023), DINO", like = "paper" } }

[params.real]
relation = ["detection_id", "label", "embedding"]
about = "real boxes"

[params.edited]
relation = ["edit_id", "image_id", "label", "embedding"]
about = "edited boxes; label is what the edit was to show"

[params.k_r]
type = "integer"
default = 50
min = 1
presets = { paper = { value = 50, source = "B.3" }, paper_dino = { value = 5000, source = "H" } }
about = "neighbours that p_real is of"

[params.k_g]
type = "integer"
default = 50
min = 1
presets = { paper = { value = 50, source = "B.3" }, paper_dino = { value = 50, source = "H" } }
about = "neighbours that p_group is of"

[params.tau_r]
type = "double"
default = 0.08
presets = { paper = { value = 0.08, source = "B.3" }, paper_dino = { value = 0.0002, source = "H" } }
about = "p_real must be above"

[params.tau_g]
type = "double"
default = 0.5
presets = { paper = { value = 0.5, source = "B.3" }, paper_dino = { value = 0.4, source = "H" } }
about = "p_group must be above"

[params.metric]
type = "varchar"
default = "cosine"
choices = ["cosine", "l2"]
presets = { paper = { value = "l2", source = "section 4.2" } }
about = "with or without bringing vectors to length 1; the default is what CLIP is compared by"

[params.leave_out]
type = "varchar"
default = "self"
choices = ["self", "source", "none"]
about = "what counts as no neighbour"

[params.asked]
relation = []
default = """\
(SELECT edit_id AS query_id, embedding, CASE $leave_out WHEN 'self' THEN edit_id WHEN 'source' THEN image_id END AS \
own FROM edited WHERE embedding IS NOT NULL)"""
about = "edits as compared"

[params.boxes]
relation = []
default = """\
(SELECT edit_id AS item_id, embedding, CASE $leave_out WHEN 'self' THEN edit_id WHEN 'source' THEN image_id END AS \
own, concat('edit ', label) AS label FROM edited WHERE embedding IS NOT NULL UNION ALL SELECT detection_id, \
embedding, NULL, concat('real ', label) FROM real WHERE embedding IS NOT NULL)"""
about = "R and S as compared"

[params.counted]
relation = ["query_id", "k", "label", "count"]
default = "knn_shares(asked, boxes, k := [$k_r, $k_g], metric := $metric, own := 'own')"
about = "of neighbours"
---*/
WITH shares AS (
  SELECT
    e.edit_id,
    e.image_id,
    e.label,
    CAST(sum(CASE WHEN c.k = $k_r THEN c.count END) AS INTEGER) AS neighbours,
    CAST(sum(CASE WHEN c.k = $k_r AND c.label LIKE 'real %' THEN c.count ELSE 0 END) AS DOUBLE)
    / nullif(sum(CASE WHEN c.k = $k_r THEN c.count END), 0) AS p_real,
    CAST(sum(CASE WHEN c.k = $k_g AND substr(c.label, 6) = e.label THEN c.count ELSE 0 END) AS DOUBLE)
    / nullif(sum(CASE WHEN c.k = $k_g THEN c.count END), 0) AS p_group
  FROM edited AS e
  LEFT JOIN counted AS c ON c.query_id = e.edit_id
  GROUP BY e.edit_id, e.image_id, e.label
)
SELECT
  edit_id,
  image_id,
  label,
  neighbours,
  p_real,
  p_group,
  coalesce(p_real > $tau_r AND p_group > $tau_g, FALSE) AS accepted
FROM shares
