/*--- toml
answers = "Standard error of the difference of two means, with unequal variances."
details = """
A side of one value has no variance, and the difference no error: NULL. Values of the two sides that are alike, such as those of
one source, add shared to the variance of the difference, mostly less than nothing (moments sums it up).
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
