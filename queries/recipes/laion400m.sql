/*--- toml
answers = "The person-centric pipeline of LAION-400M: find people, label and describe them, audit what the labels meet."
details = """
People are detected; of a sample of them three multimodal models are asked for perceived gender and perceived race or
ethnicity; where all three agree, a classifier learns from them and labels everybody; labels are rolled up to images.
Then people are described, descriptions become vectors, and the audits run. Perceived labels are statistics about how
groups are depicted, never claims about a person: the views that hold them are read with --sensitive PURPOSE only, or by
audits, which suppress small cells.

All that is needed are images with their pictures (--store-images) and captions. Every step can be run alone (--until)
and again; the checkpoints are folders that the training writes. Where labels of people came with the data, the steps
from 'sample' on can be left out: the audits take image_labels('perceived_gender') in the place of image_gender.
"""
source = "Girrbach et al., Person-Centric Annotations of LAION-400M: Auditing Bias and Its Transfer to Models (2025)"
presets = { paper = "Girrbach et al. (2025)" }

[params.detector]
type = "varchar"
default = "yolo11l"
presets = { paper = { value = "yolo11l", source = "section 3, C.1" } }
about = "model of detect_people"

[params.score]
type = "double"
default = 0.25
presets = { paper = { value = 0.25, source = "section 3, C.1" } }
about = "least confidence of a box"

[params.min_side]
type = "double"
default = 30
above = 0
presets = { paper = { value = 30, source = "section 3, C.2" } }
about = "shortest side of a person's box, in pixels"

[params.sample]
type = "integer"
default = 100000
min = 1
presets = { paper = { value = 3000000, source = "D" } }
about = "people that the multimodal models are asked about; the default is a small sample"

[params.seed]
type = "integer"
default = 0
about = "another seed, another sample and other orders of the options"

[params.first]
type = "varchar"
default = "OpenGVLab/InternVL3-2B-hf"
presets = { paper = { value = "OpenGVLab/InternVL3-2B-hf", source = "D" } }
about = "model of ask"

[params.second]
type = "varchar"
default = "microsoft/Phi-3.5-vision-instruct"
presets = { paper = { value = "microsoft/Phi-3.5-vision-instruct", source = "D" } }
about = "model of ask"

[params.third]
type = "varchar"
default = "llava-hf/llava-v1.6-vicuna-7b-hf"
presets = { paper = { value = "llava-hf/llava-v1.6-vicuna-7b-hf", source = "D" } }
about = "model of ask"

[params.tower]
type = "varchar"
default = "ViT-B-16-SigLIP/webli"
presets = { paper = { value = "ViT-B-16-SigLIP/webli", source = "D, E.2" } }
about = "open_clip model whose vision tower is fine-tuned"

[params.gender_epochs]
type = "integer"
default = 2
min = 1
presets = { paper = { value = 2, source = "D" } }
about = "epochs of training the classifier of gender"

[params.gender_batch]
type = "integer"
default = 32
min = 1
presets = { paper = { value = 32, source = "D" } }
about = "pictures a step"

[params.gender_lr]
type = "double"
default = 5e-6
above = 0
presets = { paper = { value = 5e-6, source = "D" } }
about = "highest learning rate"

[params.race_epochs]
type = "integer"
default = 20
min = 1
presets = { paper = { value = 20, source = "E.2" } }
about = "epochs of training the classifier of race or ethnicity"

[params.race_batch]
type = "integer"
default = 16
min = 1
presets = { paper = { value = 16, source = "E.2" } }
about = "pictures a step"

[params.race_lr]
type = "double"
default = 1e-5
above = 0
presets = { paper = { value = 1e-5, source = "E.2" } }
about = "highest learning rate"

[params.gender_checkpoint]
type = "varchar"
about = "folder of the classifier of perceived gender; training writes it"

[params.race_checkpoint]
type = "varchar"
about = "folder of the classifier of perceived race or ethnicity; training writes it"

[params.captioner]
type = "varchar"
default = "OpenGVLab/InternVL3-2B-hf"
presets = { paper = { value = "OpenGVLab/InternVL3-8B-hf", source = "section 3, F" } }
about = "model of caption_person; the default is the smaller one"

[params.describe]
type = "varchar"
default = """\
In this picture a red frame highlights one person. Describe only this person, in one paragraph: the surroundings, the \
person's looks, and what the person does. Give as many and as exact details as you can see. Use plain, scientific \
language, stay objective, and say nothing subjective and nothing of feelings."""
presets = { paper = { value = "Describe the highlighted person in one continuous paragraph. Describe the context, how the person looks and what the person is doing. Focus on objective details and avoid any subjective or emotional descriptions. Only focus on the highlighted person. Be as detailed and precise as possible. Write in plain, objective and scientific language.", source = "F" } }
about = "what it is asked for"

[params.sentences]
type = "varchar"
default = "sentence-transformers/all-MiniLM-L6-v2"
presets = { paper = { value = "ibm-granite/granite-embedding-english-r2", source = "section 4.3, B.2" } }
about = "model of embed_sentence"

[params.hate_model]
type = "varchar"
default = "pysentimiento/bertweet-hate-speech"
about = "model of hate_scores"

[params.texts]
relation = ["image_id", "text"]
default = "captions"
about = "the texts of the audits"
---*/

