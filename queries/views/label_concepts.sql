-- label_concepts: The values of an attribute of labels, such as topics, as concepts (image_id, concept).
--
-- source: labels as ingested, of images and of boxes
-- param attribute varchar : attribute of labels, such as 'topic' or 'scene'
-- param annotator varchar = NULL : annotator of labels that count; NULL counts all
-- param labels relation = labels : (image_id, attribute, value, annotator); label rows, in table labels or elsewhere
SELECT DISTINCT image_id, value AS concept
FROM labels
WHERE attribute = $attribute AND value IS NOT NULL AND ($annotator IS NULL OR annotator = $annotator)
