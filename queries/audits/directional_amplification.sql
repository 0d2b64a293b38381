/*--- toml
answers = "Does a model amplify what its training data associates with a group, and in which direction?"
details = """
A pair is a label (a group) and a concept, or a set of concepts. direction 'group_to_concept' (A -> T): delta is how
much more often the model finds the concept in images of the label than it is there. 'concept_to_group' (T -> A): how
much more often it predicts the label for images with the concept than they have it.
y is the sign of p(label, concept) - p(label) p(concept) in the training data; value = y delta, + where the model
makes the association stronger.

level 'mean': value is the mean over all pairs of the direction, absolute that of |delta| (0 at best; the mean of the
multi-attribute paper), variance that of delta over pairs. level 'pair': one of them: delta = predicted - actual, shares
of the n images (predicted_n and actual_n). Intervals are 95 %: of a pair Agresti and Min's for paired shares (Agresti and Caffo's where base is
'train'), of the mean by linearization, images being independent draws, with Student's t of as many images as the model
is wrong about (base 'test'); y is taken as known. p of a pair is that of the z of its interval: does the model find it
as often as it is there? q is p by Benjamini and Hochberg over all pairs that are kept, hidden ones as p = 1.

sets 'single': concepts one by one (Wang and Russakovsky). 'subsets': all sets of up to size concepts that meet in
min_count training images (the text of Zhao et al.). 'images': the sets that are all concepts of min_count training
images (their code). An image has a set when it has all of its concepts. base 'test': actual is the share in the images
that the model saw (the code of both papers); 'train': in the training data (the text of Zhao et al.).

A direction has rows when its predictions have. Only images of labels that group_sizes shows count, in both data sets.
Shares of few images do not measure a model: a concept counts where each of its counts (training, actual, predicted),
and what it lacks of the images that it is a share of, is 0 or at least min_count. Small counts that follow from others
are hidden by the engine (docs/safety.md): pairs are left out, the mean where few images of a label (smallest) have none of its
concepts, the interval of a pair where the model is right, or wrong, about few (right_n and neither_n: it says what is
there; neither it says it nor is it there), and with it that of the mean, whose right_n is the smallest of these counts
over its pairs, and of those that it says or that are there alone. n_suppressed counts pairs of all directions.
actual_of and predicted_of are the images of the label. Labels are perceived, or those of words in captions.
"""
subject = "from data to models"
source = """
Wang and Russakovsky, Directional Bias Amplification (2021), and its code; Zhao et al., Men Also Do Laundry:
Multi-Attribute Bias Amplification (2023), and its code; Agresti and Min (2005); Agresti and Caffo (2000)"""
meets = { left = "predicted_concepts.concept", right = "concepts.concept", watched = "predicted" }

[params.predicted_concepts]
relation = ["image_id", "concept"]
default = "(SELECT image_id, '' AS concept FROM images WHERE 1 = 0)"
about = "concepts that the model finds"

[params.predicted_groups]
relation = ["image_id", "label"]
default = "(SELECT image_id, '' AS label FROM images WHERE 1 = 0)"
about = "labels that the model predicts"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation of the images that the model saw"

[params.concepts]
relation = ["image_id", "concept"]
default = "category_concepts"
about = "concepts that are there, of the same images"

[params.train_groups]
relation = ["image_id", "label"]
default = "groups"
grid = []
about = "group relation of the training data"

[params.train_concepts]
relation = ["image_id", "concept"]
default = "concepts"
about = "of the training data"

[params.sets]
type = "varchar"
default = "single"
choices = ["single", "subsets", "images"]
about = "what concepts are taken together"

[params.size]
type = "integer"
default = 2
min = 1
max = 3
about = "concepts of a subset at most"

[params.base]
type = "varchar"
default = "test"
choices = ["test", "train"]
about = "where actual shares come from"

[params.show]
type = "varchar"
default = "mean"
choices = ["mean", "pairs", "all"]
about = "which levels have rows"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "concepts with smaller counts are left out"

[[cells]]
count = "actual_n"
of = "actual_of"
by = ["concept"]
within = ["level", "label"]
overlap = true
omit = true
measures = ["actual"]

[[cells]]
count = "actual_n"
out_of = "actual_of"
by = ["label"]
within = ["level", "concept"]
omit = true
measures = ["actual"]

[[cells]]
count = "predicted_n"
of = "predicted_of"
by = ["concept"]
within = ["level", "direction", "label"]
overlap = true
omit = true
measures = ["predicted"]

[[cells]]
count = "predicted_n"
of = "n"
out_of = "n"
by = ["label"]
within = ["level", "direction", "concept"]
omit = true
measures = ["predicted"]

[[cells]]
count = "right_n"
of = "predicted_n"
out_of = "actual_n"
within = ["level", "direction"]
measures = ["low", "high", "neither_n"]
tests = ["p", "q"]

[[cells]]
count = "neither_n"
within = ["level", "direction"]
measures = ["low", "high", "right_n"]
tests = ["p", "q"]

[[cells]]
count = "smallest"
measures = ["value", "low", "high", "absolute", "variance", "pairs", "y", "delta"]
---*/
SELECT *
FROM false_discovery((
  WITH shown AS (
    SELECT a.label
    FROM group_sizes(groups, $min_count) AS a
    JOIN group_sizes(train_groups, $min_count) AS b ON b.label = a.label AND b.used
    WHERE a.used
  ),
  -- what images are ('is'), and what the model says of those that it saw ('guess'). Tables are read as few times as can be:
  -- engines that plan every use of an expression anew do not end otherwise
  given AS (
    SELECT 'test' AS source, 'is' AS kind, image_id, label FROM groups
    UNION ALL
    SELECT 'train' AS source, 'is' AS kind, image_id, label FROM train_groups
    UNION ALL
    SELECT 'test' AS source, 'guess' AS kind, image_id, label FROM predicted_groups
  ),
  links AS (
    SELECT
      source,
      kind,
      image_id,
      label,
      max(CASE WHEN kind = 'is' THEN 1 ELSE 0 END) OVER (PARTITION BY source, image_id) AS known,
      row_number() OVER (PARTITION BY source, kind, image_id ORDER BY label) AS place
    FROM (
      SELECT DISTINCT g.source, g.kind, g.image_id, g.label
      FROM given AS g
      JOIN shown AS l ON l.label = g.label
      WHERE g.image_id IS NOT NULL
    ) AS d
  ),
  label_n AS (
    SELECT
      label,
      count(CASE WHEN source = 'test' THEN 1 END) AS test_n,
      count(CASE WHEN source = 'train' THEN 1 END) AS train_n,
      sum(count(CASE WHEN source = 'test' AND place = 1 THEN 1 END)) OVER () AS test_images,
      sum(count(CASE WHEN source = 'train' AND place = 1 THEN 1 END)) OVER () AS train_images
    FROM links
    WHERE kind = 'is'
    GROUP BY label
  ),
  directions AS (
    SELECT 'group_to_concept' AS direction FROM (SELECT count(*) AS n FROM predicted_concepts) AS p WHERE p.n > 0
    UNION ALL
    SELECT 'concept_to_group' AS direction FROM (SELECT count(*) AS n FROM predicted_groups) AS p WHERE p.n > 0
  ),
  found AS (
    SELECT DISTINCT c.origin, c.source, c.image_id, c.concept
    FROM (
      SELECT 'test' AS origin, 'test' AS source, image_id, concept FROM concepts
      UNION ALL
      SELECT 'train' AS origin, 'train' AS source, image_id, concept FROM train_concepts
      UNION ALL
      SELECT 'model' AS origin, 'test' AS source, image_id, concept FROM predicted_concepts
    ) AS c
    JOIN links AS i ON i.image_id = c.image_id AND i.source = c.source AND i.kind = 'is' AND i.place = 1
    WHERE c.concept IS NOT NULL
  ),
  counted AS (
    SELECT *, count(CASE WHEN origin = 'train' THEN 1 END) OVER (PARTITION BY concept) AS train_n FROM found
  ),
  lists AS (
    SELECT origin, source, image_id, list_sort(list(concept)) AS concepts
    FROM counted
    WHERE $sets = 'images' OR train_n >= greatest($min_count, 1)
    GROUP BY origin, source, image_id
  ),
  -- sets of concepts of an image: one, with a second, with a third; NULL stands for no further one
  firsts AS (
    SELECT *, unnest(concepts) AS a FROM lists WHERE $sets IN ('single', 'subsets')
  ),
  seconds AS (
    SELECT
      *,
      unnest(
        CASE
          WHEN $sets = 'subsets' AND $size >= 2 THEN list_concat(concepts, [CAST(NULL AS VARCHAR)])
          ELSE [CAST(NULL AS VARCHAR)]
        END
      ) AS b
    FROM firsts
  ),
  thirds AS (
    SELECT
      *,
      unnest(
        CASE
          WHEN $sets = 'subsets' AND $size >= 3 AND b IS NOT NULL THEN list_concat(concepts, [CAST(NULL AS VARCHAR)])
          ELSE [CAST(NULL AS VARCHAR)]
        END
      ) AS c
    FROM seconds
    WHERE b > a OR b IS NULL
  ),
  -- or all those of a training image, with their parts
  wholes AS (
    SELECT name, array_length(concepts) AS size, unnest(concepts) AS concept
    FROM (
      SELECT array_to_string(concepts, ' + ') AS name, concepts
      FROM lists
      WHERE origin = 'train' AND $sets = 'images'
      GROUP BY concepts
      HAVING count(*) >= greatest($min_count, 1)
    ) AS w
  ),
  has AS (
    SELECT *
    FROM (
      SELECT
        *,
        count(CASE WHEN origin = 'test' THEN 1 END) OVER (PARTITION BY name) AS test_n,
        count(CASE WHEN origin = 'train' THEN 1 END) OVER (PARTITION BY name) AS train_n
      FROM (
        SELECT origin, source, image_id, concat_ws(' + ', a, b, c) AS name FROM thirds WHERE c > b OR c IS NULL
        UNION ALL
        SELECT f.origin, f.source, f.image_id, w.name
        FROM found AS f
        JOIN wholes AS w ON w.concept = f.concept
        GROUP BY f.origin, f.source, f.image_id, w.name, w.size
        HAVING count(*) = w.size
      ) AS s
    ) AS h
    WHERE train_n >= greatest($min_count, 1)
  ),
  -- an image with a label, or with one that the model says, and a set, or one that the model finds
  events AS (
    SELECT
      h.source,
      h.image_id,
      l.label,
      h.name,
      max(CASE WHEN h.origin <> 'model' AND l.kind = 'is' THEN 1 ELSE 0 END) AS actual,
      max(CASE WHEN h.origin = 'model' AND l.kind = 'is' THEN 1 ELSE 0 END) AS found,
      max(CASE WHEN h.origin <> 'model' AND l.kind = 'guess' THEN 1 ELSE 0 END) AS guessed
    FROM has AS h
    JOIN links AS l ON l.image_id = h.image_id AND l.source = h.source AND l.known = 1
    GROUP BY h.source, h.image_id, l.label, h.name
  ),
  event_n AS (
    SELECT
      label,
      name,
      count(CASE WHEN source = 'test' AND actual = 1 THEN 1 END) AS actual_n,
      count(CASE WHEN source = 'train' AND actual = 1 THEN 1 END) AS train_n,
      count(CASE WHEN found = 1 THEN 1 END) AS found_n,
      count(CASE WHEN found = 1 AND actual = 1 THEN 1 END) AS found_right,
      count(CASE WHEN guessed = 1 THEN 1 END) AS guessed_n,
      count(CASE WHEN guessed = 1 AND actual = 1 THEN 1 END) AS guessed_right
    FROM events
    GROUP BY label, name
  ),
  cells AS (
    SELECT
      d.direction,
      l.label,
      c.name,
      coalesce(e.actual_n, 0) AS actual_n,
      coalesce(e.train_n, 0) AS train_n,
      coalesce(CASE d.direction WHEN 'group_to_concept' THEN e.found_n ELSE e.guessed_n END, 0) AS predicted_n,
      coalesce(CASE d.direction WHEN 'group_to_concept' THEN e.found_right ELSE e.guessed_right END, 0) AS right_n,
      l.test_n AS test_label_n,
      l.train_n AS train_label_n,
      c.train_n AS train_name_n,
      CAST(l.test_images AS BIGINT) AS test_images,
      CAST(l.train_images AS BIGINT) AS train_images,
      CASE d.direction WHEN 'group_to_concept' THEN l.test_n ELSE c.test_n END AS n,
      CASE d.direction WHEN 'group_to_concept' THEN l.train_n ELSE c.train_n END AS train_over
    FROM directions AS d
    CROSS JOIN label_n AS l
    CROSS JOIN (SELECT DISTINCT name, test_n, train_n FROM has) AS c
    LEFT JOIN event_n AS e ON e.label = l.label AND e.name = c.name
    WHERE $base IN ('test', 'train') AND $sets IN ('single', 'subsets', 'images') AND $show IN ('mean', 'pairs', 'all')
  ),
  checked AS (
    SELECT
      *,
      n >= greatest($min_count, 1) AND max(
        CASE
          WHEN (actual_n > 0 AND actual_n < $min_count)
          OR (train_n > 0 AND train_n < $min_count)
          OR (predicted_n > 0 AND predicted_n < $min_count)
          OR (n > actual_n AND n - actual_n < $min_count)
          OR (train_over > train_n AND train_over - train_n < $min_count)
          OR (n > predicted_n AND n - predicted_n < $min_count) THEN 1
          ELSE 0
        END
      ) OVER (PARTITION BY name) = 0 AS kept
    FROM cells
  ),
  -- the images of a label less those of its concepts, which would be those of none where an image has one concept
  rests AS (
    SELECT
      direction,
      min(least(nullif(greatest(test, 0), 0), nullif(greatest(train, 0), 0), nullif(greatest(predicted, 0), 0))) AS smallest
    FROM (
      SELECT
        direction,
        max(test_label_n) - sum(CASE WHEN kept THEN actual_n ELSE 0 END) AS test,
        max(train_label_n) - sum(CASE WHEN kept THEN train_n ELSE 0 END) AS train,
        CASE direction
          WHEN 'group_to_concept' THEN max(test_label_n) - sum(CASE WHEN kept THEN predicted_n ELSE 0 END)
        END AS predicted
      FROM checked
      GROUP BY direction, label
    ) AS r
    GROUP BY direction
  ),
  -- the variance of the mean is that of its pairs, which tells what is hidden of one of them
  agreed AS (
    SELECT
      direction,
      min(least(
        nullif(right_n, 0),
        nullif(predicted_n - right_n, 0),
        nullif(actual_n - right_n, 0),
        nullif(n - predicted_n - actual_n + right_n, 0)
      )) AS smallest
    FROM checked
    WHERE kept AND $base = 'test'
    GROUP BY direction
  ),
  -- sums over images of + 1 where the model says it, - 1 where it is so
  summed AS (
    SELECT
      *,
      CASE WHEN kept THEN CAST(sign(train_n * train_images - train_label_n * train_name_n) AS INTEGER) END AS y,
      CASE $base WHEN 'test' THEN predicted_n - actual_n ELSE predicted_n END AS test_sum,
      CASE $base WHEN 'test' THEN predicted_n + actual_n - 2 * right_n ELSE predicted_n END AS test_squares,
      CASE $base WHEN 'test' THEN 0 ELSE -train_n END AS train_sum,
      CASE $base WHEN 'test' THEN 0 ELSE 1 END AS apart,
      CASE WHEN kept THEN CAST(predicted_n AS DOUBLE) / n END AS predicted,
      CASE
        WHEN kept
          THEN CASE $base WHEN 'test' THEN CAST(actual_n AS DOUBLE) / n ELSE CAST(train_n AS DOUBLE) / train_over END
      END AS actual
    FROM checked
  ),
  measured AS (
    SELECT
      *,
      CASE $base WHEN 'test' THEN CAST(predicted_n - actual_n AS DOUBLE) / nullif(n, 0) ELSE predicted - actual END AS delta,
      CAST(test_sum + apart AS DOUBLE) / (n + 2) AS test_centre,
      CASE $base WHEN 'test' THEN 0e0 ELSE CAST(train_sum - 1 AS DOUBLE) / (train_over + 2) END AS train_centre
    FROM summed
  ),
  pairs AS (
    SELECT
      *,
      test_centre + train_centre AS centre,
      sqrt(
        greatest(CAST(test_squares + 1 AS DOUBLE) / (n + 2) - test_centre * test_centre, 0) / (n + 2)
        + apart * greatest(-train_centre - train_centre * train_centre, 0) / (train_over + 2)
      ) AS error,
      count(*) OVER (PARTITION BY direction) AS cells,
      count(y) OVER (PARTITION BY direction) AS pairs,
      count(*) OVER () AS all_cells,
      count(y) OVER () AS all_pairs
    FROM measured
  ),
  -- how much an image moves the mean: what it has or the model says of it, less the mean over its label, or its set
  factors AS (
    SELECT
      direction,
      CASE WHEN s.whole AND direction = 'concept_to_group' THEN NULL ELSE label END AS label,
      CASE WHEN s.whole AND direction = 'group_to_concept' THEN NULL ELSE name END AS name,
      max(test_images) AS test_images,
      max(train_images) AS train_images,
      max(CASE WHEN s.whole THEN 0e0 ELSE CAST(y * test_images AS DOUBLE) / n END) AS test_each,
      max(CASE WHEN s.whole THEN 0e0 ELSE CAST(y * train_images AS DOUBLE) / train_over END) AS train_each,
      sum(CAST(CASE WHEN s.whole THEN y * (CAST(test_sum AS DOUBLE) / n * test_images / n) ELSE 0e0 END AS DECIMAL(38, 16)))
        AS test_mean,
      sum(CAST(
        CASE WHEN s.whole THEN y * (CAST(train_sum AS DOUBLE) / train_over * train_images / train_over) ELSE 0e0 END
        AS DECIMAL(38, 16)
      )) AS train_mean
    FROM pairs
    CROSS JOIN (VALUES (true), (false)) AS s(whole)
    WHERE kept
    GROUP BY 1, 2, 3
  ),
  units AS (
    SELECT source, image_id, label, name, actual, found, guessed FROM events
    UNION ALL
    SELECT source, image_id, label, CAST(NULL AS VARCHAR) AS name, 0 AS actual, 0 AS found, 0 AS guessed
    FROM links
    WHERE kind = 'is'
    UNION ALL
    SELECT source, image_id, CAST(NULL AS VARCHAR) AS label, name, 0 AS actual, 0 AS found, 0 AS guessed
    FROM has
    WHERE origin <> 'model'
  ),
  influences AS (
    SELECT
      f.direction,
      u.source,
      u.image_id,
      CASE u.source WHEN 'test' THEN f.test_images ELSE f.train_images END AS images,
      CASE f.direction WHEN 'group_to_concept' THEN u.found ELSE u.guessed END
      - CASE u.source WHEN $base THEN u.actual ELSE 0 END AS own,
      CASE u.source WHEN 'test' THEN f.test_each ELSE f.train_each END AS each,
      CASE u.source WHEN 'test' THEN f.test_mean ELSE f.train_mean END AS mean
    FROM units AS u
    JOIN factors AS f ON f.label IS NOT DISTINCT FROM u.label AND f.name IS NOT DISTINCT FROM u.name
  ),
  -- a variance to which few images contribute varies itself: the point is that of Student's t, of so many images
  spread AS (
    SELECT
      direction,
      CAST(sum(CAST(influence * influence / images / images AS DECIMAL(38, 24))) AS DOUBLE) AS variance,
      student_point(greatest(sum(contributes) - 1, 1)) AS point
    FROM (
      SELECT
        direction,
        source,
        image_id,
        images,
        CAST(sum(CAST(own * each AS DECIMAL(38, 16)) - mean) AS DOUBLE) AS influence,
        max(CASE own WHEN 0 THEN 0 ELSE 1 END) AS contributes
      FROM influences
      GROUP BY direction, source, image_id, images
    ) AS t
    GROUP BY direction
  ),
  means AS (
    SELECT
      direction,
      max(cells) AS cells,
      max(pairs) AS pairs,
      CAST(sum(CAST(y * delta AS DECIMAL(38, 18))) AS DOUBLE) / nullif(max(pairs), 0) AS value,
      CAST(sum(CASE WHEN kept THEN CAST(abs(delta) AS DECIMAL(38, 18)) END) AS DOUBLE) / nullif(max(pairs), 0) AS absolute,
      CAST(sum(CASE WHEN kept THEN CAST(delta AS DECIMAL(38, 18)) END) AS DOUBLE) / nullif(max(pairs), 0) AS mean_delta,
      CAST(sum(CASE WHEN kept THEN CAST(delta * delta AS DECIMAL(38, 18)) END) AS DOUBLE) / nullif(max(pairs), 0) AS squares
    FROM pairs
    GROUP BY direction
  ),
  rows_of AS (
    SELECT
      d.direction,
      'mean' AS level,
      CAST(NULL AS VARCHAR) AS label,
      CAST(NULL AS VARCHAR) AS concept,
      m.value,
      m.value - s.point * sqrt(s.variance) / m.pairs AS low,
      m.value + s.point * sqrt(s.variance) / m.pairs AS high,
      m.absolute,
      CAST(NULL AS DOUBLE) AS p,
      greatest(m.squares - m.mean_delta * m.mean_delta, 0) AS variance,
      CAST(NULL AS INTEGER) AS y,
      CAST(NULL AS DOUBLE) AS delta,
      CAST(NULL AS DOUBLE) AS predicted,
      CAST(NULL AS DOUBLE) AS actual,
      CAST(NULL AS BIGINT) AS predicted_n,
      CAST(NULL AS BIGINT) AS actual_n,
      i.n,
      CAST(NULL AS BIGINT) AS actual_of,
      CAST(NULL AS BIGINT) AS predicted_of,
      CAST(b.smallest AS BIGINT) AS right_n,
      CAST(NULL AS BIGINT) AS neither_n,
      CAST(r.smallest AS BIGINT) AS smallest,
      coalesce(m.pairs, 0) AS pairs,
      CAST(coalesce(sum(m.cells - m.pairs) OVER (), 0) AS BIGINT) AS n_suppressed
    FROM directions AS d
    CROSS JOIN (SELECT count(*) AS n FROM links WHERE source = 'test' AND kind = 'is' AND place = 1) AS i
    LEFT JOIN means AS m ON m.direction = d.direction
    LEFT JOIN spread AS s ON s.direction = d.direction
    LEFT JOIN rests AS r ON r.direction = d.direction
    LEFT JOIN agreed AS b ON b.direction = d.direction
    WHERE $show IN ('mean', 'all')
    UNION ALL
    SELECT
      direction,
      'pair' AS level,
      label,
      name AS concept,
      y * delta AS value,
      y * greatest(least(centre - y * half_interval(error), 1), -1) AS low,
      y * greatest(least(centre + y * half_interval(error), 1), -1) AS high,
      abs(delta) AS absolute,
      two_sided_p(pow(centre / nullif(error, 0), 2)) AS p,
      CAST(NULL AS DOUBLE) AS variance,
      y,
      delta,
      predicted,
      actual,
      predicted_n,
      CASE $base WHEN 'test' THEN actual_n ELSE train_n END AS actual_n,
      n,
      CASE $base WHEN 'test' THEN test_label_n ELSE train_label_n END AS actual_of,
      CASE direction WHEN 'group_to_concept' THEN test_label_n END AS predicted_of,
      CASE $base WHEN 'test' THEN right_n END AS right_n,
      CASE $base WHEN 'test' THEN n - predicted_n - actual_n + right_n END AS neither_n,
      CAST(NULL AS BIGINT) AS smallest,
      CAST(1 AS BIGINT) AS pairs,
      all_cells - all_pairs AS n_suppressed
    FROM pairs
    WHERE kept AND $show IN ('pairs', 'all')
  )
  SELECT * FROM rows_of
))
ORDER BY direction, level, value DESC, concept, label
