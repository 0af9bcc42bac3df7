"""gunicorn's threaded worker, with its own handling of connections.

A request gets a thread only once it is complete (arriving.py), so a client that sends half a request costs a socket but
no thread. A request that is too slow is refused, and its connection closed. The worker waits for closing connections
and for new data in one loop. gunicorn has no settings for this: its threads wait five seconds for the first byte, and
without limit for the rest. nginx in front would also wait for complete requests, but the server must be safe without
it. This class overrides only public methods of gunicorn's worker.
"""

from __future__ import annotations

import signal
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address, ip_network
from selectors import EVENT_READ
from typing import Any, Literal

from gunicorn.http.errors import (
    ExpectationFailed,
    InvalidResponseHeader,
    InvalidResponseHeaderName,
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
    UnsupportedTransferCoding,
)
from gunicorn.workers.gthread import TConn, ThreadWorker

from kvscope.app.http.problems import fault
from kvscope.app.http.visitors import network_of
from kvscope.app.web_server.arriving import HEAD_S, Arriving, Paced, parser, refusal

ENDING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
KEEP_ALIVE_S = 60.0
"""How long a connection may wait for its next request."""
READING_S = 60
"""How long a client may leave an answer unread."""
LEAVING_S = 2.0
"""How long to read and discard what a client still sends, so that the last answer reaches it (RFC 9112, 9.6)."""
CHUNK_BYTES = 64 * 1024
ACCEPTED_AT_ONCE = 64
MAX_ARRIVING_BYTES = 64 * 1024 * 1024
MAX_STREAMED, MAX_STREAMED_PER_ADDRESS = 8, 2
LOOK_S = 0.25
RETRY_S = 10
NOT_HTTP: Mapping[type[Exception], int] = {
    ExpectationFailed: 417,
    LimitRequestHeaders: 431,
    LimitRequestLine: 414,
    UnsupportedTransferCoding: 501,
}
"""Errors in a request with another status than 400."""
OURS = InvalidResponseHeader, InvalidResponseHeaderName
What = Literal["connections", "requests", "files"]
"""What is counted for each address."""
FULL = "The server, or your address, has reached its limit of connections. Try again in a moment."


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one address: its connections, and its requests that are being answered. `proxies` have no limits."""

    connections_per_address: int
    requests_per_address: int
    proxies: tuple[str, ...]

    def spares(self, address: str) -> bool:
        """Returns whether the address is a proxy's, which has no limits."""
        with suppress(ValueError):
            return any(ip_address(address) in ip_network(proxy) for proxy in self.proxies)
        return False


class Connection(TConn):  # type: ignore[misc]
    """gunicorn's connection, with the address of the client. `spared`: it has no limits."""

    def __init__(self, *whatever: Any) -> None:
        super().__init__(*whatever)
        self.address = network_of(self.client[0]) if isinstance(self.client, tuple) else ""
        self.spared = False
        self.streamed = False
        # simple-websocket uses a blocking `send`, which must end some time.
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", READING_S, 0))


