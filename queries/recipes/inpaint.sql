/*--- toml
answers = "The same scene with a person of each group: text-guided inpainting, many edits each, the best one kept."
details = """
In every picture the largest person is masked, and the second one too if its box is large enough. A caption without
gender (with neutral=false, as it is) gets the words of each group, and the masked part is painted anew from it, several
times a guidance. Of the edits of an image and group the rank filter keeps the one that fits its prompt, its objects and
its colours best. Only images with an edit for every group are kept, so that nothing in the set goes with a group.
Groups are what a prompt asked for, never claims about a person.

What is needed: images with their pictures (--store-images), captions, boxes of people. The words of groups are a list:
--param words=lists.group_words_gender                                     woman and man, girl and boy, her and his
--param preset=paper_skin_tone         lighter-skinned and darker-skinned person, the caption's gender stays, no filter of colours
--param "words=crossed_words()"                                            all four intersections of the two
--param "words=(SELECT * FROM (VALUES ('person', 'old', 'old person'), ...) AS w(term, class, word))"   or a view

Views: inpaint_set (a contrast set, with scores and what made each edit: prompt, seed, digest of the weights),
s_synthetic (its edits only), s_augment (originals with their label, and their edits of all other groups),
inpaint_skipped (why an image was not edited; meta.errors has these rows, too), inpaint_dropped (why an image and group
has no edit that is kept).

Both sets carry the attributes and the mask of their source: objects are its boxes (with the masks of those that have
one, given or found), mask is what was painted anew, white. cbal export LAKE s_synthetic DIR --to coco writes the boxes
as annotations.

The label of an original in s_augment is the one clear label that groups gives its image: as in the paper, the group
that its captions name. An image without one (mixed, unclear), or whose label is no group of words, is in s_synthetic
only: the paper trains on images whose captions name a gender, and has no s_augment for skin tone, of which nothing is
annotated. There s_augment is empty, unless groups are labels of that kind.

The paper's: largest and second person, 30 edits over three guidances, the scores with weights of 1 and the rank filter, both
sets. Its detector is Detic (3.5), which transformers does not have: ours is another one, whose 80 categories are fewer. Not
printed, and our choice: which box is the largest (width x height); crowds and sides under min_side
left out; one caption an image, the first that names a person (where none does, the group is told at its end); how words
are put in; seeds by a digest, the same for every image and group; 50 steps, the CLIP model, the
check for nudity; whether prompts of skin tone keep the caption's gender (they do: else a model would choose it, and could
go by the tone; of age the paper says so); originals in s_augment only of the images that have edits (else labels would
not be equally frequent), with the caption that was edited.

Weights are needed of all models, of the segmenter too where every box has a mask. On disk the edits count: 30 of each
group as PNG; of its source a request holds the digest only. More edits or guidances later (--param edits=20 --replace)
cost their own: what is there keeps its key and seed, and is not painted again.
"""
source = "Hirota et al., Resampled Datasets Are Not Enough: Mitigating Societal Bias Beyond Single Attributes (2024)"
presets = { paper = "Hirota et al. (2024)", paper_skin_tone = "Hirota et al. (2024), skin tone" }

[params.texts]
relation = ["caption_id", "image_id", "text"]
default = "captions"
about = "captions to start from"

[params.boxes]
relation = ["detection_id", "image_id", "category", "x", "y", "width", "height", "mask"]
default = "(SELECT * FROM detections WHERE is_crowd IS NOT TRUE)"

[params.words]
relation = ["term", "class", "word"]
default = "lists.group_words_gender"
presets = { paper_skin_tone = { value = "lists.group_words_skin_tone", source = "B.1" }, paper = { value = "lists.group_words_gender", source = "2.2: woman and man; further words are not printed" } }
about = "what stands for a neutral word, class is the group"

[params.neutral]
type = "boolean"
default = true
presets = { paper_skin_tone = { value = false, source = "limitations: a woman becomes an elderly woman" } }
about = "whether a caption's own gender is taken out of prompts, see group_prompts"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation of the originals, for s_augment"

[params.min_side]
type = "double"
default = 30
about = "shortest side of a person's box, in pixels"

[params.second_area]
type = "double"
default = 55000
min = 0
presets = { paper = { value = 55000, source = "section 3" }, paper_skin_tone = { value = 55000, source = "section 3" } }
about = "the second person is masked too if its box is larger, in square pixels"

[params.guidances]
type = "double[]"
default = [7.5, 9.5, 15]
min = 0
presets = { paper = { value = [7.5, 9.5, 15], source = "section 3" }, paper_skin_tone = { value = [7.5, 9.5, 15], source = "section 3" } }
about = "guidance scales"

[params.edits]
type = "integer"
default = 10
min = 1
presets = { paper = { value = 10, source = "section 3: 30 for each group, of three scales" }, paper_skin_tone = { value = 10, source = "section 3" } }
about = "edits for each guidance"

[params.seed]
type = "integer"
default = 0
about = "another seed, other noise"

[params.steps]
type = "integer"
default = 50
min = 1
about = "steps of the diffusion model"

[params.model]
type = "varchar"
default = "sd2-community/stable-diffusion-2-inpainting"
about = "model of inpaint; the default is a copy of stabilityai/stable-diffusion-2-inpainting, which was withdrawn"

[params.size]
type = "integer"
default = 512
min = 1
about = "side at which the model paints, in pixels"

[params.segmenter]
type = "varchar"
default = "facebook/sam-vit-huge"
about = "model of segment_person, for boxes without a mask"

[params.detector]
type = "varchar"
default = "yolo11l"
about = "model of detect, for the objects of pictures and edits"

[params.score]
type = "double"
default = 0.25
about = "least confidence of an object"

[params.clip]
type = "varchar"
default = "ViT-B-32/laion2b_s34b_b79k"
about = "model of clip_score"

[params.nsfw_model]
type = "varchar"
default = "Falconsai/nsfw_image_detection"
about = "model of nsfw_score"

[params.max_nsfw]
type = "double"
default = 0.5
about = "edits with this score or a higher one are never chosen"

[params.c_prompt]
type = "double"
default = 1
presets = { paper = { value = 1, source = "section 3" }, paper_skin_tone = { value = 1, source = "section 3" } }
about = "weight of the rank by prompt"

[params.c_object]
type = "double"
default = 1
presets = { paper = { value = 1, source = "section 3" }, paper_skin_tone = { value = 1, source = "section 3" } }
about = "weight of the rank by objects"

[params.c_color]
type = "double"
default = 1
presets = { paper = { value = 1, source = "section 3" }, paper_skin_tone = { value = 0, source = "B.1: without the filter of colours" } }
about = "weight of the rank by colours"
---*/

