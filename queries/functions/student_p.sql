/*--- toml
answers = "The two-sided p of Student's t."
details = """
By the normal value that is as unlikely: for p > 0.01 within 1 % of p from 9 degrees of freedom on, and within 10 % with 3.
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
