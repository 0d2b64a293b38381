/*--- toml
answers = "Variance of a mean of rows of which some share a cluster, such as the captions of one image."
details = """
The mean is total / n. Linearised: the squared residuals of the clusters, added up. That of independent rows where each
cluster has one row. NULL of a single cluster. The root of it is the mean's standard error.
"""
source = "Cochran, Sampling Techniques (1977), section 2.11: the variance of a ratio"
returns = "double"

[params.total]
type = "double"
about = "sum of all rows"

[params.n]
type = "double"
about = "how many rows"

[params.squares]
type = "double"
about = "sum over clusters of the square of their sum"

[params.products]
type = "double"
about = "sum over clusters of their sum times their rows"

[params.sizes]
type = "double"
about = "sum over clusters of the square of their rows"

[params.clusters]
type = "double"
about = "how many clusters have rows"
---*/
SELECT
  greatest($squares - 2e0 * $total / $n * $products + $total / $n * ($total / $n) * $sizes, 0)
    * $clusters / nullif($clusters - 1, 0) / nullif($n, 0) / nullif($n, 0)
  AS variance
