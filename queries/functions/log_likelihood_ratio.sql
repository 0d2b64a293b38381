/*--- toml
answers = "G2 of a two-by-two table of counts: how far two things are from meeting by chance."
details = """
The table is told by how many of n have both, the one, and the other. Larger is farther; 3.84 is passed by chance in 5 %
of tables of independent things. 0 where a row or column is empty; NULL where a number is missing or they are of no
table.
"""
source = "Dunning, Accurate methods for the statistics of surprise and coincidence, Computational Linguistics 19 (1993)"
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
SELECT CASE WHEN $both >= 0 AND $one >= $both AND $other >= $both AND $n - $one - $other + $both >= 0 THEN greatest(2 * (
  CASE WHEN $both > 0 THEN $both * ln($both * $n / $one / $other) ELSE 0 END
  + CASE WHEN $one > $both THEN ($one - $both) * ln(($one - $both) * $n / $one / ($n - $other)) ELSE 0 END
  + CASE WHEN $other > $both THEN ($other - $both) * ln(($other - $both) * $n / ($n - $one) / $other) ELSE 0 END
  + CASE
    WHEN $n - $one - $other + $both > 0
      THEN ($n - $one - $other + $both) * ln(($n - $one - $other + $both) * $n / ($n - $one) / ($n - $other))
    ELSE 0
  END
), 0) END AS g2
