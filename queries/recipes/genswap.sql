/*--- toml
answers = "A baseline contrast set: the face of every picture of one person exchanged for a face of each gender."
details = """
Pictures with one face and one clear label get, for each label, the face of another picture of that label, drawn with a
seed, so that no picture of the set is untouched. Nothing is filtered. Captions are swapped to match. What else tells
the gender (hair, clothes, body) stays as it was, which is what the baseline is for.

Faces are boxes of category 'face' in detections; where there are none, give any boxes, such as the upper third of those
of people: --param faces="(SELECT detection_id, image_id, x, y, width, height / 3 AS height FROM detections WHERE …)".
Views: genswap_set, genswap_skipped (why an image is not in it; meta.errors has these rows, too).
"""
source = "Smith et al., Balancing the Picture (GenSynth, 2023), baseline GenSwap"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender_gensynth"
about = "group relation of the images"

[params.faces]
relation = ["detection_id", "image_id", "x", "y", "width", "height"]
default = "(SELECT detection_id, image_id, x, y, width, height FROM detections WHERE category = 'face')"
about = "boxes of faces"

[params.texts]
relation = ["caption_id", "image_id", "text"]
default = "captions"
about = "captions of the images"

[params.min_side]
type = "double"
default = 16
about = "shortest side of a face's box, in pixels"

[params.seed]
type = "integer"
default = 0
about = "another seed, other faces"
---*/

-- step requests: pictures with one face and one clear label; for each a face of another one of each label
CREATE MATERIALIZED VIEW IF NOT EXISTS genswap_boxes WITH (key = 'image_id') AS
SELECT
  image_id,
  count(*) AS faces,
  min(detection_id) AS detection_id,
  min(x) AS x,
  min(y) AS y,
  min(width) AS width,
  min(height) AS height
FROM $faces AS f
GROUP BY image_id;
CREATE MATERIALIZED VIEW IF NOT EXISTS genswap_sources WITH (key = 'image_id') AS
SELECT
  i.image_id,
  g.label,
  b.x,
  b.y,
  b.width,
  b.height,
  list_first([i.image]) AS image -- the bytes as they are: only what a function is given is read
FROM images AS i
JOIN genswap_boxes AS b ON b.image_id = i.image_id
JOIN $groups AS g ON g.image_id = i.image_id
WHERE b.faces = 1
  AND least(b.width, b.height) >= $min_side
  AND g.label NOT IN ('mixed', 'unclear', 'undefined')
  AND list_first([i.image]) IS NOT NULL;
ALTER TABLE genswap_sources ADD COLUMN IF NOT EXISTS face AS (crop(image, x, y, width, height));
ALTER TABLE genswap_sources ADD COLUMN IF NOT EXISTS color AS ( -- of pictures without a face: NULL where they are corrupt
  color_grid(list_first([CASE WHEN face IS NULL THEN image END]), 1)
);
CREATE MATERIALIZED VIEW IF NOT EXISTS genswap_requests WITH (key = 'edit_id') AS
WITH lots AS (
  SELECT image_id, label, md5(concat($seed, ':', image_id)) AS lot
  FROM genswap_sources
  WHERE list_first([face]) IS NOT NULL
),
wanted AS (
  SELECT l.image_id, w.label, l.lot, CASE WHEN l.label = w.label THEN l.lot END AS face
  FROM lots AS l
  CROSS JOIN (SELECT DISTINCT label FROM lots) AS w
),
drawn AS ( -- the next face on a ring of digests, so that another picture changes few draws
  SELECT
    image_id,
    label,
    coalesce(
      min(face) OVER (PARTITION BY label ORDER BY lot ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING),
      min(face) OVER (PARTITION BY label)
    ) AS face
  FROM wanted
)
SELECT
  CAST(md5_number_lower(concat($seed, ':', d.image_id, ':', d.label)) >> 1 AS BIGINT) AS edit_id,
  d.image_id,
  d.label,
  o.image_id AS face_of,
  s.x,
  s.y,
  s.width,
  s.height,
  list_first([s.image]) AS image,
  list_first([f.face]) AS face
FROM drawn AS d
JOIN genswap_sources AS s ON s.image_id = d.image_id
JOIN lots AS o ON o.lot = d.face AND o.image_id <> d.image_id
JOIN genswap_sources AS f ON f.image_id = o.image_id;
REFRESH genswap_boxes, genswap_sources, genswap_sources.face, genswap_sources.color, genswap_requests;

-- step swap: put the faces in
ALTER TABLE genswap_requests ADD COLUMN IF NOT EXISTS edited AS (swap_face(image, x, y, width, height, face));
REFRESH genswap_requests.edited;

-- step choose: pictures with a face of each label, with captions swapped to match
CREATE MATERIALIZED VIEW IF NOT EXISTS genswap_set WITH (key = 'edit_id') AS
WITH complete AS (
  SELECT image_id
  FROM genswap_requests
  WHERE list_first([edited]) IS NOT NULL
  GROUP BY image_id
  HAVING count(*) = (SELECT count(DISTINCT label) FROM genswap_sources)
)
SELECT
  r.edit_id,
  r.image_id,
  r.label,
  r.face_of,
  r.x,
  r.y,
  r.width,
  r.height,
  list_first([r.edited]) AS image,
  t.text
FROM genswap_requests AS r
JOIN complete AS c ON c.image_id = r.image_id
LEFT JOIN swapped_captions((SELECT edit_id, image_id, label FROM genswap_requests), $texts) AS t
  ON t.edit_id = r.edit_id AND t.place = 1;
CREATE MATERIALIZED VIEW IF NOT EXISTS genswap_skipped WITH (key = 'image_id', errors = 'reason') AS
SELECT
  i.image_id,
  CASE
    WHEN b.faces IS NULL THEN 'no face'
    WHEN b.faces > 1 THEN 'several faces'
    WHEN g.label IS NULL OR g.label IN ('mixed', 'unclear', 'undefined') THEN 'no clear label'
    WHEN least(b.width, b.height) < $min_side THEN 'tiny box'
    WHEN s.image_id IS NULL THEN 'no picture'
    WHEN list_first([s.face]) IS NULL AND s.color IS NULL THEN 'corrupt picture'
    WHEN list_first([s.face]) IS NULL THEN 'box outside the picture'
    ELSE 'no other face, or genswap_requests.edited failed'
  END AS reason
FROM images AS i
LEFT JOIN genswap_boxes AS b ON b.image_id = i.image_id
LEFT JOIN $groups AS g ON g.image_id = i.image_id
LEFT JOIN genswap_sources AS s ON s.image_id = i.image_id
WHERE i.image_id NOT IN (SELECT image_id FROM genswap_set);
REFRESH genswap_set, genswap_skipped;

-- step skipped: why images are not in the set
SELECT reason, count(*) AS images FROM genswap_skipped GROUP BY reason ORDER BY images DESC, reason;

-- step made: how many there are of each label
SELECT label, count(*) AS images, count(text) AS texts FROM genswap_set GROUP BY label ORDER BY label;
