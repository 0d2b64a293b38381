/*--- toml
answers = "The 97.5 % point of Student's t: half the 95 % interval of a mean, in standard errors, of few values."
details = """
Exact for one and two degrees of freedom; for others by an expansion around the normal point, 0.004 too small at three,
0.0003 at five, and ever closer. NULL for none.
"""
source = "Student (1908); Cornish-Fisher expansion of the quantile"
returns = "double"

[params.df]
type = "double"
about = "degrees of freedom: values less one"
---*/
SELECT CASE
  WHEN $df = 1 THEN 12.706204736174694e0
  WHEN $df = 2 THEN 4.302652729749462e0
  WHEN $df > 2 THEN half_interval(1) + 2.372271230e0 / $df + 2.822498616e0 / ($df * $df)
    + 2.555849680e0 / ($df * $df * $df) + 1.589534053e0 / ($df * $df * $df * $df)
END AS point
