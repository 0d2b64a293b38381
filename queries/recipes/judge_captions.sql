/*--- toml
answers = "Which multimodal model describes people best: captions of four models, judged in pairs by another one."
details = """
Some people are drawn, each of four models describes all of them, and a judge is shown, with the picture in which a red frame
highlights the person, two captions at a time and asked for the better one, or for a tie. Each pair is judged in both
orders, so that liking the first does not count for a model. win_rates tells how often each model wins. Take the best one as
captioner of the recipe laion400m, whose table people is what captions are made of.

The judge is an open model, or with judge_endpoint one behind an OpenAI-compatible endpoint, to which the pictures are sent;
none of the four, since a model may prefer its own words. Preset 'paper' asks both kinds of models in the paper's words;
the defaults mean the same in words of ours, since the paper states no licence for its own. Not as in the paper, whose judge
is GPT-5.1, which thinks before it replies: judge() wants the likeliest reply (temperature 0) of at most 16 tokens. Whether
the paper judges pairs in both orders, and what it does with ties, it does not print. Captions say what a model sees in
people: perceived, no facts about them.
"""
source = "Girrbach et al., Person-Centric Annotations of LAION-400M (2025), section 3 and F: choice of the captioner"
presets = { paper = "Girrbach et al. (2025)" }

[params.people]
relation = ["detection_id", "image_id", "image", "x", "y", "width", "height"]
default = "people"
about = "boxes of people in pixels, with the whole picture"

[params.sample]
type = "integer"
default = 500
min = 1
presets = { paper = { value = 500, source = "section 3, F" } }
about = "people who are described"

[params.seed]
type = "integer"
default = 0
about = "another seed, other people"

[params.first]
type = "varchar"
default = "OpenGVLab/InternVL3-2B-hf"
presets = { paper = { value = "OpenGVLab/InternVL3-2B-hf", source = "section 3, F" } }
about = "model of caption_person"

[params.second]
type = "varchar"
default = "OpenGVLab/InternVL3-8B-hf"
presets = { paper = { value = "OpenGVLab/InternVL3-8B-hf", source = "section 3, F" } }
about = "model of caption_person"

[params.third]
type = "varchar"
default = "Qwen/Qwen2.5-VL-3B-Instruct"
presets = { paper = { value = "Qwen/Qwen2.5-VL-3B-Instruct", source = "section 3, F" } }
about = "model of caption_person"

[params.fourth]
type = "varchar"
default = "Qwen/Qwen2.5-VL-7B-Instruct"
presets = { paper = { value = "Qwen/Qwen2.5-VL-7B-Instruct", source = "section 3, F" } }
about = "model of caption_person"

[params.describe]
type = "varchar"
default = """\
In this picture a red frame highlights one person. Describe only this person, in one paragraph: the surroundings, the \
person's looks, and what the person does. Give as many and as exact details as you can see. Use plain, scientific \
language, stay objective, and say nothing subjective and nothing of feelings."""
presets = { paper = { value = "Describe the highlighted person in one continuous paragraph. Describe the context, how the person looks and what the person is doing. Focus on objective details and avoid any subjective or emotional descriptions. Only focus on the highlighted person. Be as detailed and precise as possible. Write in plain, objective and scientific language.", source = "F" } }
about = "what they are asked for; the default says the same in our own words"

[params.judge]
type = "varchar"
about = "model of judge, none of the four"

[params.judge_endpoint]
type = "varchar"
default = ""
about = "base address of the endpoint where the judge is, such as http://localhost:8000/v1; or nothing, and it is loaded"

[params.compare]
type = "varchar"
default = """\
In this picture a red frame highlights one person. Below are two captions of this person. Which one is better? Look at the \
person in the frame only, and judge in this order: first, whether what a caption says can be seen; then, whether it makes \
nothing up, such as names, jobs, feelings, ages, origins or moral judgements that nothing in the picture shows; then, how \
many exact details it gives; then, how well it reads. Say that it is a tie where both are as good, or as wrong.

Model A: {caption.a}

Model B: {caption.b}

Reply with one of these and nothing else: Model A, Model B, TIE."""
presets = { paper = { value = """\
You are judging two captions for a single person highlighted by a red frame in the provided image. Decide which caption better describes the framed person, or declare a tie.

Return exactly one of the following and nothing else: Model A, Model B, or TIE.

Scope: Evaluate only the person and visual evidence inside the red frame. Ignore unframed regions and do not use outside knowledge.

Rubric (in priority order):
1) Faithfulness: Does the caption accurately match what is visible about the framed person (appearance, attributes, actions, relationships to visible context)?
2) No hallucinations / correctness: Penalize any invented or unverifiable claims (e.g., names, occupations, backstories, emotions, ages, nationalities, medical or moral judgments) unless explicitly visible (e.g., a readable name tag).
3) Detail & specificity: Prefer precise, correct details (colors, garments, accessories, pose, interactions with clearly visible objects/context relevant to the framed person).
4) Linguistic quality: Prefer fluent, grammatical, concise, and helpful wording.

Tie guidance:
- Output TIE if quality is indistinguishable or both captions have similar severity of errors.
- If one caption has a faithfulness error and the other does not, choose the faithful one.
- If both are faithful and correct, choose the one with better correct detail and clearer language.

Edge cases:
- Treat unverifiable inferences as hallucinations unless clearly supported by visible text/symbols.
- If both captions are largely incorrect or speculative, output TIE.

Think through your decision silently and output only the final label with no punctuation, whitespace, or explanation.

Model A: {caption.a}

Model B: {caption.b}

Final answer (one of: Model A, Model B, TIE):""", source = "F: LLM-as-a-judge for Caption Comparison Prompt" } }
about = "what the judge is asked, with the captions in the place of {caption.a} and {caption.b}; the default says the same in our own words"

[params.ties]
type = "varchar"
default = "half"
choices = ["half", "excluded"]
about = "whether a tie is half a win, or left out, see win_rates"
---*/

