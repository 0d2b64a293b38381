/*--- toml
answers = "A baseline contrast set: the face of every picture of one person exchanged for a face of each gender."
details = """
Pictures with one face and one clear label get, for each label, the face of another picture of that label, drawn with a
seed, so that no picture of the set is untouched. Nothing is filtered. Captions are swapped to match. What else tells
the gender (hair, clothes, body) stays as it was, which is what the baseline is for.

The paper takes the faces of FairFace, of people older than 19: ingest its folder into the lake, and give donors from
it, such as (SELECT image_id AS face_id, gender AS label, image AS face FROM ...). No picture gets the face whose
face_id is its own image_id.

Faces are boxes of category 'face' in detections; where there are none, give any boxes, such as those of a column faces
AS (detect_faces(image)): --param faces="(SELECT image_id AS detection_id, image_id, f.x, f.y, f.width, f.height FROM
(SELECT image_id, unnest(faces) AS f FROM images) AS i)".
Views: genswap_set, genswap_skipped (why an image is not in it; meta.errors has these rows, too).
"""
source = "Smith et al., Balancing the Picture (GenSynth, 2023), baseline GenSwap"
presets = { paper = "Smith et al. (2023)" }

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender_gensynth"
presets = { paper = { value = "caption_gender(lists.gender_gensynth_paper, 'gensynth')", source = "Table 3; how captions are cut is the code's" } }
about = "group relation of the images; the default is that of the released code"

[params.faces]
relation = ["detection_id", "image_id", "x", "y", "width", "height"]
default = "(SELECT detection_id, image_id, x, y, width, height FROM detections WHERE category = 'face')"
about = "boxes of faces"

[params.donors]
relation = ["face_id", "label", "face"]
default = "(SELECT image_id AS face_id, label, list_first([face]) AS face FROM genswap_sources)"
about = "faces to put in, pictures cut out closely; those of the other pictures where it is left out"

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
  i.sha256 -- which picture functions read
FROM images AS i
JOIN genswap_boxes AS b ON b.image_id = i.image_id
JOIN $groups AS g ON g.image_id = i.image_id
WHERE b.faces = 1
  AND least(b.width, b.height) >= $min_side
  AND is_clear(g.label)
  AND list_first([i.image]) IS NOT NULL;
ALTER TABLE genswap_sources ADD COLUMN IF NOT EXISTS face AS (crop(image, x, y, width, height));
ALTER TABLE genswap_sources ADD COLUMN IF NOT EXISTS color AS ( -- of pictures without a face: NULL where they are corrupt
  color_grid(list_first([CASE WHEN face IS NULL THEN image END]), 1)
);
CREATE MATERIALIZED VIEW IF NOT EXISTS genswap_requests WITH (key = 'edit_id') AS
WITH donors AS (
  SELECT face_id, label, md5(concat($seed, ':', face_id)) AS lot
  FROM $donors AS d
  WHERE face_id IS NOT NULL AND list_first([face]) IS NOT NULL AND is_clear(label)
),
spots AS ( -- a ring of digests: faces of a label, and pictures that want one of it, each behind its own face
  SELECT s.image_id, w.label, md5(concat($seed, ':', s.image_id)) AS lot, CAST(NULL AS VARCHAR) AS face
  FROM genswap_sources AS s
  CROSS JOIN (SELECT DISTINCT label FROM donors) AS w
  WHERE list_first([s.face]) IS NOT NULL
  UNION ALL
  SELECT NULL AS image_id, label, lot, lot AS face FROM donors
),
drawn AS ( -- the next face on the ring, so that another picture or face changes few draws
  SELECT
    image_id,
    label,
    coalesce(
      min(face) OVER (
        PARTITION BY label ORDER BY lot, image_id IS NOT NULL ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
      ),
      min(face) OVER (PARTITION BY label)
    ) AS face
  FROM spots
)
SELECT
  CAST(md5_number_lower(concat($seed, ':', d.image_id, ':', d.label)) >> 1 AS BIGINT) AS edit_id,
  d.image_id,
  d.label,
  o.face_id AS face_of,
  s.x,
  s.y,
  s.width,
  s.height,
  s.sha256,
  list_first([f.face]) AS face
FROM drawn AS d
JOIN genswap_sources AS s ON s.image_id = d.image_id
JOIN donors AS o ON o.lot = d.face AND o.label = d.label AND o.face_id <> d.image_id
JOIN $donors AS f ON f.face_id = o.face_id;
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
  HAVING count(*) = (
    SELECT count(DISTINCT label) FROM $donors AS d WHERE is_clear(label)
  )
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
    WHEN g.label IS NULL OR NOT is_clear(g.label) THEN 'no clear label'
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