-- step objects: find the objects of every picture
ALTER TABLE images ADD COLUMN IF NOT EXISTS inpaint_objects AS (detect(image, model := $detector, score := $score));
REFRESH images.inpaint_objects;

-- step people: the largest person of every picture, and the second one; sha256 says which picture functions read
CREATE MATERIALIZED VIEW IF NOT EXISTS inpaint_people WITH (key = 'detection_id') AS
WITH sized AS (
  SELECT
    detection_id,
    image_id,
    x,
    y,
    width,
    height,
    mask,
    CAST(width AS DOUBLE) * height AS area,
    row_number() OVER (PARTITION BY image_id ORDER BY CAST(width AS DOUBLE) * height DESC, detection_id) AS place
  FROM $boxes AS b
  WHERE category = 'person' AND least(width, height) >= $min_side
)
SELECT
  p.detection_id,
  p.image_id,
  p.place,
  p.x,
  p.y,
  p.width,
  p.height,
  p.mask AS given,
  i.sha256
FROM sized AS p
JOIN images AS i ON i.image_id = p.image_id
WHERE i.inpaint_objects IS NOT NULL AND (p.place = 1 OR (p.place = 2 AND p.area > $second_area));
REFRESH inpaint_people;

-- step segment: masks of the people who have none
ALTER TABLE inpaint_people ADD COLUMN IF NOT EXISTS found AS (
  segment_person(list_first([CASE WHEN given IS NULL THEN image END]), x, y, width, height, model := $segmenter)
);
REFRESH inpaint_people.found;

