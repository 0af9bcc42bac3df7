"""Clients that begin a request and do not continue it, and a page that is requested meanwhile."""

from __future__ import annotations

import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil
import requests

HALF_HEAD = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"
HALF_BODY = (
    b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
)
HANDSHAKE = b"GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
CONNECTED_S = 10
ANSWER_S = 20
"""Seconds after which a page counts as not answered."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The seconds of each answer of a page, and how many requests `failed`."""

    seconds: list[float]
    failed: int

    def __str__(self) -> str:
        if not self.seconds:
            return f"no answer in {self.failed} tries"
        ordered = sorted(self.seconds)
        p95 = ordered[int(0.95 * (len(ordered) - 1))]
        return (
            f"{len(ordered)} answered, {self.failed} not; median {1000 * statistics.median(ordered):.0f} ms, "
            f"p95 {1000 * p95:.0f} ms, longest {1000 * ordered[-1]:.0f} ms"
        )


@contextmanager
def flood(port: int, count: int, first: bytes) -> Iterator[list[socket.socket]]:
    """Opens `count` connections that have each sent `first`, and opens closed ones again, inside the context."""
    over = threading.Event()
    held: list[socket.socket] = []

    def come_again() -> None:
        while not over.is_set():
            for place, sock in enumerate(held):
                if is_closed(sock):
                    sock.close()
                    with suppress(OSError):
                        held[place] = opened(port, first)
            over.wait(0.2)

    for _ in range(count):
        with suppress(OSError):
            held.append(opened(port, first))
    thread = threading.Thread(target=come_again, daemon=True)
    thread.start()
    try:
        yield held
    finally:
        over.set()
        thread.join()
        for sock in held:
            sock.close()


def opened(port: int, first: bytes) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), timeout=CONNECTED_S)
    sock.sendall(first)
    return sock


def is_closed(sock: socket.socket) -> bool:
    """Returns whether the server has closed the connection."""
    try:
        sock.setblocking(False)
        while data := sock.recv(65536):
            del data
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


def ask(url: str, for_s: float, every_s: float = 0.25) -> Answers:
    """Requests a page again and again, each time on a new connection."""
    seconds, failed, end = [], 0, time.monotonic() + for_s
    while time.monotonic() < end:
        began = time.monotonic()
        try:
            requests.get(url, timeout=ANSWER_S, headers={"Connection": "close"}).raise_for_status()
            seconds.append(time.monotonic() - began)
        except requests.RequestException:
            failed += 1
        time.sleep(every_s)
    return Answers(seconds, failed)


def threads_of(pid: int) -> int:
    """Returns the number of threads of a process and its children."""
    parent = psutil.Process(pid)
    return sum(process.num_threads() for process in [parent, *parent.children(recursive=True)])


def while_flooded(port: int, count: int, first: bytes, paths: list[str], for_s: float, pid: int) -> Iterator[str]:
    """Yields lines with each page's answers meanwhile, and the most threads."""
    most = 0
    over = threading.Event()

    def count_threads() -> None:
        nonlocal most
        while not over.wait(0.2):
            most = max(most, threads_of(pid))

    counting = threading.Thread(target=count_threads, daemon=True)
    counting.start()
    try:
        with flood(port, count, first):
            for path in paths:
                yield f"  {path}: {ask(f'http://127.0.0.1:{port}{path}', for_s)}"
    finally:
        over.set()
        counting.join()
    yield f"  at most {most} threads"
