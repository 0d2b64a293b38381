/*--- toml
answers = "Upper end of the 95 % interval of both * n / (one * other), of two things that some of n have."
details = "See ratio_low. With none that have both only the first of its three shares moves."
source = """
Wilson, JASA 22 (1927); the squares as in Zou and Donner, Construction of confidence limits about effect measures (2008)"""
returns = "double"

[params.both]
type = "double"
about = "how many have both"

[params.one]
type = "double"
about = "how many have the one"

[params.other]
type = "double"
about = "how many have the other"

[params.n]
type = "double"
about = "of how many"
---*/
SELECT CASE
  WHEN $both = 0 AND $one > 0 AND $other > 0 AND $n > 0
    THEN wilson_high(0, $one) * $n / ($one * wilson_high(0, $one) + $other)
  WHEN $both > 0 AND greatest($one, $other) = $n THEN 1
  WHEN $both > 0 AND $one >= $both AND $other >= $both AND $n - $one - $other + $both >= -1e-9 * $n THEN least(
    $n / greatest($one, $other),
    $both / $one * ($n / $other) * exp(sqrt(
      pow(ln($both / $other * (1 + ($other - $both) / $one / wilson_high($both, $one))), 2)
      + pow(ln(($both + ($n - $one) * wilson_low(least($other - $both, $n - $one), $n - $one)) / $other), 2)
      + pow(ln($n / $other * (($other - $both) / ($n - $one) + ($both / $one - ($other - $both) / ($n - $one)) * CASE
      WHEN $both / $one * $n > $other THEN wilson_low($one, $n)
      ELSE wilson_high($one, $n)
    END)), 2)
    ))
  )
END AS high