-- step sample: people who are described, drawn by a hash of their id
CREATE MATERIALIZED VIEW IF NOT EXISTS judged_people WITH (key = 'detection_id') AS
SELECT
  detection_id,
  image_id,
  highlight(image, x, y, width, height) AS highlighted,
  list_first([image]) AS image, -- the bytes as they are: only what a function is given is read
  x,
  y,
  width,
  height
FROM $people
WHERE detection_id IN (
  SELECT detection_id FROM $people ORDER BY md5(concat($seed, ':', detection_id)), detection_id LIMIT $sample
);
REFRESH judged_people;

-- step captions: what each model says of them
ALTER TABLE judged_people ADD COLUMN IF NOT EXISTS caption_1 AS (
  caption_person(image, x, y, width, height, $first, prompt := $describe)
);
ALTER TABLE judged_people ADD COLUMN IF NOT EXISTS caption_2 AS (
  caption_person(image, x, y, width, height, $second, prompt := $describe)
);
ALTER TABLE judged_people ADD COLUMN IF NOT EXISTS caption_3 AS (
  caption_person(image, x, y, width, height, $third, prompt := $describe)
);
ALTER TABLE judged_people ADD COLUMN IF NOT EXISTS caption_4 AS (
  caption_person(image, x, y, width, height, $fourth, prompt := $describe)
);
REFRESH judged_people.caption_1, judged_people.caption_2, judged_people.caption_3, judged_people.caption_4;

-- step pairs: two captions of a person at a time, in both orders
CREATE MATERIALIZED VIEW IF NOT EXISTS judged_pairs WITH (key = 'detection_id, first, second') AS
WITH captions AS (
  SELECT detection_id, $first AS model, caption_1 AS caption FROM judged_people
  UNION ALL
  SELECT detection_id, $second AS model, caption_2 AS caption FROM judged_people
  UNION ALL
  SELECT detection_id, $third AS model, caption_3 AS caption FROM judged_people
  UNION ALL
  SELECT detection_id, $fourth AS model, caption_4 AS caption FROM judged_people
)
SELECT
  p.detection_id,
  p.image_id,
  a.model AS first,
  b.model AS second,
  list_first([p.highlighted]) AS image,
  a.caption AS first_caption,
  b.caption AS second_caption
FROM captions AS a
JOIN captions AS b ON b.detection_id = a.detection_id AND b.model <> a.model
JOIN judged_people AS p ON p.detection_id = a.detection_id
WHERE a.caption IS NOT NULL AND b.caption IS NOT NULL;
REFRESH judged_pairs;

-- step judge: which of the two the judge prefers
ALTER TABLE judged_pairs ADD COLUMN IF NOT EXISTS verdict AS (
  judge(image, first_caption, second_caption, $judge, prompt := $compare, endpoint := $judge_endpoint)
);
REFRESH judged_pairs.verdict;
CREATE MATERIALIZED VIEW IF NOT EXISTS caption_judgements WITH (key = 'detection_id, first, second') AS
SELECT
  detection_id,
  image_id,
  first,
  second,
  CASE struct_extract(verdict, 'winner')
    WHEN 'first' THEN first
    WHEN 'second' THEN second
    WHEN 'tie' THEN 'tie'
  END AS winner
FROM judged_pairs;
REFRESH caption_judgements;

-- step win_rates: how often each model wins against each other one
SELECT * FROM win_rates(caption_judgements, ties := $ties);
