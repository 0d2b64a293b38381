/*--- toml
answers = "The two-sided p of Student's t."
details = """
By the normal value that is as unlikely: within 0.1 % of p for p > 0.01 and 9 degrees of freedom, 1 % for 3, and nearer the more
there are.
"""
source = "Wallace, Bounds on normal approximations to Student's and the chi-square distributions (1959)"
returns = "double"

[params.t]
type = "double"
about = "a difference over its standard error"

[params.df]
type = "double"
about = "degrees of freedom"
---*/
SELECT two_sided_p(pow((8 * $df + 1) / (8 * $df + 3), 2) * $df * ln(1 + $t * $t / $df)) AS p
