/*--- toml
answers = "Pairs of pictures and captions that differ in one noun: COCO-Counterfactuals."
details = """
Every noun of a caption is masked in turn; a masked language model says what else could stand there; what is a noun and
leaves the meaning near, but not too near, is kept; of a caption's candidates the likeliest sentence wins. Then a
diffusion model draws both captions from the same noise, many times, sharing its attention for a random part of the
steps. Pairs whose pictures fit their captions and each other are kept, and of each caption the one whose change of
picture follows the change of words best (CLIP_dir). Pictures that a classifier flags are not.

The paper speaks of Prompt-to-Prompt's cross-attention (3.2) and draws with InstructPix2Pix's code, all of whose settings
stay as they are (B.1.2): that code keeps self-attention, draws the guidance of every pair, adds noise at every step, and
drops pairs with a CLIP_dir below 0.2. preset=paper takes all of this, and the paper's models; without it attention is
that of Prompt-to-Prompt, with fewer steps and smaller models.

coco_counterfactuals_mixes are the paper's four sets to train on (B.3.1): 'original', the captions and images that the
pairs were made of; 'base', half of these and a quarter of the pairs; 'medium', all of these and three quarters of the
generated samples; 'all'. split is 'train' for 80 % of the source images and 'validation' for the others, the same in
every mix: whatever was made of an image lies on one side, and so does a pair (the paper splits samples).

All that is needed are captions. What is dropped stands in coco_counterfactuals_skipped with the reason, and with rows
on which a model failed in meta.errors. The caption stage (--until captions) needs no diffusion.

The published caption pairs are read by: counterbalance ingest LAKE captions.jsonl --format counterfactuals.
"""
source = """
Le et al., COCO-Counterfactuals: Automatically Constructed Counterfactual Examples for Image-Text Pairs (2023)"""
presets = { paper = "Le et al. (2023)" }

[params.tagger]
type = "varchar"
default = "textblob"
presets = { paper = { value = "nltk", source = "B.1.1" } }
about = "how nouns are found; 'nltk' and 'spacy:en_core_web_sm' where they are installed, the default brings its own"

[params.masked]
type = "varchar"
default = "FacebookAI/roberta-base"
presets = { paper = { value = "FacebookAI/roberta-base", source = "B.1.1" } }
about = "model of fill_mask"

[params.top]
type = "integer"
default = 10
min = 1
presets = { paper = { value = 10, source = "B.1.1" } }
about = "candidates a noun"

[params.sentences]
type = "varchar"
default = "sentence-transformers/all-MiniLM-L6-v2"
presets = { paper = { value = "sentence-transformers/all-MiniLM-L6-v2", source = "B.1.1" } }
about = "model of sentence_similarity"

[params.least_similar]
type = "double"
default = 0.8
presets = { paper = { value = 0.8, source = "B.1.1" } }
about = "candidates are more alike than this"

[params.most_similar]
type = "double"
default = 0.91
presets = { paper = { value = 0.91, source = "B.1.1" } }
about = "and at most so alike"

[params.likely]
type = "varchar"
default = "openai-community/gpt2"
presets = { paper = { value = "openai-community/gpt2-large", source = "B.1.1" } }
about = "model of perplexity; the default is the smallest of its family"

[params.diffusion]
type = "varchar"
default = "CompVis/stable-diffusion-v1-4"
presets = { paper = { value = "stable-diffusion-v1-5/stable-diffusion-v1-5", source = "B.5, by InstructPix2Pix; a copy of runwayml's" } }
about = "model of prompt_to_prompt; the default is that of Prompt-to-Prompt's code"

[params.vae]
type = "varchar"
default = ""
presets = { paper = { value = "stabilityai/sd-vae-ft-mse", source = "B.1.2, InstructPix2Pix's generate_img_dataset.py" } }
about = "another autoencoder than the checkpoint's, where one is named; the default needs no second model"

[params.attention]
type = "varchar"
default = "cross"
choices = ["cross", "self"]
presets = { paper = { value = "self", source = "B.1.2" } }
about = "what the second picture takes from the first: where words are looked at, or which places look at which; the default is what the text of the paper names (3.2)"

[params.sampler]
type = "varchar"
default = "checkpoint"
choices = ["checkpoint", "euler_ancestral"]
presets = { paper = { value = "euler_ancestral", source = "B.1.2, InstructPix2Pix's generate_img_dataset.py" } }
about = "how the steps are taken: as the checkpoint says, or with new noise at every step; the default is what the checkpoint was made for"

[params.pictures]
type = "integer"
default = 100
min = 1
presets = { paper = { value = 100, source = "B.1.2" } }
about = "pairs of pictures that are drawn for a pair of captions"

[params.least_share]
type = "double"
default = 0.1
min = 0
max = 1
presets = { paper = { value = 0.1, source = "B.1.2" } }
about = "least share of the steps with shared attention"

[params.most_share]
type = "double"
default = 0.9
min = 0
max = 1
presets = { paper = { value = 0.9, source = "B.1.2" } }
about = "largest share"

[params.least_guidance]
type = "double"
default = 7.5
min = 1
presets = { paper = { value = 7.5, source = "B.1.2, InstructPix2Pix's generate_img_dataset.py" } }
about = "least classifier-free guidance; of each pair of pictures it is drawn"

[params.most_guidance]
type = "double"
default = 7.5
min = 1
presets = { paper = { value = 15, source = "B.1.2, InstructPix2Pix's generate_img_dataset.py" } }
about = "largest guidance; the default is Prompt-to-Prompt's own, the same for every pair"

[params.steps]
type = "integer"
default = 50
min = 1
presets = { paper = { value = 100, source = "B.1.2, InstructPix2Pix's generate_img_dataset.py" } }
about = "denoising steps; the default is Prompt-to-Prompt's own, half of the paper's"

[params.size]
type = "integer"
default = 512
min = 1
presets = { paper = { value = 512, source = "B.1.2, InstructPix2Pix's generate_img_dataset.py" } }
about = "pixels of a side"

[params.seed]
type = "integer"
default = 0
about = "another seed, other shares, guidance and noise"

[params.clip]
type = "varchar"
default = "ViT-B-32/laion2b_s34b_b79k"
presets = { paper = { value = "ViT-L-14/openai", source = "B.1.2, InstructPix2Pix's clip_similarity.py" } }
about = "model of embed_image and embed_text; the default is a smaller one"

[params.text_fit]
type = "double"
default = 0.2
presets = { paper = { value = 0.2, source = "B.1.2" } }
about = "least cosine of a picture and its caption"

[params.image_fit]
type = "double"
default = 0.7
presets = { paper = { value = 0.7, source = "B.1.2" } }
about = "least cosine of the two pictures"

[params.direction_fit]
type = "double"
default = -1
presets = { paper = { value = 0.2, source = "B.1.2, InstructPix2Pix's generate_img_dataset.py" } }
about = "least CLIP_dir; the default is below all of them, for the text of the paper names no least one"

[params.nsfw_model]
type = "varchar"
default = "Falconsai/nsfw_image_detection"
about = "model of nsfw_score"

[params.nsfw]
type = "double"
default = 0.5
about = "pairs with a picture of this score or more are dropped"

[params.train]
type = "double"
default = 0.8
min = 0
max = 1
presets = { paper = { value = 0.8, source = "B.3.1" } }
about = "share of the source images that are to train on, in coco_counterfactuals_mixes"

[params.mix_seed]
type = "integer"
default = 0
about = "another seed, other samples and splits of the mixes"
---*/

