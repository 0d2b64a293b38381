/*--- toml
answers = """
Are two sets of words associated with two others in a text model, such as careers with male words? With a p-value."""
details = """
s(w) = mean cosine of w with the class a - mean cosine with b. value is the effect size: (mean of s over the class x -
mean over y) / standard deviation of s over both (ddof 1). low and high: its 95 % interval (effect_interval: Student's
t, unequal variances; words as draws, a and b as given). p is one-sided: the share of the
divisions of x and y together, into as many of each, whose difference is as large or larger; of all of them (exact)
where there are at most permutations, else (1 + those of permutations random ones) / (1 + permutations), by seed. n:
words of x and y, n_x, n_y, n_a, n_b of each class. Words are never persons: what words of a perceived group are
associated with is a property of the model.

The engine hides a row where a class has few words (docs/safety.md).
"""
subject = "what a model associates"
source = """
Caliskan, Bryson and Narayanan (2017), who count larger differences only; ties counted as in May et al. (2019)"""

[params.vectors]
relation = ["class", "embedding"]
about = "one row per word: embeddings by one model"

[params.x]
type = "varchar"
default = "x"
about = "class of the first targets"

[params.y]
type = "varchar"
default = "y"
about = "class of the second targets"

[params.a]
type = "varchar"
default = "a"
about = "class of the first attributes"

[params.b]
type = "varchar"
default = "b"
about = "class of the second attributes"

[params.permutations]
type = "integer"
default = 10000
min = 1
free = true
about = "so many divisions are all taken, or drawn where there are more"

[params.seed]
type = "integer"
default = 0
free = true
about = "of the draws"

[params.min_count]
type = "integer"
default = 2
min = 0
about = "fewer words of a class are hidden"

[[cells]]
count = "n_x"

[[cells]]
count = "n_y"

[[cells]]
count = "n_a"

[[cells]]
count = "n_b"
---*/
SELECT t.*
FROM tested_association(
  (
    SELECT class AS label, CAST(embedding AS DOUBLE[]) AS embedding, CAST(NULL AS BIGINT) AS source
    FROM vectors
    WHERE embedding IS NOT NULL
  ),
  (SELECT class AS label, CAST(embedding AS DOUBLE[]) AS embedding FROM vectors WHERE embedding IS NOT NULL),
  $x, $y, $a, $b, $permutations, $seed
) AS t
