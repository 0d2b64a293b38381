"""The server answers whoever came once by the address with the token, under its own name, from its own pages; nobody else."""

from __future__ import annotations

import anyio
import pytest
from starlette.websockets import WebSocketDisconnect

from counterbalance.ui.app import create
from counterbalance.ui.guard import MOST_BYTES

HOST, TOKEN = "127.0.0.1:8010", "a-token-of-tests"

PATHS = ["/", "/lakes/demo", "/api/lakes", "/static/ui.js", "/api/lakes/demo/tables", "/nowhere"]


@pytest.fixture
def browser(client, empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    return client(empty_lake, token=None)


def come(browser):
    answer = browser.get(f"/?token={TOKEN}")
    assert answer.status_code == 303
    return answer


@pytest.mark.parametrize("path", PATHS)
def test_without_a_token_nothing_is_told(browser, path):
    answer = browser.get(path)
    assert answer.status_code == 403
    assert answer.text == "open the address that `counterbalance ui` has printed: it holds the token\n"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "\N{SNOWMAN}"])
def test_another_token_is_none(browser, path, token):
    assert browser.get(path, params={"token": token}).status_code == 403
    assert browser.get(path, headers={"Authorization": b"Bearer " + token.encode()}).status_code == 403


def test_the_token_leaves_the_address_and_a_cookie_takes_its_place(browser):
    answer = browser.get(f"/lakes/demo?token={TOKEN}&a=1&b=%26")
    assert (answer.status_code, answer.headers["location"]) == (303, "/lakes/demo?a=1&b=%26")
    cookie = answer.headers["set-cookie"]
    assert TOKEN not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert browser.get("/lakes/demo").status_code == 200


def test_it_leads_to_no_other_host(browser):
    for path in ("//evil.example", "///evil.example", "/%2Fevil.example", "/\\evil.example"):
        answer = browser.get(f"http://{HOST}{path}?token={TOKEN}")
        assert not answer.headers.get("location", "/").startswith(("//", "/\\", "http"))


def test_a_cookie_that_was_not_given_is_none(browser):
    for cookie in ("counterbalance-8010=", "counterbalance-8010=x", f"counterbalance-8010={TOKEN}", "=;;=", '"'):
        assert browser.get("/api/lakes", headers={"Cookie": cookie}).status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example:8010", "127.0.0.1", "127.0.0.1:80", "localhost", "", "127.0.0.1:8010.evil"]
)
def test_another_name_is_refused_even_with_the_token(browser, host):
    come(browser)
    headers = {"Host": host, "Authorization": f"Bearer {TOKEN}"}
    assert browser.get("/api/lakes", headers=headers).status_code == 421


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_sites_page_can_ask_for_nothing(browser, site):
    come(browser)
    for mode, dest in (("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe"), ("no-cors", "script")):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
        assert browser.get("/lakes/demo", headers=headers).status_code == 403
        assert browser.post("/api/purpose", json={"purpose": "x"}, headers=headers).status_code == 403
    link = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert browser.get("/lakes/demo/sql?q=SELECT+1", headers=link).status_code == 403
    assert browser.post("/api/purpose", json={"purpose": "x"}, headers=link).status_code == 403


def test_a_link_elsewhere_with_the_token_leads_in(client, empty_lake):
    """Of a terminal in a browser: the cookie goes with what our own page asks for next alone."""
    browser = client(empty_lake, token=None)
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert browser.get("/?token=wrong", headers=link).status_code == 403
    answer = browser.get(f"/lakes/demo/sql?token={TOKEN}&q=%22%3E%3Cscript%3E", headers=link)
    assert answer.status_code == 200
    assert 'content="0; url=/lakes/demo/sql?q=%22%3E%3Cscript%3E"' in answer.text
    assert TOKEN not in answer.text
    assert "SameSite=strict" in answer.headers["set-cookie"]


def test_browsers_that_are_used_stay(client, empty_lake):
    first, others = client(empty_lake, token=None), []
    come(first)
    for _ in range(70):
        assert first.get("/api/lakes").status_code == 200
        others.append(first.get(f"/?token={TOKEN}", headers={"Cookie": ""}).headers["set-cookie"].partition(";")[0])
    assert first.get("/api/lakes", headers={"Cookie": others[0]}).status_code == 403


@pytest.mark.parametrize("content", [b"{", b"", b"\xff", b"[" * 100_000, b"null", b"1"])
@pytest.mark.parametrize("path", ["/api/purpose", "/api/stop", "/api/lakes/demo/refresh", "/api/lakes/demo/query"])
def test_a_body_that_is_no_json_is_told_so(client, empty_lake, build, path, content):
    empty_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    app = client(empty_lake, allow_refresh=True)
    answer = app.post(path, content=content, headers={"Content-Type": "APPLICATION/json; charset=utf-8"})
    assert answer.status_code == (200 if path == "/api/stop" and content in {b"null", b"1"} else 400)
    assert "E9" not in answer.text
    assert ("E3759" in answer.text) == (content not in {b"null", b"1"})


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8010", "http://localhost:8010"])
def test_a_post_of_another_origin_is_refused(browser, origin):
    come(browser)
    assert browser.post("/api/purpose", json={"purpose": "x"}, headers={"Origin": origin}).status_code == 403
    assert browser.post("/api/purpose", json={"purpose": ""}, headers={"Origin": f"http://{HOST}"}).status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonx"]
)
def test_a_post_is_json(browser, kind):
    come(browser)
    assert browser.post("/api/purpose", content=b'{"purpose": "x"}', headers={"Content-Type": kind}).status_code == 415


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(browser, method):
    come(browser)
    assert browser.request(method, "/api/lakes").status_code == 405


def test_large_bodies_are_refused(browser):
    come(browser)
    answer = browser.post("/api/purpose", content=b" " * (MOST_BYTES + 1), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


def test_bodies_that_grow_are_cut(empty_lake):
    app, sent = create({"demo": empty_lake}, token=TOKEN, hosts=[HOST]), []
    parts = iter([{"type": "http.request", "body": b" " * 300_000, "more_body": True}] * 100)
    headers = {"host": HOST, "authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/purpose",
        "raw_path": b"/api/purpose",
        "query_string": b"",
        "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
    }

    async def receive():
        return next(parts)

    async def send(message):
        sent.append(message)

    anyio.run(app, scope, receive, send)
    assert sent[0]["status"] == 413
    assert b"E3758" in sent[1]["body"]
    assert len(list(parts)) > 90


def test_no_socket_is_opened(browser):
    with pytest.raises(WebSocketDisconnect) as caught, browser.websocket_connect("/api/lakes"):
        pass
    assert caught.value.code == 1008


@pytest.mark.parametrize("path", ["/", "/lakes/demo", "/nowhere", "/api/lakes", "/static/ui.css"])
def test_browsers_are_told_to_keep_the_rest_out(browser, path):
    come(browser)
    headers = browser.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "name", ["..%2Fguard.py", "..%5Cguard.py", "%2e%2e/guard.py", "guard.py", ".", "", "base.html.j2", "ui.css%00"]
)
def test_no_other_file_is_served(client, empty_lake, name):
    assert client(empty_lake).get(f"/static/{name}").status_code in {404, 405}
