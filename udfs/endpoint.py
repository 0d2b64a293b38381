"""Ask language models behind an endpoint that speaks as OpenAI's chat completions do.

Nothing is sent but what a caller asks; the network is used because a caller named an address. The key comes from the
environment, goes into one header, and is neither stored nor printed.
"""

from __future__ import annotations

import base64
import http.client
import ipaddress
import json
import os
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from counterbalance.engine.errors import FunctionError, RequestError

if TYPE_CHECKING:
    from email.message import Message

KEY: Final = "COUNTERBALANCE_LLM_KEY"
"""Environment variable that holds the key, if the endpoint wants one."""
TIMEOUT: Final = 100.0
"""Seconds without an answer, as in the released code of GELDA."""
_AGAIN: Final = frozenset({408, 409, 429, 500, 502, 503, 504})
_HINTS: Final = {
    401: f"set {KEY}",
    403: f"set {KEY}",
    404: "is the address the base, such as …/v1, and the model there?",
}
"""What is wrong for every question; other refusals are of one."""
_LARGEST: Final = 1 << 22
_LONGEST_PAUSE: Final = 60.0
_CUT: Final = 200


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which would take the key elsewhere."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow no redirection."""


class Endpoint:
    """A model behind an endpoint.

    Args:
        url: Its base, such as ``https://api.openai.com/v1`` or ``http://localhost:8000/v1``.
        model: Name of the model there.
        temperature: Of the draws.
        timeout: Seconds to wait for an answer.
        attempts: How often a request is sent that fails for reasons which may pass.
        pause: Seconds before the second one; twice as many before each further one, or as many as the endpoint asks for.

    Raises:
        RequestError: The address is none (E3721), or the key would go over the network in the clear (E3722).
    """

    def __init__(
        self,
        url: str,
        model: str,
        temperature: float = 0.1,
        timeout: float = TIMEOUT,
        attempts: int = 5,
        pause: float = 1.0,
    ) -> None:
        self.url = plain(url)
        self._model, self._temperature = model, temperature
        self._timeout, self._attempts, self._pause = timeout, attempts, pause
        self._key = os.environ.get(KEY, "").strip()
        if self._key and not _private(self.url):
            raise RequestError(
                f"{KEY} is set, and {self.url} is not encrypted", code="E3722", hint="give an address with https://"
            )
        self._open = urllib.request.build_opener(_Stay()).open

    def ask(self, question: str, seed: int) -> str:
        """Return the reply to a question.

        Args:
            question: What the user says.
            seed: Sent along; endpoints that take it give the same reply again.

        Raises:
            FunctionError: The endpoint cannot be reached (E8321), refuses (E8322), or answers something else (E8323).
        """
        return self._said(question, seed)

    def ask_about(self, picture: bytes, question: str, tokens: int) -> str:
        """Return the reply to a question about a picture, which is sent along.

        Args:
            picture: PNG.
            question: What the user says.
            tokens: Most tokens of the reply.

        Raises:
            FunctionError: As ``ask``.
        """
        shown = {"url": f"data:image/png;base64,{base64.b64encode(picture).decode()}"}
        content: list[dict[str, Any]] = [{"type": "image_url", "image_url": shown}, {"type": "text", "text": question}]
        return self._said(content, 0, max_tokens=tokens)

    def _said(self, content: str | list[dict[str, Any]], seed: int, **more: Any) -> str:
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": content}],
            "temperature": self._temperature,
            "seed": seed,
            **more,
        }
        return self._content(self._sent(json.dumps(body).encode()))

    def _sent(self, body: bytes) -> bytes:
        pause = self._pause
        for attempt in range(1, self._attempts + 1):
            try:
                return self._once(body)
            except urllib.error.HTTPError as error:
                with error:
                    if error.code not in _AGAIN or attempt == self._attempts:
                        raise self._refused(error, attempt) from None
                    wait = _asked(error.headers)
            except (OSError, http.client.HTTPException) as error:
                if attempt == self._attempts:
                    reason = str(getattr(error, "reason", None) or error) or type(error).__name__
                    raise FunctionError(
                        f"{self.url} cannot be reached, tried {attempt} times: {reason}",
                        code="E8321",
                        hint="is the address right, and does the server run?",
                    ) from None
                wait = None
            time.sleep(min(pause if wait is None else wait, _LONGEST_PAUSE))
            pause *= 2
        raise AssertionError  # pragma: no cover - the last attempt returned or raised

    def _once(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(f"{self.url}/chat/completions", body, headers, method="POST")  # noqa: S310 - http(s) only
        with self._open(request, timeout=self._timeout) as answer:
            found: bytes = answer.read(_LARGEST + 1)
        return found

    def _refused(self, error: urllib.error.HTTPError, attempts: int) -> FunctionError:
        answer = error.read(_LARGEST).decode("utf-8", "replace").strip().replace("\n", " ")
        if self._key:
            answer = answer.replace(self._key, "…")
        return FunctionError(
            f"{self.url} answers {error.code} {error.reason}, tried {attempts} times: {answer[:_CUT]}",
            code="E8322",
            hint=_HINTS.get(error.code),
        )

    def _content(self, answer: bytes) -> str:
        try:
            content = json.loads(answer)["choices"][0]["message"]["content"]
        except (ValueError, LookupError, TypeError):
            content = None
        if not isinstance(content, str) or len(answer) > _LARGEST:
            raise FunctionError(
                f"{self.url} answers something else than a chat completion",
                code="E8323",
                hint="is the address its base?",
            )
        return content


def plain(url: str) -> str:
    """Return the address without what must not be written down: user, password, query.

    Raises:
        RequestError: It is not an address of http or https (E3721).

    Example:
        >>> plain("https://me:secret@example.org/v1/?key=1")
        'https://example.org/v1'
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not host:
        raise RequestError("the endpoint is not an address", code="E3721", hint="such as https://api.openai.com/v1")
    name = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, name if port is None else f"{name}:{port}", parts.path.rstrip("/"), "", ""))


def _private(url: str) -> bool:
    """Return whether what is sent there cannot be read on the way."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        here = host == "localhost"
    return parts.scheme == "https" or here


def _asked(headers: Message) -> float | None:
    """Return the seconds that an endpoint asks to wait."""
    try:
        wait = float(headers.get("Retry-After", ""))
    except ValueError:
        return None
    return wait if 0 <= wait < float("inf") else None
