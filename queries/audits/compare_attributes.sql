-- compare_attributes: Which attributes are more frequent in one dataset than in another, and whether majorities grow.
--
-- Shares of both (see attribute_frequencies), their difference (first minus second) with Newcombe's 95 % interval, z test of
-- two proportions with p and q (Benjamini and Hochberg). amplification = difference for the most frequent attribute of a
-- category in the second dataset: above 0, the first one amplifies what prevails in the second, as a generator may do with
-- what it was trained on. The second dataset is an attached lake: others := b.attributes. n: images of both datasets. Each
-- is counted for itself, so that closed views, as gelda makes them, need no purpose, of an attached lake neither.
-- Attributes that either dataset hides are suppressed. What models see is perceived: a difference is one of depiction.
--
-- source: Kabra et al., GELDA (2023), real beside generated images; tests as in compared
-- subject: two datasets
-- apart: attributes, others
-- meets: attributes.category = others.category, else difference is 0
-- param attributes relation : (image_id, category, attribute) of the first dataset
-- param others relation : (image_id, category, attribute) of the second one, such as b.attributes
-- param min_count integer = 10 : at least 0; smaller counts are suppressed
SELECT
  c.item AS category,
  c.label AS attribute,
  c.value_a,
  c.value_b,
  c.difference,
  c.low,
  c.high,
  CASE WHEN s.majority THEN c.difference END AS amplification,
  c.count_a,
  c.n_a,
  c.count_b,
  c.n_b,
  c.statistic,
  c.p,
  c.q,
  c.suppressed
FROM compared(
  (SELECT category AS item, attribute AS label, count, n, share AS value, low, high FROM attribute_shares(attributes, $min_count)),
  (SELECT category AS item, attribute AS label, count, n, share AS value, low, high FROM attribute_shares(others, $min_count)),
  'share'
) AS c
LEFT JOIN attribute_shares(others, $min_count) AS s ON s.category = c.item AND s.attribute = c.label
ORDER BY c.item, c.label
