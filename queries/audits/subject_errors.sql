/*--- toml
answers = "Which altered subjects annotators do not find again in the pictures of a contrast set: error rates by subject."
details = """
Each picture of a pair was made of the original or the counterfactual text (side), and annotators say which of the two fits
it: 'original', 'counterfactual', 'both' or 'neither'. Any answer but the picture's own text is an error. count of n
answers, value = count / n and Wilson's 95 % interval, by subject (the altered word of the picture's own text) and other
(the word in its place in the other text), by each alone, and 'all'; most errors first. Answers about one pair (there are
pairs of them) are alike: the interval is of as many independent ones as would tell as much. Answers without annotator
or choice and pairs without alteration do not count. n_right of the pairs have a right answer, n_wrong an error; the
engine hides rows where one is small (docs/safety.md). Words for people are perceived labels of what is depicted, never claims
about a person.

alterations := altered_words(pairs) for pairs of texts. For classes of words, such as the paper's human taxonomy, name the
class in place of the word there. Table 10 counts alterations, whichever of the two pictures was judged: first :=
'original'.
"""
subject = "contrast sets"
exact = true
source = """
Le et al., COCO-Counterfactuals (2023), Tables 1 and 10 and A.3.2: 1,864 errors among 4,117 pictures whose own subject is
human, which is 45.3 %, printed as 44.3 %; intervals are ours"""
presets = { paper = "Le et al. (2023), A.3.2", paper_table_10 = "Le et al. (2023), Table 10" }

[params.alterations]
relation = ["pair_id", "original", "counterfactual"]
about = "the word of either text; see altered_words"

[params.answers]
relation = ["pair_id", "side", "annotator", "answer"]
about = "side is the text that the picture was made of"

[params.first]
type = "varchar"
default = "own"
choices = ["own", "original"]
grid = []
presets = { paper = { value = "own", source = "A.3.2" }, paper_table_10 = { value = "original", source = "Table 10" } }
about = "whose word is the subject: that of the picture's own text, or that of the original, as in Table 10"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer answers, or answers about fewer pairs, are hidden"

[[cells]]
count = "n"
by = ["subject", "other"]

[[cells]]
count = "pairs"
by = ["subject", "other"]

[[cells]]
count = "n_right"
by = ["subject", "other"]
measures = ["count", "value", "low", "high", "n_right", "n_wrong"]

[[cells]]
count = "n_wrong"
by = ["subject", "other"]
measures = ["count", "value", "low", "high", "n_right", "n_wrong"]
---*/
WITH words AS (
  SELECT pair_id, min(original) AS original, min(counterfactual) AS counterfactual
  FROM alterations
  WHERE pair_id IS NOT NULL AND original IS NOT NULL AND counterfactual IS NOT NULL
  GROUP BY pair_id
),
judged AS (
  SELECT DISTINCT pair_id, side, annotator, answer
  FROM answers
  WHERE side IN ('original', 'counterfactual') AND annotator IS NOT NULL AND answer IS NOT NULL
),
outcomes AS (
  SELECT
    j.pair_id,
    CASE WHEN j.side = 'original' OR $first = 'original' THEN w.original ELSE w.counterfactual END AS subject,
    CASE WHEN j.side = 'original' OR $first = 'original' THEN w.counterfactual ELSE w.original END AS other,
    j.answer <> j.side AS wrong
  FROM judged AS j
  JOIN words AS w ON w.pair_id = j.pair_id
  WHERE $first IN ('own', 'original')
),
-- answers about one pair are alike
by_pair AS (
  SELECT
    subject,
    other,
    grouping(subject) AS all_subjects,
    grouping(other) AS all_others,
    count(*) AS n,
    count(CASE WHEN wrong THEN 1 END) AS count
  FROM outcomes
  GROUP BY GROUPING SETS ((pair_id), (subject, pair_id), (other, pair_id), (subject, other, pair_id))
),
counts AS (
  SELECT
    subject,
    other,
    all_subjects,
    all_others,
    CAST(sum(n) AS BIGINT) AS n,
    CAST(sum(count) AS BIGINT) AS count,
    count(*) AS pairs,
    count(CASE WHEN count < n THEN 1 END) AS n_right,
    count(CASE WHEN count > 0 THEN 1 END) AS n_wrong,
    CAST(sum(count * count) AS DOUBLE) AS squares,
    CAST(sum(count * n) AS DOUBLE) AS products,
    CAST(sum(n * n) AS DOUBLE) AS sizes
  FROM by_pair
  GROUP BY subject, other, all_subjects, all_others
),
shares AS (
  SELECT
    *,
    CAST(count AS DOUBLE) / n AS value,
    effective_size(count, n, squares, products, sizes, pairs) AS effective
  FROM counts
)
SELECT
  CASE WHEN all_subjects = 1 THEN 'all' ELSE subject END AS subject,
  CASE WHEN all_others = 1 THEN 'all' ELSE other END AS other,
  count,
  n,
  pairs,
  value,
  wilson_low(value * effective, effective) AS low,
  wilson_high(value * effective, effective) AS high,
  n_right,
  n_wrong
FROM shares
ORDER BY all_subjects + all_others DESC, all_others DESC, count DESC, n DESC, subject, other
