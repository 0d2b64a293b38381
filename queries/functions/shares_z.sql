/*--- toml
answers = "z of the difference of two independent shares, such as 3 of 10 and 5 of 20, pooled."
details = """
NULL where both shares are 0, or both 1.
"""
source = "Agresti, Categorical Data Analysis (2013), section 3.2: the score test of two proportions"
returns = "double"

[params.count]
type = "double"
about = "how many have it"

[params.n]
type = "double"
about = "of how many"

[params.other_count]
type = "double"
about = "how many of the others have it"

[params.other_n]
type = "double"
about = "of how many others"
---*/
SELECT CASE WHEN $count + $other_count > 0 AND $count + $other_count < $n + $other_n
  THEN ($count / $n - $other_count / $other_n) / sqrt(
    ($count + $other_count) / ($n + $other_n) * (1 - ($count + $other_count) / ($n + $other_n)) * (1e0 / $n + 1e0 / $other_n)
  )
END AS z
