/*--- toml
answers = "Upper end of Wilson's 95 % interval of a share, such as that of 3 images in 10."
details = """
NULL where either number is missing, the whole is nothing, or the part is more than it.
"""
source = "Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927)"
returns = "double"

[params.count]
type = "double"
about = "how many of them; need not be whole"

[params.n]
type = "double"
about = "of how many"
---*/
SELECT CASE WHEN $count BETWEEN 0 AND $n AND $n > 0 THEN least(
  ($count + 1.920729410347062e0) / ($n + 3.841458820694124e0)
  + half_interval(sqrt($count * ($n - $count) / $n + 0.960364705173531e0)) / ($n + 3.841458820694124e0), 1
) END AS high