-- step prompts: one caption an image, in the words of every group
CREATE MATERIALIZED VIEW IF NOT EXISTS inpaint_prompts WITH (key = 'image_id, label') AS
WITH prompts AS (
  SELECT caption_id, image_id, label, prompt, min(named) OVER (PARTITION BY caption_id) > 0 AS named
  FROM group_prompts(
    (SELECT caption_id, image_id, text FROM $texts AS t WHERE image_id IN (SELECT image_id FROM inpaint_people)),
    $words,
    $neutral
  )
  WHERE prompt IS NOT NULL
),
best AS (
  SELECT *, row_number() OVER (PARTITION BY image_id, label ORDER BY named DESC, caption_id) AS place FROM prompts
)
SELECT b.image_id, b.label, b.caption_id, t.text, b.prompt
FROM best AS b
JOIN $texts AS t ON t.caption_id = b.caption_id
WHERE b.place = 1;
REFRESH inpaint_prompts;

-- step masks: what is painted anew, white
CREATE MATERIALIZED VIEW IF NOT EXISTS inpaint_sources WITH (key = 'image_id') AS
WITH masked AS (
  SELECT
    image_id,
    list(
      struct_pack(
        category := 'person',
        score := CAST(NULL AS FLOAT),
        x := CAST(x AS FLOAT),
        y := CAST(y AS FLOAT),
        width := CAST(width AS FLOAT),
        height := CAST(height AS FLOAT),
        mask := coalesce(given, found)
      ) ORDER BY place
    ) AS people,
    min(x) AS x,
    min(y) AS y,
    max(x + width) - min(x) AS width,
    max(y + height) - min(y) AS height
  FROM inpaint_people
  GROUP BY image_id
  HAVING count(*) = count(coalesce(given, found))
)
SELECT
  i.image_id,
  i.sha256,
  m.people,
  CAST(m.x AS DOUBLE) AS x,
  CAST(m.y AS DOUBLE) AS y,
  CAST(m.width AS DOUBLE) AS width,
  CAST(m.height AS DOUBLE) AS height,
  list_sort(list_distinct(list_transform(i.inpaint_objects, lambda o: o.category))) AS objects
FROM images AS i
JOIN masked AS m ON m.image_id = i.image_id
WHERE i.image_id IN (SELECT image_id FROM inpaint_prompts);
ALTER TABLE inpaint_sources ADD COLUMN IF NOT EXISTS mask AS (mask_people(image, people, fill := 'mask'));
REFRESH inpaint_sources, inpaint_sources.mask;

-- step requests: a row an edit: every source, group, guidance and seed
CREATE MATERIALIZED VIEW IF NOT EXISTS inpaint_requests WITH (key = 'edit_id') AS
WITH scales AS (
  SELECT DISTINCT CAST(unnest($guidances) AS DOUBLE) AS guidance
),
numbers AS (
  SELECT unnest(range(0, $edits)) AS number
),
tries AS ( -- a seed depends on no other try, so that more of them leave those that are there as they are
  SELECT
    s.guidance,
    CAST(md5_number_lower(concat($seed, ':', s.guidance, ':', n.number)) >> 1 AS BIGINT) AS seed
  FROM scales AS s
  CROSS JOIN numbers AS n
),
sources AS (
  SELECT
    image_id,
    x,
    y,
    width,
    height,
    objects,
    sha256,
    list_first([mask]) AS mask -- the bytes as they are
  FROM inpaint_sources
)
SELECT
  CAST(md5_number_lower(concat(s.image_id, ':', p.label, ':', t.guidance, ':', t.seed)) >> 1 AS BIGINT) AS edit_id,
  s.image_id,
  p.label,
  p.text AS source_text,
  p.prompt,
  t.guidance,
  t.seed,
  s.x,
  s.y,
  s.width,
  s.height,
  s.objects,
  s.sha256,
  s.mask
FROM sources AS s
JOIN inpaint_prompts AS p ON p.image_id = s.image_id
CROSS JOIN tries AS t
WHERE s.mask IS NOT NULL;
REFRESH inpaint_requests;

