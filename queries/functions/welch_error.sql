/*--- toml
answers = "Standard error of the difference of two independent means, with unequal variances."
details = """
A side of one value has no variance, and the difference no error: NULL.
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
---*/
SELECT sqrt($variance / nullif($n - 1, 0) + $other_variance / nullif($other_n - 1, 0)) AS error
