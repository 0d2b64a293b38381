/*--- toml
answers = "z of the difference of the logarithms of two independent ratios, from their 95 % intervals."
details = """
The error of each is the distance to the end that faces the other ratio, over 1.96. NULL where a ratio or such an end is not
above 0, or neither end is any way off.
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
SELECT CASE
  WHEN $ratio > 0 AND $other > 0 AND $low > 0 AND $ratio >= $other AND ($ratio > $low OR $other_high > $other)
    THEN half_interval(ln($ratio) - ln($other)) / sqrt(pow(ln($ratio) - ln($low), 2) + pow(ln($other_high) - ln($other), 2))
  WHEN $ratio > 0 AND $other > 0 AND $other_low > 0 AND $ratio < $other AND ($high > $ratio OR $other > $other_low)
    THEN half_interval(ln($ratio) - ln($other)) / sqrt(pow(ln($high) - ln($ratio), 2) + pow(ln($other) - ln($other_low), 2))
END AS z
