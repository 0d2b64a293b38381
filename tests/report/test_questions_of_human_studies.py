"""Sheets ask what human studies of contrast sets asked; answers come back as labels, closed where they are of people."""

from __future__ import annotations

import csv
import json
import os

import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine.errors import NotFoundError, RequestError, SensitiveError
from counterbalance.report.sheet.questions import QUESTIONS, load
from counterbalance.report.sheet.review import review, take_in

WHY = "a study of tests"
HOSTILE = "<img src=x> fits"
MATCHED = (
    "SELECT e.label, count(*) AS n, CAST(avg(CASE WHEN l.value = e.label THEN 1 ELSE 0 END) AS DOUBLE) AS value "
    "FROM pairs AS e JOIN labels AS l ON l.detection_id = e.edit_id AND l.attribute = $attribute GROUP BY e.label ORDER BY 1"
)
ALIKE = (
    "SELECT CAST(avg(CASE WHEN o.value = l.value THEN 1 ELSE 0 END) AS DOUBLE) FROM labels AS l "
    "JOIN labels AS o USING (image_id, attribute, annotator) "
    "WHERE l.attribute = $attribute AND l.detection_id IS NOT NULL AND o.detection_id IS NULL"
)


def picture(red):
    return image_bytes(Image.new("RGB", (40, 30), (red, 0, 0)))


@pytest.fixture(scope="module")
def lake():
    lake = cb.connect(f"memory://studies-{os.getpid()}")
    ids = [1, 2, 3]
    images = {"image_id": ids, "key": [str(i) for i in ids], "sha256": ["0" * 64] * 3}
    lake.ingest({"images": pa.table({**images, "image": pa.array([picture(60 * i) for i in ids], pa.binary())})})
    select = (
        "SELECT 10 * i.image_id + s.n AS edit_id, i.image_id, s.label, list_first([i.image]) AS image, "
        "concat('a man in ', i.image_id) AS original, concat('a woman in ', i.image_id) AS counterfactual, "
        f"CASE WHEN i.image_id < 3 THEN 'A ____ {HOSTILE}' END AS sentence "
        "FROM images AS i CROSS JOIN (VALUES ('original', 0), ('counterfactual', 1)) AS s(label, n)"
    )
    lake.create_materialized_view("pairs", select, "edit_id")
    lake.refresh()
    return lake


def data_of(path):
    return json.loads(path.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0])


def answered(data, folder, say):
    """Save what annotators would: ``say`` takes the number of an annotator and an item."""
    for number, who in enumerate(data["annotators"]):
        with (folder / f"answers-{number}.csv").open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["attribute", *data["columns"], "value", "annotator", "sheet"])
            for item in data["items"]:
                ids = [item.get(c, item["id"]) for c in data["columns"]]
                out.writerow([data["attribute"], *ids, say(number, item), who, data["sheet"]])
    return str(folder / "answers-*.csv")


def test_which_caption_fits_is_asked_of_each_picture_alone(lake, tmp_path):
    sheet = review(lake, tmp_path / "sheet.html", view="pairs", question="pair")
    data = data_of(sheet.path)
    assert (data["attribute"], data["sources"], len(data["items"])) == ("caption_choice:pairs", [], 6)
    assert [o["value"] for o in data["options"]] == ["original", "counterfactual", "both", "neither"]
    for item in data["items"]:
        n = item["image_id"]
        assert item["shown"] == {"original": f"a man in {n}", "counterfactual": f"a woman in {n}"}
        assert not item.keys() & {"caption", "facts", "source"}  # nothing tells of which text it was made
    # the first says what is right but of picture 10, which is neither; the second always says original
    said = lambda who, item: "original" if who else "neither" if item["id"] == "10" else LABELS[int(item["id"]) % 2]  # noqa: E731
    take_in(lake, "pairs", answered(data, tmp_path, said))
    found = lake.sql(MATCHED, attribute="caption_choice:pairs").fetchall()
    assert found == [("counterfactual", 6, 0.5), ("original", 6, pytest.approx(5 / 6))]
    answers = (
        "(SELECT e.edit_id - e.edit_id % 10 AS pair_id, e.label AS side, l.annotator, l.value AS answer FROM pairs AS e "
        "JOIN labels AS l ON l.detection_id = e.edit_id AND l.attribute = 'caption_choice:pairs')"
    )
    altered = (
        "(SELECT DISTINCT edit_id - edit_id % 10 AS pair_id, 'man' AS original, 'woman' AS counterfactual FROM pairs)"
    )
    errors = f"SELECT count, n FROM subject_errors({altered}, {answers}, min_count := 1) WHERE subject = 'all' AND other = 'all'"
    assert lake.sql(errors, sensitive=WHY).fetchall() == [(4, 12)]
    agreement = "SELECT n, value FROM agreement('caption_choice:pairs', min_count := 1) WHERE metric = 'agreement'"
    assert lake.sql(agreement, sensitive=WHY).fetchall() == [(6, pytest.approx(2 / 6))]


