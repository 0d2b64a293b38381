/*--- toml
answers = "Degrees of freedom of the difference of two independent means, with unequal variances; rounded down, at least 1."
details = """
Of Student's t with welch_error: give it to student_point and student_p. NULL where a side has one value, or neither varies.
"""
source = "Welch (1947); Satterthwaite (1946)"
returns = "double"

[params.variance]
type = "double"
about = "of the one side's values, divided by their number"

[params.n]
type = "double"
about = "values of the one side"

[params.other_variance]
type = "double"
about = "of the other side's values, divided by their number"

[params.other_n]
type = "double"
about = "values of the other side"
---*/
SELECT CASE WHEN $n > 1 AND $other_n > 1 AND $variance + $other_variance > 0 THEN greatest(floor(
  pow($variance / ($n - 1) + $other_variance / ($other_n - 1), 2)
  / (pow($variance / ($n - 1), 2) / ($n - 1) + pow($other_variance / ($other_n - 1), 2) / ($other_n - 1))
), 1) END AS df
