/*--- toml
answers = "The person-centric pipeline of LAION-400M: find people, label and describe them, audit what the labels meet."
details = """
People are detected; of a sample of them three multimodal models are asked for perceived gender; where all three agree, a
classifier learns from them and labels everybody. The same is done for perceived race or ethnicity, and labels are rolled up
to images. Then people are described, descriptions become vectors, and the audits run. Perceived labels are statistics
about how groups are depicted, never claims about a person: the views that hold them are read with --sensitive PURPOSE
only, or by audits, which suppress small cells.

What is learned from: of every label at most per_label people, drawn by a hash of their id. 'mixed' is rare, and the third
model seldom says it: there two of three models are enough, the first, the second and a fourth one, which is asked only
about people whom one of these two calls mixed, and what all three say comes first. For race or ethnicity, draws take turns
over genders and keywords. With race_from 'keywords', as in the paper, the people who are asked about are women and men
whose picture's text holds a word of keywords, race_sample a category, and a label that three models agree about counts
only where it is the word's category; people whom all three call unclear are learned from as well. With 'sample' they are
those who were asked about before.

Not as in the paper: it draws its first sample in equal parts from people whom one model called male, female and unclear,
and here it is drawn from all. Pictures about which the models and the keyword all differ, which it validates with and
does not train on, are left out.

All that is needed are images with their pictures (--store-images) and captions. Every step can be run alone (--until)
and again; the checkpoints are folders that the training writes. Where labels of people came with the data, the steps
from 'sample' on can be left out: the audits take image_labels('perceived_gender') in the place of image_gender.
"""
source = "Girrbach et al., Person-Centric Annotations of LAION-400M: Auditing Bias and Its Transfer to Models (2025)"
presets = { paper = "Girrbach et al. (2025)", paper_grid = { of = "Girrbach et al. (2025), all settings of classifiers that were tried first", like = "paper" }, paper_grid_2 = { of = "Girrbach et al. (2025), and those of race or ethnicity that were tried then", like = "paper" } }

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

[params.fourth]
type = "varchar"
default = "Qwen/Qwen2.5-VL-7B-Instruct"
presets = { paper = { value = "Qwen/Qwen2.5-VL-7B-Instruct", source = "D" } }
about = "model of ask that takes the third one's place for 'mixed'; give that of third to ask no other"

[params.mixed_agree]
type = "integer"
default = 2
min = 2
max = 3
presets = { paper = { value = 2, source = "section 3, D" } }
about = "how many of three models must call a person's box mixed"

[params.per_label]
type = "integer"
default = 25000
min = 1
presets = { paper = { value = 25000, source = "section 3, D, E.1" } }
about = "people of each label that a classifier learns from, at most"

[params.race_from]
type = "varchar"
default = "sample"
choices = ["sample", "keywords"]
presets = { paper = { value = "keywords", source = "E.1" } }
about = "whom models are asked about for race or ethnicity: the sample, or people whose picture's text holds a keyword; the default needs no words in texts"

[params.race_sample]
type = "integer"
default = 10000
min = 1
presets = { paper = { value = 1000000, source = "E.1" } }
about = "people of each category of keywords that models are asked about; the default is a small sample"

[params.keywords]
relation = ["term", "class"]
default = """\
(SELECT term, class FROM lists.race_keywords UNION SELECT a.term, k.class FROM lists.race_keywords AS k \
JOIN lists.countries AS n ON n.term = k.term AND n.class = 'name' \
JOIN lists.countries AS a ON a.country = n.country AND a.class = 'adjective' WHERE k.kind = 'country')"""
about = "words that suggest a category, with it: countries, their adjectives and other expressions"

[params.tower]
type = "varchar"
default = "ViT-B-16-SigLIP/webli"
presets = { paper = { value = "ViT-B-16-SigLIP/webli", source = "D, E.2" } }
about = "open_clip model whose vision tower is fine-tuned"

[params.gender_epochs]
type = "integer[]"
default = [2]
min = 1
presets = { paper = { value = [2], source = "D" }, paper_grid = { value = [2, 5, 10, 15], source = "D" }, paper_grid_2 = { value = [2, 5, 10, 15], source = "D" } }
about = "epochs of training the classifier of gender; of several values of this and the next two every combination is trained, and the best one kept"

[params.gender_batch]
type = "integer[]"
default = [32]
min = 1
presets = { paper = { value = [32], source = "D" }, paper_grid = { value = [16, 32, 128], source = "D" }, paper_grid_2 = { value = [16, 32, 128], source = "D" } }
about = "pictures a step"

[params.gender_lr]
type = "double[]"
default = [5e-6]
above = 0
presets = { paper = { value = [5e-6], source = "D" }, paper_grid = { value = [5e-5, 1e-5, 5e-6], source = "D" }, paper_grid_2 = { value = [5e-5, 1e-5, 5e-6], source = "D" } }
about = "highest learning rate"

[params.race_epochs]
type = "integer[]"
default = [20]
min = 1
presets = { paper = { value = [20], source = "E.2" }, paper_grid = { value = [1, 10, 20, 50], source = "E.2" }, paper_grid_2 = { value = [10, 15, 20], source = "E.2: second grid" } }
about = "epochs of training the classifier of race or ethnicity; several likewise"

[params.race_batch]
type = "integer[]"
default = [16]
min = 1
presets = { paper = { value = [16], source = "E.2" }, paper_grid = { value = [16, 32, 128], source = "E.2" }, paper_grid_2 = { value = [32, 64, 128, 256], source = "E.2: second grid" } }
about = "pictures a step"

[params.race_lr]
type = "double[]"
default = [1e-5]
above = 0
presets = { paper = { value = [1e-5], source = "E.2" }, paper_grid = { value = [1e-4, 5e-5, 1e-5], source = "E.2" }, paper_grid_2 = { value = [2e-5, 1e-5, 5e-6], source = "E.2: second grid" } }
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
about = "what it is asked for; the default says the same in our own words"

[params.sentences]
type = "varchar"
default = "sentence-transformers/all-MiniLM-L6-v2"
presets = { paper = { value = "ibm-granite/granite-embedding-english-r2", source = "section 4.3, B.2" } }
about = "model of embed_sentence; the default is a smaller one"

[params.hate_model]
type = "varchar"
default = "pysentimiento/bertweet-hate-speech"
presets = { paper = { value = "pysentimiento/bertweet-hate-speech", source = "G.2: pysentimiento's, of SemEval 2019; which checkpoint is not printed" } }
about = "model of hate_scores"

[params.hate_tau]
type = "double[]"
default = [0.3, 0.5, 0.7, 0.9]
about = "thresholds of hate_content_rate; the paper draws a range of them (Fig. 23) and prints none"

[params.sentiment_model]
type = "varchar"
default = "finiteautomata/bertweet-base-sentiment-analysis"
presets = { paper = { value = "finiteautomata/bertweet-base-sentiment-analysis", source = "G.2: pysentimiento's, of SemEval 2017; which checkpoint is not printed" } }
about = "model of sentiment, whose labels are negative, neutral, positive in this order"

[params.texts]
relation = ["image_id", "text"]
default = "captions"
about = "the texts of the audits"
---*/

