"""Limits on Socket.IO's clients, applied before Engine.IO, which trusts them.

A client that sends something unreadable gets an answer: the event `problem`, or a socket closed with the reason. None
of it is logged. python-engineio 4 has no setting for sessions per address, for handshakes that never end, or for polls
that each hold a thread. nginx in front could limit connections; the server must be safe without it.
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
from engineio.exceptions import SocketIsClosedError
from engineio.payload import Payload
from flask import Flask
from socketio.packet import BINARY_ACK, BINARY_EVENT, Packet

from kvscope.app.http.problems import Problem
from kvscope.app.http.visitors import network_of
from kvscope.app.http.websocket import (
    FROM_CLIENTS,
    MAX_MESSAGE_BYTES,
    UNREADABLE,
    decline_compression,
    serve_websockets,
)

PATH = "/socket.io/"
NAMESPACE = "/"
MOST_UNREADABLE = 8
"""A client's socket ends after this many unreadable messages."""
JOINING_S = 10.0
"""How long a handshake may take, from the first packet to the one that joins the namespace."""
RETRY_S = 30
NOT_POLLED = frozenset((packet.PING,))
"""Packets that clients send by websocket only."""
SESSION = "kvscope.session"
"""The `Session` in the environment that Engine.IO keeps of a connection."""


class TextPacket(Packet):  # type: ignore[misc]
    """A Socket.IO packet without attachments: the server would store half of one that has some until the rest came."""

    def decode(self, encoded_packet: str) -> int:
        """Parses the packet and returns its number of attachments, 0. Raises ValueError for any other packet."""
        super().decode(encoded_packet)
        if self.packet_type in (BINARY_EVENT, BINARY_ACK):
            raise ValueError(self.packet_type)
        return 0


@dataclass(slots=True, eq=False)
class Session:
    """One Engine.IO session. `viewer`: its Socket.IO id, once the handshake is complete.

    Whoever sends to it holds `lock`, and so does the handling of a message: a frame is two packets, and no other
    packet, such as an acknowledgement, may come between them.
    """

    id: str
    address: str
    began: float = field(default_factory=time.monotonic)
    viewer: str | None = None
    unreadable: int = 0
    lock: RLock = field(default_factory=RLock)


