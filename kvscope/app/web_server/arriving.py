"""Receives a request piece by piece: whether it is complete, and when it is too late; and the answer that refuses it.

gunicorn's parser decides where a request ends, here and again in the thread that answers it. Two different parsers
could disagree: one would take a request for complete while the other still waits for the rest.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from socket import socket
from typing import Any
from urllib.parse import urlsplit

from gunicorn.config import Config
from gunicorn.http.body import LengthReader
from gunicorn.http.errors import NoMoreData, ParseException
from gunicorn.http.message import Request
from gunicorn.http.unreader import SocketUnreader, Unreader

from kvscope.app.http.problems import Problem
from kvscope.app.http.security import BARE

HEAD_S = 10.0
"""How long the head of a request may take from its first byte, and how long a new connection may stay silent."""
BODY_S = 10.0
SLOWEST_BYTES_PER_S = 16 * 1024
"""A body may take BODY_S, and longer if it arrives at least at this speed."""
MAX_HEAD_BYTES = 32 * 1024
MAX_WHOLE_BODY_BYTES = 192 * 1024
"""A longer body (only a file can be longer), or a body of unknown length, is read while the request is answered."""
LINE_END = b"\n"
Parse = Callable[[Unreader], Request]
"""Reads the head of a request. Raises ParseException, or NoMoreData if the head is not complete."""


class InvalidHost(ParseException):  # type: ignore[misc]
    """The request names no server, or two different ones (RFC 9112, 3.2)."""


class Received(Unreader):  # type: ignore[misc]
    """The bytes of a request that have arrived."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.unread(data)

    def chunk(self, size_hint: int | None = None) -> bytes:
        """No more bytes."""
        return b""


def parser(settings: Config, client: Any) -> Parse:
    """Returns the parser for the heads of a client's requests."""
    return partial(_parsed, settings, client)


def _parsed(settings: Config, client: Any, unreader: Unreader) -> Request:
    request = Request(settings, unreader, client)
    host = next((value for name, value in request.headers if name == "HOST"), None)
    if host == "" or (host is None and request.version >= (1, 1)):
        raise InvalidHost("it has no Host")
    named = urlsplit(request.uri).netloc if "://" in request.uri and not request.uri.startswith("/") else None
    if named is not None and named.lower() != (host or "").lower():
        raise InvalidHost("its address and its Host differ")
    return request


@dataclass(slots=True)
class Arriving:
    """A request that is arriving. `idle_until`: deadline for its first byte. All times are as time.monotonic.

    `streamed`: its body is read while it is answered.
    """

    parse: Parse
    idle_until: float
    data: bytearray = field(default_factory=bytearray)
    _began: float | None = None
    _whole: int | None = None
    streamed: bool = False

    def take(self, data: bytes) -> None:
        """Adds the next bytes. Raises ParseException as soon as they cannot be the beginning of a request."""
        if self._began is None:
            self._began = time.monotonic()
        self.data += data
        if self._whole is None and LINE_END in data:
            self._read_head()

    def _read_head(self) -> None:
        received = Received(bytes(self.data))
        try:
            request = self.parse(received)
        except NoMoreData:
            return
        head, body = len(self.data) - len(received.take_buffered()), request.body.reader
        length = body.length if isinstance(body, LengthReader) else None
        expects = any(name == "EXPECT" for name, _ in request.headers)
        self.streamed = length is None or length > MAX_WHOLE_BODY_BYTES or expects
        self._whole = head + (0 if self.streamed or length is None else length)

    @property
    def is_whole(self) -> bool:
        """Whether it can be answered now: it is complete, or complete except for a body that is streamed."""
        return self._whole is not None and len(self.data) >= self._whole

    @property
    def is_too_long(self) -> bool:
        """Whether its head exceeds MAX_HEAD_BYTES."""
        return self._whole is None and len(self.data) > MAX_HEAD_BYTES

    @property
    def deadline(self) -> float:
        """When its connection is closed unless it is complete."""
        if self._began is None:
            return self.idle_until
        return self._began + HEAD_S + (0 if self._whole is None else BODY_S + len(self.data) / SLOWEST_BYTES_PER_S)


class Paced(SocketUnreader):  # type: ignore[misc]
    """The parser's source: the bytes that have arrived, then the rest of a streamed body from the socket.

    A body that arrives too slowly ends early, as if the sender had closed the connection.
    """

    def __init__(self, sock: socket) -> None:
        super().__init__(sock)
        self._began, self._received = time.monotonic(), 0

    def begin(self, data: bytes) -> None:
        """Begins the next request with these bytes."""
        self.unread(data)
        self._began, self._received = time.monotonic(), len(data)

    def chunk(self, size_hint: int | None = None) -> bytes:
        """Returns the next bytes from the socket; none at the end of the body."""
        left = self._began + BODY_S + self._received / SLOWEST_BYTES_PER_S - time.monotonic()
        readable = select.poll()
        readable.register(self.sock, select.POLLIN)
        if left <= 0 or not readable.poll(min(left, BODY_S) * 1000):
            return b""
        data: bytes = super().chunk(size_hint)
        self._received += len(data)
        return data


def refusal(status: int, sentence: str, retry_after: int | None = None) -> bytes:
    """Returns the bytes of an answer that refuses a request and ends its connection."""
    answer = Problem(status, sentence, retry_after=retry_after, headers={**BARE, "Connection": "close"}).response()
    head = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
    return f"HTTP/1.1 {answer.status}\r\n{head}\r\n".encode() + answer.data
