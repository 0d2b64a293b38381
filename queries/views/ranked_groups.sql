/*--- toml
answers = "Labels of ranked items, without the clear ones that group_sizes hides."
source = "labels of few images would be told by their shares, and take no part in averages over queries"

[params.item_groups]
relation = ["item_id", "label"]

[params.item_images]
relation = ["item_id", "image_id"]
about = "of which image an item is"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "labels with fewer images take no part"
---*/
SELECT g.item_id, g.label
FROM item_groups AS g
JOIN group_sizes(
  (
    SELECT coalesce(CAST(m.image_id AS VARCHAR), concat('item ', CAST(i.item_id AS VARCHAR))) AS image_id, i.label
    FROM item_groups AS i
    LEFT JOIN item_images AS m ON m.item_id = i.item_id
  ),
  $min_count
) AS s ON s.label = g.label
WHERE s.used OR NOT s.clear