-- step detect: find people in every picture
ALTER TABLE images ADD COLUMN IF NOT EXISTS people AS (detect_people(image, model := $detector, score := $score));
REFRESH images.people;

-- step people: a row per person whose box is large enough, with the picture
CREATE MATERIALIZED VIEW IF NOT EXISTS people WITH (key = 'detection_id') AS
WITH boxes AS (
  SELECT
    image_id,
    list_first([image]) AS image, -- the bytes as they are: only what a function is given is read
    unnest(people) AS box,
    unnest(range(1, len(people) + 1)) AS number
  FROM images
)
SELECT
  CAST(md5_number_lower(concat(image_id, ':', number)) >> 1 AS BIGINT) AS detection_id,
  image_id,
  box.category AS category,
  box.score AS score,
  box.x AS x,
  box.y AS y,
  box.width AS width,
  box.height AS height,
  image
FROM boxes
WHERE least(box.width, box.height) >= $min_side;
REFRESH people;

-- step sample: crops of the people that models are asked about, drawn by a hash of their id
CREATE MATERIALIZED VIEW IF NOT EXISTS people_sample WITH (key = 'detection_id') AS
SELECT detection_id, image_id, crop(image, x, y, width, height) AS image
FROM people
WHERE detection_id IN (
  SELECT detection_id FROM people ORDER BY md5(concat($seed, ':', detection_id)), detection_id LIMIT $sample
);
REFRESH people_sample;

-- step ask_gender: perceived gender of the sample, by three multimodal models
ALTER TABLE people_sample ADD COLUMN IF NOT EXISTS gender_1 AS (
  ask(image, label_prompt('perceived_gender'), label_options('perceived_gender'), $first, seed := $seed)
) WITH (sensitive = true);
ALTER TABLE people_sample ADD COLUMN IF NOT EXISTS gender_2 AS (
  ask(image, label_prompt('perceived_gender'), label_options('perceived_gender'), $second, seed := $seed)
) WITH (sensitive = true);
ALTER TABLE people_sample ADD COLUMN IF NOT EXISTS gender_3 AS (
  ask(image, label_prompt('perceived_gender'), label_options('perceived_gender'), $third, seed := $seed)
) WITH (sensitive = true);
REFRESH people_sample.gender_1, people_sample.gender_2, people_sample.gender_3;

-- step ask_race: perceived race or ethnicity of the sample, by the same models
ALTER TABLE people_sample ADD COLUMN IF NOT EXISTS race_1 AS (
  ask(image, label_prompt('perceived_race_ethnicity'), label_options('perceived_race_ethnicity'), $first, seed := $seed)
) WITH (sensitive = true);
ALTER TABLE people_sample ADD COLUMN IF NOT EXISTS race_2 AS (
  ask(image, label_prompt('perceived_race_ethnicity'), label_options('perceived_race_ethnicity'), $second, seed := $seed)
) WITH (sensitive = true);
ALTER TABLE people_sample ADD COLUMN IF NOT EXISTS race_3 AS (
  ask(image, label_prompt('perceived_race_ethnicity'), label_options('perceived_race_ethnicity'), $third, seed := $seed)
) WITH (sensitive = true);
REFRESH people_sample.race_1, people_sample.race_2, people_sample.race_3;

