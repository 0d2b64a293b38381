/*--- toml
answers = """
A contrast set: every picture of one person once with each gender, edited by instruction, filtered by neighbours."""
details = """
Images with one person and one clear label become requests: every instruction, for every gender, at every guidance. The
crop of the person is edited and pasted back, the rest of the picture stays as it was. An edit is kept that looks real
among its nearest neighbours and stands near the gender it was to show (knn_filter); an image is kept that has one of
each gender, one is chosen of each with a seed, and captions are swapped to match. Labels of the set are what edits were
to show.

All that is needed are images with their pictures (--store-images), captions and boxes of people (category 'person'),
such as COCO's; or detections of another table: (detection_id, image_id, category, x, y, width, height, is_crowd). More
sources, instructions or guidances cost their own edits only; what is done anew is the filter, for a new box may be a
neighbour of any edit. Edits that are flagged as nudity are not chosen. Views: gensynth_set and gensynth_captions,
gensynth_deciles (pairs of edits, one of each gender by one template and guidance, by the mean of their p_real, to look
at what the threshold lets pass: decile 1 from 0 to 0.1 and so on, as in its appendix J), gensynth_skipped (why an image
is not in the set; meta.errors has these rows, too).

Defaults are the paper's where it gives them: guidance and thresholds for CLIP. For its rule by DINO: preset=paper_dino, or
tau_r=0.0001 beside it (see knn_filter).
Steps and image_guidance are those of InstructPix2Pix's own code. The instructions are its Table 6, word for word; another list
has columns (term, class, template).
"""
source = "Smith et al., Balancing the Picture: Debiasing Vision-Language Datasets with Synthetic Contrast Sets (2023)"
presets = { paper = "Smith et al. (2023)", paper_dino = { of = "Smith et al. (2023), filtered by DINO", like = "paper" } }

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender_gensynth"
presets = { paper = { value = "caption_gender(lists.gender_gensynth_paper, 'gensynth')", source = "Table 3; how captions are cut is the code's" } }
about = "group relation of the images; the default is that of the released code"

[params.detections]
relation = ["detection_id", "image_id", "category", "x", "y", "width", "height", "is_crowd"]
default = "detections"
about = "boxes of people among them"

[params.texts]
relation = ["caption_id", "image_id", "text"]
default = "captions"
about = "captions of the images"

[params.templates]
relation = ["term", "class", "template"]
default = "lists.edit_instructions"
presets = { paper = { value = "lists.edit_instructions", source = "Table 6" } }
about = "instruction, the label it asks for, its form"

[params.min_side]
type = "double"
default = 30
about = "shortest side of a person's box, in pixels"

[params.guidance]
type = "double[]"
default = [9.5, 15]
min = 0
presets = { paper = { value = [9.5, 15], source = "B.2" } }
about = "scales of guidance by the instruction"

[params.image_guidance]
type = "double"
default = 1.5
min = 0
about = "scale of guidance by the picture"

[params.steps]
type = "integer"
default = 100
min = 1
presets = { paper = { value = 500, source = "B.2" } }
about = "steps of diffusion; the default is InstructPix2Pix's own, a fifth of the paper's"

[params.seed]
type = "integer"
default = 0
about = "another seed, other noise and another choice"

[params.editor]
type = "varchar"
default = "timbrooks/instruct-pix2pix"
about = "model of instruct_pix2pix"

[params.size]
type = "integer"
default = 512
min = 1
about = "side of the edited crop, in pixels"

[params.embedder]
type = "varchar"
default = "ViT-B-32/laion2b_s34b_b79k"
presets = { paper_dino = { value = "facebook/dino-vitb16", source = "H: DINO ViT-B/16" } }
about = "model of embed_image"

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
about = "see knn_filter; the default is what CLIP is compared by"

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
about = "edits with this score or a higher one, and those without one, are never chosen"

[params.leave_out]
type = "varchar"
default = "self"
choices = ["self", "source", "none"]
about = "see knn_filter"
---*/

-- step requests: images with one person, one clear label and a large enough box; for each every instruction at every guidance
CREATE MATERIALIZED VIEW IF NOT EXISTS gensynth_people WITH (key = 'image_id') AS
SELECT
  image_id,
  count(*) + count(CASE WHEN is_crowd THEN 1 END) AS people,
  min(detection_id) AS detection_id,
  min(x) AS x,
  min(y) AS y,
  min(width) AS width,
  min(height) AS height
FROM $detections
WHERE category = 'person'
GROUP BY image_id;
CREATE MATERIALIZED VIEW IF NOT EXISTS gensynth_sources WITH (key = 'image_id') AS
SELECT
  i.image_id,
  p.detection_id,
  g.label,
  p.x,
  p.y,
  p.width,
  p.height,
  i.sha256 -- which picture functions read
