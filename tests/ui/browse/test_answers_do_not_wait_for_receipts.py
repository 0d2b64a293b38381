"""A connection sends at once: without that, each answer waits 40 ms for the browser's receipt of its head."""

from __future__ import annotations

import socket

from counterbalance.ui import server


def test_connections_send_at_once():
    with server.listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
