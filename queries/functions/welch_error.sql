/*--- toml
answers = "Standard error of the difference of two means, with unequal variances."
details = """
A side of one value has no variance, and the difference no error: NULL. Where values of the two sides are alike, such as
those of one source, shared is what their covariance adds to the variance of the difference; mostly it is negative.
"""
source = "Welch (1947)"
returns = "double"

[params.variance]
type = "double"
about = "of the values, divided by n"

[params.n]
type = "double"
about = "how many values"

[params.other_variance]
type = "double"
about = "of the others, divided by other_n"

[params.other_n]
type = "double"
about = "how many others"

[params.shared]
type = "double"
default = 0
about = "what values that are alike add to the variance of the difference"
---*/
SELECT sqrt(greatest($variance / nullif($n - 1, 0) + $other_variance / nullif($other_n - 1, 0) + $shared, 0)) AS error
