/*--- toml
answers = "G2 and its p-value for two-by-two tables of counts: are two things independent?"
details = """
All columns of the tables, g2 (log-likelihood ratio of observed against expected counts) and p (chi-square, one degree
of freedom). A table with an empty row or column has g2 = 0 and p = 1.
"""
source = "Dunning (1993); p by our own fit of erfc, relative error under 3e-8, as in cooccurrence"

[params.tables]
relation = ["n", "n_label", "n_concept", "count"]
about = "all units, those of a label, those with a concept, those with both"
---*/
WITH tested AS (
  SELECT
    *,
    log_likelihood_ratio(count, n_label, n_concept, n) AS g2
  FROM tables
),
reduced AS (
  SELECT *, 1 / (1 + sqrt(g2 / 2) / 2) AS t FROM tested
)
SELECT
  * EXCLUDE (t),
  least(t * exp(-g2 / 2 - 1.26551212348e0 + t * (0.999999539036e0 + t * (0.375039205952e0 + t * (0.0822840787015e0
    + t * (-0.0723798896755e0 + t * (-0.243590067818e0 + t * (0.360099153211e0 + t * (-1.26249163408e0
    + t * (2.43208863084e0 + t * (-2.2215605681e0 + t * (0.994780962681e0 - t * 0.178757287262e0))))))))))), 1) AS p
FROM reduced