-- step nouns: find the nouns of every caption
ALTER TABLE captions ADD COLUMN IF NOT EXISTS nouns AS (nouns(text, tagger := $tagger));
REFRESH captions.nouns;

-- step substitutes: what else could stand in the place of each noun
CREATE MATERIALIZED VIEW IF NOT EXISTS coco_counterfactuals_masks WITH (key = 'mask_id') AS
WITH found AS (
  SELECT caption_id, image_id, text, unnest(nouns) AS noun FROM captions
)
SELECT
  CAST(md5_number_lower(concat(caption_id, ':', noun.position)) >> 1 AS BIGINT) AS mask_id,
  caption_id,
  image_id,
  text,
  noun.word AS word,
  noun.position AS position,
  substr(text, 1, noun.start) AS before,
  substr(text, struct_extract(noun, 'end') + 1) AS behind
FROM found;
REFRESH coco_counterfactuals_masks;
ALTER TABLE coco_counterfactuals_masks ADD COLUMN IF NOT EXISTS substitutes AS (
  fill_mask(text, position, $top, model := $masked)
);
REFRESH coco_counterfactuals_masks.substitutes;

-- step candidates: the changed captions, whether the substitute is a noun, and how alike the captions are
CREATE MATERIALIZED VIEW IF NOT EXISTS coco_counterfactuals_candidates WITH (key = 'candidate_id') AS
WITH filled AS (
  SELECT mask_id, caption_id, image_id, text, word, position, before, behind, unnest(substitutes) AS substitute
  FROM coco_counterfactuals_masks
)
SELECT
  CAST(md5_number_lower(concat(mask_id, ':', substitute.token)) >> 1 AS BIGINT) AS candidate_id,
  caption_id,
  image_id,
  text AS original,
  concat(before, substitute.token, behind) AS counterfactual,
  word,
  substitute.token AS substitute,
  position,
  substitute.score AS mask_score
