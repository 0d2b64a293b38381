/*--- toml
answers = "Lower end of the 95 % interval of a kappa, or of Krippendorff's alpha."
details = """
Wilson's interval of the share of equal labels, of as many independent pairs as tell it as well, put into (agreed - chance)
/ (1 - chance). Chance agreement is taken as known. Coverage: docs/coverage.md.
"""
source = "our own, by simulation"
returns = "double"

[params.agreed]
type = "double"
about = "share of equal labels"

[params.chance]
type = "double"
about = "what it would be by chance"

[params.effective]
type = "double"
about = "independent pairs"
---*/
SELECT (wilson_low($agreed * $effective, $effective) - $chance) / (1e0 - $chance) AS low
