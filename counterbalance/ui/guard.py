"""Let in only who has the token, from this machine's own pages, and tell browsers to keep everything else out."""

from __future__ import annotations

import hmac
import secrets
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, quote, urlencode

from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES: Final = 1 << 20
"""A request's body is refused beyond."""
_MOST_CLIENTS: Final = 64
"""Browsers that are remembered; the one that was not seen for longest goes."""
_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Guard:
    """Stands before an application.

    A browser is let in once by the token in an address, and is known by a cookie from then on; a program sends the token as
    ``Authorization: Bearer TOKEN``. What is asked under another host's name (DNS rebinding), by another site's page, by
    POST without JSON, or with too large a body, is refused.

    Args:
        app: The application.
        token: Whoever has it may read.
        hosts: Values of ``Host`` that this server goes by, in lower case.
        stop: Ends what the application is at.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Collection[str], *, stop: Callable[[], None]) -> None:
        self.stop = stop
        self._app, self._token, self._hosts = app, token, frozenset(hosts)
        self._clients: dict[str, None] = {}
        self._cookie = "counterbalance-" + min(hosts).rpartition(":")[2]  # browsers keep cookies of all ports together

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse, or hand on with ``scope["client_id"]``."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no page of ours opens a socket
            await send({"type": "websocket.close", "code": 1008})
            return
        response = self._refused(scope) or self._let_in(scope)
        if response is not None:
            await response(scope, receive, _with_headers(send))
            return
        await self._app(scope, _bounded(receive), _with_headers(send))

    def _refused(self, scope: Scope) -> Response | None:
        headers = _headers(scope)
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return _refusal(421, f"this server does not go by the name {host[:100]!r}")
        if scope["method"] not in {"GET", "HEAD", "POST"}:
            return _refusal(405, "only GET and POST are answered")
        if not _is_ours(headers) and not (scope["method"] == "GET" and _is_visit(headers) and self._given(scope)):
            return _refusal(403, "another site's page asked for this")
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return _refusal(403, "another site's page asked for this")
        if (
            scope["method"] == "POST"
            and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json"
        ):
            return _refusal(415, "a POST is JSON: Content-Type: application/json")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return _refusal(413, f"a request is at most {MOST_BYTES:,} bytes")
        return None

    def _let_in(self, scope: Scope) -> Response | None:
        """Find out who asks; returns what to answer those who are not known, or come with the token."""
        headers = _headers(scope)
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(given.strip()):
            scope["client_id"] = ""
            return None
        if self._given(scope):
            rest = urlencode([(name, value) for name, value in _query(scope) if name != "token"])
            path = "/" + quote(scope["path"].lstrip("/\\"))  # two slashes would name another host
            target = path + (f"?{rest}" if rest else "")
            if _is_ours(headers):
                answer: Response = RedirectResponse(target, 303)
            else:  # the cookie goes with what a page of ours asks for alone
                link = escape(target)
                head = f'<meta http-equiv="refresh" content="0; url={link}"><title>counterbalance</title>'
                answer = HTMLResponse(
                    f'<!doctype html><html lang="en">{head}<a href="{link}">counterbalance</a></html>'
                )
            answer.set_cookie(self._cookie, self._new_client(), httponly=True, samesite="strict")
            return answer
        client = _cookie(headers.get("cookie", ""), self._cookie)
        if client in self._clients:
            self._clients[client] = self._clients.pop(client)  # the last that goes
        else:
            return _refusal(403, "open the address that `counterbalance ui` has printed: it holds the token")
        scope["client_id"] = client
        return None

    def _given(self, scope: Scope) -> bool:
        """Tell whether the address holds the token."""
        return any(name == "token" and self._is_token(value) for name, value in _query(scope))

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())

    def _new_client(self) -> str:
        client = secrets.token_urlsafe(24)
        self._clients[client] = None
        while len(self._clients) > _MOST_CLIENTS:
            del self._clients[next(iter(self._clients))]
        return client


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _is_ours(headers: dict[str, str]) -> bool:
    """Tell whether no other site's page asks: another port of this machine is another site's, too."""
    return headers.get("sec-fetch-site", "none") in {"none", "same-origin"}


def _is_visit(headers: dict[str, str]) -> bool:
    """Tell whether somebody follows a link, rather than that a page takes something in."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _cookie(header: str, name: str) -> str:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _refusal(status: int, why: str) -> Response:
    return PlainTextResponse(f"{why}\n", status)


def _bounded(receive: Receive) -> Receive:
    """Cut the connection of a body that is larger than it says."""
    seen = 0

    async def bounded() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return {"type": "http.disconnect"} if seen > MOST_BYTES else message

    return bounded


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            more = dict(_HEADERS)
            if b"cache-control" not in given:
                more["cache-control"] = "no-store"
            message["headers"] = [*message["headers"], *((n.encode(), v.encode()) for n, v in more.items())]
        await send(message)

    return sent