class Worker(ThreadWorker):  # type: ignore[misc]
    """The process that answers requests. `app.limits` has its limits."""

    def init_process(self) -> None:
        """Answers requests until the process ends."""
        self._limits: Limits = self.app.limits
        self._arriving: dict[Connection, Arriving] = {}
        self._leaving: dict[Connection, float] = {}
        self._counted: Counter[tuple[What, str]] = Counter()
        self._looked = 0.0
        super().init_process()

    def init_signals(self) -> None:
        """Lets a signal end the loop; `worker_exit` then closes the application once.

        No handler raises an exception, because a second signal must not interrupt the closing.
        """
        outlives = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        super().init_signals()
        for number in ENDING:
            signal.signal(number, self.handle_exit)
        signal.signal(signal.SIGHUP, signal.SIG_IGN if outlives else self.handle_exit)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)

    def accept(self, listener: socket.socket) -> None:
        """Accepts the connections that wait."""
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                sock, client = listener.accept()
            except OSError:  # no more, or the client has left
                return
            connection = Connection(self.cfg, sock, client, listener.getsockname())
            connection.spared = self._limits.spares(client[0]) if isinstance(client, tuple) else True
            self.nr_conns += 1
            self._counted["connections", connection.address] += 1
            if self._has_room_for(connection):
                self._await(connection, HEAD_S, b"")
            else:
                self._turn_away(connection, 503, FULL)

    def _has_room_for(self, connection: Connection) -> bool:
        """Returns whether a new connection may stay.

        If there are too many connections, the oldest one that is closing, or else the oldest one without a complete
        request, is closed for it. If its own address has too many, only connections of that address are closed.
        """
        over = self._has_over(self._limits.connections_per_address, "connections", connection)
        if not over and self.nr_conns < self.worker_connections:
            return True
        for waiting in (self._leaving, self._arriving):
            oldest = next((other for other in waiting if not over or other.address == connection.address), None)
            if oldest is not None:
                self._give_up(oldest)
                return True
        return False

    def _give_up(self, connection: Connection) -> None:
        """Closes a connection at once, with an answer if it has not had one."""
        if connection in self._arriving:
            with suppress(OSError):
                connection.sock.send(refusal(503, FULL, RETRY_S))
        self._close(connection)

    def handle_error(self, _request: Any, client: socket.socket, _address: Any, error: Exception) -> None:
        """Answers a request that is not valid HTTP, or that the server failed to answer."""
        if isinstance(error, ParseException) and not isinstance(error, OURS):
            answer = refusal(*not_http(error))
        else:
            self.log.exception("handling a request failed")
            answer = refusal(500, fault().detail)
        with suppress(OSError):
            client.sendall(answer)

    def finish_request(self, connection: Connection, done: Future[bool]) -> None:
        """Waits for the next request after an answer, or closes the connection."""
        self._counted["requests", connection.address] -= 1
        self._counted["files", connection.address] -= connection.streamed
        goes_on = not done.cancelled() and done.exception() is None and done.result() and self.alive
        try:
            connection.sock.setblocking(False)
        except OSError:
            self._close(connection)
            return
        if goes_on:
            self._await(connection, KEEP_ALIVE_S, connection.parser.unreader.take_buffered())
        else:
            self._leave(connection)

    def murder_pending(self) -> None:
        """Refuses requests that are too slow, and closes connections that are due."""
        now = time.monotonic()
        if now < self._looked + LOOK_S:
            return
        self._looked = now
        self._counted = +self._counted  # without zeros
        for connection, arriving in list(self._arriving.items()):
            if arriving.deadline > now:
                continue
            if arriving.data:
                self._turn_away(connection, 408, "The request did not arrive in time.")
            else:
                self._close(connection)
        arrived_bytes = sum(len(arriving.data) for arriving in self._arriving.values())
        while arrived_bytes > MAX_ARRIVING_BYTES:
            connection, most = max(self._arriving.items(), key=lambda item: len(item[1].data))
            arrived_bytes -= len(most.data)
            self._turn_away(connection, 503, "The server is receiving too much data at once. Try again in a moment.")
        for connection, until in list(self._leaving.items()):
            if until <= now:
                self._close(connection)

    def _await(self, connection: Connection, idle_s: float, data: bytes) -> None:
        parse = parser(self.cfg, connection.client)
        self._arriving[connection] = Arriving(parse, time.monotonic() + idle_s)
        self._register(connection, partial(self._on_data, connection))
        if data:
            self._take(connection, data)

    def _register(self, connection: Connection, on_readable: Callable[[Any], None]) -> None:
        try:
            self.poller.register(connection.sock, EVENT_READ, on_readable)
        except KeyError:  # this socket has the number of a websocket that another thread closed
            self.poller.unregister(connection.sock.fileno())
            self.poller.register(connection.sock, EVENT_READ, on_readable)

    def _on_data(self, connection: Connection, _sock: Any) -> None:
        if connection not in self._arriving:  # it was closed after the event
            return
        data = _received(connection.sock)
        if data:
            self._take(connection, data)
        elif data is not None:
            self._close(connection)

    def _take(self, connection: Connection, data: bytes) -> None:
        arriving = self._arriving[connection]
        try:
            arriving.take(data)
        except ParseException as error:
            self._turn_away(connection, *not_http(error))
            return
        if arriving.is_too_long:
            self._turn_away(connection, 431, "The request line and headers are too long.")
        elif arriving.is_whole:
            self._serve(connection, arriving)

    def _serve(self, connection: Connection, arriving: Arriving) -> None:
        """Gives the request to a thread."""
        if problem := self._why_not(connection, arriving.streamed):
            self._turn_away(connection, *problem)
            return
        self._forget(connection)
        connection.streamed = arriving.streamed
        self._counted["requests", connection.address] += 1
        self._counted["files", connection.address] += connection.streamed
        connection.data_ready = True
        if not connection.initialized:
            connection.init()
            connection.parser.unreader = Paced(connection.sock)
        connection.sock.setblocking(True)
        connection.parser.unreader.begin(bytes(arriving.data))
        self.enqueue_req(connection)

    def _why_not(self, connection: Connection, streamed: bool) -> tuple[int, str] | None:
        """Returns the status and sentence that refuse a request; None if it may be answered now."""
        if self._has_over(self._limits.requests_per_address - 1, "requests", connection):
            return 429, "Too many requests from your address are in progress. Try again in a moment."
        if streamed and sum(count for (what, _), count in self._counted.items() if what == "files") >= MAX_STREAMED:
            return 503, "The server is receiving too many files at once. Try again in a moment."
        if streamed and self._has_over(MAX_STREAMED_PER_ADDRESS - 1, "files", connection):
            return 429, "Your address is sending too many files at once. Try again in a moment."
        return None

    def _has_over(self, most: int, what: What, connection: Connection) -> bool:
        return not connection.spared and self._counted[what, connection.address] > most

    def _turn_away(self, connection: Connection, status: int, sentence: str) -> None:
        self._forget(connection)
        retry_after = RETRY_S if status in (429, 503) else None
        with suppress(OSError):
            connection.sock.send(refusal(status, sentence, retry_after))
        self._leave(connection)

    def _leave(self, connection: Connection) -> None:
        """Closes the sending side, and discards what the client still sends for LEAVING_S."""
        try:
            connection.sock.shutdown(socket.SHUT_WR)
            self._register(connection, partial(self._pass_over, connection))
        except (OSError, ValueError):
            self._close(connection)
            return
        self._leaving[connection] = time.monotonic() + LEAVING_S

    def _pass_over(self, connection: Connection, _sock: Any) -> None:
        if connection in self._leaving and _received(connection.sock) == b"":
            self._close(connection)

    def _forget(self, connection: Connection) -> None:
        """Stops waiting for data of a connection."""
        waited = self._arriving.pop(connection, None) is not None or self._leaving.pop(connection, None) is not None
        if waited:
            with suppress(KeyError, ValueError):
                self.poller.unregister(connection.sock)

    def _close(self, connection: Connection) -> None:
        self._forget(connection)
        self.nr_conns -= 1
        self._counted["connections", connection.address] -= 1
        connection.close()


def not_http(error: ParseException) -> tuple[int, str]:
    """Returns the status and sentence for a request that is not valid."""
    return NOT_HTTP.get(type(error), 400), f"The request is not valid HTTP: {error}."


def _received(sock: socket.socket) -> bytes | None:
    """Returns the bytes that have arrived: empty if the client has closed the connection, None if none have."""
    try:
        return sock.recv(CHUNK_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""
