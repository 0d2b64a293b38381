"""What an address asks for selects the images that plain SQL selects, in its order, page by page."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

from counterbalance.ui.selection import Filters

WHERE = "/api/lakes/demo/images"
BOXES = "SELECT image_id FROM detections WHERE"
SAID = "SELECT image_id FROM captions WHERE text IS NOT NULL AND"
CASES = [
    ("", "true"),
    ("split=val", "split = 'val'"),
    ("split=val&split=train", "split IN ('val', 'train')"),
    ("category=person", f"image_id IN ({BOXES} category = 'person')"),
    (
        "category=person&category=horse",
        f"image_id IN ({BOXES} category = 'person') AND image_id IN ({BOXES} category = 'horse')",
    ),
    ("category=person&least.detections.score=0.5", f"image_id IN ({BOXES} category = 'person' AND score >= 0.5)"),
    ("most.detections.score=0.5", f"image_id IN ({BOXES} score <= 0.5)"),
    ("words=MAN+horse", f"image_id IN ({SAID} text LIKE '%man %' AND text LIKE '%horse%')"),
    ("words=man", "image_id IN (1, 4)"),  # not the woman of 2
    ("words=CAF%C3%89", "image_id = 6"),
    ("words=caf", "false"),
    ("words=.*", "false"),
    ("label=scene:indoor", "image_id IN (SELECT image_id FROM labels WHERE value = 'indoor')"),
    ("label=scene:indoor&label=scene:outdoor", "image_id IN (SELECT image_id FROM labels WHERE attribute = 'scene')"),
    ("label=scene:indoor&label=weather:rain", "image_id = 4"),
    ("label=scene", "false"),
    ("column=images.license:CC0", "license = 'CC0'"),
    ("column=captions.origin:generated", "image_id IN (SELECT image_id FROM captions WHERE origin = 'generated')"),
    ("least.images.width=300&most.images.width=400", "width BETWEEN 300 AND 400"),
    ("split=val&words=woman&other=1", "image_id = 4"),
    ("split=%27+OR+true+--", "false"),
    ("category=%27)+OR+true+--&words=%5C", "false"),
]


@pytest.fixture
def client(lake, serve):
    return serve(lake)


def ids(client, address):
    answer = client.get(f"{WHERE}?{address}")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["total"] == len(found["images"])
    return [i["image_id"] for i in found["images"]]


@pytest.mark.parametrize(("address", "condition"), CASES, ids=[c for c, _ in CASES])
def test_filters(client, lake, address, condition):
    with lake.session() as session:
        plain = session.sql(f"SELECT image_id FROM images WHERE {condition} ORDER BY image_id").fetchall()
        assert ids(client, address) == [i for (i,) in plain]


def test_the_page_shows_its_sql(client, lake):
    text = client.get("/lakes/demo/browse?split=val&words=woman").text
    shown = text[text.index("<pre") :].partition(">")[2].partition("</pre>")[0]
    for sign, name in (("'", "&#39;"), ('"', "&#34;"), (">", "&gt;"), ("<", "&lt;"), ("&", "&amp;")):
        shown = shown.replace(name, sign)
    with lake.session() as session:
        assert session.sql(shown).fetchall() == [(4,)]


def test_the_statement_of_the_page_makes_a_view(client, lake):
    text = client.get("/lakes/demo/browse?words=woman").text
    statement = text[text.index('id="view"') :].partition(">")[2].partition("</pre>")[0].replace("&#39;", "'")
    with lake.session() as session:
        session.sql(statement).to_arrow()
        session.sql("REFRESH my_images").to_arrow()
        assert sorted(session.sql("SELECT image_id FROM my_images").fetchall()) == [(2,), (4,)]


def test_pages_follow_one_another(client):
    pages = [client.get(f"{WHERE}?sort=random&offset={n}&limit=2").json() for n in (0, 2, 4, 6)]
    assert sorted(i["image_id"] for page in pages for i in page["images"]) == [1, 2, 3, 4, 5, 6]
    assert {page["total"] for page in pages} == {6}
    assert pages[3]["images"] == []


@pytest.mark.parametrize("column", ["width", "license", "split"])
@pytest.mark.parametrize("turned", ["", "-"])
def test_images_are_sorted_by_a_column(client, lake, column, turned):
    """Those without a value are last, either way, and equal ones go by their numbers."""
    with lake.session() as session:
        order = f"{column} {'DESC' if turned else 'ASC'} NULLS LAST, image_id"
        plain = session.sql(f"SELECT image_id FROM images ORDER BY {order}").fetchall()
        found = session.sql("FROM images").to_arrow()
    assert ids(client, f"sort={turned}images.{column}") == [i for (i,) in plain]
    assert len({*found[column].to_pylist()}) > 1
    page = client.get(f"/lakes/demo/browse?sort={turned}images.{column}").text
    assert f'<option value="{turned}images.{column}" selected>' in page


def test_a_sort_goes_before_the_order_of_sql(client):
    own = "sql=SELECT+image_id+FROM+images+ORDER+BY+image_id+DESC"
    assert ids(client, own) == [6, 5, 4, 3, 2, 1]
    assert ids(client, f"{own}&sort=images.width") == ids(client, "sort=images.width")


def test_a_tile_has_the_first_caption(client):
    first, *_, last = client.get(WHERE).json()["images"]
    assert [first[name] for name in ("image_id", "width", "height", "caption")] == [1, 640, 480, "a man rides a horse"]
    assert [last[name] for name in ("image_id", "width", "height", "caption")] == [
        6,
        100,
        900,
        "un caf\xe9 pr\xe8s de la gare",
    ]


def test_unsafe_images_are_shown_to_those_who_ask(serve, pictured, picture):
    client = serve(pictured(picture(), picture(), nsfw=["NSFW", "UNLIKELY"]))
    assert ids(client, "") == [2]
    assert ids(client, "unsafe=1") == [1, 2]


def test_facets_count_the_images_that_are_left(client):
    text = client.get("/lakes/demo/browse?split=train").text
    boxes = text[text.index("Boxes of each") : text.index("Label: scene")]
    assert 'value="horse"> <bdi>horse</bdi> <span class="soft num">1</span>' in boxes
    assert 'value="person"> <bdi>person</bdi> <span class="soft num">2</span>' in boxes


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("sort=1", "E3744"),
        ("sort=images.nothing", "E3744"),
        ("sort=images.image_id;DROP", "E3744"),
        ("least.images.width=wide", "E3744"),
        ("least.images.width=nan", "E3744"),
        ("least.images.nothing=1", "E3744"),
        ("least.images.key=1", "E3744"),
        ("column=labels.value:x", "E3744"),
        ("column=images.nothing:x", "E3744"),
        ("similar=1", "E3744"),
        ("similar=one", "E3744"),
        ("words=" + "a" * 301, "E3744"),
        ("split=a" + "&split=".join(map(str, range(30))), "E3744"),
        ("offset=-1", "E3747"),
        ("offset=1.5", "E3747"),
        ("limit=ten", "E3747"),
    ],
)
def test_what_cannot_be_asked_for(client, address, code):
    answer = client.get(f"{WHERE}?{address}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


def test_a_page_is_bounded(client, monkeypatch):
    assert len(client.get(f"{WHERE}?limit=100000&offset=0").json()["images"]) == 6
    assert client.get(f"{WHERE}?offset=999999999999").json()["images"] == []


@pytest.mark.parametrize(
    "address",
    [
        "split=a%26b&category=c&label=d%3Ae&column=images.key%3A%C3%BC&least.images.width=1234567.25"
        "&most.images.width=100&words=one+two&sql=SELECT+1&similar=-7&sort=random&unsafe=1&blur=1",
        "",
    ],
)
def test_an_address_brings_the_same_back(address):
    filters = Filters.read(parse_qsl(address))
    assert filters.address() == address
    assert Filters.read(parse_qsl(filters.address())) == filters
