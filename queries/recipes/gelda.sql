/*--- toml
answers = """
Attributes that nobody thought of: a language model proposes them, vision models find them, audits count them."""
details = """
A language model proposes categories of attributes for pictures with a caption, and attributes of each (three questions,
each put several times; what most replies name is taken), as a table in a file: term, class, level. It may be changed by
hand, or written without any model: a file that is there is read as it is. Attributes of whole pictures are found by a
model that tells how well picture and text go together (the best caption, if it does better than the base caption),
those of objects by a detector that is told in words what to look for. Results are the columns images.gelda_image and
images.gelda_object, and the view attributes: (image_id, category, attribute, level), with 'unknown' where none of a
category was found.

Proposals may be about people. What models say of people are perceived labels: statistics about how groups are depicted,
never claims about a person. So the columns and views are closed: audits may count them, rows are read with --sensitive
PURPOSE only.

All that is needed are images with their pictures (--store-images). After the recipe: attribute_matrix for two
categories, compare_attributes for two datasets, attribute_auc against labels, proposal_recall of the table.
"""
source = "Kabra et al., GELDA: A generative language annotation framework to reveal visual biases in datasets (2023)"
presets = { paper = "Kabra et al. (2024)", code = "its released code" }

[params.caption]
type = "varchar"
about = "what all the pictures show, such as 'a photo of a living room'"

[params.attributes]
type = "varchar"
about = "path of the table of attributes, read if it is there, else written (.csv)"

[params.proposer]
type = "varchar"
optional = true
presets = { paper = { value = "gpt-3.5-turbo-1106", source = "supplement, A" } }
about = "model that proposes: its name at the endpoint, or a folder or repository of a causal language model"

[params.endpoint]
type = "varchar"
optional = true
about = "base address of an OpenAI-compatible endpoint, such as 'http://localhost:8000/v1'"

[params.categories]
type = "integer"
default = 10
min = 1
presets = { paper = { value = 10, source = "section 4.1" }, code = { value = 10, source = "its settings" } }
about = "categories to propose"

[params.labels]
type = "integer"
default = 10
min = 1
presets = { paper = { value = 5, source = "section 4.1" }, code = { value = 10, source = "its settings" } }
about = "attributes of each; the default is that of the released code"

[params.generations]
type = "integer"
default = 5
min = 1
presets = { code = { value = 5, source = "its settings" } }
about = "how often each question is put"

[params.temperature]
type = "double"
default = 0.1
min = 0
presets = { paper = { value = 0.3, source = "supplement A" }, code = { value = 0.1, source = "its settings" } }
about = "of the draws of the language model; the default is that of the released code"

[params.seed]
type = "integer"
default = 0
about = "another seed, other draws"

[params.matcher]
type = "varchar"
default = "Salesforce/blip-itm-large-coco"
presets = { paper = { value = "Salesforce/blip-itm-large-coco", source = "section 4: BLIP; which of them is not printed" } }
about = "model of image_attributes"

[params.detector]
type = "varchar"
default = "google/owlv2-large-patch14-ensemble"
presets = { paper = { value = "google/owlv2-large-patch14-ensemble", source = "section 4: OWLv2; which of them is not printed" } }
about = "model of object_attributes"

[params.score]
type = "double"
default = 0.3
presets = { paper = { value = 0.3, source = "section 4" } }
about = "least score of an object"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"
---*/

-- step propose: let a language model propose attributes, unless there is a table of them
CALL propose_attributes(
  caption := $caption, output := $attributes, model := $proposer, endpoint := $endpoint, categories := $categories,
  attributes := $labels, generations := $generations, temperature := $temperature, seed := $seed
);

-- step match: attributes of whole pictures
ALTER TABLE images ADD COLUMN IF NOT EXISTS gelda_image AS (
  image_attributes(image, $caption, $attributes, model := $matcher)
) WITH (sensitive = true);
REFRESH images.gelda_image;

-- step detect: attributes of objects in pictures
ALTER TABLE images ADD COLUMN IF NOT EXISTS gelda_object AS (
  object_attributes(image, $attributes, model := $detector, score := $score)
) WITH (sensitive = true);
REFRESH images.gelda_object;

-- step attributes: a row per image and attribute, and a row with the score of every attribute
CREATE MATERIALIZED VIEW IF NOT EXISTS attributes WITH (key = 'image_id, category, attribute') AS
WITH found AS (
  SELECT image_id, 'image' AS level, unnest(gelda_image) AS said FROM images
  UNION ALL
  SELECT image_id, 'object' AS level, unnest(gelda_object) AS said FROM images
)
SELECT
  image_id,
  struct_extract(said, 'category') AS category,
  unnest(
    CASE
      WHEN len(struct_extract(said, 'attributes')) = 0 THEN ['unknown']
      ELSE struct_extract(said, 'attributes')
    END
  ) AS attribute,
  level
FROM found;
CREATE MATERIALIZED VIEW IF NOT EXISTS attribute_scores WITH (key = 'image_id, category, attribute') AS
WITH found AS (
  SELECT image_id, unnest(gelda_image) AS said FROM images
  UNION ALL
  SELECT image_id, unnest(gelda_object) AS said FROM images
),
scored AS (
  SELECT
    image_id,
    struct_extract(said, 'category') AS category,
    unnest(struct_extract(said, 'scores')) AS one
  FROM found
)
SELECT
  image_id,
  category,
  struct_extract(one, 'attribute') AS attribute,
  struct_extract(one, 'score') AS score
FROM scored;
REFRESH attributes, attribute_scores;

-- step frequencies: how many images have each attribute, and how much of its category the largest one takes
SELECT * FROM attribute_frequencies(attributes, min_count := $min_count);

-- step confounding: which categories go together
SELECT * FROM attribute_confounding(attributes, min_count := $min_count);
