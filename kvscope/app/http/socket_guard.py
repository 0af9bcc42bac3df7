"""What may come in by Socket.IO, and from how many: before Engine.IO, which trusts its clients, gets to see it.

A client that says what cannot be read is told so, with the event `problem` or in the reason with which its socket is
closed. None of it is worth a traceback.

python-engineio 4 has no setting for any of this: not for the size of a message (its websocket class stands in `_async`,
the one private name that is set here), not for sessions per address, handshakes that never end, or polls that each hold
a thread. nginx in front could limit connections, and the server is to be safe without one.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock, RLock
from typing import Any
from urllib.parse import parse_qs
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import socketio
from engineio import packet
from engineio.async_drivers._websocket_wsgi import SimpleWebSocketWSGI
from engineio.exceptions import SocketIsClosedError
from engineio.payload import Payload
from flask import Flask
from simple_websocket import ConnectionClosed
from socketio.packet import BINARY_ACK, BINARY_EVENT, Packet
from wsproto.utilities import LocalProtocolError

from kvscope.app.http.problems import Problem
from kvscope.app.http.visitors import network_of

PATH = "/socket.io/"
NAMESPACE = "/"
MAX_MESSAGE_BYTES = 16 * 1024
MOST_UNREADABLE = 8
"""So many unreadable messages end a client's socket."""
JOINING_S = 10.0
"""How long a handshake may take, from the first packet to the one that joins the namespace."""
RETRY_S = 30
FROM_CLIENTS = frozenset((packet.CLOSE, packet.PING, packet.PONG, packet.MESSAGE, packet.UPGRADE))
NOT_POLLED = frozenset((packet.PING,))
UNREADABLE = "The message is not a Socket.IO message that this server accepts."
PROTOCOL_ERROR = 1002
"""RFC 6455, 7.4.1."""


class TextPacket(Packet):  # type: ignore[misc]
    """Socket.IO's packet, of which clients send none with bytes: half of such a one would be kept for its end."""

    def decode(self, encoded_packet: str) -> int:
        """Read it; it has no attachments. Raises ValueError where it is no packet, or is to have some."""
        super().decode(encoded_packet)
        if self.packet_type in (BINARY_EVENT, BINARY_ACK):
            raise ValueError(self.packet_type)
        return 0


class WebSocket(SimpleWebSocketWSGI):  # type: ignore[misc]
    """Engine.IO's websocket, which takes no message that is too long or no packet."""

    def __init__(self, handler: Any, server: Any) -> None:
        super().__init__(handler, server, max_message_size=MAX_MESSAGE_BYTES)

    def wait(self) -> Any:
        """The next packet, None at the end."""
        message = super().wait()
        if message is None or is_packet(message, FROM_CLIENTS):
            return message
        self.close(PROTOCOL_ERROR, UNREADABLE)
        return None

    def close(self, *why: int | str) -> None:
        """Close it for a reason, a code and words, or none; also while the other thread or the client does."""
        with suppress(ConnectionClosed, LocalProtocolError):
            self.ws.close(*why)


def is_packet(message: str | bytes, kinds: Iterable[int]) -> bool:
    """Whether a websocket message is an Engine.IO packet of one of these kinds."""
    try:
        return packet.Packet(encoded_packet=message).packet_type in kinds
    except (ValueError, RecursionError):
        return False


@dataclass(slots=True)
class Session:
    """An Engine.IO session. `joined`: its handshake is complete."""

    address: str
    began: float = field(default_factory=time.monotonic)
    joined: bool = False
    unreadable: int = 0
    sending: RLock = field(default_factory=RLock)