-- step answers: the answers as rows of labels, and those that all three models agree about
CREATE MATERIALIZED VIEW IF NOT EXISTS answers WITH (key = 'detection_id, attribute, place') AS
WITH given AS (
  SELECT detection_id, image_id, 'perceived_gender' AS attribute, 1 AS place, $first AS annotator, gender_1 AS said
  FROM people_sample
  UNION ALL
  SELECT detection_id, image_id, 'perceived_gender' AS attribute, 2 AS place, $second AS annotator, gender_2 AS said
  FROM people_sample
  UNION ALL
  SELECT detection_id, image_id, 'perceived_gender' AS attribute, 3 AS place, $third AS annotator, gender_3 AS said
  FROM people_sample
  UNION ALL
  SELECT detection_id, image_id, 'perceived_race_ethnicity' AS attribute, 1 AS place, $first AS annotator, race_1 AS said
  FROM people_sample
  UNION ALL
  SELECT detection_id, image_id, 'perceived_race_ethnicity' AS attribute, 2 AS place, $second AS annotator, race_2 AS said
  FROM people_sample
  UNION ALL
  SELECT detection_id, image_id, 'perceived_race_ethnicity' AS attribute, 3 AS place, $third AS annotator, race_3 AS said
  FROM people_sample
)
SELECT g.detection_id, g.image_id, g.attribute, g.place, g.annotator, o.label AS value
FROM given AS g
JOIN lists.label_options AS o ON o.class = g.attribute AND o.term = struct_extract(g.said, 'answer');
CREATE MATERIALIZED VIEW IF NOT EXISTS consensus WITH (key = 'detection_id, attribute') AS
SELECT detection_id, attribute, min(image_id) AS image_id, min(value) AS value
FROM answers
GROUP BY detection_id, attribute
HAVING count(*) = 3 AND min(value) = max(value);
REFRESH answers, consensus;

-- step agreement: how well the models agree
SELECT 'perceived_gender' AS attribute, * FROM agreement('perceived_gender', labels := answers)
UNION ALL
SELECT 'perceived_race_ethnicity' AS attribute, * FROM agreement('perceived_race_ethnicity', labels := answers);

-- step train_gender: fine-tune a classifier of perceived gender on what the models agree about
CALL train_classifier(
  labels := consensus, images := people_sample, attribute := 'perceived_gender', output := $gender_checkpoint,
  model := $tower, epochs := $gender_epochs, batch_size := $gender_batch, tower_lr := $gender_lr, seed := $seed
);

-- step train_race: fine-tune a classifier of perceived race or ethnicity
CALL train_classifier(
  labels := consensus, images := people_sample, attribute := 'perceived_race_ethnicity', output := $race_checkpoint,
  model := $tower, epochs := $race_epochs, batch_size := $race_batch, tower_lr := $race_lr, seed := $seed
);

-- step label: label everybody
ALTER TABLE people ADD COLUMN IF NOT EXISTS perceived_gender AS (
  label_person(crop(image, x, y, width, height), 'perceived_gender', $gender_checkpoint)
);
ALTER TABLE people ADD COLUMN IF NOT EXISTS perceived_race_ethnicity AS (
  label_person(crop(image, x, y, width, height), 'perceived_race_ethnicity', $race_checkpoint)
);
REFRESH people.perceived_gender, people.perceived_race_ethnicity;

-- step roll_up: labels as rows, and one label per image
CREATE MATERIALIZED VIEW IF NOT EXISTS people_labels WITH (key = 'detection_id, attribute') AS
WITH given AS (
  SELECT detection_id, image_id, 'perceived_gender' AS attribute, perceived_gender AS said FROM people
  UNION ALL
  SELECT detection_id, image_id, 'perceived_race_ethnicity' AS attribute, perceived_race_ethnicity AS said FROM people
)
SELECT
  detection_id,
  image_id,
  attribute,
  struct_extract(said, 'label') AS value,
  struct_extract(said, 'score') AS score,
  'label_person' AS annotator
