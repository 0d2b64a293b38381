"""A review sheet: sources beside their edits, a sample by seed, hostile words stay words, answers become labels."""

from __future__ import annotations

import base64
import io
import json
import os

import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine.errors import NotFoundError, RequestError, SensitiveError
from counterbalance.report.sheet.review import MOST_EDITS, review, take_in

HOSTILE = '</script><img src=x onerror="alert(1)">'
SOURCES = 7


def picture(red):
    return image_bytes(Image.new("RGB", (64, 48), (red, 0, 0)))


@cb.udf(returns=pa.binary(), parameters={"image": pa.binary(), "label": pa.string()}, version="1")
def review_edited(image, label):
    """The picture in blue or green; none for image 6."""
    colours = {"female": (0, 0, 200), "male": (0, 200, 0)}
    found = []
    for data, said in zip(image.to_pylist(), label.to_pylist(), strict=True):
        red = Image.open(io.BytesIO(data)).getpixel((0, 0))[0]
        found.append(None if red == 6 else image_bytes(Image.new("RGB", (64, 48), colours[said])))
    return found


@pytest.fixture(scope="module")
def lake():
    lake = cb.connect(f"memory://review-{os.getpid()}")
    n = SOURCES
    images = {"image_id": list(range(n)), "key": [str(i) for i in range(n)], "sha256": ["0" * 64] * n}
    lake.ingest({"images": pa.table({**images, "image": pa.array([picture(i) for i in range(n)], pa.binary())})})
    select = (
        "SELECT 2 * i.image_id + CASE l.label WHEN 'male' THEN 1 ELSE 0 END AS edit_id, i.image_id, l.label, "
        f"'{HOSTILE}' AS prompt, 0.5 + i.image_id AS p_real, CAST(NULL AS DOUBLE) AS p_group, "
        "review_edited(i.image, l.label) AS edited FROM images i CROSS JOIN (SELECT unnest(['male', 'female']) AS label) l"
    )
    lake.create_materialized_view("edits", select, "edit_id")
    lake.create_materialized_view("closed", "SELECT edit_id, image_id, label FROM edits", "edit_id", sensitive=True)
    many = (
        "SELECT 100 * e.edit_id + t.n AS edit_id, e.image_id, list_first([e.edited]) AS image "
        "FROM edits e CROSS JOIN (SELECT unnest(range(6)) AS n) t"
    )
    lake.create_materialized_view("many", many, "edit_id")
    lake.refresh()
    return lake


def data_of(path):
    return json.loads(path.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0])


def colour(uri):
    kind, _, body = uri.partition(",")
    assert kind == "data:image/jpeg;base64"
    return Image.open(io.BytesIO(base64.b64decode(body))).convert("RGB").getpixel((5, 5))


def test_each_edit_stands_beside_its_source(lake, tmp_path):
    sheet = review(lake, tmp_path / "sheet.html", view="edits")
    data = data_of(sheet.path)
    assert (data["attribute"], data["columns"]) == ("review:edits", ["image_id", "detection_id"])
    assert [o["value"] for o in data["options"]] == ["good", "flawed", "harmful", "unclear"]
    assert sorted(int(i["id"]) for i in data["items"]) == list(range(12))  # image 6 has no edit to be seen
    assert len(data["sources"]) == 6
    assert sheet.notes == ["2 edits are left out: their picture or that of their source cannot be read"]
    for item in data["items"]:
        image, is_male = divmod(int(item["id"]), 2)
        assert (int(item["image_id"]), item["caption"]) == (image, ("female", "male")[is_male])
        assert colour(data["sources"][item["source"]])[0] < 30
        assert max(range(3), key=colour(item["picture"]).__getitem__) == 2 - is_male
        facts = dict(item["facts"])
        assert facts["p real"] == f"{0.5 + image:.3g}"
        assert facts["prompt"] == HOSTILE
        assert "p group" not in facts  # NULL says nothing


def test_words_of_others_do_not_become_elements(lake, tmp_path):
    page = review(lake, tmp_path / "sheet.html", view="edits", sensitive=f"{HOSTILE} on purpose").path.read_text()
    assert "<img src=x" not in page
    assert page.count("</script>") == 2
    assert "connect-src" not in page
    assert "default-src 'none'" in page
    assert "http" not in page.split("</head>")[0].replace("http-equiv", "")


