"""Many viewers of one run: whether all get the same bytes, the spread of their times, and what each costs."""

from __future__ import annotations

import hashlib
import multiprocessing
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.queues import Queue
from typing import Any

import psutil
import requests

from tests.support.live_server import LiveServer
from tests.support.viewer import Viewer, kind
from tools.load.floods import ask

PROCESSES = 4
LONGEST_S = 240


class TimedViewer(Viewer):
    """A viewer that stores the time of each frame and a hash of all bytes."""

    def __init__(self, url: str) -> None:
        self.times: list[float] = []
        self.digest = hashlib.sha256()
        self.closed = threading.Event()
        super().__init__(url)

    def take(self, payload: bytes) -> None:
        self.times.append(time.monotonic())
        self.digest.update(payload)
        if kind(payload) == "close":
            self.closed.set()


@dataclass(frozen=True, slots=True)
class Seen:
    """What one viewer got."""

    digest: str
    times: list[float]


def watch_many(url: str, run: str, count: int, connected: Any, go: Any, results: Queue[list[Seen]]) -> None:
    """Watches one run with `count` viewers, in a separate process."""
    viewers = [TimedViewer(url) for _ in range(count)]
    for viewer in viewers:
        viewer.watch(run)
    connected.release()
    go.wait()
    for viewer in viewers:
        viewer.closed.wait(LONGEST_S)
    results.put([Seen(viewer.digest.hexdigest(), viewer.times) for viewer in viewers])
    for viewer in viewers:
        viewer.leave()


def crowd(server: LiveServer, count: int, tokens: int) -> Iterator[str]:
    """Yields lines with the figures."""
    web = psutil.Process(server.process.pid).children()[0]
    before = web.memory_info().rss
    run = server.start_run(max_new_tokens=tokens)
    server.post(f"api/runs/{run}/control", {"action": "pause"})
    context = multiprocessing.get_context("spawn")
    connected, go, results = context.Semaphore(0), context.Event(), context.Queue()
    share = [count // PROCESSES + (number < count % PROCESSES) for number in range(PROCESSES)]
    watching = [
        context.Process(target=watch_many, args=(server.url, run, part, connected, go, results), daemon=True)
        for part in share
    ]
    for process in watching:
        process.start()
    for _ in watching:
        connected.acquire()
    each = (web.memory_info().rss - before) / count
    requests.post(f"{server.url}api/runs/{run}/control", json={"action": "resume"}, timeout=30)
    go.set()
    page = ask(f"{server.url}healthz", 10)
    seen = [one for _ in watching for one in results.get(timeout=LONGEST_S)]
    for process in watching:
        process.join()
    stored = server.finished(run)
    whole = hashlib.sha256(b"".join(stored)).hexdigest()
    same = sum(one.digest == whole for one in seen)
    # The first frames were stored before the viewers came.
    spreads = sorted(
        max(times) - min(times) for times in zip(*(one.times[4:] for one in seen if one.digest == whole), strict=True)
    )
    yield f"  {same} of {count} viewers have all {len(stored)} frames, byte for byte"
    if spreads:
        p95 = spreads[int(0.95 * (len(spreads) - 1))]
        yield f"  first to last viewer of a frame: median {statistics.median(spreads):.2f} s, p95 {p95:.2f} s"
    yield f"  {each / 1024:.0f} KB of the web process per viewer"
    yield f"  /healthz meanwhile: {page}"