FROM filled
WHERE lower(substitute.token) <> lower(word);
REFRESH coco_counterfactuals_candidates;
ALTER TABLE coco_counterfactuals_candidates ADD COLUMN IF NOT EXISTS nouns AS (nouns(counterfactual, tagger := $tagger));
ALTER TABLE coco_counterfactuals_candidates ADD COLUMN IF NOT EXISTS similarity AS (
  sentence_similarity(original, counterfactual, model := $sentences)
);
REFRESH coco_counterfactuals_candidates.nouns, coco_counterfactuals_candidates.similarity;

-- step likely: how likely a language model finds those that are nouns and alike enough
CREATE MATERIALIZED VIEW IF NOT EXISTS coco_counterfactuals_likely WITH (key = 'candidate_id') AS
WITH tagged AS (
  SELECT candidate_id, position, unnest(nouns) AS noun FROM coco_counterfactuals_candidates
),
nouns AS (
  SELECT candidate_id FROM tagged WHERE noun.position = position
)
SELECT
  c.candidate_id,
  c.caption_id,
  c.image_id,
  c.original,
  c.counterfactual,
  c.word,
  c.substitute,
  c.position,
  c.similarity
FROM coco_counterfactuals_candidates AS c
JOIN nouns AS n ON n.candidate_id = c.candidate_id
WHERE c.similarity > $least_similar AND c.similarity <= $most_similar;
REFRESH coco_counterfactuals_likely;
ALTER TABLE coco_counterfactuals_likely ADD COLUMN IF NOT EXISTS perplexity AS (perplexity(counterfactual, model := $likely));
REFRESH coco_counterfactuals_likely.perplexity;

-- step captions: of every caption the likeliest of its changed ones
CREATE MATERIALIZED VIEW IF NOT EXISTS coco_counterfactuals_captions WITH (key = 'caption_id') AS
WITH ranked AS (
  SELECT *, row_number() OVER (PARTITION BY caption_id ORDER BY perplexity, candidate_id) AS place
  FROM coco_counterfactuals_likely
  WHERE perplexity IS NOT NULL
)
SELECT caption_id, image_id, original, counterfactual, word, substitute, position, similarity, perplexity
FROM ranked
WHERE place = 1;
REFRESH coco_counterfactuals_captions;

-- step pictures: draw both captions from the same noise, many times
CREATE MATERIALIZED VIEW IF NOT EXISTS coco_counterfactuals_requests WITH (key = 'edit_id') AS
WITH drawn AS (
  SELECT
    caption_id,
    image_id,
    original,
    counterfactual,
    unnest(range(1, $pictures + 1)) AS number
  FROM coco_counterfactuals_captions
)
SELECT
  CAST(md5_number_lower(concat(caption_id, ':', counterfactual, ':', number)) >> 1 AS BIGINT) AS edit_id,
  caption_id,
  image_id,
  'counterfactual' AS label,
  original,
  counterfactual AS prompt,
  $least_share + ($most_share - $least_share)
    * (CAST(md5_number_lower(concat('share:', $seed, ':', caption_id, ':', number)) >> 11 AS DOUBLE) / 9007199254740992) AS p,
  $least_guidance + ($most_guidance - $least_guidance)
    * (CAST(md5_number_lower(concat('guidance:', $seed, ':', caption_id, ':', number)) >> 11 AS DOUBLE) / 9007199254740992)
    AS guidance,
  CAST(md5_number_lower(concat('noise:', $seed, ':', caption_id, ':', number)) >> 1 AS BIGINT) AS seed
FROM drawn;
REFRESH coco_counterfactuals_requests;
ALTER TABLE coco_counterfactuals_requests ADD COLUMN IF NOT EXISTS edited AS (
  prompt_to_prompt(
    original, prompt, p, seed, guidance, $steps, model := $diffusion, attention := $attention, size := $size, vae := $vae,
    sampler := $sampler
  )
);
REFRESH coco_counterfactuals_requests.edited;

