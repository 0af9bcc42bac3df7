"""gunicorn's threaded worker, but for how connections come in and go.

A thread is given to a request once all of it is here (app/arriving.py), so that a client that sends half of one costs a
socket and no thread; what is late is told so and let go. A connection that ends is waited for beside all others, not in
their way.
"""

from __future__ import annotations

import signal
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address, ip_network
from selectors import EVENT_READ
from typing import Any

from gunicorn.workers.gthread import TConn, ThreadWorker

from kvscope.app.arriving import HEAD_S, Arriving, Paced, refusal
from kvscope.app.http.visitors import network_of

ENDING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
KEEP_ALIVE_S = 60.0
"""How long a connection waits for its next request. A browser opens a new one well before."""
READING_S = 60
"""How long a client may not read what it is sent."""
LEAVING_S = 2.0
"""How long what a client still sends is passed over, so that the last answer reaches it (RFC 9112, 9.6)."""
CHUNK_BYTES = 64 * 1024
ACCEPTED_AT_ONCE = 64
MAX_ARRIVING_BYTES = 64 * 1024 * 1024
MAX_STREAMED, MAX_STREAMED_PER_ADDRESS = 8, 2
LOOK_S = 0.25
RETRY_S = 10
FULL = "There are as many connections, in all or from your address, as the server takes."


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one address, except of the proxies: connections, and requests that are being answered."""

    connections_per_address: int
    requests_per_address: int
    proxies: tuple[str, ...]

    def spares(self, address: str) -> bool:
        """Whether the address is a proxy's."""
        with suppress(ValueError):
            return any(ip_address(address) in ip_network(proxy) for proxy in self.proxies)
        return False


class Connection(TConn):  # type: ignore[misc]
    """gunicorn's connection, and whose it is."""

    def __init__(self, *whatever: Any) -> None:
        super().__init__(*whatever)
        self.address = network_of(self.client[0]) if isinstance(self.client, tuple) else ""
        self.spared = False
        self.streamed = False
        # A blocking `send` must end some time, and simple-websocket knows no other.
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", READING_S, 0))