def test_a_sample_is_drawn_by_its_seed(lake, tmp_path):
    def ids(seed):
        sheet = review(lake, tmp_path / f"{seed}.html", view="edits", count=3, seed=seed)
        return sheet.sheet, [i["id"] for i in data_of(sheet.path)["items"]]

    assert ids(0) == ids(0)
    assert len({tuple(sorted(ids(s)[1])) for s in range(5)}) > 1


def test_many_edits_of_a_source_are_cut_and_told(lake, tmp_path):
    sheet = review(lake, tmp_path / "sheet.html", view="many", count=2)
    assert len(data_of(sheet.path)["items"]) in {MOST_EDITS, 2 * MOST_EDITS}  # one may be image 6
    assert sheet.notes[0] == f"{2 * (12 - MOST_EDITS)} edits are left out: a source is shown with {MOST_EDITS} at most"


def test_answers_become_labels_of_an_annotator(lake, tmp_path, capsys):
    lake_ = cb.connect(tmp_path / "answers.lake")
    lake_.ingest({"images": pa.table({"image_id": [3, 4], "key": ["3", "4"]})})
    file = tmp_path / "answers-a1-0badcafe.csv"
    rows = [f"review:edits,3,{edit},{value},a1@0badcafe,0badcafe" for edit, value in ((6, "good"), (7, "flawed"))]
    file.write_text("\r\n".join(["attribute,image_id,detection_id,value,annotator,sheet", *rows]) + "\r\n")
    assert main(["review", lake_.uri, "edits", "--answers", str(tmp_path / "answers-*.csv")]) == 0
    assert "2 new answers" in capsys.readouterr().err
    told = lake_.sql("SELECT image_id, detection_id, attribute, value, annotator FROM labels ORDER BY 2").fetchall()
    assert told == [(3, 6, "review:edits", "good", "a1@0badcafe"), (3, 7, "review:edits", "flawed", "a1@0badcafe")]


def test_answers_about_a_closed_view_are_closed(tmp_path):
    lake = cb.connect(tmp_path / "answers.lake")
    lake.ingest({"images": pa.table({"image_id": [3, 4], "key": ["3", "4"]})})
    lake.create_materialized_view("few", "SELECT image_id AS edit_id, image_id FROM images", "edit_id", sensitive=True)
    lake.refresh()
    file = tmp_path / "answers.csv"
    file.write_text("attribute,image_id,value,annotator\nreview:few,3,good,a\n")
    take_in(lake, "few", str(file))
    assert lake.sql("SELECT * FROM labels").fetchall() == []
    assert lake.sql("SELECT image_id, value FROM labels", sensitive="a test").fetchall() == [(3, "good")]


@pytest.mark.parametrize("attribute", ["review:others", "scene"])
def test_answers_about_something_else_are_refused(tmp_path, capsys, attribute):
    lake = cb.connect(tmp_path / "answers.lake")
    lake.ingest({"images": pa.table({"image_id": [3], "key": ["3"]})})
    rows = "attribute,image_id,value,annotator\nreview:edits,3,good,a\n" + f"{attribute},3,good,b\n"
    (tmp_path / "answers.csv").write_text(rows)
    assert main(["review", lake.uri, "edits", "--answers", str(tmp_path / "answers.csv")]) == 1
    told = capsys.readouterr().err
    assert "E3680" in told
    assert "line 3" in told
    assert lake.sql("SELECT count(*) FROM labels").fetchall() == [(0,)]


def test_a_view_of_perceived_labels_needs_a_purpose(lake, tmp_path):
    with pytest.raises(SensitiveError):
        review(lake, tmp_path / "sheet.html", view="closed")
    with pytest.raises(RequestError, match="no pictures"):
        review(lake, tmp_path / "sheet.html", view="closed", sensitive="review of edits")


@pytest.mark.parametrize(
    ("options", "kind", "code"),
    [
        ({"view": "images"}, RequestError, "E3677"),
        ({"view": "edits; DROP"}, RequestError, "E3677"),
        ({"view": "edits", "image": "edted"}, NotFoundError, "E1270"),
    ],
)
def test_what_is_no_view_of_edits_is_refused(lake, tmp_path, options, kind, code):
    with pytest.raises(kind) as told:
        review(lake, tmp_path / "sheet.html", **options)
    assert told.value.code == code
    assert not list(tmp_path.iterdir())


def test_the_command_wants_a_page_or_answers(lake, tmp_path, capsys):
    assert main(["review", lake.uri, "edits"]) == 2
    assert "--answers FILES" in capsys.readouterr().err
    assert main(["review", lake.uri, "edits", "-n", "7", "-o", str(tmp_path / "sheet.html")]) == 0
    assert "6 of 7 sources" in capsys.readouterr().err