-- step skipped: why an image is not edited; meta.errors has the words of the function that could not read it
CREATE MATERIALIZED VIEW IF NOT EXISTS inpaint_skipped WITH (key = 'image_id', errors = 'reason') AS
WITH unread AS (
  SELECT image_id, CASE WHEN list_first([image]) IS NULL THEN 'no picture' ELSE 'corrupt picture' END AS reason
  FROM images
  WHERE inpaint_objects IS NULL
),
people AS (
  SELECT image_id, max(least(width, height)) AS side
  FROM $boxes AS b
  WHERE category = 'person'
  GROUP BY image_id
),
masks AS (
  SELECT image_id, count(*) - count(coalesce(given, found)) AS missing FROM inpaint_people GROUP BY image_id
)
SELECT
  i.image_id,
  CASE
    WHEN u.image_id IS NOT NULL THEN u.reason
    WHEN p.image_id IS NULL THEN 'no person'
    WHEN m.image_id IS NULL THEN 'no person whose box is large enough'
    WHEN i.image_id NOT IN (SELECT image_id FROM inpaint_prompts) THEN 'no caption'
    WHEN m.missing > 0 THEN 'no mask of a person'
    ELSE 'mask does not fit the picture'
  END AS reason
FROM images AS i
LEFT JOIN unread AS u ON u.image_id = i.image_id
LEFT JOIN people AS p ON p.image_id = i.image_id
LEFT JOIN masks AS m ON m.image_id = i.image_id
WHERE i.image_id NOT IN (SELECT image_id FROM inpaint_requests);
REFRESH inpaint_skipped;

-- step edit: paint
ALTER TABLE inpaint_requests ADD COLUMN IF NOT EXISTS edited AS (
  inpaint(image, mask, prompt, guidance, $steps, seed, model := $model, size := $size)
);
REFRESH inpaint_requests.edited;

-- step scores: how well every edit fits its prompt, its objects and its colours, and whether it shows nudity
ALTER TABLE inpaint_requests ADD COLUMN IF NOT EXISTS s_prompt AS (clip_score(edited, prompt, $clip));
ALTER TABLE inpaint_requests ADD COLUMN IF NOT EXISTS edited_objects AS (
  list_transform(detect(edited, model := $detector, score := $score), lambda o: o.category)
);
ALTER TABLE inpaint_requests ADD COLUMN IF NOT EXISTS s_object AS (object_f1(edited_objects, objects));
ALTER TABLE inpaint_requests ADD COLUMN IF NOT EXISTS s_color AS (color_fidelity(edited, image));
ALTER TABLE inpaint_requests ADD COLUMN IF NOT EXISTS nsfw AS (nsfw_score(edited, $nsfw_model));
REFRESH inpaint_requests.s_prompt, inpaint_requests.edited_objects, inpaint_requests.s_object, inpaint_requests.s_color,
  inpaint_requests.nsfw;

-- step choose: the best edit of every image and group, of images that have one for every group
CREATE MATERIALIZED VIEW IF NOT EXISTS inpaint_set WITH (key = 'edit_id') AS
WITH chosen AS (
  SELECT *, count(*) OVER (PARTITION BY image_id) AS labels
  FROM rank_filter(
    (
      SELECT edit_id, image_id, label, seed, s_prompt, s_object, s_color
      FROM inpaint_requests
      WHERE nsfw < $max_nsfw
    ),
    $c_prompt,
    $c_object,
    $c_color
  )
),
wanted AS (
  SELECT image_id, count(*) AS labels FROM inpaint_prompts GROUP BY image_id
),
edits AS (
  SELECT *, list_first([edited]) AS made FROM inpaint_requests
)
SELECT
  e.edit_id,
  e.image_id,
  e.label,
  e.prompt AS text,
  e.source_text,
  e.guidance,
  e.seed,
  $model AS model,
  e.x,
  e.y,
  e.width,
  e.height,
  e.s_prompt,
  e.s_object,
  e.s_color,
  e.nsfw,
  c.prompt_rank,
  c.object_rank,
  c.color_rank,
  c.rank_sum,
  e.made AS image
