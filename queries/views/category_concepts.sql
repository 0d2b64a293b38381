/*--- toml
answers = "The categories of detected objects as concepts: (image_id, concept), each once per image."
source = "COCO instances and any detector's boxes, as ingested"
---*/
SELECT DISTINCT image_id, category AS concept FROM detections WHERE category IS NOT NULL
