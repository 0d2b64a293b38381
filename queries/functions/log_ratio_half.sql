/*--- toml
answers = "Half the 95 % interval of ln(both × n / (one × other)), of two things that some of n have."
details = """
The interval of the ratio is from ratio × exp(-half) to ratio × exp(half), that of its logarithm (the pointwise mutual
information) is ± half. By the delta method, of four counts that sum to n. A part and the whole that holds it are told
by the counts of a thing in both: both and one are its count and the size of the part, other and n those of the whole.
NULL where both is 0 or a number is missing.
"""
source = "Agresti, Categorical Data Analysis (2013), section 3.1; delta method"
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
SELECT CASE WHEN $both > 0 AND $one > 0 AND $other > 0 AND $n > 0 THEN half_interval(sqrt(greatest(
  1e0 / $both - 1e0 / $one - 1e0 / $other - 1e0 / $n + 2e0 * $both / $one / $other, 0
))) END AS half
