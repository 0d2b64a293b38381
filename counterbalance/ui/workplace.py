"""What all pages work with: the lakes, the threads that ask them, and for what purpose each browser reads closed labels."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from counterbalance.engine.errors import NotFoundError, RequestError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session

Found = TypeVar("Found")

SECONDS: Final = 60.0
"""A query of a page may take so long."""
MEMORY: Final = "4GB"
ROWS: Final = 10_000
"""Rows of an answer, at most."""
_AT_ONCE: Final = 4
"""So many of our own queries, and so many of users'."""
_EACH: Final = 2
"""Own queries of one browser that run at once; its further ones wait, and those of others do not."""
_LOOK: Final = 1.0
"""Seconds after which it is looked whether somebody still waits."""


@dataclass
class Workplace:
    """Lakes that are shown, and who reads them.

    Args:
        lakes: By the name in addresses.
        allow_refresh: Pages may start a refresh.
        annotator: Who answers on these pages; without one they only read.
        purposes: By browser, why it reads closed labels; without one it sees what a default session sees.
        running: By browser and its own name for a query, whose it is.
        found: By lake, in which state of it, and what stood out there.
        finding: By lake, the counting of it that runs.
        refreshing: By lake, the refresh that a page has started.
    """

    lakes: Mapping[str, Lake]
    allow_refresh: bool = False
    annotator: str | None = None
    purposes: dict[str, str] = field(default_factory=dict)
    running: dict[tuple[str, str], Session] = field(default_factory=dict)
    found: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    finding: dict[str, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)
    refreshing: dict[str, Any] = field(default_factory=dict)
    _turns: weakref.WeakValueDictionary[str, asyncio.Semaphore] = field(default_factory=weakref.WeakValueDictionary)
    _open: set[Session] = field(default_factory=set)
    _ends: threading.Event = field(default_factory=threading.Event)
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_AT_ONCE, "counterbalance-ui"))
    _apart: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_AT_ONCE, "counterbalance-own"))

    def lake(self, request: Request) -> Lake:
        """Return the lake that an address names.

        Raises:
            NotFoundError: There is none of that name.
        """
        name = request.path_params["lake"]
        if name not in self.lakes:
            raise NotFoundError(
                f"no lake {name!r}{did_you_mean(name, self.lakes)}",
                code="E1060",
                hint="lakes of this server: " + ", ".join(self.lakes),
            )
        return self.lakes[name]

    def purpose(self, request: Request) -> str | None:
        """Return why this browser reads closed labels, if it said so."""
        return self.purposes.get(request.scope["client_id"])

    async def ask(
        self,
        request: Request,
        work: Callable[[Lake, Session], Found],
        *,
        apart: bool = False,
        watched: bool = True,
        plain: bool = False,
        **settings: Any,
    ) -> Found:
        """Run queries of a page in a session of their own, on another thread.

        Args:
            request: Whose lake and purpose.
            work: Gets the lake and the session; reads its results before it returns.
            apart: What runs is somebody's own SQL: in another process, which its limits end.
            watched: It is stopped when nobody waits for its answer any more.
            plain: Nothing closed is looked at: whatever purpose the browser stated, no line of the access log is written.
            settings: Other ones of the session; ``sensitive`` is the purpose that the browser stated.
        """
        lake = self.lake(request)
        given: dict[str, Any] = {"sensitive": None if plain else self.purpose(request), "timeout": SECONDS}
        given |= {"memory": MEMORY} if apart else {"isolated": False}
        left = threading.Event()
        opened: list[Session] = []

        def run() -> Found:
            if self._ends.is_set() or left.is_set():
                raise RequestError("the server ends, or nobody waits for this any more", code="E3757")
            with lake.session(**{**given, **settings}) as session:
                opened.append(session)
                self._open.add(session)
                try:
                    return work(lake, session)
                finally:
                    self._open.discard(session)

        loop = asyncio.get_running_loop()

        async def in_turn() -> Found:
            client = request.scope["client_id"]
            async with self._turns.setdefault(client, asyncio.Semaphore(_EACH)):
                return await loop.run_in_executor(self._apart, run)

        future = asyncio.ensure_future(in_turn() if apart else loop.run_in_executor(self._threads, run))
        while watched and not (await asyncio.wait({future}, timeout=_LOOK))[0]:
            if await request.is_disconnected():
                left.set()
                for session in opened:
                    session.interrupt()
        return await future

    def stop(self) -> None:
        """Stop the queries that run: the server ends."""
        self._ends.set()
        threading.Thread(target=self._interrupt, daemon=True).start()

    def _interrupt(self) -> None:
        """Stop what is open until nothing is: a query that has not begun yet cannot be stopped yet."""
        while self._open:
            for session in tuple(self._open):
                session.interrupt()
            time.sleep(0.1)

    def close(self) -> None:
        """Let the threads go."""
        for threads in (self._threads, self._apart):
            threads.shutdown(wait=False, cancel_futures=True)
