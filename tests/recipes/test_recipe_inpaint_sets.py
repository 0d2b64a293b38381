"""The two sets of the recipe inpaint (Hirota et al. 2024, Eq. 2 and 3), from edits that are written by hand."""

from __future__ import annotations

import contextlib
import importlib.resources
import io
import json
import tarfile

import numpy as np
import pytest
from image_files import image_bytes
from PIL import Image
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO

from counterbalance.__main__ import main

TEXTS = {1: "a man rides", 2: "a woman reads", 3: "a man and a woman", 4: "a person sleeps"}
LABELS = {1: "male", 2: "female"}  # captions of 3 are mixed, those of 4 unclear
BY_HAND = """
-- step by_hand: what the steps before would have made
CREATE MATERIALIZED VIEW IF NOT EXISTS inpaint_sources WITH (key = 'image_id') AS
SELECT image_id, list_first([image]) AS mask FROM images;
CREATE MATERIALIZED VIEW IF NOT EXISTS inpaint_people WITH (key = 'detection_id') AS
SELECT detection_id, CASE WHEN mask IS NULL THEN '[[1,1,6,1,6,8]]' END AS found FROM detections WHERE category = 'person';
CREATE MATERIALIZED VIEW IF NOT EXISTS inpaint_set WITH (key = 'edit_id') AS
SELECT 10 * i.image_id + g.number AS edit_id, i.image_id, g.label, concat('a ', g.label) AS text, c.text AS source_text,
  list_first([i.image]) AS image
FROM images AS i
JOIN captions AS c ON c.image_id = i.image_id
CROSS JOIN (SELECT unnest([1, 2]) AS number, unnest(['female', 'male']) AS label) AS g;
REFRESH inpaint_sources, inpaint_people, inpaint_set;

"""


GIVEN, FOUND = "[[20,1,26,1,26,8]]", "[[1,1,6,1,6,8]]"
BOXES = [
    (11, 1, "person", None, FOUND),
    (12, 1, "dog", GIVEN, GIVEN),
    (21, 2, "person", GIVEN, GIVEN),
    (22, 2, "cat", None, None),
]


def picture(number):
    """A picture that is lighter than grey at the left, as wide as its number."""
    made = Image.new("RGB", (40, 30), (9, 9, 40 * number))
    made.paste((255, 9, 9), (0, 0, number, 30))
    return image_bytes(made)


@pytest.fixture(scope="module")
def last_steps(tmp_path_factory):
    """A recipe that begins with edits by hand and goes on with the step that makes the sets."""
    text = importlib.resources.files("counterbalance.queries").joinpath("recipes/inpaint.sql").read_text("utf-8")
    body = BY_HAND + text[text.index("-- step sets") : text.index("-- step counts")]
    front, *parameters = text[: text.index("---*/")].split("\n[params.")
    used = [f"\n[params.{p}" for p in parameters if "$" + p.partition("]")[0] in body]
    file = tmp_path_factory.mktemp("recipe") / "sets.sql"
    file.write_text(front.replace("presets =", "# presets =") + "".join(used) + "---*/\n" + body, "utf-8")
    return str(file)


@pytest.fixture
def lake(disk_lake, build):
    ids = list(TEXTS)
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids], image=[picture(i) for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=list(TEXTS.values())),
            "detections": build.detections(
                detection_id=[b[0] for b in BOXES],
                image_id=[b[1] for b in BOXES],
                category=[b[2] for b in BOXES],
                mask=[b[3] for b in BOXES],
                x=[1.0] * 4,
                y=[2.0] * 4,
                width=[5.0] * 4,
                height=[6.0] * 4,
                is_crowd=[False] * 4,
            ),
        }
    )
    return disk_lake


def rows(lake, name):
    return lake.sql(
        f"SELECT image_id, label, text, synthetic FROM {name} ORDER BY image_id, synthetic, label"
    ).fetchall()


