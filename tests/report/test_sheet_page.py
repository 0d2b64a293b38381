"""The page of a sheet: nothing is fetched, no label of the model is on it, hostile words stay words, pictures are only pixels."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from html.parser import HTMLParser

import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine.images import ImageError
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.report.sheet.crops import SIDE, picture
from counterbalance.report.sheet.validation import validate_labels

HOSTILE = ['</script><img src=x onerror="alert(1)">', "=1+1", 'a "b", c\nd', "\u202eright to left"]
PURPOSE = "<b>purpose</b> & more"
LABELS = "person_units('perceived_gender', annotator := 'model')"


class Page(HTMLParser):
    """Elements with their attributes, and the text of each."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts = [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.setdefault(self.elements[-1][0] if self.elements else "", []).append(data)


def jpeg(colour=(200, 30, 30), size=(640, 480), **options):
    return image_bytes(Image.new("RGB", size, colour), "JPEG", **options)


def filled(path, shift=0):
    """Sixteen pictures with a person each, whom a model gave hostile labels; one picture is broken."""
    lake = cb.connect(path)
    exif = Image.Exif()
    exif[0x010E] = "SECRET PLACE"
    n = 16
    columns = {
        "images": {
            "image_id": list(range(n)),
            "key": ["<i>key</i>"] * n,
            "width": [640] * n,
            "height": [480] * n,
            "sha256": ["0" * 64] * n,
            "image": [
                b"no picture" if i == 5 else jpeg((i * 10, 99, 30), exif=exif, comment=b"SECRET") for i in range(n)
            ],
        },
        "captions": {"caption_id": [1], "image_id": [0], "text": ["<script>alert('caption')</script>"]},
        "detections": {
            "detection_id": [2**62 + i for i in range(n)],
            "image_id": list(range(n)),
            "category": ["person"] * n,
            "x": [100.0] * n,
            "y": [100.0] * n,
            "width": [80.0] * n,
            "height": [160.0] * n,
        },
        "labels": {
            "label_id": list(range(n)),
            "image_id": list(range(n)),
            "detection_id": [2**62 + i for i in range(n)],
            "attribute": ["perceived_gender"] * n,
            "value": [HOSTILE[(i + shift) % 4] for i in range(n)],
            "annotator": ["model"] * n,
        },
    }
    tables = {}
    for name, own in columns.items():
        schema = BASE_TABLES[name].schema(blobs=True)
        tables[name] = pa.table({c: pa.array(v, schema.field(c).type) for c, v in own.items()})
    lake.ingest(tables)
    return lake


def sheet_of(lake, path):
    asked = {"attribute": "perceived_gender", "labels": LABELS, "unit": "person", "sensitive": PURPOSE}
    return validate_labels(lake, path, count=16, annotators=2, **asked)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    lake = filled(folder / "x.lake")
    sheet = sheet_of(lake, folder / "sheet.html")
    return lake, sheet, sheet.path.read_text(encoding="utf-8")


def data_of(text):
    return json.loads(Page(text).texts["script"][0])


def test_nothing_is_fetched(made):
    page = Page(made[2])
    assert not {t for t, _ in page.elements} & {
        "link",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "a",
        "video",
        "source",
    }
    for tag, attributes in page.elements:
        assert not {"src", "href", "srcset", "style", "action"} & set(attributes), tag
        assert not [name for name in attributes if name.startswith("on")]
    assert "url(" not in made[2]
    assert "@import" not in made[2]
    assert not re.search(r"https?:|//[a-z]+\.[a-z]", re.sub(r"base64,[^\"]+", "", made[2]))