class Worker(ThreadWorker):  # type: ignore[misc]
    """The child, which serves. `app` has its `limits`."""

    def init_process(self) -> None:
        """Serve until the end."""
        self._limits: Limits = self.app.limits
        self._arriving: dict[Connection, Arriving] = {}
        self._leaving: dict[Connection, float] = {}
        self._connections: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()
        self._streams: Counter[str] = Counter()
        self._looked = 0.0
        super().init_process()

    def init_signals(self) -> None:
        """A signal lets the loop end; `worker_exit` then closes the parts, once.

        No handler raises: a second signal must not cut off what the first began.
        """
        outlives = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        super().init_signals()
        for number in ENDING:
            signal.signal(number, self.handle_exit)
        signal.signal(signal.SIGHUP, signal.SIG_IGN if outlives else self.handle_exit)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)

    def accept(self, listener: socket.socket) -> None:
        """Take the connections that wait."""
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                sock, client = listener.accept()
            except OSError:  # none is left, or it has gone already
                return
            connection = Connection(self.cfg, sock, client, listener.getsockname())
            connection.spared = self._limits.spares(client[0]) if isinstance(client, tuple) else True
            self.nr_conns += 1
            self._connections[connection.address] += 1
            if self._has_room_for(connection):
                self._await(connection, HEAD_S, b"")
            else:
                self._turn_away(connection, 503, FULL)

    def _has_room_for(self, connection: Connection) -> bool:
        """Whether there is room, at need that of the one that was answered, or has sent half a request or none, for
        longest; of the same address where that has as many as it may have.
        """
        over = self._is_over(self._connections, connection, self._limits.connections_per_address)
        if not over and self.nr_conns < self.worker_connections:
            return True
        for waiting in (self._leaving, self._arriving):
            oldest = next((other for other in waiting if not over or other.address == connection.address), None)
            if oldest is not None:
                self._give_up(oldest)
                return True
        return False

    def _give_up(self, connection: Connection) -> None:
        """End a connection at once, without a word if it has had its answer."""
        if connection in self._arriving:
            with suppress(OSError):
                connection.sock.send(refusal(503, FULL, RETRY_S))
        self._forget(connection)
        self._close(connection)

    def finish_request(self, connection: Connection, done: Future[bool]) -> None:
        """After an answer: wait for the next request, or part."""
        self._requests[connection.address] -= 1
        self._streams[connection.address] -= connection.streamed
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
        """Give up what is late."""
        now = time.monotonic()
        if now < self._looked + LOOK_S:
            return
        self._looked = now
        for connection, arriving in list(self._arriving.items()):
            if arriving.deadline > now:
                continue
            if arriving.data:
                self._turn_away(connection, 408, "The request did not come in time.")
            else:
                self._forget(connection)
                self._close(connection)
        held = sum(len(arriving.data) for arriving in self._arriving.values())
        while held > MAX_ARRIVING_BYTES:
            connection, most = max(self._arriving.items(), key=lambda item: len(item[1].data))
            held -= len(most.data)
            self._turn_away(connection, 503, "The server is receiving as much as it takes.")
        for connection, until in list(self._leaving.items()):
            if until <= now:
                self._forget(connection)
                self._close(connection)

    def _await(self, connection: Connection, idle_s: float, data: bytes) -> None:
        arriving = Arriving(time.monotonic() + idle_s)
        self._arriving[connection] = arriving
        self._register(connection, partial(self._on_data, connection))
        if data:
            arriving.take(data)
            self._look_at(connection, arriving)

    def _register(self, connection: Connection, on_readable: Callable[[Any], None]) -> None:
        try:
            self.poller.register(connection.sock, EVENT_READ, on_readable)
        except KeyError:  # of a websocket that a thread of its own closed, whose number this one has now
            self.poller.unregister(connection.sock.fileno())
            self.poller.register(connection.sock, EVENT_READ, on_readable)

    def _on_data(self, connection: Connection, _sock: Any) -> None:
        if connection not in self._arriving:  # it was let go since the event came
            return
        data = _received(connection.sock)
        if data is None:
            return
        if not data:
            self._forget(connection)
            self._close(connection)
            return
        arriving = self._arriving[connection]
        arriving.take(data)
        self._look_at(connection, arriving)

    def _look_at(self, connection: Connection, arriving: Arriving) -> None:
        if arriving.is_too_long:
            self._turn_away(connection, 431, "The head of the request is too long.")
        elif arriving.is_whole:
            self._serve(connection, arriving)

    def _serve(self, connection: Connection, arriving: Arriving) -> None:
        """Give the request to a thread."""
        if self._is_over(self._requests, connection, self._limits.requests_per_address - 1):
            self._turn_away(connection, 429, "As many of your address's requests are being answered as may be at once.")
            return
        connection.streamed = arriving.streamed
        if connection.streamed:
            if self._streams.total() >= MAX_STREAMED:
                self._turn_away(connection, 503, "The server is receiving as many files as it takes.")
                return
            if self._is_over(self._streams, connection, MAX_STREAMED_PER_ADDRESS - 1):
                self._turn_away(connection, 429, "Your address is sending as many files as it may at once.")
                return
        self._forget(connection)
        self._requests[connection.address] += 1
        self._streams[connection.address] += connection.streamed
        connection.data_ready = True
        if not connection.initialized:
            connection.init()
            connection.parser.unreader = Paced(connection.sock)
        connection.sock.setblocking(True)
        connection.parser.unreader.begin(bytes(arriving.data))
        self.enqueue_req(connection)

    @staticmethod
    def _is_over(counted: Counter[str], connection: Connection, most: int) -> bool:
        return not connection.spared and counted[connection.address] > most

    def _turn_away(self, connection: Connection, status: int, sentence: str) -> None:
        self._forget(connection)
        retry_after = RETRY_S if status in (429, 503) else None
        with suppress(OSError):
            connection.sock.send(refusal(status, sentence, retry_after))
        self._leave(connection)

    def _leave(self, connection: Connection) -> None:
        """Say that nothing more comes, and pass over what the client still sends."""
        try:
            connection.sock.shutdown(socket.SHUT_WR)
            self._register(connection, partial(self._pass_over, connection))
        except (OSError, ValueError):
            self._close(connection)
            return
        self._leaving[connection] = time.monotonic() + LEAVING_S

    def _pass_over(self, connection: Connection, _sock: Any) -> None:
        if connection in self._leaving and _received(connection.sock) == b"":
            self._forget(connection)
            self._close(connection)

    def _forget(self, connection: Connection) -> None:
        """It is waited for no longer."""
        waited = self._arriving.pop(connection, None) is not None or self._leaving.pop(connection, None) is not None
        if waited:
            with suppress(KeyError, ValueError):
                self.poller.unregister(connection.sock)

    def _close(self, connection: Connection) -> None:
        self.nr_conns -= 1
        self._connections[connection.address] -= 1
        for counted in (self._connections, self._requests, self._streams):
            if not counted[connection.address]:
                del counted[connection.address]
        connection.close()


def _received(sock: socket.socket) -> bytes | None:
    """What there is to read now: nothing at the end or where the client has gone, None while nothing has come."""
    try:
        return sock.recv(CHUNK_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""