FROM given
WHERE said IS NOT NULL;
CREATE MATERIALIZED VIEW IF NOT EXISTS image_gender WITH (key = 'image_id') AS
SELECT image_id, label
FROM image_labels('perceived_gender', min_side := $min_side, labels := people_labels, detections := people);
CREATE MATERIALIZED VIEW IF NOT EXISTS image_race WITH (key = 'image_id') AS
SELECT image_id, label
FROM image_labels('perceived_race_ethnicity', min_side := $min_side, labels := people_labels, detections := people);
REFRESH people_labels, image_gender, image_race;

-- step captions: describe everybody
ALTER TABLE people ADD COLUMN IF NOT EXISTS caption AS (
  caption_person(image, x, y, width, height, $captioner, prompt := $describe)
);
REFRESH people.caption;

-- step embeddings: descriptions as vectors, with an index for vector_search
ALTER TABLE people ADD COLUMN IF NOT EXISTS caption_embedding AS (embed_sentence(caption, $sentences));
CREATE INDEX IF NOT EXISTS people_captions ON people USING ivf_flat (caption_embedding);
REFRESH people.caption_embedding, people_captions;

-- step demographics: how many images, and how many people, carry each label
SELECT 'perceived_gender' AS attribute, 'image' AS unit, * FROM demographics(image_gender)
UNION ALL
SELECT 'perceived_race_ethnicity' AS attribute, 'image' AS unit, * FROM demographics(image_race)
UNION ALL
SELECT 'perceived_gender' AS attribute, 'person' AS unit, *
FROM demographics(person_units('perceived_gender', $min_side, labels := people_labels, detections := people))
UNION ALL
SELECT 'perceived_race_ethnicity' AS attribute, 'person' AS unit, *
FROM demographics(person_units('perceived_race_ethnicity', $min_side, labels := people_labels, detections := people));

-- step intersections: how often perceived gender meets perceived race or ethnicity in the same person
SELECT *
FROM intersections(
  person_units('perceived_gender', $min_side, labels := people_labels, detections := people),
  person_units('perceived_race_ethnicity', $min_side, labels := people_labels, detections := people)
);

-- step crime_words: groups among images whose text holds a crime word
SELECT 'perceived_gender' AS attribute, * FROM crime_words(image_gender, texts := $texts)
UNION ALL
SELECT 'perceived_race_ethnicity' AS attribute, * FROM crime_words(image_race, texts := $texts);

-- step sentiment: how negative the texts of groups are
SELECT 'perceived_gender' AS attribute, * FROM sentiment(image_gender, texts := $texts, rules := 'nltk')
UNION ALL
SELECT 'perceived_race_ethnicity' AS attribute, * FROM sentiment(image_race, texts := $texts, rules := 'nltk');

-- step hate: how many texts a classifier finds hateful, over all images and by group
ALTER TABLE captions ADD COLUMN IF NOT EXISTS hate AS (hate_scores(text, model := $hate_model));
CREATE MATERIALIZED VIEW IF NOT EXISTS hate_labels WITH (key = 'caption_id') AS
SELECT
  caption_id,
  image_id,
  'hateful' AS attribute,
  'hateful' AS value,
  struct_extract(hate, 'hateful') AS score,
  $hate_model AS annotator
FROM captions
WHERE hate IS NOT NULL;
REFRESH captions.hate, hate_labels;
SELECT 'all' AS groups, * FROM hate_content_rate(labels := hate_labels)
UNION ALL
SELECT 'perceived_gender' AS groups, * FROM hate_content_rate(groups := image_gender, labels := hate_labels)
UNION ALL
SELECT 'perceived_race_ethnicity' AS groups, * FROM hate_content_rate(groups := image_race, labels := hate_labels);

-- step geography: which countries texts name, and groups in the images that go with them
SELECT 'perceived_gender' AS attribute, * FROM geography(image_gender, texts := $texts)
UNION ALL
SELECT 'perceived_race_ethnicity' AS attribute, * FROM geography(image_race, texts := $texts);
