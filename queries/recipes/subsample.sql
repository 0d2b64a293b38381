/*--- toml
answers = "A baseline: as many images of every label as the rarest one has, drawn with a seed."
source = "sub-sampling as usual; draws as in balanced_subset"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.seed]
type = "integer"
default = 0
about = "another seed, another draw"

[params.rest]
type = "varchar"
default = "none"
choices = ["none", "all", "proportional"]
about = "what becomes of images without a clear label"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "labels with fewer images are left out"
---*/

-- step draw: which images are kept
CREATE MATERIALIZED VIEW IF NOT EXISTS subsample_set WITH (key = 'edit_id') AS
SELECT image_id AS edit_id, image_id, label
FROM balanced_subset($groups, seed := $seed, method := 'under', rest := $rest, min_count := $min_count);
REFRESH subsample_set;

-- step made: images of each label
SELECT label, count(*) AS images FROM subsample_set GROUP BY label ORDER BY label;
