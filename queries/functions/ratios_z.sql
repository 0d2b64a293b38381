/*--- toml
answers = "z of the difference of the logarithms of two independent ratios, from their 95 % intervals."
details = """
NULL where a ratio or an end is not above 0, or an interval has no width.
"""
source = "Altman and Bland, Interaction revisited: the difference between two estimates (2003)"
returns = "double"

[params.ratio]
type = "double"
about = "the one"

[params.low]
type = "double"
about = "lower end of its interval"

[params.high]
type = "double"
about = "upper end of its interval"

[params.other]
type = "double"
about = "the other"

[params.other_low]
type = "double"
about = "lower end of the other's interval"

[params.other_high]
type = "double"
about = "upper end of the other's interval"
---*/
SELECT CASE WHEN $low > 0 AND $other_low > 0 AND $high > $low AND $other_high > $other_low
  THEN 2 * half_interval(ln($ratio) - ln($other)) / sqrt(
    (ln($high) - ln($low)) * (ln($high) - ln($low)) + (ln($other_high) - ln($other_low)) * (ln($other_high) - ln($other_low))
  )
END AS z