-- step scores: vectors of pictures and captions, CLIP_dir, and how unsafe a classifier finds the pictures
ALTER TABLE coco_counterfactuals_requests ADD COLUMN IF NOT EXISTS image_a AS (
  embed_image(struct_extract(edited, 'image_a'), $clip)
);
ALTER TABLE coco_counterfactuals_requests ADD COLUMN IF NOT EXISTS image_b AS (
  embed_image(struct_extract(edited, 'image_b'), $clip)
);
ALTER TABLE coco_counterfactuals_requests ADD COLUMN IF NOT EXISTS text_a AS (embed_text(original, $clip));
ALTER TABLE coco_counterfactuals_requests ADD COLUMN IF NOT EXISTS text_b AS (embed_text(prompt, $clip));
ALTER TABLE coco_counterfactuals_requests ADD COLUMN IF NOT EXISTS direction AS (
  clip_direction(image_a, image_b, text_a, text_b)
);
ALTER TABLE coco_counterfactuals_requests ADD COLUMN IF NOT EXISTS nsfw_a AS (
  nsfw_score(struct_extract(edited, 'image_a'), model := $nsfw_model)
);
ALTER TABLE coco_counterfactuals_requests ADD COLUMN IF NOT EXISTS nsfw_b AS (
  nsfw_score(struct_extract(edited, 'image_b'), model := $nsfw_model)
);
REFRESH coco_counterfactuals_requests;

-- step pairs: of every caption the pair with the highest CLIP_dir among those that fit, with its scores
CREATE MATERIALIZED VIEW IF NOT EXISTS coco_counterfactuals_scores WITH (key = 'edit_id') AS
SELECT
  edit_id,
  caption_id,
  image_id,
  p,
  guidance,
  seed,
  array_inner_product(image_a, text_a) AS fit_a,
  array_inner_product(image_b, text_b) AS fit_b,
  array_inner_product(image_a, image_b) AS fit_images,
  direction,
  CASE WHEN nsfw_a IS NOT NULL AND nsfw_b IS NOT NULL THEN greatest(nsfw_a, nsfw_b) END AS nsfw -- of both, or unknown
FROM coco_counterfactuals_requests
WHERE direction IS NOT NULL;
CREATE MATERIALIZED VIEW IF NOT EXISTS coco_counterfactuals_pairs WITH (key = 'caption_id') AS
WITH ranked AS (
  SELECT *, row_number() OVER (PARTITION BY caption_id ORDER BY direction DESC, edit_id) AS place
  FROM coco_counterfactuals_scores
  WHERE fit_a >= $text_fit AND fit_b >= $text_fit AND fit_images >= $image_fit AND direction >= $direction_fit
    AND nsfw < $nsfw
)
SELECT edit_id, caption_id, image_id, p, guidance, seed, fit_a, fit_b, fit_images, direction, nsfw
FROM ranked
WHERE place = 1;
REFRESH coco_counterfactuals_scores, coco_counterfactuals_pairs;

-- step set: the chosen pictures, a row each, with caption and the scores of the pair; and what was skipped and why
CREATE MATERIALIZED VIEW IF NOT EXISTS coco_counterfactuals_set WITH (key = 'edit_id') AS
SELECT
  CAST(md5_number_lower(concat(r.edit_id, ':', h.label)) >> 1 AS BIGINT) AS edit_id,
  r.edit_id AS pair_id,
  r.caption_id,
  r.image_id,
  h.label,
  p.p,
  p.guidance,
  p.seed,
  p.fit_a,
  p.fit_b,
  p.fit_images,
  p.direction,
  p.nsfw,
  CASE h.label
    WHEN 'original' THEN struct_extract(r.edited, 'image_a')
    ELSE struct_extract(r.edited, 'image_b')
  END AS image,
  CASE h.label WHEN 'original' THEN r.original ELSE r.prompt END AS text,
  r.original,
  r.prompt AS counterfactual
FROM coco_counterfactuals_requests AS r
JOIN coco_counterfactuals_pairs AS p ON p.edit_id = r.edit_id
CROSS JOIN (VALUES ('original'), ('counterfactual')) AS h(label);
CREATE MATERIALIZED VIEW IF NOT EXISTS coco_counterfactuals_skipped WITH (key = 'caption_id', errors = 'reason') AS
WITH reached AS (
  SELECT caption_id, 1 AS stage FROM coco_counterfactuals_masks
  UNION ALL
  SELECT caption_id, 2 AS stage FROM coco_counterfactuals_candidates
  UNION ALL
  SELECT caption_id, 3 AS stage FROM coco_counterfactuals_captions
  UNION ALL
  SELECT caption_id, 4 AS stage FROM coco_counterfactuals_scores
  UNION ALL
  SELECT caption_id, 5 AS stage
  FROM coco_counterfactuals_scores
  WHERE fit_a >= $text_fit AND fit_b >= $text_fit AND fit_images >= $image_fit AND direction >= $direction_fit
  UNION ALL
  SELECT caption_id, 6 AS stage FROM coco_counterfactuals_pairs
),
furthest AS (
  SELECT caption_id, max(stage) AS stage FROM reached GROUP BY caption_id
)
SELECT
  c.caption_id,
  c.image_id,
  CASE coalesce(f.stage, 0)
    WHEN 0 THEN 'no noun'
    WHEN 1 THEN 'no substitute'
    WHEN 2 THEN 'no substitute that is a noun and alike enough'
    WHEN 3 THEN 'no pictures'
    WHEN 4 THEN 'no pictures that fit captions and each other'
    ELSE 'pictures flagged as unsafe'
  END AS reason
