/*--- toml
answers = "The q-values of some tests: the share of false discoveries among those with as small a p (Benjamini-Hochberg)."
details = """
All columns of the tests, and q: the least, over this p and larger ones, of p * tests / how many have so small a p. Tests
without a p are not counted and have no q.
"""
source = "Benjamini and Hochberg, Controlling the false discovery rate (1995)"

[params.tests]
relation = ["p"]
about = "one row per test"
---*/
WITH placed AS (
  SELECT
    *,
    count(p) OVER () AS p_count,
    count(p) OVER (ORDER BY p RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS p_place
  FROM tests
)
SELECT
  * EXCLUDE (p_count, p_place),
  CASE
    WHEN p IS NOT NULL
      THEN greatest(p, least(min(p * p_count / p_place) OVER (
        ORDER BY p DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
      ), 1))
  END AS q
FROM placed
