/*--- toml
answers = "Lower end of the 95 % interval of both * n / (one * other), of two things that some of n have."
details = """
The ratio is that of what is seen to what chance would give; its logarithm is the pointwise mutual information. It follows
from three shares: of those with the one that have the other, of those without the one that do, and of the one in all.
The distances that it moves when each goes to its end by Wilson are squared and added, on the scale of logarithms. With
none that have both the lower end is 0, and the upper one that of the first share alone. The upper end is at most what the
counts of the two allow, n / the larger of them: where all of one have the other, the uncertainty of that bound itself is
left out. NULL where a number is missing, one of the two has none, or no n things can have them so often.

A part and the whole that holds it are told by the counts of a thing in both: both and one are its count and the size of
the part, other and n those of the whole. The counts need not be whole: of rows in clusters give them times as many
independent rows as would tell as much / n (effective_size). Coverage: docs/coverage.md.
"""
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
  WHEN $both = 0 AND $one > 0 AND $other > 0 AND $n > 0 THEN 0
  WHEN $both > 0 AND greatest($one, $other) = $n THEN 1
  WHEN $both > 0 AND $one >= $both AND $other >= $both AND $n - $one - $other + $both >= -1e-9 * $n THEN $both / $one * ($n / $other) * exp(-sqrt(
    pow(ln($both / $other * (1 + ($other - $both) / $one / wilson_low($both, $one))), 2)
    + pow(ln(($both + ($n - $one) * wilson_high(least($other - $both, $n - $one), $n - $one)) / $other), 2)
    + pow(ln($n / $other * (($other - $both) / ($n - $one) + ($both / $one - ($other - $both) / ($n - $one)) * CASE
      WHEN $both / $one * $n > $other THEN wilson_high($one, $n)
      ELSE wilson_low($one, $n)
    END)), 2)
  ))
END AS low