FROM images AS i
JOIN gensynth_people AS p ON p.image_id = i.image_id
JOIN $groups AS g ON g.image_id = i.image_id
WHERE p.people = 1
  AND least(p.width, p.height) >= $min_side
  AND g.label IN (SELECT class FROM $templates)
  AND list_first([i.image]) IS NOT NULL;
CREATE MATERIALIZED VIEW IF NOT EXISTS gensynth_requests WITH (key = 'edit_id') AS
WITH scales AS (
  SELECT CAST(unnest($guidance) AS DOUBLE) AS guidance
),
wanted AS (
  SELECT
    s.image_id,
    s.x,
    s.y,
    s.width,
    s.height,
    s.sha256,
    t.term AS prompt,
    t.class AS label,
    t.template,
    c.guidance,
    concat($seed, ':', s.image_id, ':', t.class, ':', t.term, ':', c.guidance) AS lot
  FROM gensynth_sources AS s
  CROSS JOIN $templates AS t
  CROSS JOIN scales AS c
)
SELECT
  CAST(md5_number_lower(lot) >> 1 AS BIGINT) AS edit_id,
  image_id,
  label,
  prompt,
  template,
  guidance,
  CAST(md5_number_lower(concat('noise:', lot)) >> 1 AS BIGINT) AS seed,
  x,
  y,
  width,
  height,
  sha256
FROM wanted;
REFRESH gensynth_people, gensynth_sources, gensynth_requests;
SELECT i.images, i.pictures, s.sources, r.requests -- without stored pictures there are none: ingest with --store-images
FROM (SELECT count(*) AS images, count(sha256) AS pictures FROM images) AS i
CROSS JOIN (SELECT count(*) AS sources FROM gensynth_sources) AS s
CROSS JOIN (SELECT count(*) AS requests FROM gensynth_requests) AS r;

-- step edit: edit the crop of the person and paste it back
ALTER TABLE gensynth_requests ADD COLUMN IF NOT EXISTS edited AS (
  instruct_pix2pix(
    image, x, y, width, height, prompt, guidance, $image_guidance, $steps, seed, model := $editor, size := $size,
    safety := $safety
  )
);
REFRESH gensynth_requests.edited;

-- step embed: real and edited boxes as vectors
ALTER TABLE gensynth_sources ADD COLUMN IF NOT EXISTS embedding AS (
  embed_image(crop(image, x, y, width, height), $embedder)
);
ALTER TABLE gensynth_requests ADD COLUMN IF NOT EXISTS embedding AS (
  embed_image(crop(edited, x, y, width, height), $embedder)
);
REFRESH gensynth_sources.embedding, gensynth_requests.embedding;

-- step flag: whether edits show nudity
ALTER TABLE gensynth_requests ADD COLUMN IF NOT EXISTS nsfw AS (nsfw_score(edited, $nsfw_model));
REFRESH gensynth_requests.nsfw;

-- step filter: which edits look real and show the gender they were to show
CREATE MATERIALIZED VIEW IF NOT EXISTS gensynth_filter WITH (key = 'edit_id') AS
SELECT edit_id, image_id, label, neighbours, p_real, p_group, accepted
FROM knn_filter(
  real := gensynth_sources, edited := gensynth_requests, k_r := $k_r, k_g := $k_g, tau_r := $tau_r, tau_g := $tau_g,
  metric := $metric, leave_out := $leave_out
);
REFRESH gensynth_filter;

-- step choose: one edit of each gender where each has an accepted one, with captions swapped to match
CREATE MATERIALIZED VIEW IF NOT EXISTS gensynth_chosen WITH (key = 'edit_id') AS
WITH ranked AS (
  SELECT
    edit_id,
    image_id,
    label,
    p_real,
    p_group,
    row_number() OVER (PARTITION BY image_id, label ORDER BY md5(concat($seed, ':', edit_id)), edit_id) AS place
  FROM gensynth_filter
  WHERE accepted AND edit_id IN (SELECT edit_id FROM gensynth_requests WHERE nsfw < $max_nsfw)
),
complete AS (
  SELECT image_id
  FROM ranked
  WHERE place = 1
  GROUP BY image_id
  HAVING count(*) = (SELECT count(DISTINCT class) FROM $templates)
)
SELECT r.edit_id, r.image_id, r.label, r.p_real, r.p_group
FROM ranked AS r
JOIN complete AS c ON c.image_id = r.image_id
WHERE r.place = 1;
CREATE MATERIALIZED VIEW IF NOT EXISTS gensynth_captions WITH (key = 'edit_id, caption_id') AS
SELECT edit_id, caption_id, image_id, label, text, place FROM swapped_captions(gensynth_chosen, $texts);
CREATE MATERIALIZED VIEW IF NOT EXISTS gensynth_set WITH (key = 'edit_id') AS
SELECT
  c.edit_id,
  c.image_id,
  c.label,
  r.prompt,
  r.template,
  r.guidance,
  r.seed,
  r.nsfw,
  c.p_real,
  c.p_group,
  r.x,
  r.y,
  r.width,
  r.height,
  list_first([r.edited]) AS image,
  t.text
