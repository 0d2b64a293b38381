/*--- toml
answers = "How much wider what is known of labels and concepts is where units, such as captions, share a picture."
details = """
effect of a label and a concept: the variance of how often they meet, beyond what their own counts give, with units of
one source alike, divided by that with units that are independent (design_effect). Divide counts by it before an
interval or a test. met is how many units that have a source have both, and sources in how many sources; there is a row
for pairs that some source has, one way or the other. Units without a source are on their own.
"""
source = "See design_effect."

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "labels of units"

[params.concepts]
relation = ["image_id", "concept"]
default = "word_concepts"
about = "concepts of units"

[params.sources]
relation = ["image_id", "source_id"]
grid = []
about = "what each unit is of: a caption's picture"
---*/
-- where there are no sources, nothing is computed
WITH members AS (
  SELECT DISTINCT image_id, label FROM groups WHERE image_id IS NOT NULL AND (SELECT count(*) FROM sources) > 0
),
units AS (
  SELECT DISTINCT image_id FROM members
),
found AS (
  SELECT DISTINCT c.image_id, c.concept
  FROM concepts AS c
  JOIN units AS u ON u.image_id = c.image_id
  WHERE c.concept IS NOT NULL
),
total AS (
  SELECT CAST(count(*) AS DOUBLE) AS n FROM units
),
shares AS (
  SELECT m.label, count(*) / max(t.n) AS share FROM members AS m CROSS JOIN total AS t GROUP BY m.label
),
concept_shares AS (
  SELECT f.concept, count(*) / max(t.n) AS share FROM found AS f CROSS JOIN total AS t GROUP BY f.concept
),
-- units that share a source
sourced AS (
  SELECT s.image_id, min(s.source_id) AS source
  FROM sources AS s
  JOIN units AS u ON u.image_id = s.image_id
  WHERE s.source_id IS NOT NULL
  GROUP BY s.image_id
),
by_source AS (
  SELECT source, count(*) AS n FROM sourced GROUP BY source
),
by_label AS (
  SELECT s.source, m.label, count(*) AS n, max(b.n) AS units
  FROM sourced AS s
  JOIN by_source AS b ON b.source = s.source
  JOIN members AS m ON m.image_id = s.image_id
  GROUP BY s.source, m.label
),
by_concept AS (
  SELECT s.source, f.concept, count(*) AS n, max(b.n) AS units
  FROM sourced AS s
  JOIN by_source AS b ON b.source = s.source
  JOIN found AS f ON f.image_id = s.image_id
  GROUP BY s.source, f.concept
),
by_pair AS (
  SELECT s.source, m.label, f.concept, count(*) AS n
  FROM sourced AS s
  JOIN members AS m ON m.image_id = s.image_id
  JOIN found AS f ON f.image_id = s.image_id
  GROUP BY s.source, m.label, f.concept
),
all_sums AS (
  SELECT CAST(sum(n) AS DOUBLE) AS n, CAST(sum(n * n) AS DOUBLE) AS nn FROM by_source
),
label_sums AS (
  SELECT label, CAST(sum(n) AS DOUBLE) AS r, CAST(sum(n * n) AS DOUBLE) AS rr, CAST(sum(n * units) AS DOUBLE) AS rn
  FROM by_label
  GROUP BY label
),
concept_sums AS (
  SELECT concept, CAST(sum(n) AS DOUBLE) AS c, CAST(sum(n * n) AS DOUBLE) AS cc, CAST(sum(n * units) AS DOUBLE) AS cn
  FROM by_concept
  GROUP BY concept
),
pair_sums AS (
  SELECT
    l.label,
    c.concept,
    count(p.n) AS seen,
    CAST(coalesce(sum(p.n), 0) AS DOUBLE) AS a,
    CAST(coalesce(sum(p.n * p.n), 0) AS DOUBLE) AS aa,
    CAST(coalesce(sum(p.n * c.n), 0) AS DOUBLE) AS ac,
    CAST(coalesce(sum(p.n * l.n), 0) AS DOUBLE) AS ar,
    CAST(coalesce(sum(p.n * l.units), 0) AS DOUBLE) AS an,
    CAST(sum(l.n * c.n) AS DOUBLE) AS rc
  FROM by_label AS l
  JOIN by_concept AS c ON c.source = l.source
  LEFT JOIN by_pair AS p ON p.source = l.source AND p.label = l.label AND p.concept = c.concept
  GROUP BY l.label, c.concept
),
-- squares of (has the label - its share) * (has the concept - its share), added up within sources and not
variances AS (
  SELECT
    p.label,
    p.concept,
    p.seen,
    p.a,
    s.nn / s.n AS most,
    p.aa + ls.share * ls.share * c.cc + cs.share * cs.share * l.rr + ls.share * ls.share * cs.share * cs.share * s.nn
    - 2 * ls.share * p.ac - 2 * cs.share * p.ar + 2 * ls.share * cs.share * (p.an + p.rc)
    - 2 * ls.share * ls.share * cs.share * c.cn - 2 * ls.share * cs.share * cs.share * l.rn AS within,
    p.a * (1 - 2 * ls.share) * (1 - 2 * cs.share)
    + l.r * (1 - 2 * ls.share) * cs.share * cs.share
    + c.c * (1 - 2 * cs.share) * ls.share * ls.share
    + s.n * ls.share * ls.share * cs.share * cs.share AS apart,
    t.n * ls.share * (1 - ls.share) * cs.share * (1 - cs.share) AS whole
  FROM pair_sums AS p
  JOIN label_sums AS l ON l.label = p.label
  JOIN concept_sums AS c ON c.concept = p.concept
  JOIN shares AS ls ON ls.label = p.label
  JOIN concept_shares AS cs ON cs.concept = p.concept
  CROSS JOIN all_sums AS s
  CROSS JOIN total AS t
)
SELECT
  label,
  concept,
  design_effect(within, apart, whole, most, seen) AS effect,
  CAST(a AS BIGINT) AS met,
  seen AS sources
FROM variances
