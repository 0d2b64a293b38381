/*--- toml
answers = "Degrees of freedom of the difference of two means, with unequal variances; rounded down, at least 1."
details = """
Of Student's t with welch_error: give it to student_point and student_p. NULL where a side has one value, or neither varies.
Where values of both sides share sources, a source that has both counts once: with pairs only it is that of the paired t test.
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

[params.shared]
type = "double"
default = 0
about = "see welch_error"

[params.shared_sources]
type = "double"
default = 0
about = "how many sources have values of both sides"

[params.shared_others]
type = "double"
default = 0
about = "how many of the other side's values are of these"
---*/
SELECT CASE
  WHEN $n > 1 AND $other_n > 1 AND $variance + $other_variance > 0
    THEN greatest(floor(1e-9 + coalesce(
      pow(welch_error($variance, $n, $other_variance, $other_n, $shared), 4)
      / nullif(
        pow($variance / ($n - 1), 2) / ($n - 1) * (1 - $shared_sources / $n)
        + pow($other_variance / ($other_n - 1), 2) / ($other_n - 1) * (1 - $shared_others / $other_n)
        + CASE
          WHEN $shared_sources > 0 THEN pow(greatest(
            $shared_sources / $n * ($variance / ($n - 1)) + $shared_others / $other_n * ($other_variance / ($other_n - 1)) + $shared,
            0
          ), 2) / ($shared_sources * (1 - (1e0 / $n + 1e0 / $other_n) / 2))
          ELSE 0
        END,
        0
      ),
      $shared_sources * (1 - (1e0 / $n + 1e0 / $other_n) / 2)
    )), 1)
END AS df
