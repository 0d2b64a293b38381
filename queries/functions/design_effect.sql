/*--- toml
answers = "How much wider what is known is where units are alike: the design effect of how often two things meet."
details = """
The variance with units of one source alike, over that of as many independent units; at least 1. How alike units of a source
are is seen from the sources where the two meet: the fewer they are, the nearer is the effect to most.
"""
source = """
Kish, Survey Sampling (1965), design effect; Rao and Scott, On chi-squared tests for multiway contingency tables with
cell proportions estimated from survey data, Annals of Statistics 12 (1984); the move for few sources is our own"""
returns = "double"

[params.within]
type = "double"
about = "squares, with the units of a source added up first"

[params.apart]
type = "double"
about = "squares of the units one by one"

[params.whole]
type = "double"
about = "the variance if all units were independent"

[params.most]
type = "double"
about = "the effect where all units of a source are alike"

[params.seen]
type = "double"
about = "sources where the two meet"
---*/
SELECT greatest(
  1,
  1 + ($within - $apart) / nullif($whole, 0),
  ($most + $seen) / (1 + $seen),
  ($most + $seen * (1 + ($within - $apart) / nullif($whole, 0))) / (1 + $seen)
) AS effect