FROM gensynth_chosen AS c
JOIN gensynth_requests AS r ON r.edit_id = c.edit_id
LEFT JOIN gensynth_captions AS t ON t.edit_id = c.edit_id AND t.place = 1;
CREATE MATERIALIZED VIEW IF NOT EXISTS gensynth_deciles WITH (key = 'edit_id') AS
WITH scored AS (
  SELECT f.edit_id, f.image_id, f.label, r.template, r.guidance, f.p_real, f.p_group, f.accepted
  FROM gensynth_filter AS f
  JOIN gensynth_requests AS r ON r.edit_id = f.edit_id
  WHERE f.p_real IS NOT NULL
),
pairs AS ( -- of a pair each gender has an edit; as many instructions of one gender as there are in a template
  SELECT
    image_id,
    template,
    guidance,
    CAST(sum(CAST(p_real AS DECIMAL(38, 18))) AS DOUBLE) / count(*) AS pair_real,
    bool_and(accepted) AS pair_accepted
  FROM scored
  GROUP BY image_id, template, guidance
  HAVING count(DISTINCT label) = (SELECT count(DISTINCT class) FROM $templates)
)
SELECT
  s.edit_id,
  s.image_id,
  s.label,
  s.template,
  s.guidance,
  s.p_real,
  s.p_group,
  s.accepted,
  p.pair_real,
  p.pair_accepted,
  CAST(least(floor(p.pair_real * 10), 9) AS INTEGER) + 1 AS decile
FROM scored AS s
JOIN pairs AS p ON p.image_id = s.image_id AND p.template = s.template AND p.guidance = s.guidance;
CREATE MATERIALIZED VIEW IF NOT EXISTS gensynth_skipped WITH (key = 'image_id', errors = 'reason') AS
WITH edits AS (
  SELECT
    r.image_id,
    count(CASE WHEN r.embedding IS NOT NULL THEN 1 END) AS made,
    count(DISTINCT CASE WHEN f.accepted THEN r.label END) AS accepted,
    count(DISTINCT CASE WHEN f.accepted AND r.nsfw < $max_nsfw THEN r.label END) AS kept
  FROM gensynth_requests AS r
  LEFT JOIN gensynth_filter AS f ON f.edit_id = r.edit_id
  GROUP BY r.image_id
)
SELECT
  i.image_id,
  CASE
    WHEN p.people IS NULL THEN 'no person'
    WHEN p.people > 1 THEN 'several people'
    WHEN g.label IS NULL OR g.label NOT IN (SELECT class FROM $templates) THEN 'no clear label'
    WHEN least(p.width, p.height) < $min_side THEN 'tiny box'
    WHEN e.image_id IS NULL THEN 'no picture'
    WHEN e.made = 0 THEN 'no edit: gensynth_requests.edited failed'
    WHEN e.accepted = 0 THEN 'no edit accepted'
    WHEN e.kept < e.accepted THEN 'accepted edits of a label are flagged as nudity'
    ELSE 'no edit accepted of one label'
  END AS reason
FROM images AS i
LEFT JOIN gensynth_people AS p ON p.image_id = i.image_id
LEFT JOIN $groups AS g ON g.image_id = i.image_id
LEFT JOIN edits AS e ON e.image_id = i.image_id
WHERE i.image_id NOT IN (SELECT image_id FROM gensynth_chosen);
REFRESH gensynth_chosen, gensynth_captions, gensynth_set, gensynth_deciles, gensynth_skipped;

-- step deciles: pairs by their mean share of real neighbours; gensynth_deciles tells them to look at
SELECT
  decile,
  count(*) AS pairs,
  min(pair_real) AS low,
  max(pair_real) AS high,
  count(CASE WHEN pair_accepted THEN 1 END) AS accepted
FROM (SELECT DISTINCT image_id, template, guidance, pair_real, pair_accepted, decile FROM gensynth_deciles) AS p
GROUP BY decile
ORDER BY decile;

-- step skipped: why images are not in the set
SELECT reason, count(*) AS images FROM gensynth_skipped GROUP BY reason ORDER BY images DESC, reason;

-- step made: how many there are of each label
SELECT label, count(*) AS images, count(text) AS texts FROM gensynth_set GROUP BY label ORDER BY label;
