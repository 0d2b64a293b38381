/*--- toml
answers = """
Lower end of the 95 % interval of value - other, two independent shares or means with intervals of their own."""
details = """
The distances to the ends that lie the right way are squared and added; for two shares with Wilson's intervals this is
Newcombe's interval.
"""
source = """
Newcombe, Interval estimation for the difference between independent proportions (1998), method 10; Zou and Donner,
Construction of confidence limits about effect measures (2008)"""
returns = "double"

[params.value]
type = "double"
about = "the one"

[params.low]
type = "double"
about = "lower end of its interval"

[params.other]
type = "double"
about = "what is taken from it"

[params.other_high]
type = "double"
about = "upper end of the other's interval"
---*/
SELECT $value - $other - sqrt(
  ($value - $low) * ($value - $low) + ($other_high - $other) * ($other_high - $other)
) AS low
