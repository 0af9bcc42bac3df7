"""A request on its way in: how much of it is here, how much longer it may take, and how a connection is turned away."""

from __future__ import annotations

import re
import select
import time
from dataclasses import dataclass, field
from socket import socket

from gunicorn.http.unreader import SocketUnreader

from kvscope.app.http.problems import Problem
from kvscope.app.http.security import BARE

HEAD_S = 10.0
"""How long the head of a request may take from its first byte, or a new connection's first byte."""
BODY_S = 10.0
SLOWEST_BYTES_PER_S = 16 * 1024
"""A body may take BODY_S, and longer if it comes at this speed."""
MAX_HEAD_BYTES = 32 * 1024
MAX_WHOLE_BODY_BYTES = 192 * 1024
"""A body that is longer (only a file can be), or whose length is not told, is read while the request is answered."""
END_OF_HEAD = b"\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,18})[ \t]*\r\n", re.IGNORECASE)
STREAMED = re.compile(rb"\r\n(?:transfer-encoding|expect):", re.IGNORECASE)


@dataclass(slots=True)
class Arriving:
    """What has come of one request. `idle_until`: when the wait for its first byte ends."""

    idle_until: float
    data: bytearray = field(default_factory=bytearray)
    _began: float | None = None
    _whole: int | None = None
    streamed: bool = False

    def take(self, data: bytes) -> None:
        """More of it."""
        if self._began is None:
            self._began = time.monotonic()
        looked = max(0, len(self.data) - len(END_OF_HEAD))
        self.data += data
        if self._whole is None and (end := self.data.find(END_OF_HEAD, looked)) >= 0:
            head = bytes(self.data[: end + 2])
            length = match[1] if (match := LENGTH.search(head)) else b"0"
            self.streamed = int(length) > MAX_WHOLE_BODY_BYTES or STREAMED.search(head) is not None
            self._whole = end + len(END_OF_HEAD) + (0 if self.streamed else int(length))

    @property
    def is_whole(self) -> bool:
        """Whether it can be answered without waiting for its sender, but for a body that is streamed."""
        return self._whole is not None and len(self.data) >= self._whole

    @property
    def is_too_long(self) -> bool:
        """Whether its head is longer than any that makes sense."""
        return self._whole is None and len(self.data) > MAX_HEAD_BYTES

    @property
    def deadline(self) -> float:
        """When it is given up."""
        if self._began is None:
            return self.idle_until
        return self._began + HEAD_S + (0 if self._whole is None else BODY_S + len(self.data) / SLOWEST_BYTES_PER_S)


class Paced(SocketUnreader):  # type: ignore[misc]
    """Where the parser reads: what has come already, then the rest of a streamed body, unless it comes too slowly. Then
    it ends there, as if the sender had left.
    """

    def __init__(self, sock: socket) -> None:
        super().__init__(sock)
        self._began, self._received = time.monotonic(), 0

    def begin(self, data: bytes) -> None:
        """The next request starts with this."""
        self.unread(data)
        self._began, self._received = time.monotonic(), len(data)

    def chunk(self, size_hint: int | None = None) -> bytes:
        """The next bytes from the socket; none at the end."""
        left = self._began + BODY_S + self._received / SLOWEST_BYTES_PER_S - time.monotonic()
        readable = select.poll()
        readable.register(self.sock, select.POLLIN)
        if left <= 0 or not readable.poll(min(left, BODY_S) * 1000):
            return b""
        data: bytes = super().chunk(size_hint)
        self._received += len(data)
        return data


def refusal(status: int, sentence: str, retry_after: int | None = None) -> bytes:
    """An answer to a request that nobody read, and the last one on its connection."""
    answer = Problem(status, sentence, retry_after=retry_after, headers={**BARE, "Connection": "close"}).response()
    head = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
    return f"HTTP/1.1 {answer.status}\r\n{head}\r\n".encode() + answer.data
