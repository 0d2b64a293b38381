/*--- toml
answers = "How negative the texts of images are, by perceived group (VADER)."
details = """
Of the n texts whose compound score is not 0: the share that is negative and the mean score, with 95 % intervals; texts
is the number of all texts, images that of the images they are of. Only images with one clear label count, each with all of its texts.
Texts of one image are much alike, so intervals go by images: Wilson's around the share, of as many independent texts as
would tell as much (effective_size), and Student's t around the mean. VADER knows English words of social media; it scores texts, not people, and
labels are perceived, or those of words in captions.

Small counts, and what would give them away, are hidden by the engine; see docs/safety.md. So are rows where few images have
negative texts, others, or neutral ones (smallest), however many texts each has. Where a label is hidden another one is, too:
how many texts there are of all labels together can be counted without any label.
"""
subject = "what goes with whom"
source = "Girrbach et al. (2025), sentiment of alt-texts, with rules := 'nltk'; Hutto and Gilbert (2014)"
presets = { paper = "Girrbach et al. (2025)" }

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation; the default needs captions only. The paper's labels are perceived ones, which presets leave to you: image_labels('perceived_gender', preset := 'paper')"

[params.texts]
relation = ["image_id", "text"]
default = "captions"
about = "what is scored"

[params.rules]
type = "varchar"
default = "vader"
choices = ["vader", "nltk"]
grid = []
presets = { paper = { value = "nltk", source = "section 4.2" } }
about = "results of the vaderSentiment package or of NLTK's port; the default is the package of VADER's authors"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts of texts, negative or not, are suppressed"

[[cells]]
count = "negative"
out_of = "n"
by = ["label"]

[[cells]]
count = "n"
out_of = "texts"
by = ["label"]

[[cells]]
count = "texts"
by = ["label"]

[[cells]]
count = "images"
by = ["label"]

[[cells]]
count = "smallest"
by = ["label"]
---*/
SELECT
  label, texts, n, images, negative, negative_ratio, negative_low, negative_high, mean, mean_low, mean_high, smallest, suppressed
FROM text_sentiment(groups, texts, $rules, $min_count)
ORDER BY label
