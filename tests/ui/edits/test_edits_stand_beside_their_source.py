"""A page shows a source beside its edits with scores and ranks, their pictures made anew; closed views need a purpose."""

from __future__ import annotations

import hashlib
import io
import re

from PIL import Image

PAGE = "/lakes/demo/edits"
API = "/api/lakes/demo/edits"
HOSTILE = "<img src=x onerror=alert(1)>"


def test_each_source_stands_beside_its_edits_in_the_order_of_a_hash(client, lake):
    app, seen, after = client(lake), [], f"{PAGE}?view=edits"
    while after:
        page = app.get(after).text
        (source,) = set(re.findall(r"/images/(\d+)/picture", page))
        edits = [int(e) for e in re.findall(r'data-edit="(\d+)"', page)]
        assert edits == sorted([10 * int(source), 10 * int(source) + 1], key=lambda e: hashlib.md5(b"%d" % e).digest())
        seen.append(int(source))
        link = re.search(r'id="after" rel="next" href="([^"]+)"', page)
        after = link and link[1].replace("&amp;", "&")
    assert seen == sorted([1, 2, 3], key=lambda i: hashlib.md5(b"%d" % i).digest())


def test_scores_have_ranks_and_words_stay_words(client, lake):
    page = client(lake).get(PAGE, params={"view": "edits", "source": "1"}).text
    assert '<bdi>0.1</bdi> <span class="soft">rank 1 of 2</span>' in page
    assert '<bdi>0</bdi> <span class="soft">rank 2 of 2</span>' in page
    assert "female&lt;img src=x" in page
    assert HOSTILE not in page


def test_pictures_are_made_anew(client, lake):
    for view in ("edits", "numbers"):
        answer = client(lake).get(f"{API}/{view}/10/picture")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/jpeg")
        assert abs(Image.open(io.BytesIO(answer.content)).getpixel((5, 5))[0] - 100) < 3
        assert b"secret" not in answer.content


WRONG = (
    (f"{API}/edits/99/picture", "E1068"),
    (f"{API}/edits/1%20OR%20true/picture", "E1068"),
    (f"{API}/edits/99999999999999999999/picture", "E1068"),
    (f"{API}/edits/10/picture?side=7", "E3743"),
    (f"{API}/images/1/picture", "E3677"),
    (f"{API}/edits%22%20--/10/picture", "E3677"),
    (f"{PAGE}?view=edits&source=7", "E1068"),
    (f"{PAGE}?view=edits&source=1+OR+1", "E1057"),
    (f"{PAGE}?view=%3Cimg+src=x+onerror=alert(1)%3E", "E3677"),
)


def test_what_is_not_there_is_told(client, lake):
    app = client(lake)
    for address, code in WRONG:
        answer = app.get(address)
        assert answer.status_code in {400, 404}
        assert code in answer.text
        assert HOSTILE not in answer.text


def test_closed_views_need_a_purpose(client, lake):
    browser = client(lake, token=None)
    browser.get("/?token=a-token-of-tests")
    closed = (f"{API}/closed/10/picture", f"{PAGE}?view=closed")
    for address in closed:
        answer = browser.get(address)
        assert answer.status_code == 403
        assert "E3308" in answer.text
    assert 'data-edit="' in browser.get(PAGE).text  # the first that is open
    browser.post("/api/purpose", json={"purpose": "review of edits"})
    assert [browser.get(address).status_code for address in closed] == [200, 200]
    assert {row["purpose"] for row in lake.accesses(sensitive="a test").to_pylist()} >= {"review of edits"}


def test_a_lake_without_edits_says_what_they_are(client, empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1])})
    page = client(empty_lake).get(PAGE).text
    recipes = re.findall(r"cbal recipe demo (\w+)", page)
    assert recipes == ["coco_counterfactuals", "genswap", "gensynth", "inpaint"]
