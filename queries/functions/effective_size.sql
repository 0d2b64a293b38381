/*--- toml
answers = """
How many independent rows tell a share as well as the rows of a sample in which some share a cluster, such as the
captions of one image."""
details = """
The share is count / n. As many rows as would have the same variance, and never more than n. How alike the rows of a
cluster are is seen from those clusters alone that have the rarer outcome: the fewer they are, the nearer is the variance
to that of rows of which all in a cluster are alike (n * n / sizes of them), and with none it is that. The quotient of the
points of Student's t takes account of few clusters. Give the result, and count * effective / n, to wilson_low and
wilson_high. Coverage: docs/coverage.md.
"""
source = """
Korn and Graubard, Confidence intervals for proportions with small expected number of positive counts estimated from
survey data, Survey Methodology 24 (1998); the variance between the two is our own"""
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
  WHEN $sizes = $n OR $n IS NULL THEN $n
  WHEN $count <= 0 OR $count >= $n OR $clusters < 2 THEN $n / $sizes * $n
  ELSE least(
    $n,
    pow(student_point($n - 1) / clustered_point($n, $sizes), 2)
      * $count / $n * (($n - $count) / $n)
      / (
        clustered_variance($count, $n, $squares, $products, $sizes, $clusters)
        + greatest(
          $count / $n * (($n - $count) / $n) * ($sizes / $n / $n)
          - clustered_variance($count, $n, $squares, $products, $sizes, $clusters),
          0
        )
        / (1 + least(
          $count / $squares * $count,
          ($n - $count) / ($sizes - 2e0 * $products + $squares) * ($n - $count)
        ))
      )
  )
END AS effective