def test_only_its_own_script_and_style_may_run(made):
    page = Page(made[2])
    policy = next(a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(r.split(" ", 1) for r in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    for rule, tag in (("script-src", "script"), ("style-src", "style")):
        own = re.search(f"<{tag}>(.*?)</{tag}>", made[2], flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(own[1].encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert [a for t, a in page.elements if t == "script"] == [{"type": "application/json", "id": "data"}, {}]


def test_no_label_of_the_model_is_on_it(made):
    _, sheet, text = made
    data = data_of(text)
    assert all(item.keys() == {"id", "picture"} for item in data["items"])
    assert data.keys() == {"sheet", "attribute", "columns", "annotators", "options", "items", "sources"}
    assert [o["value"] for o in data["options"]] == [*sorted(HOSTILE), "unclear"]
    assert LABELS not in text
    assert sum(sheet.drawn.values()) == len(data["items"]) == 15


def test_other_labels_of_the_model_on_the_same_units_make_the_same_sheet(made, tmp_path):
    lake = filled(tmp_path / "other.lake", shift=1)
    other = sheet_of(lake, tmp_path / "other.html")
    assert data_of(other.path.read_text(encoding="utf-8")) == data_of(made[2])


def test_hostile_words_stay_words(made):
    page = Page(made[2])
    assert [t for t, _ in page.elements].count("img") == 1
    assert "b" in {t for t, _ in page.elements}  # the page's own
    assert PURPOSE in page.texts["dd"]
    assert "onerror" not in re.sub(r'id="data">.*?</script>', "", made[2], flags=re.DOTALL)
    assert "<script>alert" not in made[2]
    assert "<i>key</i>" not in made[2]
    assert "\u202e" not in made[2]
    assert {o["value"]: o["shown"] for o in data_of(made[2])["options"]}["\u202eright to left"] == "\ufffdright to left"


def test_ids_keep_all_their_digits(made):
    assert {int(i["id"]) for i in data_of(made[2])["items"]} == {2**62 + i for i in range(16) if i != 5}


def test_what_cannot_be_shown_is_told(made):
    assert made[1].notes == ["1 pictures or boxes could not be read and are left out"]


def test_pictures_are_small_and_nothing_but_pixels(made):
    for item in data_of(made[2])["items"]:
        data = base64.b64decode(item["picture"].removeprefix("data:image/jpeg;base64,"))
        found = Image.open(io.BytesIO(data))
        assert (found.format, found.mode) == ("JPEG", "RGB")
        assert max(found.size) <= SIDE
        assert not found.getexif()
        assert "comment" not in found.info
        assert b"SECRET" not in data


def test_a_person_is_cut_out_with_a_margin_and_framed():
    whole = Image.new("RGB", (640, 480), (0, 0, 255))
    whole.paste((255, 0, 0), (100, 100, 180, 260))
    found = picture(image_bytes(whole), (100.0, 100.0, 80.0, 160.0))
    assert found.size == (160, 240)  # a quarter of 160 on each side
    assert found.getpixel((5, 5)) == (0, 0, 255)
    assert found.getpixel((80, 120)) == (255, 0, 0)
    assert found.getpixel((40, 120)) == (255, 214, 10)
    assert found.getpixel((39, 120)) == (20, 20, 20)


def test_pictures_stand_upright():
    exif = Image.Exif()
    exif[0x0112] = 6
    assert picture(jpeg(size=(300, 200), exif=exif), None).size == (200, 300)


def test_heads_are_blurred_in_the_pixels_and_pictures_without_boxes_whole():
    whole = Image.effect_noise((400, 300), 90).convert("RGB")
    data = image_bytes(whole)
    box = {"category": "person", "x": 100.0, "y": 60.0, "width": 60.0, "height": 180.0, "is_crowd": False}

    def spread(found, area):
        return found.crop(area).convert("L").getextrema()[1] - found.crop(area).convert("L").getextrema()[0]

    plain = picture(data, (100.0, 60.0, 60.0, 180.0))
    blurred = picture(data, (100.0, 60.0, 60.0, 180.0), [box])
    head = (50, 50, 100, 100)
    assert spread(blurred, head) < 0.6 * spread(plain, head)
    assert spread(blurred, (50, 150, 100, 220)) > 150
    assert spread(picture(data, None, []), (0, 0, 300, 200)) < 120


@pytest.mark.parametrize("box", [(900.0, 10.0, 20.0, 20.0), (10.0, 10.0, 0.0, 5.0), (float("nan"), 1.0, 5.0, 5.0)])
def test_a_box_outside_of_the_picture_is_no_picture(box):
    with pytest.raises(ImageError):
        picture(jpeg(), box)


def test_the_same_sheet_has_the_same_id(made, tmp_path):
    lake, sheet, _ = made
    asked = {"attribute": "perceived_gender", "labels": LABELS, "unit": "person", "sensitive": "test of the sheet"}
    assert validate_labels(lake, tmp_path / "a.html", count=16, **asked).sheet == sheet.sheet
    assert validate_labels(lake, tmp_path / "b.html", count=8, **asked).sheet != sheet.sheet
    assert sorted(f.name for f in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_answers_of_two_annotators_come_back_whole_through_ingest_and_audit(made, tmp_path, capsys):
    """Files as the sheet saves them (test_sheet_in_a_browser), with values that need quotes."""
    lake, sheet, text = made
    data = data_of(text)
    with lake.session(sensitive="test of the sheet") as session:
        model = dict(session.sql(f"SELECT image_id, label FROM {LABELS}").fetchall())
    for at, who in enumerate(data["annotators"]):
        with (tmp_path / f"answers-a{at + 1}-{sheet.sheet}.csv").open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["attribute", data["columns"][0], "value", "annotator", "sheet"])
            for i, item in enumerate(data["items"]):
                said = model[int(item["id"])] if i >= at else "unclear"
                out.writerow([data["attribute"], item["id"], said, who, data["sheet"]])
    words = ["ingest", lake.uri, str(tmp_path / "answers-*.csv"), "--format", "labels"]
    assert main(words) == 0
    assert "2 rejected" not in capsys.readouterr().err
    options = {"model": LABELS, "attribute": "perceived_gender", "unit": "person", "sheet": sheet.sheet, "min_count": 1}
    rows = lake.audit("label_validation", sensitive="test of the sheet", **options).to_arrow().to_pylist()
    found = {r["annotator"]: (r["count"], r["n"]) for r in rows if r["metric"] == "agreement" and r["other"] == "model"}
    assert found == {f"a1@{sheet.sheet}": (15, 15), f"a2@{sheet.sheet}": (14, 15), "majority": (14, 14)}


def test_the_command_writes_it_and_says_how_to_go_on(made, tmp_path, capsys):
    lake, _, _ = made
    words = ["validate", lake.uri, "--attribute", "perceived_gender", "--unit", "person", "--labels", LABELS, "-n", "8"]
    assert main([*words, "-o", str(tmp_path / "x.html")]) == 1
    assert "--sensitive" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert main([*words, "-o", str(tmp_path / "x.html"), "--sensitive", "test of the sheet", "--annotators", "1"]) == 0
    told = capsys.readouterr()
    assert not told.out
    data = data_of((tmp_path / "x.html").read_text(encoding="utf-8"))
    assert data["annotators"] == [f"a1@{data['sheet']}"]
    assert f"answers-*-{data['sheet']}.csv" in told.err
    assert "label_validation" in told.err
    assert "\u202e" not in told.err
