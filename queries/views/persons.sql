/*--- toml
answers = "Boxes of people with their size; no perceived attribute is in it."
details = """
min_side is the shorter side in pixels (audits leave out persons under 30 px, as the LAION work does); image_share is
the box's share of the picture, NULL where the picture's size is unknown.
"""
source = "Girrbach et al., person boxes in LAION-400M (2025)"
---*/
SELECT
  d.detection_id,
  d.image_id,
  d.x,
  d.y,
  d.width,
  d.height,
  least(d.width, d.height) AS min_side,
  d.area,
  CAST(d.width AS DOUBLE) * d.height / nullif(CAST(i.width AS DOUBLE) * i.height, 0) AS image_share,
  d.score,
  d.is_crowd,
  d.origin
FROM detections AS d
LEFT JOIN images AS i ON i.image_id = d.image_id
WHERE d.category = 'person'
