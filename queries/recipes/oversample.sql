/*--- toml
answers = "A baseline: all labelled images, those of rarer labels repeated until every label is equally frequent."
details = """
oversample_set has a row a use of an image (copy counts from 1), so that a loader that reads it sees every label equally
often. Within a label images are repeated equally often, or once more than others; which ones a seed decides.
"""
source = "over-sampling as usual; draws as in balanced_subset"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.seed]
type = "integer"
default = 0
about = "another seed, another draw"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "labels with fewer images are left out"
---*/

-- step draw: how often every image is used
CREATE MATERIALIZED VIEW IF NOT EXISTS oversample_set WITH (key = 'edit_id') AS
WITH uses AS (
  SELECT image_id, label, unnest(range(1, copies + 1)) AS copy
  FROM balanced_subset($groups, seed := $seed, method := 'over', min_count := $min_count)
)
SELECT CAST(md5_number_lower(concat(image_id, ':', copy)) >> 1 AS BIGINT) AS edit_id, image_id, label, copy
FROM uses;
REFRESH oversample_set;

-- step made: rows and images of each label
SELECT label, count(*) AS rows, count(DISTINCT image_id) AS images FROM oversample_set GROUP BY label ORDER BY label;
