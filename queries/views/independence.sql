/*--- toml
answers = "G2 and its p-value for two-by-two tables of counts: are two things independent?"
details = """
All columns of the tables, g2 (log-likelihood ratio of observed against expected counts) and p (chi-square, one degree
of freedom). A table with an empty row or column has g2 = 0 and p = 1.
"""
source = "Dunning (1993); p by two_sided_p"

[params.tables]
relation = ["n", "n_label", "n_concept", "count"]
about = "all units, those of a label, those with a concept, those with both"
---*/
WITH tested AS (
  SELECT *, log_likelihood_ratio(count, n_label, n_concept, n) AS g2 FROM tables
)
SELECT *, two_sided_p(g2) AS p FROM tested