FROM edits AS e
JOIN chosen AS c ON c.edit_id = e.edit_id
JOIN wanted AS w ON w.image_id = c.image_id AND w.labels = c.labels;
ALTER TABLE inpaint_set ADD COLUMN IF NOT EXISTS made_by AS (synthetic_source(image));
CREATE MATERIALIZED VIEW IF NOT EXISTS inpaint_dropped WITH (key = 'image_id, label') AS
SELECT
  r.image_id,
  r.label,
  CASE
    WHEN count(r.guidance) FILTER (r.nsfw IS NOT NULL) = 0 THEN 'no edit could be made'
    WHEN count(r.guidance) FILTER (r.nsfw < $max_nsfw) = 0 THEN 'every edit is flagged as nudity'
    WHEN count(r.s_prompt + r.s_object + r.s_color) FILTER (r.nsfw < $max_nsfw) = 0 THEN 'no edit has all scores'
    ELSE 'another group has no edit'
  END AS reason
FROM inpaint_requests AS r
WHERE r.image_id NOT IN (SELECT image_id FROM inpaint_set)
GROUP BY r.image_id, r.label;
REFRESH inpaint_set, inpaint_set.made_by, inpaint_dropped;

-- step sets: for training: edits only (Eq. 2); originals of a known group with their edits of the others (Eq. 3)
CREATE MATERIALIZED VIEW IF NOT EXISTS s_synthetic WITH (key = 'sample_id') AS
WITH boxes AS (
  SELECT
    b.image_id,
    list(
      struct_pack(
        category := b.category,
        score := CAST(NULL AS FLOAT),
        x := CAST(b.x AS FLOAT),
        y := CAST(b.y AS FLOAT),
        width := CAST(b.width AS FLOAT),
        height := CAST(b.height AS FLOAT),
        mask := coalesce(b.mask, p.found)
      ) ORDER BY b.detection_id
    ) AS objects
  FROM $boxes AS b
  LEFT JOIN inpaint_people AS p ON p.detection_id = b.detection_id
  WHERE b.category IS NOT NULL AND b.image_id IN (SELECT image_id FROM inpaint_set)
  GROUP BY b.image_id
),
masks AS (
  SELECT image_id, list_first([mask]) AS mask FROM inpaint_sources
),
edits AS (
  SELECT edit_id, image_id, label, text, list_first([image]) AS image FROM inpaint_set
)
SELECT
  e.edit_id AS sample_id,
  e.image_id,
  e.label,
  e.text,
  true AS synthetic,
  b.objects,
  m.mask,
  e.image
FROM edits AS e
LEFT JOIN boxes AS b ON b.image_id = e.image_id
JOIN masks AS m ON m.image_id = e.image_id;
CREATE MATERIALIZED VIEW IF NOT EXISTS s_augment WITH (key = 'sample_id') AS
WITH own AS (
  SELECT g.image_id, g.label, e.source_text
  FROM clear_labels($groups) AS g
  JOIN inpaint_set AS e ON e.image_id = g.image_id AND e.label = g.label
),
edits AS (
  SELECT sample_id, image_id, label, text, objects, list_first([mask]) AS mask, list_first([image]) AS image
  FROM s_synthetic
),
sources AS (
  SELECT image_id, list_first([image]) AS image FROM images
)
SELECT e.sample_id, e.image_id, e.label, e.text, true AS synthetic, e.objects, e.mask, e.image
FROM edits AS e
JOIN own AS o ON o.image_id = e.image_id AND o.label <> e.label
UNION ALL
SELECT
  CAST(md5_number_lower(concat('original:', o.image_id)) >> 1 AS BIGINT) AS sample_id,
  o.image_id,
  o.label,
  o.source_text AS text,
  false AS synthetic,
  e.objects,
  e.mask,
  s.image
FROM own AS o
JOIN edits AS e ON e.image_id = o.image_id AND e.label = o.label
JOIN sources AS s ON s.image_id = o.image_id;
REFRESH s_synthetic, s_augment;

-- step counts: how many edits were made and kept for each group
SELECT
  r.label,
  count(*) AS requests,
  count(r.s_color) AS edits,
  count(CASE WHEN r.nsfw >= $max_nsfw THEN 1 END) AS flagged,
  count(c.edit_id) AS kept
FROM inpaint_requests AS r
LEFT JOIN inpaint_set AS c ON c.edit_id = r.edit_id
GROUP BY r.label
ORDER BY r.label;