FROM captions AS c
LEFT JOIN furthest AS f ON f.caption_id = c.caption_id
WHERE coalesce(f.stage, 0) < 6;
REFRESH coco_counterfactuals_set, coco_counterfactuals_skipped;

-- step mixes: the sets to train on, drawn and split by seed; edit_id leads to a picture of the set, or is NULL of an original
CREATE MATERIALIZED VIEW IF NOT EXISTS coco_counterfactuals_mixes WITH (key = 'sample_id') AS
WITH samples AS (
  SELECT
    caption_id,
    image_id,
    edit_id,
    pair_id,
    label,
    text,
    row_number() OVER (ORDER BY md5_number_lower(concat('sample:', $mix_seed, ':', edit_id)), edit_id) AS place,
    row_number() OVER (
      PARTITION BY label ORDER BY md5_number_lower(concat('pair:', $mix_seed, ':', pair_id)), pair_id
    ) AS pair_place
  FROM coco_counterfactuals_set
),
originals AS (
  SELECT
    caption_id,
    image_id,
    original AS text,
    row_number() OVER (ORDER BY md5_number_lower(concat('original:', $mix_seed, ':', caption_id)), caption_id) AS place
  FROM coco_counterfactuals_captions
  WHERE caption_id IN (SELECT caption_id FROM coco_counterfactuals_pairs)
),
sources AS (
  SELECT
    image_id,
    row_number() OVER (ORDER BY md5_number_lower(concat('split:', $mix_seed, ':', image_id)), image_id) AS place,
    count(*) OVER () AS images
  FROM (SELECT DISTINCT image_id FROM originals) AS i
),
sizes AS (
  SELECT (SELECT count(*) FROM originals) AS n_originals, (SELECT count(*) FROM samples) AS n_samples
),
-- how many of a hundred: originals, pairs, and samples whether their pair is there or not (B.3.1)
mixes AS (
  SELECT mix, of_originals, of_pairs, of_samples
  FROM (VALUES ('original', 100, 0, 0), ('base', 50, 25, 0), ('medium', 100, 0, 75), ('all', 100, 0, 100)) AS m(
    mix, of_originals, of_pairs, of_samples
  )
),
drawn AS (
  SELECT m.mix, o.caption_id, o.image_id, CAST(NULL AS BIGINT) AS edit_id, CAST(NULL AS BIGINT) AS pair_id,
    'real' AS label, o.text
  FROM originals AS o
  CROSS JOIN sizes AS s
  JOIN mixes AS m ON o.place <= ceil(m.of_originals * s.n_originals / 1e2)
  UNION ALL
  SELECT m.mix, c.caption_id, c.image_id, c.edit_id, c.pair_id, c.label, c.text
  FROM samples AS c
  CROSS JOIN sizes AS s
  JOIN mixes AS m
    ON c.place <= ceil(m.of_samples * s.n_samples / 1e2) OR c.pair_place <= ceil(m.of_pairs * s.n_samples / 2e2)
)
SELECT
  CAST(md5_number_lower(concat(d.mix, ':', d.label, ':', d.caption_id)) >> 1 AS BIGINT) AS sample_id,
  d.mix,
  CASE WHEN i.place <= round($train * i.images) THEN 'train' ELSE 'validation' END AS split,
  d.caption_id,
  d.image_id,
  d.edit_id,
  d.pair_id,
  d.label,
  d.text
FROM drawn AS d
JOIN sources AS i ON i.image_id = d.image_id;
REFRESH coco_counterfactuals_mixes;

-- step counts: what came of the captions
SELECT reason, count(*) AS captions FROM coco_counterfactuals_skipped GROUP BY reason
UNION ALL
SELECT 'kept' AS reason, count(*) AS captions FROM coco_counterfactuals_pairs;
