/*--- toml
answers = "Which of several models a judge prefers: how often each wins against each other one, such as by its captions."
details = """
A judge, a person or a multimodal model, was shown what two models made of the same image, and said which is better. For every
model and every other one that it was held against: wins, ties and losses of the n judgements (of so many images), and rate =
the share that it wins, with Wilson's 95 % interval. A tie is half a win (ties 'half'), or is left out of the share (ties
'excluded'); the paper does not print which. Rows stand there in both directions, and add up to 1. first_rate is the same
share of whatever was shown first, whichever of the two it was: away from one half, the judge goes by order, and each pair has
to be judged in both orders, as the recipe judge_captions does.

Judgements of one image, such as those of both orders, are much alike, so intervals are of as many independent judgements as
would tell as much (effective_size). p is that of a rate of one half (z test, Wilson's interval turned round), q by
Benjamini and Hochberg over all rows, hidden ones as p = 1. A winner that is neither of the two and no 'tie' does not count,
such as NULL where a judge named nobody. What a judge prefers is not what is right: a model may prefer its own kind; and what
captions say of people is perceived, no fact about them.

Small counts are hidden by the engine (docs/safety.md); so are rows where few images have a win, a tie or a loss, however often each
was judged (smallest), and first_rate where few have one of what was shown first, or of what was shown second (by_order).
"""
subject = "what a model associates"
source = """
Girrbach et al. (2025), section 3 and F: win rates of four models' captions of 500 boxes, by a judge that may call a tie; Wilson
(1927)"""
presets = { paper = { of = "Girrbach et al. (2025)", source = "section 3, F; what becomes of ties is not printed" } }

[params.judgements]
relation = ["image_id", "first", "second", "winner"]
about = "first and second: the models, in the order in which they were shown; winner: the name of one of them, or 'tie'"

[params.ties]
type = "varchar"
default = "half"
choices = ["half", "excluded"]
about = "whether a tie is half a win, or left out of the share"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "rows with fewer wins, ties or losses are suppressed, but for none"

[[cells]]
count = "n"
within = ["model", "other"]
tests = ["p", "q"]

[[cells]]
count = "images"
within = ["model", "other"]
tests = ["p", "q"]

[[cells]]
count = "wins"
of = "n"
within = ["model", "other"]
tests = ["p", "q"]

[[cells]]
count = "losses"
of = "n"
within = ["model", "other"]
tests = ["p", "q"]

[[cells]]
count = "ties"
of = "n"
within = ["model", "other"]
tests = ["p", "q"]

[[cells]]
count = "smallest"
within = ["model", "other"]
measures = ["wins", "ties", "losses", "n", "images", "rate", "low", "high", "first_rate", "by_order", "p", "q"]
tests = ["p", "q"]

[[cells]]
count = "by_order"
within = ["model", "other"]
measures = ["first_rate"]
---*/
SELECT model, other, wins, ties, losses, n, images, smallest, rate, low, high, first_rate, by_order, p, q
FROM false_discovery((
  WITH given AS (
    SELECT image_id, first, second, winner
    FROM judgements
    WHERE image_id IS NOT NULL AND first <> second AND (winner = first OR winner = second OR winner = 'tie')
  ),
  -- half wins, so that sums are whole numbers
  sides AS (
    SELECT
      image_id, first AS model, second AS other, true AS is_first,
      CASE WHEN winner = first THEN 2 WHEN winner = second THEN 0 ELSE 1 END AS halves
    FROM given
    UNION ALL
    SELECT
      image_id, second AS model, first AS other, false AS is_first,
      CASE WHEN winner = second THEN 2 WHEN winner = first THEN 0 ELSE 1 END AS halves
    FROM given
  ),
  by_image AS (
    SELECT
      model,
      other,
      image_id,
      count(*) AS n,
      count(CASE WHEN halves = 2 THEN 1 END) AS wins,
      count(CASE WHEN halves = 1 THEN 1 END) AS ties,
      sum(CASE WHEN is_first THEN halves ELSE 2 - halves END) AS first_halves,
      count(CASE WHEN halves = CASE WHEN is_first THEN 2 ELSE 0 END THEN 1 END) AS first_wins,
      sum(CASE WHEN $ties = 'excluded' AND halves = 1 THEN 0 ELSE halves END) AS halves,
      count(CASE WHEN $ties = 'half' OR halves <> 1 THEN 1 END) AS counted
    FROM sides
    GROUP BY model, other, image_id
  ),
  sums AS (
    SELECT
      model,
      other,
      CAST(sum(wins) AS BIGINT) AS wins,
      CAST(sum(ties) AS BIGINT) AS ties,
      CAST(sum(n - wins - ties) AS BIGINT) AS losses,
      CAST(sum(n) AS BIGINT) AS n,
      count(*) AS images,
      least(
        nullif(count(CASE WHEN wins > 0 THEN 1 END), 0),
        nullif(count(CASE WHEN ties > 0 THEN 1 END), 0),
        nullif(count(CASE WHEN wins + ties < n THEN 1 END), 0)
      ) AS smallest,
      least(
        nullif(count(CASE WHEN first_wins > 0 THEN 1 END), 0),
        nullif(count(CASE WHEN first_wins + ties < n THEN 1 END), 0)
      ) AS by_order,
      CAST(sum(first_halves) AS DOUBLE) / sum(2 * n) AS first_rate,
      CAST(sum(halves) AS DOUBLE) / 2 AS won,
      CAST(sum(counted) AS DOUBLE) AS counted,
      CAST(sum(halves * halves) AS DOUBLE) / 4 AS squares,
      CAST(sum(halves * counted) AS DOUBLE) / 2 AS products,
      CAST(sum(counted * counted) AS DOUBLE) AS sizes,
      count(CASE WHEN counted > 0 THEN 1 END) AS clusters
    FROM by_image
    GROUP BY model, other
  ),
  rates AS (
    SELECT
      *,
      won / nullif(counted, 0) AS rate,
      CASE WHEN counted > 0 THEN effective_size(won, counted, squares, products, sizes, clusters) END AS effective
    FROM sums
  ),
  cells AS (
    SELECT
      model,
      other,
      wins,
      ties,
      losses,
      n,
      images,
      smallest,
      rate,
      wilson_low(rate * effective, effective) AS low,
      wilson_high(rate * effective, effective) AS high,
      first_rate,
      by_order,
      two_sided_p(4 * effective * (rate - 0.5e0) * (rate - 0.5e0)) AS p
    FROM rates
  )
  SELECT * FROM cells
))
ORDER BY model, other
