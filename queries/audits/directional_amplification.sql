-- directional_amplification: Does a model amplify what its training data associates with a group, and in which direction?
--
-- A pair is a label (a group) and a concept, or a set of concepts. direction 'group_to_concept' (A -> T): delta is how much
-- more often the model finds the concept in images of the label than it is there. 'concept_to_group' (T -> A): how much more
-- often it predicts the label for images with the concept than they have it. y is the sign of p(label, concept) -
-- p(label) p(concept) in the training data; value = y delta, + where the model makes the association stronger.
--
-- level 'mean': value is the mean over all pairs of the direction, absolute that of |delta| (0 at best; the mean of the
-- multi-attribute paper), variance that of delta over pairs. level 'pair': one of them: delta = predicted - actual, shares of
-- the n images. Intervals are 95 %: of a pair Agresti and Min's for paired shares (Agresti and Caffo's where base is
-- 'train'), of the mean by linearization, images being independent draws; y is taken as known.
--
-- sets 'single': concepts one by one (Wang and Russakovsky). 'subsets': all sets of up to size concepts that meet in
-- min_count training images (the text of Zhao et al.). 'images': the sets that are all concepts of min_count training images
-- (their code). An image has a set when it has all of its concepts. base 'test': actual is the share in the images that the
-- model saw (the code of both papers); 'train': in the training data (the text of Zhao et al.).
--
-- A direction has rows when its predictions have. Only images of labels that group_sizes shows count, in both data sets.
-- Concepts are left out as a whole where one of their counts (training, actual, predicted) is 1 to min_count - 1, and pairs
-- of fewer than min_count images; n_suppressed counts the pairs. Labels are perceived, or those of words in captions.
--
-- source: Wang and Russakovsky, Directional Bias Amplification (2021), and its code; Zhao et al., Men Also Do Laundry:
-- Multi-Attribute Bias Amplification (2023), and its code; Agresti and Min (2005); Agresti and Caffo (2000)
-- param predicted_concepts relation = (SELECT image_id, '' AS concept FROM images WHERE 1 = 0) : (image_id, concept) that the model finds
-- param predicted_groups relation = (SELECT image_id, '' AS label FROM images WHERE 1 = 0) : (image_id, label) that the model predicts
-- param groups relation = caption_gender : group relation (image_id, label) of the images that the model saw
-- param concepts relation = category_concepts : (image_id, concept) that are there, of the same images
-- param train_groups relation = groups : group relation (image_id, label) of the training data
-- param train_concepts relation = concepts : (image_id, concept) of the training data
-- param sets varchar = 'single' : one of 'single', 'subsets', 'images'; what concepts are taken together
-- param size integer = 2 : concepts of a subset at most, up to 3
-- param base varchar = 'test' : one of 'test', 'train'; where actual shares come from
-- param show varchar = 'mean' : one of 'mean', 'pairs', 'all'; which levels have rows
-- param min_count integer = 10 : concepts with smaller counts are left out
-- local: Spark plans every use of an expression anew, and of these many stand on one another: no end in minutes
WITH labels AS (
  SELECT a.label
  FROM group_sizes(groups, $min_count) AS a
  JOIN group_sizes(train_groups, $min_count) AS b ON b.label = a.label AND b.used
  WHERE a.used
),
members AS (
  SELECT DISTINCT 'test' AS source, g.image_id, g.label
  FROM groups AS g
  JOIN labels AS l ON l.label = g.label
  UNION ALL
  SELECT DISTINCT 'train' AS source, g.image_id, g.label
  FROM train_groups AS g
  JOIN labels AS l ON l.label = g.label
),
images AS (
  SELECT DISTINCT source, image_id FROM members
),
found AS (
  SELECT DISTINCT 'test' AS source, c.image_id, c.concept
  FROM concepts AS c
  JOIN images AS i ON i.image_id = c.image_id AND i.source = 'test'
  UNION ALL
  SELECT DISTINCT 'train' AS source, c.image_id, c.concept
  FROM train_concepts AS c
  JOIN images AS i ON i.image_id = c.image_id AND i.source = 'train'
  UNION ALL
  SELECT DISTINCT 'model' AS source, c.image_id, c.concept
  FROM predicted_concepts AS c
  JOIN images AS i ON i.image_id = c.image_id AND i.source = 'test'
),
guessed AS (
  SELECT DISTINCT g.image_id, g.label
  FROM predicted_groups AS g
  JOIN images AS i ON i.image_id = g.image_id AND i.source = 'test'
  JOIN labels AS l ON l.label = g.label
),
directions AS (
  SELECT 'group_to_concept' AS direction FROM (SELECT count(*) AS n FROM predicted_concepts) AS p WHERE p.n > 0
  UNION ALL
  SELECT 'concept_to_group' AS direction FROM (SELECT count(*) AS n FROM predicted_groups) AS p WHERE p.n > 0
),
-- sets of concepts, a row each of their concepts
singles AS (
  SELECT concept
  FROM found
  WHERE source = 'train' AND concept IS NOT NULL
  GROUP BY concept
  HAVING count(*) >= greatest($min_count, 1)
),
trained AS (
  SELECT f.image_id, f.concept FROM found AS f JOIN singles AS s ON s.concept = f.concept WHERE f.source = 'train'
),
wholes AS (
  SELECT whole
  FROM (
    SELECT image_id, array_to_string(list_sort(list(concept)), ' + ') AS whole
    FROM found
    WHERE source = 'train' AND concept IS NOT NULL AND $sets = 'images'
    GROUP BY image_id
  ) AS i
  GROUP BY whole
  HAVING count(*) >= greatest($min_count, 1)
),
doubles AS (
  SELECT a.concept AS a, b.concept AS b
  FROM trained AS a
  JOIN trained AS b ON b.image_id = a.image_id AND b.concept > a.concept
  WHERE $sets = 'subsets' AND $size >= 2
  GROUP BY a.concept, b.concept
  HAVING count(*) >= greatest($min_count, 1)
),
triples AS (
  SELECT a.concept AS a, b.concept AS b, c.concept AS c
  FROM trained AS a
  JOIN trained AS b ON b.image_id = a.image_id AND b.concept > a.concept
  JOIN trained AS c ON c.image_id = a.image_id AND c.concept > b.concept
  WHERE $sets = 'subsets' AND $size >= 3
  GROUP BY a.concept, b.concept, c.concept
  HAVING count(*) >= greatest($min_count, 1)
),
parts AS (
  SELECT concept AS name, concept, 1 AS size FROM singles WHERE $sets IN ('single', 'subsets')
  UNION ALL
  SELECT concat(a, ' + ', b) AS name, unnest([a, b]) AS concept, 2 AS size FROM doubles
  UNION ALL
  SELECT concat(a, ' + ', b, ' + ', c) AS name, unnest([a, b, c]) AS concept, 3 AS size FROM triples
  UNION ALL
  SELECT name, concept, CAST(count(*) OVER (PARTITION BY name) AS INTEGER) AS size
  FROM (SELECT whole AS name, unnest(string_split(whole, ' + ')) AS concept FROM wholes) AS w
),
has AS (
  SELECT f.source, f.image_id, p.name
  FROM found AS f
  JOIN parts AS p ON p.concept = f.concept
  GROUP BY f.source, f.image_id, p.name, p.size
  HAVING count(*) = p.size
),
-- what is compared: + 1 where the model says it, - 1 where it is so
said AS (
  SELECT 'group_to_concept' AS direction, 'test' AS source, m.image_id, m.label, h.name, 1 AS side
  FROM has AS h
  JOIN members AS m ON m.image_id = h.image_id AND m.source = 'test'
  WHERE h.source = 'model'
  UNION ALL
  SELECT 'concept_to_group' AS direction, 'test' AS source, g.image_id, g.label, h.name, 1 AS side
  FROM has AS h
  JOIN guessed AS g ON g.image_id = h.image_id
  WHERE h.source = 'test'
  UNION ALL
  SELECT d.direction, m.source, m.image_id, m.label, h.name, -1 AS side
  FROM has AS h
  JOIN members AS m ON m.image_id = h.image_id AND m.source = h.source
  CROSS JOIN directions AS d
  WHERE h.source = $base
),
events AS (
  SELECT direction, source, image_id, label, name, CAST(sum(side) AS INTEGER) AS side
  FROM said
  GROUP BY direction, source, image_id, label, name
),
sums AS (
  SELECT
    direction,
    label,
    name,
    CAST(sum(CASE WHEN source = 'test' THEN side ELSE 0 END) AS BIGINT) AS test_sum,
    CAST(sum(CASE WHEN source = 'test' THEN side * side ELSE 0 END) AS BIGINT) AS test_squares,
    CAST(sum(CASE WHEN source = 'train' THEN side ELSE 0 END) AS BIGINT) AS train_sum
  FROM events
  GROUP BY direction, label, name
),
predicted_n AS (
  SELECT direction, label, name, count(*) AS n FROM said WHERE side = 1 GROUP BY direction, label, name
),
both_n AS (
  SELECT h.source, m.label, h.name, count(*) AS n
  FROM has AS h
  JOIN members AS m ON m.image_id = h.image_id AND m.source = h.source
  GROUP BY h.source, m.label, h.name
),
label_n AS (
  SELECT source, label, count(*) AS n FROM members GROUP BY source, label
),
name_n AS (
  SELECT source, name, count(*) AS n FROM has GROUP BY source, name
),
image_n AS (
  SELECT source, count(*) AS n FROM images GROUP BY source
),
cells AS (
  SELECT
    d.direction,
    l.label,
    c.name,
    coalesce(a.n, 0) AS actual_n,
    coalesce(t.n, 0) AS train_n,
    coalesce(p.n, 0) AS predicted_n,
    lt.n AS train_label_n,
    cn.n AS train_name_n,
    i.n AS train_images,
    CASE d.direction WHEN 'group_to_concept' THEN le.n ELSE coalesce(ce.n, 0) END AS n,
    CASE d.direction WHEN 'group_to_concept' THEN lt.n ELSE cn.n END AS train_over,
    coalesce(s.test_sum, 0) AS test_sum,
    coalesce(s.test_squares, 0) AS test_squares,
    coalesce(s.train_sum, 0) AS train_sum
  FROM directions AS d
  CROSS JOIN labels AS l
  CROSS JOIN (SELECT DISTINCT name FROM parts) AS c
  JOIN label_n AS le ON le.label = l.label AND le.source = 'test'
  JOIN label_n AS lt ON lt.label = l.label AND lt.source = 'train'
  JOIN name_n AS cn ON cn.name = c.name AND cn.source = 'train'
  JOIN image_n AS i ON i.source = 'train'
  LEFT JOIN name_n AS ce ON ce.name = c.name AND ce.source = 'test'
  LEFT JOIN both_n AS a ON a.label = l.label AND a.name = c.name AND a.source = 'test'
  LEFT JOIN both_n AS t ON t.label = l.label AND t.name = c.name AND t.source = 'train'
  LEFT JOIN predicted_n AS p ON p.label = l.label AND p.name = c.name AND p.direction = d.direction
  LEFT JOIN sums AS s ON s.label = l.label AND s.name = c.name AND s.direction = d.direction
),
judged AS (
  SELECT
    *,
    max(
      CASE
        WHEN (actual_n > 0 AND actual_n < $min_count)
        OR (train_n > 0 AND train_n < $min_count)
        OR (predicted_n > 0 AND predicted_n < $min_count) THEN 1
        ELSE 0
      END
    ) OVER (PARTITION BY name) AS any_small,
    CAST(sign(train_n * train_images - train_label_n * train_name_n) AS INTEGER) AS y
  FROM cells
  WHERE $base IN ('test', 'train') AND $sets IN ('single', 'subsets', 'images') AND $show IN ('mean', 'pairs', 'all')
),
pairs AS (
  SELECT
    *,
    CAST(test_sum AS DOUBLE) / n AS test_mean,
    CAST(train_sum AS DOUBLE) / train_over AS train_mean,
    CAST(predicted_n AS DOUBLE) / n AS predicted,
    CASE $base WHEN 'test' THEN CAST(actual_n AS DOUBLE) / n ELSE CAST(train_n AS DOUBLE) / train_over END AS actual,
    CASE $base WHEN 'test' THEN 0 ELSE 1 END AS apart
  FROM judged
  WHERE any_small = 0 AND n >= greatest($min_count, 1)
),
measured AS (
  SELECT
    *,
    CASE $base
      WHEN 'test' THEN CAST(predicted_n - actual_n AS DOUBLE) / n
      ELSE CAST(predicted_n AS DOUBLE) / n - CAST(train_n AS DOUBLE) / train_over
    END AS delta,
    CAST(test_sum + apart AS DOUBLE) / (n + 2) AS test_centre,
    CASE $base WHEN 'test' THEN 0e0 ELSE CAST(train_sum - 1 AS DOUBLE) / (train_over + 2) END AS train_centre
  FROM pairs
),
bounded AS (
  SELECT
    *,
    test_centre + train_centre AS centre,
    1.959963984540054e0 * sqrt(
      greatest(CAST(test_squares + 1 AS DOUBLE) / (n + 2) - test_centre * test_centre, 0) / (n + 2)
      + apart * greatest(-train_centre - train_centre * train_centre, 0) / (train_over + 2)
    ) AS half
  FROM measured
),
-- how much each image moves the mean, in images
influences AS (
  SELECT e.direction, e.source, e.image_id, CAST(
    CAST(p.y * e.side * i.n AS DOUBLE) / (CASE e.source WHEN 'test' THEN p.n ELSE p.train_over END) AS DECIMAL(38, 16)
  ) AS influence
  FROM events AS e
  JOIN bounded AS p ON p.direction = e.direction AND p.label = e.label AND p.name = e.name
  JOIN image_n AS i ON i.source = e.source
  UNION ALL
  SELECT p.direction, m.source, m.image_id, -p.influence AS influence
  FROM members AS m
  JOIN (
    SELECT p.direction, i.source, p.label, sum(CAST(
      p.y * (CASE i.source WHEN 'test' THEN p.test_mean * i.n / p.n ELSE p.train_mean * i.n / p.train_over END)
      AS DECIMAL(38, 16)
    )) AS influence
    FROM bounded AS p
    CROSS JOIN image_n AS i
    WHERE p.direction = 'group_to_concept'
    GROUP BY p.direction, i.source, p.label
  ) AS p ON p.source = m.source AND p.label = m.label
  UNION ALL
  SELECT p.direction, h.source, h.image_id, -p.influence AS influence
  FROM has AS h
  JOIN (
    SELECT p.direction, i.source, p.name, sum(CAST(
      p.y * (CASE i.source WHEN 'test' THEN p.test_mean * i.n / p.n ELSE p.train_mean * i.n / p.train_over END)
      AS DECIMAL(38, 16)
    )) AS influence
    FROM bounded AS p
    CROSS JOIN image_n AS i
    WHERE p.direction = 'concept_to_group'
    GROUP BY p.direction, i.source, p.name
  ) AS p ON p.source = h.source AND p.name = h.name
),
spread AS (
  SELECT
    t.direction,
    CAST(sum(CAST(t.influence * t.influence / i.n / i.n AS DECIMAL(38, 24))) AS DOUBLE) AS variance
  FROM (
    SELECT direction, source, image_id, CAST(sum(influence) AS DOUBLE) AS influence
    FROM influences
    GROUP BY direction, source, image_id
  ) AS t
  JOIN image_n AS i ON i.source = t.source
  GROUP BY t.direction
),
means AS (
  SELECT
    d.direction,
    count(p.name) AS pairs,
    CAST(sum(CAST(p.y * p.delta AS DECIMAL(38, 18))) AS DOUBLE) / nullif(count(p.name), 0) AS value,
    CAST(sum(CAST(abs(p.delta) AS DECIMAL(38, 18))) AS DOUBLE) / nullif(count(p.name), 0) AS absolute,
    CAST(sum(CAST(p.delta AS DECIMAL(38, 18))) AS DOUBLE) / nullif(count(p.name), 0) AS mean_delta,
    CAST(sum(CAST(p.delta * p.delta AS DECIMAL(38, 18))) AS DOUBLE) / nullif(count(p.name), 0) AS squares
  FROM directions AS d
  LEFT JOIN bounded AS p ON p.direction = d.direction
  GROUP BY d.direction
),
hidden AS (
  SELECT direction, count(*) AS cells FROM cells GROUP BY direction
),
rows_of AS (
  SELECT
    m.direction,
    'mean' AS level,
    CAST(NULL AS VARCHAR) AS label,
    CAST(NULL AS VARCHAR) AS concept,
    m.value,
    m.value - 1.959963984540054e0 * sqrt(s.variance) / m.pairs AS low,
    m.value + 1.959963984540054e0 * sqrt(s.variance) / m.pairs AS high,
    m.absolute,
    greatest(m.squares - m.mean_delta * m.mean_delta, 0) AS variance,
    CAST(NULL AS INTEGER) AS y,
    CAST(NULL AS DOUBLE) AS delta,
    CAST(NULL AS DOUBLE) AS predicted,
    CAST(NULL AS DOUBLE) AS actual,
    coalesce(i.n, 0) AS n,
    m.pairs
  FROM means AS m
  LEFT JOIN spread AS s ON s.direction = m.direction
  LEFT JOIN image_n AS i ON i.source = 'test'
  WHERE $show IN ('mean', 'all')
  UNION ALL
  SELECT
    direction,
    'pair' AS level,
    label,
    name AS concept,
    y * delta AS value,
    y * greatest(least(centre - y * half, 1), -1) AS low,
    y * greatest(least(centre + y * half, 1), -1) AS high,
    abs(delta) AS absolute,
    CAST(NULL AS DOUBLE) AS variance,
    y,
    delta,
    predicted,
    actual,
    n,
    CAST(1 AS BIGINT) AS pairs
  FROM bounded
  WHERE $show IN ('pairs', 'all')
)
SELECT r.*, coalesce(h.cells, 0) - m.pairs AS n_suppressed
FROM rows_of AS r
JOIN means AS m ON m.direction = r.direction
LEFT JOIN hidden AS h ON h.direction = r.direction
ORDER BY r.direction, r.level, r.value DESC, r.concept, r.label