class SocketGuard:
    """Stands between the network and `server`. Allows `most` sessions, and `most_per_address` from one address."""

    def __init__(self, server: socketio.Server, most: int, most_per_address: int) -> None:
        self._server, self._most, self._most_per_address = server, most, most_per_address
        self._lock = Lock()
        self._sessions: dict[str, Session] = {}
        self._polls: set[tuple[str, str]] = set()
        """Requests that wait for a packet: session and transport."""
        self._app: WSGIApplication

    def init_app(self, app: Flask) -> None:
        """Installs the guard before the application, whose Socket.IO server is `server`.

        Requires that a request's address is already the visitor's (hosts.py).
        """
        engine = self._server.eio
        serve_websockets(engine)
        for event, guard in (("connect", self._connect), ("message", self._message), ("disconnect", self._disconnect)):
            engine.on(event, partial(guard, engine.handlers[event]))
        self._app = app.wsgi_app
        app.wsgi_app = self  # type: ignore[method-assign]

    def queued_packets(self, session: Session) -> int:
        """Returns how many packets wait for the client. Raises KeyError when the session has ended."""
        return int(self._server.eio.sockets[session.id].queue.qsize())

    def end_late_handshakes(self) -> None:
        """Ends the sessions whose handshake takes too long."""
        before = time.monotonic() - JOINING_S
        with self._lock:
            late = [session for session in self._sessions.values() if not session.viewer and session.began < before]
        for session in late:
            self._end(session.id)

    @property
    def sessions(self) -> int:
        """The number of sessions."""
        with self._lock:
            return len(self._sessions)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The WSGI interface."""
        if not environ.get("PATH_INFO", "").startswith(PATH):
            return self._app(environ, start_response)
        decline_compression(environ)
        query = parse_qs(environ.get("QUERY_STRING", ""))
        session = query.get("sid", [""])[0]
        poll = session, query.get("transport", [""])[0]
        polls = environ["REQUEST_METHOD"] == "GET" and bool(session)
        problem = _unreadable(environ) if session else None
        with self._lock:
            if not session:
                problem = self._no_room(network_of(environ.get("REMOTE_ADDR", "")))
            elif polls and poll in self._polls:  # each holds a thread until a packet comes
                problem = Problem(409, "Another request of this connection is already waiting.", field="sid")
            elif polls:
                self._polls.add(poll)
        if problem is not None:
            return problem.response()(environ, start_response)
        try:
            return self._app(environ, start_response)
        finally:
            if polls:
                with self._lock:
                    self._polls.discard(poll)

    def _no_room(self, address: str) -> Problem | None:
        """Returns why the address cannot have another session; None if it can. The caller holds the lock."""
        addresses = [session.address for session in self._sessions.values()]
        if len(addresses) >= self._most:
            sentence = "The server has too many live connections. Try again later."
            return Problem(503, sentence, limit=self._most, retry_after=RETRY_S)
        if addresses.count(address) >= self._most_per_address:
            sentence = "Your address has reached its limit of live connections. Close another page and try again."
            return Problem(429, sentence, limit=self._most_per_address, retry_after=RETRY_S)
        return None

    def _end(self, session: str) -> None:
        socket = self._server.eio.sockets.get(session)
        if socket is not None:
            with suppress(OSError, SocketIsClosedError):  # it is ending
                socket.close(wait=False, abort=False, reason=self._server.reason.SERVER_DISCONNECT)

    def _connect(self, inner: Callable[..., Any], session: str, environ: WSGIEnvironment) -> Any:
        started = Session(session, network_of(environ.get("REMOTE_ADDR", "")))
        with self._lock:
            problem = self._no_room(started.address)  # another session may have begun since `__call__` looked
            if problem is not None:
                return problem.detail
            self._sessions[session] = environ[SESSION] = started
        return inner(session, environ)

    def _message(self, inner: Callable[..., Any], session: str, data: Any) -> None:
        with self._lock:
            sender = self._sessions.get(session)
        if sender is None:  # it has ended
            return
        with sender.lock:
            try:
                inner(session, data)
            except Exception:  # Socket.IO parses what clients send without checks
                self._refuse(sender)

    def _refuse(self, session: Session) -> None:
        session.unreadable += 1
        if session.viewer is not None:
            body = {"run": None, "error": Problem(400, UNREADABLE).document()}
            self._server.emit("problem", body, to=session.viewer, namespace=NAMESPACE)
        if session.viewer is None or session.unreadable >= MOST_UNREADABLE:
            self._end(session.id)

    def _disconnect(self, inner: Callable[..., Any], session: str, *reason: Any) -> None:
        with self._lock:
            self._sessions.pop(session, None)
        inner(session, *reason)


def _unreadable(environ: WSGIEnvironment) -> Problem | None:
    """Returns why the body of a polling client's request is refused; None if it is not.

    Engine.IO would wait for a missing body for ever, or answer that all is well.
    """
    if environ["REQUEST_METHOD"] != "POST":
        return None
    length = environ.get("CONTENT_LENGTH", "")
    if not length.isdecimal():
        return Problem(411, "Content-Length is missing.", field="Content-Length")
    if int(length) > MAX_MESSAGE_BYTES:
        sentence = f"The body is longer than {MAX_MESSAGE_BYTES:,} bytes, the limit."
        return Problem(413, sentence, field="body", limit=MAX_MESSAGE_BYTES)
    body = environ["wsgi.input"].read(int(length))
    try:
        types = {each.packet_type for each in Payload(encoded_payload=body.decode("utf-8")).packets}
    except (ValueError, RecursionError):
        return Problem(400, UNREADABLE, field="body")
    if not types <= FROM_CLIENTS - NOT_POLLED:
        return Problem(400, UNREADABLE, field="body")
    environ["wsgi.input"] = io.BytesIO(body)
    return None
