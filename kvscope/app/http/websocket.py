"""The websocket that Engine.IO receives and sends with: what it refuses, and when it compresses.

All that KVScope uses of Engine.IO's private names is in `serve_websockets`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.metadata import version
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import engineio
import simple_websocket
from engineio import packet
from simple_websocket import ConnectionClosed
from wsproto.utilities import LocalProtocolError

from kvscope.app.http.visitors import is_loopback

MAX_MESSAGE_BYTES = 16 * 1024
FROM_CLIENTS = frozenset((packet.CLOSE, packet.PING, packet.PONG, packet.MESSAGE, packet.UPGRADE))
"""Types of the packets that a client may send."""
UNREADABLE = "The message is not a Socket.IO message that this server accepts."
PROTOCOL_ERROR = 1002
"""RFC 6455, 7.4.1."""
COMPRESSION_OFFER = "HTTP_SEC_WEBSOCKET_EXTENSIONS"


def serve_websockets(engine: engineio.Server) -> None:
    """Has Engine.IO serve its websockets with `WebSocket`. Raises RuntimeError for an Engine.IO without that place.

    python-engineio 4 checks a message's size (`max_http_buffer_size`) after all of it is in memory, and passes no
    options to its websocket class. Only the private table `_async` leads to another class.
    """
    table = getattr(engine, "_async", None)
    if not isinstance(table, dict) or "websocket" not in table:
        raise RuntimeError(
            f"python-engineio {version('python-engineio')} has no Server._async['websocket'], through which "
            "KVScope limits the size of messages. Install the version that constraints.txt names."
        )
    engine._async = {**table, "websocket": WebSocket}


class WebSocket:
    """One websocket of Engine.IO. It refuses a message that is too long, or that is no packet of a client.

    `handler` serves the connection: it calls `wait`, `send` and `close`, and returns when the connection has ended.
    """

    def __init__(self, handler: Callable[[WebSocket], Any], _engine: engineio.Server | None) -> None:
        self._handler = handler
        self._socket: simple_websocket.Server

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The WSGI interface: accepts the connection and serves it to its end."""
        self._socket = simple_websocket.Server.accept(environ, max_message_size=MAX_MESSAGE_BYTES)
        self._handler(self)
        raise StopIteration  # gunicorn then sends no response: the connection was the websocket's

    def wait(self) -> str | bytes | None:
        """Waits for the next packet. None when the connection has ended."""
        try:
            message: str | bytes = self._socket.receive()
        except ConnectionClosed:
            return None
        if is_packet(message, FROM_CLIENTS):
            return message
        self.close(PROTOCOL_ERROR, UNREADABLE)
        return None

    def send(self, message: str | bytes) -> None:
        """Sends a packet. Raises OSError when the connection has ended."""
        try:
            self._socket.send(message)
        except ConnectionClosed as error:
            raise OSError("the websocket is closed") from error

    def close(self, *reason: int | str) -> None:
        """Closes the connection. `reason`: a status code and a sentence, or nothing.

        Another thread or the client may close it at the same time.
        """
        with suppress(ConnectionClosed, LocalProtocolError):
            self._socket.close(*reason)


def is_packet(message: str | bytes, types: Iterable[int]) -> bool:
    """Returns whether a websocket message is an Engine.IO packet of one of these types."""
    try:
        return packet.Packet(encoded_packet=message).packet_type in types
    except (ValueError, RecursionError):
        return False


def decline_compression(environ: WSGIEnvironment) -> None:
    """Removes the offer to compress messages from a handshake that comes from this machine.

    A websocket's compression (permessage-deflate, RFC 7692) halves the frames and takes 61 ms of processor time per MB:
    1.8 s for the 28.6 MB of a run of 416 + 24 tokens, six sevenths of all that this process does for it. On this
    machine the model and the browser need the same processors, and bytes cost next to nothing.
    """
    if is_loopback(environ.get("REMOTE_ADDR", "")):
        environ.pop(COMPRESSION_OFFER, None)