def test_originals_with_their_label_and_edits_of_the_others(lake, last_steps):
    lake.recipe(last_steps)
    assert rows(lake, "s_synthetic") == [(i, g, f"a {g}", True) for i in TEXTS for g in ("female", "male")]
    other = {"male": "female", "female": "male"}
    wanted = [r for i, g in LABELS.items() for r in ((i, g, TEXTS[i], False), (i, other[g], f"a {other[g]}", True))]
    assert rows(lake, "s_augment") == wanted
    shares = lake.sql("SELECT label, count(*) FROM s_augment GROUP BY label ORDER BY label").fetchall()
    assert shares == [("female", 2), ("male", 2)], "labels are as frequent with every scene"


def test_labels_may_come_from_elsewhere_and_must_be_groups_of_the_set(lake, last_steps):
    groups = "(SELECT * FROM (VALUES (1, 'female'), (2, 'darker'), (3, 'male'), (4, 'unclear')) AS g(image_id, label))"
    lake.recipe(last_steps, {"groups": groups})
    assert [r[:2] for r in rows(lake, "s_augment")] == [(1, "female"), (1, "male"), (3, "male"), (3, "female")]


def test_both_sets_carry_boxes_and_the_mask_of_their_source(lake, last_steps):
    lake.recipe(last_steps)
    for name in ("s_synthetic", "s_augment"):
        sql = f"SELECT image_id, objects, list_first([mask]) AS mask FROM {name} WHERE image_id < 3"
        found = lake.sql(sql).to_arrow().to_pylist()
        assert len(found) == 4
        for row in found:
            listed = [(o["category"], o["mask"]) for o in row["objects"]]
            assert listed == [(b[2], b[4]) for b in BOXES if b[1] == row["image_id"]]
            assert row["mask"] == picture(row["image_id"])


def test_shards_are_written_without_a_flag(lake, last_steps, tmp_path, capsys):
    lake.recipe(last_steps)
    command = ["export", lake.uri, "s_augment", "--to", "webdataset", str(tmp_path / "out")]
    assert main([*command, "--progress", "never"]) == 0
    assert "4 rows written" in capsys.readouterr().out
    sql = "SELECT sample_id, image_id, label, text, list_first([image]), list_first([mask]) FROM s_augment"
    wanted = {str(key): told for key, *told in lake.sql(sql).fetchall()}
    with tarfile.open(tmp_path / "out/shard-00000.tar") as shard:
        files = {m.name: shard.extractfile(m).read() for m in shard}
    assert set(files) == {f"{key}.{end}" for key in wanted for end in ("png", "mask.png", "txt", "json")}
    for key, (image, label, text, picture, mask) in wanted.items():
        about = json.loads(files[f"{key}.json"])
        assert (about["image_id"], about["label"], files[f"{key}.txt"].decode()) == (image, label, text)
        assert (files[f"{key}.png"], files[f"{key}.mask.png"]) == (picture, mask)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_coco_gets_their_boxes_and_masks(lake, last_steps, tmp_path):
    lake.recipe(last_steps)
    assert lake.export("s_augment", tmp_path / "out", "coco").rows == 4
    with contextlib.redirect_stdout(io.StringIO()):
        made = COCO(str(tmp_path / "out/annotations/instances_all.json"))
    assert {c["name"]: c["id"] for c in made.loadCats(made.getCatIds())} == {"person": 1, "dog": 18, "cat": 17}
    for image in made.imgs.values():
        source = image["source_image_id"]
        boxes = made.loadAnns(made.getAnnIds(imgIds=[image["id"]]))
        names = [made.cats[b["category_id"]]["name"] for b in boxes]
        assert names == [b[2] for b in BOXES if b[1] == source]
        assert all(b["bbox"] == [1, 2, 5, 6] for b in boxes)
        assert [made.annToMask(b).any() for b in boxes if "segmentation" in b] == [True] * sum(
            b[4] is not None for b in BOXES if b[1] == source
        )
        white = coco_mask.decode(image["mask"])
        assert (white == (np.arange(40) < source)).all()
        assert (image["label"], image["synthetic"]) in {(LABELS[source], False), (LABELS[3 - source], True)}
        assert "objects" not in image
    assert len({b["id"] for b in made.anns.values()}) == len(made.anns) == 8
