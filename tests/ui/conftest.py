"""A server over a small lake, spoken to without a network."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from counterbalance.ui import server
from counterbalance.ui.app import create

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterbalance.engine.lake import Lake

HOST = "127.0.0.1:8010"
TOKEN = "a-token-of-tests"


@pytest.fixture(scope="session", autouse=True)
def _cache_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what servers keep in a folder of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def client(record_property: Callable[[str, object], None]) -> Iterator[Callable[..., TestClient]]:
    """``client(lake, …)``: a program that has the token; ``token=None`` for a browser that comes without one."""

    def over(*lakes: Lake, token: str | None = TOKEN, **settings: Any) -> TestClient:
        named = dict(zip(("demo", "other"), lakes, strict=False))
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        app = create(named, token=TOKEN, hosts=[HOST, "localhost:8010"], **settings)
        browser = TestClient(app, base_url=f"http://{HOST}", headers=headers, follow_redirects=False)
        browser.event_hooks = {"request": [asked.append]}
        return browser

    asked: list[object] = []
    yield over
    record_property("requests", len(asked))


@pytest.fixture
def served() -> Iterator[Callable[..., str]]:
    """``served(lake, other, …)`` serves it to this machine as long as the test runs, and returns the address: its token is ``secret``."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(lake: Lake, other: Lake | None = None, **settings: Any) -> str:
        listening = server.listen("127.0.0.1", 0)
        host, port = listening.getsockname()
        lakes = {"demo": lake} if other is None else {"demo": lake, "other": other}
        app = create(lakes, token="secret", hosts=server.names(host, port), **settings)
        one = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, ws="none"))
        thread = threading.Thread(target=one.run, kwargs={"sockets": [listening]})
        thread.start()
        running.append((one, thread))
        return f"http://{host}:{port}"

    yield start
    for one, _ in running:
        one.should_exit = True
    for _, thread in running:
        thread.join(30)