-- step detect: find people in every picture
ALTER TABLE images ADD COLUMN IF NOT EXISTS people AS (detect_people(image, model := $detector, score := $score));
REFRESH images.people;

-- step people: a row per person whose box is large enough; sha256 says which picture functions read
CREATE MATERIALIZED VIEW IF NOT EXISTS people WITH (key = 'detection_id') AS
WITH boxes AS (
  SELECT
    image_id,
    sha256,
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
  sha256
FROM boxes
WHERE least(box.width, box.height) >= $min_side;
REFRESH people;

-- step sample: crops of the people that models are asked about, drawn by a hash of their id
CREATE MATERIALIZED VIEW IF NOT EXISTS people_sample WITH (key = 'detection_id') AS
SELECT p.detection_id, p.image_id, crop(i.image, p.x, p.y, p.width, p.height) AS image
FROM people AS p
JOIN images AS i ON i.image_id = p.image_id
WHERE p.detection_id IN (
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

-- step ask_mixed: the same of a fourth model, where one of the first two says mixed
ALTER TABLE people_sample ADD COLUMN IF NOT EXISTS gender_4 AS (
  ask(
    CASE
      WHEN label_options('perceived_gender')[3] IN (struct_extract(gender_1, 'answer'), struct_extract(gender_2, 'answer'))
        THEN image
    END,
    label_prompt('perceived_gender'), label_options('perceived_gender'), $fourth, seed := $seed
  )
) WITH (sensitive = true);
REFRESH people_sample.gender_4;

-- step answers: the answers as rows of labels, those that the models agree about, and whom the classifier learns from
CREATE MATERIALIZED VIEW IF NOT EXISTS answers WITH (key = 'detection_id, attribute, place') AS
WITH given AS (
  SELECT detection_id, image_id, 1 AS place, $first AS annotator, gender_1 AS said FROM people_sample
  UNION ALL
  SELECT detection_id, image_id, 2 AS place, $second AS annotator, gender_2 AS said FROM people_sample
  UNION ALL
  SELECT detection_id, image_id, 3 AS place, $third AS annotator, gender_3 AS said FROM people_sample
  UNION ALL
  SELECT detection_id, image_id, 4 AS place, $fourth AS annotator, gender_4 AS said FROM people_sample
)
SELECT g.detection_id, g.image_id, 'perceived_gender' AS attribute, g.place, g.annotator, o.label AS value
FROM given AS g
JOIN lists.label_options AS o ON o.class = 'perceived_gender' AND o.term = struct_extract(g.said, 'answer');
CREATE MATERIALIZED VIEW IF NOT EXISTS consensus WITH (key = 'detection_id, attribute') AS
WITH counted AS (
  SELECT
    detection_id,
    attribute,
    min(image_id) AS image_id,
    count(CASE WHEN value = 'mixed' AND place <> 3 THEN 1 END) AS mixed,
    count(CASE WHEN place <= 3 THEN 1 END) AS answers,
    min(CASE WHEN place <= 3 THEN value END) AS least,
    max(CASE WHEN place <= 3 THEN value END) AS greatest
  FROM answers
  GROUP BY detection_id, attribute
)
SELECT detection_id, attribute, image_id, 'mixed' AS value, mixed AS agreed
FROM counted
WHERE mixed >= $mixed_agree
UNION ALL
SELECT detection_id, attribute, image_id, least AS value, answers AS agreed
FROM counted
WHERE answers = 3 AND least = greatest AND least <> 'mixed';
CREATE MATERIALIZED VIEW IF NOT EXISTS training WITH (key = 'detection_id, attribute') AS
SELECT detection_id, attribute, image_id, value
FROM (
  SELECT
    *,
    row_number() OVER (
      PARTITION BY value ORDER BY agreed DESC, md5(concat($seed, ':', detection_id)), detection_id
    ) AS place
  FROM consensus
) AS c
WHERE place <= $per_label;
REFRESH answers, consensus, training;

-- step agreement: how well the three models agree
SELECT 'perceived_gender' AS attribute, *
FROM agreement('perceived_gender', labels := (SELECT * FROM answers WHERE place <= 3));

-- step train_gender: fine-tune a classifier of perceived gender on what the models agree about
CALL train_classifier(
  labels := training, images := people_sample, attribute := 'perceived_gender', output := $gender_checkpoint,
  model := $tower, epochs := $gender_epochs, batch_size := $gender_batch, tower_lr := $gender_lr, seed := $seed
);

-- step label_gender: label everybody
ALTER TABLE people ADD COLUMN IF NOT EXISTS perceived_gender AS (
  label_person(crop(image, x, y, width, height), 'perceived_gender', $gender_checkpoint)
);
REFRESH people.perceived_gender;

-- step race_sample: whom models are asked about for race or ethnicity, by category and keyword, and crops of them
CREATE MATERIALIZED VIEW IF NOT EXISTS race_candidates WITH (key = 'detection_id, class') AS
WITH clear AS (
  SELECT detection_id, image_id, struct_extract(perceived_gender, 'label') AS gender FROM people
),
found AS (
  SELECT
    p.detection_id,
    k.class,
    p.image_id,
    p.gender,
    k.term AS keyword,
    row_number() OVER (
      PARTITION BY p.detection_id, k.class ORDER BY md5(concat($seed, ':', p.detection_id, ':', k.term)), k.term
    ) AS number
  FROM clear AS p
  JOIN term_concepts(terms := $keywords, texts := $texts) AS t ON t.image_id = p.image_id
  JOIN $keywords AS k ON k.term = t.concept
  WHERE $race_from = 'keywords' AND p.gender IN ('male', 'female')
),
drawn AS (
  SELECT
    *,
    row_number() OVER (PARTITION BY class ORDER BY md5(concat($seed, ':', detection_id)), detection_id) AS place
  FROM found
  WHERE number = 1
)
SELECT detection_id, class, image_id, gender, keyword FROM drawn WHERE place <= $race_sample
UNION ALL
SELECT s.detection_id, 'any' AS class, s.image_id, p.gender, 'none' AS keyword
FROM people_sample AS s
JOIN clear AS p ON p.detection_id = s.detection_id
WHERE $race_from = 'sample';
CREATE MATERIALIZED VIEW IF NOT EXISTS race_people WITH (key = 'detection_id') AS
SELECT p.detection_id, p.image_id, crop(i.image, p.x, p.y, p.width, p.height) AS image
FROM people AS p
JOIN images AS i ON i.image_id = p.image_id
WHERE p.detection_id IN (SELECT detection_id FROM race_candidates);
REFRESH race_candidates, race_people;

-- step ask_race: perceived race or ethnicity of these, by the same three models
ALTER TABLE race_people ADD COLUMN IF NOT EXISTS race_1 AS (
  ask(image, label_prompt('perceived_race_ethnicity'), label_options('perceived_race_ethnicity'), $first, seed := $seed)
) WITH (sensitive = true);
ALTER TABLE race_people ADD COLUMN IF NOT EXISTS race_2 AS (
  ask(image, label_prompt('perceived_race_ethnicity'), label_options('perceived_race_ethnicity'), $second, seed := $seed)
) WITH (sensitive = true);
ALTER TABLE race_people ADD COLUMN IF NOT EXISTS race_3 AS (
  ask(image, label_prompt('perceived_race_ethnicity'), label_options('perceived_race_ethnicity'), $third, seed := $seed)
) WITH (sensitive = true);
REFRESH race_people.race_1, race_people.race_2, race_people.race_3;

-- step race_answers: these as rows of labels, those that models and keyword agree about, and whom the classifier learns from
CREATE MATERIALIZED VIEW IF NOT EXISTS race_answers WITH (key = 'detection_id, attribute, place') AS
WITH given AS (
  SELECT detection_id, image_id, 1 AS place, $first AS annotator, race_1 AS said FROM race_people
  UNION ALL
  SELECT detection_id, image_id, 2 AS place, $second AS annotator, race_2 AS said FROM race_people
  UNION ALL
  SELECT detection_id, image_id, 3 AS place, $third AS annotator, race_3 AS said FROM race_people
)
SELECT g.detection_id, g.image_id, 'perceived_race_ethnicity' AS attribute, g.place, g.annotator, o.label AS value
FROM given AS g
JOIN lists.label_options AS o ON o.class = 'perceived_race_ethnicity' AND o.term = struct_extract(g.said, 'answer');
CREATE MATERIALIZED VIEW IF NOT EXISTS race_consensus WITH (key = 'detection_id, attribute') AS
WITH unanimous AS (
  SELECT detection_id, attribute, min(value) AS value
  FROM race_answers
  GROUP BY detection_id, attribute
  HAVING count(*) = 3 AND min(value) = max(value)
)
SELECT
  u.detection_id,
  u.attribute,
  min(c.image_id) AS image_id,
  min(u.value) AS value,
  min(c.gender) AS gender,
  min(c.keyword) AS keyword
FROM unanimous AS u
JOIN race_candidates AS c
  ON c.detection_id = u.detection_id AND (u.value = c.class OR u.value = 'unclear' OR c.class = 'any')
GROUP BY u.detection_id, u.attribute;
CREATE MATERIALIZED VIEW IF NOT EXISTS race_training WITH (key = 'detection_id, attribute') AS
WITH turns AS (
  SELECT
    *,
    row_number() OVER (
      PARTITION BY value, gender, keyword ORDER BY md5(concat($seed, ':', detection_id)), detection_id
    ) AS turn
  FROM race_consensus
),
places AS (
  SELECT
    *,
    row_number() OVER (
      PARTITION BY value ORDER BY turn, md5(concat($seed, ':', detection_id)), detection_id
    ) AS place
  FROM turns
)
SELECT detection_id, attribute, image_id, value FROM places WHERE place <= $per_label;
REFRESH race_answers, race_consensus, race_training;

-- step race_agreement: how well the three models agree
SELECT 'perceived_race_ethnicity' AS attribute, * FROM agreement('perceived_race_ethnicity', labels := race_answers);

-- step train_race: fine-tune a classifier of perceived race or ethnicity
CALL train_classifier(
  labels := race_training, images := race_people, attribute := 'perceived_race_ethnicity', output := $race_checkpoint,
  model := $tower, epochs := $race_epochs, batch_size := $race_batch, tower_lr := $race_lr, seed := $seed
);

-- step label_race: label everybody
ALTER TABLE people ADD COLUMN IF NOT EXISTS perceived_race_ethnicity AS (
  label_person(crop(image, x, y, width, height), 'perceived_race_ethnicity', $race_checkpoint)
);
REFRESH people.perceived_race_ethnicity;

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
FROM demographics(
  person_units('perceived_gender', $min_side, labels := people_labels, detections := people),
  sources := person_images(people)
)
UNION ALL
SELECT 'perceived_race_ethnicity' AS attribute, 'person' AS unit, *
FROM demographics(
  person_units('perceived_race_ethnicity', $min_side, labels := people_labels, detections := people),
  sources := person_images(people)
);

-- step intersections: how often perceived gender meets perceived race or ethnicity in the same person
SELECT *
FROM intersections(
  person_units('perceived_gender', $min_side, labels := people_labels, detections := people),
  person_units('perceived_race_ethnicity', $min_side, labels := people_labels, detections := people),
  sources := person_images(people)
);

-- step crime_words: groups among images whose text holds a crime word
SELECT 'perceived_gender' AS attribute, * FROM crime_words(image_gender, texts := $texts)
UNION ALL
SELECT 'perceived_race_ethnicity' AS attribute, * FROM crime_words(image_race, texts := $texts);

-- step sentiment: how negative the texts of groups are
SELECT 'perceived_gender' AS attribute, * FROM sentiment(image_gender, texts := $texts, rules := 'nltk')
UNION ALL
SELECT 'perceived_race_ethnicity' AS attribute, * FROM sentiment(image_race, texts := $texts, rules := 'nltk');

-- step hate: how many texts a classifier finds hateful, targeted and aggressive, over all images and by group
ALTER TABLE captions ADD COLUMN IF NOT EXISTS hate AS (hate_scores(text, model := $hate_model));
CREATE MATERIALIZED VIEW IF NOT EXISTS hate_labels WITH (key = 'caption_id, attribute') AS
SELECT caption_id, image_id, attribute, attribute AS value, score, $hate_model AS annotator
FROM (
  SELECT caption_id, image_id, 'hateful' AS attribute, struct_extract(hate, 'hateful') AS score FROM captions
  UNION ALL
  SELECT caption_id, image_id, 'targeted' AS attribute, struct_extract(hate, 'targeted') AS score FROM captions
  UNION ALL
  SELECT caption_id, image_id, 'aggressive' AS attribute, struct_extract(hate, 'aggressive') AS score FROM captions
) AS s
WHERE score IS NOT NULL;
REFRESH captions.hate, hate_labels;
SELECT 'hateful' AS score, 'all' AS groups, *
FROM hate_content_rate('hateful', tau := $hate_tau, labels := hate_labels)
UNION ALL
SELECT 'hateful' AS score, 'perceived_gender' AS groups, *
FROM hate_content_rate('hateful', tau := $hate_tau, groups := image_gender, labels := hate_labels)
UNION ALL
SELECT 'hateful' AS score, 'perceived_race_ethnicity' AS groups, *
FROM hate_content_rate('hateful', tau := $hate_tau, groups := image_race, labels := hate_labels)
UNION ALL
SELECT 'targeted' AS score, 'all' AS groups, *
FROM hate_content_rate('targeted', tau := $hate_tau, labels := hate_labels)
UNION ALL
SELECT 'targeted' AS score, 'perceived_gender' AS groups, *
FROM hate_content_rate('targeted', tau := $hate_tau, groups := image_gender, labels := hate_labels)
UNION ALL
SELECT 'targeted' AS score, 'perceived_race_ethnicity' AS groups, *
FROM hate_content_rate('targeted', tau := $hate_tau, groups := image_race, labels := hate_labels)
UNION ALL
SELECT 'aggressive' AS score, 'all' AS groups, *
FROM hate_content_rate('aggressive', tau := $hate_tau, labels := hate_labels)
UNION ALL
SELECT 'aggressive' AS score, 'perceived_gender' AS groups, *
FROM hate_content_rate('aggressive', tau := $hate_tau, groups := image_gender, labels := hate_labels)
UNION ALL
SELECT 'aggressive' AS score, 'perceived_race_ethnicity' AS groups, *
FROM hate_content_rate('aggressive', tau := $hate_tau, groups := image_race, labels := hate_labels);

-- step classified_sentiment: how a classifier's probabilities of positive and of negative texts are distributed
ALTER TABLE captions ADD COLUMN IF NOT EXISTS sentiment_classes AS (sentiment(text, model := $sentiment_model));
CREATE MATERIALIZED VIEW IF NOT EXISTS sentiment_labels WITH (key = 'caption_id, attribute') AS
SELECT caption_id, image_id, attribute, attribute AS value, score, $sentiment_model AS annotator
FROM (
  SELECT
    caption_id, image_id, 'negative' AS attribute, struct_extract(sentiment_classes, 'probabilities')[1] AS score
  FROM captions
  UNION ALL
  SELECT
    caption_id, image_id, 'positive' AS attribute, struct_extract(sentiment_classes, 'probabilities')[3] AS score
  FROM captions
) AS s
WHERE score IS NOT NULL;
REFRESH captions.sentiment_classes, sentiment_labels;
SELECT 'positive' AS score, 'all' AS groups, *
FROM score_distribution('positive', labels := sentiment_labels)
UNION ALL
SELECT 'positive' AS score, 'perceived_gender' AS groups, *
FROM score_distribution('positive', groups := image_gender, labels := sentiment_labels)
UNION ALL
SELECT 'positive' AS score, 'perceived_race_ethnicity' AS groups, *
FROM score_distribution('positive', groups := image_race, labels := sentiment_labels)
UNION ALL
SELECT 'negative' AS score, 'all' AS groups, *
FROM score_distribution('negative', labels := sentiment_labels)
UNION ALL
SELECT 'negative' AS score, 'perceived_gender' AS groups, *
FROM score_distribution('negative', groups := image_gender, labels := sentiment_labels)
UNION ALL
SELECT 'negative' AS score, 'perceived_race_ethnicity' AS groups, *
FROM score_distribution('negative', groups := image_race, labels := sentiment_labels);

-- step geography: which countries texts name, and groups in the images that go with them
SELECT 'perceived_gender' AS attribute, * FROM geography(image_gender, texts := $texts)
UNION ALL
SELECT 'perceived_race_ethnicity' AS attribute, * FROM geography(image_race, texts := $texts);
