"""Start the server on this machine, and say where it is."""

from __future__ import annotations

import contextlib
import secrets
import socket
import webbrowser
from typing import TYPE_CHECKING

from counterbalance.engine.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterbalance.engine.lake import Lake


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one.

    Raises:
        RequestError: The address cannot be had.
    """
    try:
        found = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise RequestError(
            f"cannot listen on {host} port {port}: {error.strerror or error}",
            code="E3741",
            hint="name another port, or 0 for any that is free",
        ) from error
    found.setsockopt(
        socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
    )  # else each answer waits 40 ms for the browser's receipt
    return found


def names(host: str, port: int) -> list[str]:
    """Return the values of ``Host`` that mean a server.

    Example:
        >>> names("127.0.0.1", 8010)
        ['127.0.0.1:8010', 'localhost:8010']
    """
    shown = f"[{host}]" if ":" in host else host.lower()
    local = ["localhost"] if host in {"127.0.0.1", "::1"} else []
    return [f"{name}:{port}" for name in (shown, *local)]


def serve(
    lakes: Mapping[str, Lake],
    listening: socket.socket,
    *,
    token: str,
    allow_refresh: bool = False,
    annotator: str | None = None,
    open_browser: bool = False,
) -> None:
    """Serve until it is interrupted.

    Args:
        lakes: By the name in addresses.
        listening: A socket that listens.
        token: Lets in who has it.
        allow_refresh: Pages may start a refresh.
        annotator: Who answers on these pages; without one they keep no answers.
        open_browser: Have this machine's browser open the first page.
    """
    import uvicorn

    from counterbalance.ui.app import create

    host, port = listening.getsockname()[:2]
    app = create(lakes, token=token, hosts=names(host, port), allow_refresh=allow_refresh, annotator=annotator)
    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, ws="none", timeout_graceful_shutdown=3
    )
    if open_browser:
        webbrowser.open(address(listening, token))
    with contextlib.suppress(KeyboardInterrupt):  # how it is ended
        server = uvicorn.Server(settings)
        ends = server.shutdown

        async def shutdown(sockets: list[socket.socket] | None = None) -> None:
            app.stop()
            await ends(sockets)

        server.shutdown = shutdown  # type: ignore[method-assign]
        server.run(sockets=[listening])


def address(listening: socket.socket, token: str) -> str:
    """Return what to open in a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://{names(host, port)[0]}/?token={token}"


def new_token() -> str:
    """Return a token that cannot be guessed."""
    return secrets.token_urlsafe(24)
