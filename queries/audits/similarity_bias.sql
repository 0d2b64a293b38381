/*--- toml
answers = "How much nearer each category is to the images of one perceived group than to another's: a plain difference."
details = """
For every category: value = mean cosine with the images of label - mean cosine with those of against, in units of the
cosine, + towards label; nothing is divided by a standard deviation (association does that). low and high: 95 % interval
(Student's t, unequal variances), p of the same t, and q (Benjamini and Hochberg over all rows, hidden ones as p = 1). n:
vectors of both labels; several of one image, or of one source with the same label, count as one (see association). The scale of cosines differs between models: compare signs and
orders, not sizes, of several. What a model brings together says nothing of persons; labels are perceived, or those of
words in captions.

The engine hides rows where either label has few vectors, or group_sizes hides it (docs/safety.md).
"""
subject = "what a model associates"
source = """
Konavoor et al., Vision-language models display a strong gender bias (2025), association score of a statement, as its
abstract has it (there male - female, with bootstrap intervals); no paper was found that calls a measure by this name"""
among = [{ labels = ["label", "against"], relations = ["groups"] }]

[params.images]
relation = ["image_id"]
about = "with a vector column: embeddings of images by the model"

[params.categories]
relation = ["category", "embedding"]
about = "embeddings of texts by the same model"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.label]
type = "varchar"
default = "female"
about = "label that counts as +"

[params.against]
type = "varchar"
default = "male"
about = "label it is held against"

[params.column]
type = "varchar"
default = "embedding"
about = "vector column of images"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer vectors, or images, of a label are hidden"

[params.sources]
relation = ["image_id", "source_id"]
default = "(SELECT image_id, image_id AS source_id FROM images GROUP BY image_id HAVING count(*) > 1)"
grid = []
about = "which images were made of one, as edits are: their vectors with the same label count as one, the mean direction"

[[cells]]
count = "n_label"
within = ["category"]
tests = ["p", "q"]

[[cells]]
count = "n_against"
within = ["category"]

[[cells]]
count = "images_label"
within = ["category"]

[[cells]]
count = "images_against"
within = ["category"]
---*/
SELECT
  category,
  difference AS value,
  difference - student_point(df) * standard_error AS low,
  difference + student_point(df) * standard_error AS high,
  mean_label,
  mean_against,
  n,
  n_label,
  n_against,
  images_label,
  images_against,
  p,
  q,
  suppressed
FROM false_discovery((
  SELECT *, student_p(difference / nullif(standard_error, 0), df) AS p
  FROM label_differences(images, categories, groups, $label, $against, $column, $min_count, sources)
))
ORDER BY category, place
