/*--- toml
answers = """
How many independent rows tell a share as well as the rows of a sample in which some share a cluster, such as the
captions of one image."""
details = """
The share is count / n. Its variance by clusters is linearised: the squared residuals of the clusters, added up. n where
each cluster has one row, and never more. As if all rows of a cluster were alike (n * n / sizes clusters of one size) where
the share is 0 or 1, since nothing is seen of how alike they are. The quotient of the points of Student's t takes account
of few clusters. Give it, and count * effective / n, to wilson_low and wilson_high.
"""
source = """
Korn and Graubard, Confidence intervals for proportions with small expected number of positive counts estimated from
survey data, Survey Methodology 24 (1998)"""
returns = "double"

[params.count]
type = "double"
about = "rows that have it"

[params.n]
type = "double"
about = "of how many"

[params.squares]
type = "double"
about = "sum over clusters of the square of their count"

[params.products]
type = "double"
about = "sum over clusters of their count times their rows"

[params.sizes]
type = "double"
about = "sum over clusters of the square of their rows"

[params.clusters]
type = "double"
about = "how many clusters have rows"
---*/
SELECT CASE
  WHEN $clusters = $n OR $n IS NULL THEN $n
  WHEN $count <= 0 OR $count >= $n OR $clusters < 2 THEN $n / $sizes * $n
  ELSE least(
    $n,
    student_point($n - 1) * student_point($n - 1)
      / (student_point(greatest(floor($n / $sizes * $n) - 1, 1)) * student_point(greatest(floor($n / $sizes * $n) - 1, 1)))
      * ($clusters - 1) / $clusters * $count * ($n - $count) / nullif(greatest(
        $squares - 2e0 * $count / $n * $products + $count / $n * ($count / $n) * $sizes, 0
      ), 0)
  )
END AS effective