class SocketGuard:
    """Stands between the network and `server`. At most `most` sessions at a time, and `most_per_address` of one
    address.
    """

    def __init__(self, server: socketio.Server, most: int, most_per_address: int) -> None:
        self._server, self._most, self._most_per_address = server, most, most_per_address
        self._lock = Lock()
        self._sessions: dict[str, Session] = {}
        self._waiting: set[tuple[str, str]] = set()
        self._app: WSGIApplication

    def init_app(self, app: Flask) -> None:
        """Put it before the application, whose Socket.IO server is `server`."""
        engine = self._server.eio
        engine._async = {**engine._async, "websocket": WebSocket}  # there is no option for the size of a message
        for event, guard in (("connect", self._connect), ("message", self._message), ("disconnect", self._disconnect)):
            engine.on(event, partial(guard, engine.handlers[event]))
        engine.send = partial(self._send, engine.send)
        self._app = app.wsgi_app
        app.wsgi_app = self  # type: ignore[method-assign]

    def joined(self, session: str) -> None:
        """The handshake of this Engine.IO session is complete."""
        with self._lock:
            if session in self._sessions:
                self._sessions[session].joined = True

    def sending(self, session: str) -> RLock:
        """To be held while a message is sent: a frame is two packets, and no other may come between them, such as the
        acknowledgement of a watch that has begun to send.
        """
        with self._lock:
            return self._sessions[session].sending if session in self._sessions else RLock()

    def end_the_late(self) -> None:
        """End the sessions whose handshake takes too long."""
        before = time.monotonic() - JOINING_S
        with self._lock:
            late = [name for name, each in self._sessions.items() if not each.joined and each.began < before]
        for name in late:
            self._end(name)

    @property
    def sessions(self) -> int:
        """How many there are."""
        with self._lock:
            return len(self._sessions)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The WSGI interface."""
        if not environ.get("PATH_INFO", "").startswith(PATH):
            return self._app(environ, start_response)
        query = parse_qs(environ.get("QUERY_STRING", ""))
        session = query.get("sid", [""])[0]
        waiting = session, query.get("transport", [""])[0]
        waits = environ["REQUEST_METHOD"] == "GET" and bool(session)
        problem = _unreadable(environ) if session else None
        with self._lock:
            if not session:
                problem = self._no_room(network_of(environ.get("REMOTE_ADDR", "")))
            elif waits and waiting in self._waiting:  # each holds a thread until something comes
                problem = Problem(409, "Another request of this connection is already waiting.", field="sid")
            elif waits:
                self._waiting.add(waiting)
        if problem is not None:
            return problem.response()(environ, start_response)
        try:
            return self._app(environ, start_response)
        finally:
            if waits:
                with self._lock:
                    self._waiting.discard(waiting)

    def _no_room(self, address: str) -> Problem | None:
        """Why no further session is begun. The lock is held."""
        addresses = [each.address for each in self._sessions.values()]
        if len(addresses) >= self._most:
            return Problem(
                503,
                "The server has too many live connections. Try again later.",
                limit=self._most,
                retry_after=RETRY_S,
            )
        if addresses.count(address) >= self._most_per_address:
            sentence = "Your address has reached its limit of live connections. Close another page and try again."
            return Problem(429, sentence, limit=self._most_per_address, retry_after=RETRY_S)
        return None

    def _end(self, session: str) -> None:
        socket = self._server.eio.sockets.get(session)
        if socket is not None:
            with suppress(OSError, SocketIsClosedError):  # it is ending
                socket.close(wait=False, abort=False, reason=self._server.reason.SERVER_DISCONNECT)

    def _send(self, inner: Callable[..., None], session: str, said: Any) -> None:
        with self.sending(session):
            inner(session, said)

    def _connect(self, inner: Callable[..., Any], session: str, environ: WSGIEnvironment) -> Any:
        made = Session(network_of(environ.get("REMOTE_ADDR", "")))
        with self._lock:
            problem = self._no_room(made.address)  # others may have come since this one was let in
            if problem is not None:
                return problem.detail
            self._sessions[session] = made
        return inner(session, environ)

    def _message(self, inner: Callable[..., Any], session: str, data: Any) -> None:
        try:
            inner(session, data)
        except Exception:  # whatever Socket.IO stumbles over: it reads what the client sent as it comes
            self._refuse(session)

    def _refuse(self, session: str) -> None:
        with self._lock:
            refused = self._sessions.get(session, Session(""))
            refused.unreadable += 1
            enough = refused.unreadable >= MOST_UNREADABLE
        viewer = self._server.manager.sid_from_eio_sid(session, NAMESPACE)
        if viewer is not None:
            body = {"run": None, "error": Problem(400, UNREADABLE).document()}
            with self.sending(session):
                self._server.emit("problem", body, to=viewer, namespace=NAMESPACE)
        if enough or viewer is None:
            self._end(session)

    def _disconnect(self, inner: Callable[..., Any], session: str, *reason: Any) -> None:
        with self._lock:
            self._sessions.pop(session, None)
        inner(session, *reason)


def _unreadable(environ: WSGIEnvironment) -> Problem | None:
    """What is wrong with what a polling client sends; Engine.IO would wait for ever, or say that all is well."""
    if environ["REQUEST_METHOD"] != "POST":
        return None
    length = environ.get("CONTENT_LENGTH", "")
    if not length.isdecimal():
        return Problem(411, "Content-Length is missing.", field="Content-Length")
    if int(length) > MAX_MESSAGE_BYTES:
        sentence = f"The body is longer than {MAX_MESSAGE_BYTES:,} bytes, the limit."
        return Problem(
            413,
            sentence,
            field="body",
            limit=MAX_MESSAGE_BYTES,
        )
    body = environ["wsgi.input"].read(int(length))
    try:
        kinds = {each.packet_type for each in Payload(encoded_payload=body.decode("utf-8")).packets}
    except (ValueError, RecursionError):
        return Problem(400, UNREADABLE, field="body")
    if not kinds <= FROM_CLIENTS - NOT_POLLED:
        return Problem(400, UNREADABLE, field="body")
    environ["wsgi.input"] = io.BytesIO(body)
    return None