LABELS = ("original", "counterfactual")


def test_what_is_perceived_is_asked_of_edits_and_then_of_sources_and_is_closed(lake, tmp_path):
    with pytest.raises(SensitiveError) as caught:
        review(lake, tmp_path / "sheet.html", view="pairs", question="tone")
    assert caught.value.code == "E3310"
    sheet = review(lake, tmp_path / "sheet.html", view="pairs", question="tone", annotators=1, sensitive=WHY)
    data = data_of(sheet.path)
    assert sorted((i.get("detection_id", i["id"]), i.get("part", 0)) for i in data["items"]) == [
        ("", 1), ("", 1), ("", 1), *((str(e), 0) for e in (10, 11, 20, 21, 30, 31)),
    ]  # fmt: skip
    assert data["colors"]["10"] == "#292420"
    # edits of image 3 have another tone than it
    files = answered(data, tmp_path, lambda _, item: "7" if item["id"] in {"30", "31"} else "2")
    assert main(["review", lake.uri, "pairs", "--answers", files]) == 0
    attribute = "perceived_skin_tone:pairs"
    assert lake.sql("SELECT count(*) FROM labels WHERE attribute = $attribute", attribute=attribute).fetchall() == [
        (0,)
    ]
    assert lake.sql(ALIKE, attribute=attribute, sensitive=WHY).fetchall() == [(pytest.approx(4 / 6),)]


def test_gaps_of_a_sentence_are_asked_for(lake, tmp_path):
    sheet = review(lake, tmp_path / "sheet.html", view="pairs", question="fill", sensitive=WHY)
    page = sheet.path.read_text()
    data = data_of(sheet.path)
    assert {i["ask"] for i in data["items"]} == {f"Which word fills the gap? A ____ {HOSTILE}"}
    assert [o["shown"] for o in data["options"]] == ["woman", "man", "unclear"]
    assert len([i for i in data["items"] if "part" not in i]) == 4
    assert sheet.notes == ["2 edits are left out: a column that the question names is NULL"]
    assert "<img src=x" not in page
    assert "Which word fills the gap? …" in page


def test_things_and_colours_are_compared_without_what_tells_the_edit(lake, tmp_path):
    for name in ("objects", "colors"):
        data = data_of(review(lake, tmp_path / "sheet.html", view="pairs", question=name).path)
        assert {(i["caption"], len(i["facts"])) for i in data["items"]} == {("edit", 0)}
        assert len(data["sources"]) == 3


def test_a_question_of_your_own_is_a_file(lake, tmp_path, capsys):
    own = {"name": "mood", "ask": "Which mood has {original}?", "answers": ["calm", "tense"], "shows": "alone"}
    (tmp_path / "mood.json").write_text(json.dumps(own))
    command = [
        "review",
        lake.uri,
        "pairs",
        "--question",
        str(tmp_path / "mood.json"),
        "-o",
        str(tmp_path / "sheet.html"),
    ]
    assert main(command) == 0
    assert "agreement attribute=mood:pairs" in capsys.readouterr().err
    data = data_of(tmp_path / "sheet.html")
    assert (data["attribute"], [o["value"] for o in data["options"]]) == ("mood:pairs", ["calm", "tense"])


GOOD = {"name": "mood", "ask": "Which?", "answers": ["calm", "tense"]}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": "Mood:x"}, "'name'"), ({"ask": 3}, "'ask'"), ({"answers": ["one"]}, "2 to"), ({"answers": {"a": 1, "b": 2}}, "texts"),
        ({"shows": "all"}, "beside, alone, both"), ({"colors": {"calm": "red"}}, "'colors'"), ({"facts": 1}, "'facts'"),
        ({"shwos": "alone"}, "'shows'"),
    ],
)  # fmt: skip
def test_what_is_no_question_is_told(tmp_path, change, told):
    (tmp_path / "q.json").write_text(json.dumps(GOOD | change))
    with pytest.raises(RequestError, match=told) as caught:
        load(str(tmp_path / "q.json"))
    assert caught.value.code == "E3684"


def test_names_that_are_not_there_are_told(lake, tmp_path):
    for asked in ("pairs", str(tmp_path / "none.json")):
        with pytest.raises(RequestError) as caught:
            load(asked)
        assert caught.value.code == "E3684"
    own = QUESTIONS["pair"].__class__("mood", "{orignal}?", {"a": "a", "b": "b"})
    with pytest.raises(NotFoundError, match="original"):
        review(lake, tmp_path / "sheet.html", view="pairs", question=own)
