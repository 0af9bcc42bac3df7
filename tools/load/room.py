"""Many followers of one room: how soon each gets the presenter's place, whether all end at it, and what each costs."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import re
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from typing import Any

import psutil
import requests
import socketio

from tests.support.live_server import LiveServer
from tests.support.viewer import Viewer
from tools.load.room_pages import Place, delays, following

PROCESSES = 2
SAVED = re.compile(r"s/([a-z2-7]{12,})")
"""The link of a saved run."""
TOKENS, RUNS = 40, 3
LEAVING = 0.1
"""Share of the followers that lose their connection, each at a random moment, for up to `AWAY_S`."""
AWAY_S = 2.0
LATEST_S = 20.0


@dataclass(slots=True)
class Arrivals:
    """What the followers of one process got.

    `delays`: seconds from the presenter's action to a follower; `wrong`: followers that do not end at the last place.
    """

    delays: list[float] = field(default_factory=list)
    rejoined: int = 0
    wrong: int = 0


class Follower:
    """A Socket.IO client in a room."""

    def __init__(self, url: str, code: str, arrivals: Arrivals) -> None:
        self._url, self._code, self._arrivals = url, code, arrivals
        self.address = ""

    async def join(self) -> None:
        """Connects and follows."""
        self._client = socketio.AsyncClient(reconnection=False, handle_sigint=False)
        self._client.on("room", self._take)
        await self._client.connect(self._url, transports=["websocket"], wait_timeout=60)
        answer = await self._client.call("follow", {"room": self._code}, timeout=60)
        self.address = answer["room"]["place"]["address"]

    async def _take(self, room: dict[str, Any]) -> None:
        self.address = room["place"]["address"]
        self._arrivals.delays.append(time.monotonic() - sent_at(self.address))

    async def rejoin(self, after_s: float) -> None:
        """Loses its connection after this time, and joins again later."""
        await asyncio.sleep(after_s)
        await self.leave()
        await asyncio.sleep(random.uniform(0, AWAY_S))
        await self.join()
        self._arrivals.rejoined += 1

    async def leave(self) -> None:
        """Disconnects."""
        await self._client.disconnect()


def address_now(path: str, place: Place) -> str:
    """Returns an address that ends in the present moment, so that a follower knows when the presenter sent it."""
    step, layer, head = place
    return f"{path}#step={step}&layer={layer}&head={head}&view=head&at={time.monotonic()}"


def sent_at(address: str) -> float:
    """Returns the moment that an address names, in seconds of the machine's monotonic clock."""
    return float(address.rpartition("=")[2])


async def _follow(url: str, code: str, count: int, span_s: float, joined: Any, last: Queue[str]) -> Arrivals:
    arrivals = Arrivals()
    followers = [Follower(url, code, arrivals) for _ in range(count)]
    for follower in followers:
        await follower.join()
    joined.release()
    leaving = random.sample(followers, round(LEAVING * count))
    rejoining = [asyncio.ensure_future(each.rejoin(random.uniform(0, span_s))) for each in leaving]
    address = await asyncio.to_thread(last.get)
    await asyncio.gather(*rejoining)
    latest = time.monotonic() + LATEST_S
    while (wrong := sum(follower.address != address for follower in followers)) and time.monotonic() < latest:
        await asyncio.sleep(0.05)
    arrivals.wrong = wrong
    for follower in followers:
        await follower.leave()
    return arrivals


def follow_many(
    url: str, code: str, count: int, span_s: float, joined: Any, last: Queue[str], results: Queue[Arrivals]
) -> None:
    """Follows a room with `count` clients, in a separate process. `span_s`: how long the presenter acts."""
    results.put(asyncio.run(_follow(url, code, count, span_s, joined, last)))


def runs_s(url: str, count: int) -> list[float]:
    """Returns the seconds that each of some runs, one after the other, takes to reach a viewer."""
    times = []
    for _ in range(count):
        began = time.monotonic()
        viewer = Viewer(url)
        run = requests.post(f"{url}api/runs", json={"prompt": "abc", "max_new_tokens": TOKENS}, timeout=60).json()["id"]
        viewer.watch(run)
        viewer.wait_for_close(120)
        viewer.leave()
        times.append(time.monotonic() - began)
    return times


def spread(seconds: list[float]) -> str:
    """Returns the median, 95 % and the longest of sorted times, in words."""
    median, most = statistics.median(seconds), seconds[len(seconds) * 95 // 100]
    return f"{len(seconds):,} arrivals, median {median:.3f} s, 95 % {most:.3f} s, longest {seconds[-1]:.3f} s"


def room(server: LiveServer, count: int, actions: int, between_s: float, browsers: int = 0) -> Iterator[str]:
    """Yields lines with the figures of a room whose presenter acts now and then.

    `count`: followers by socket alone; `browsers`: more of them, each a page; `between_s`: seconds between two actions.
    """
    server.finished(server.start_run(max_new_tokens=TOKENS))
    alone = statistics.median(runs_s(server.url, RUNS))
    web = psutil.Process(server.process.pid).children()[0]
    before = web.memory_info().rss
    path = f"/s/{SAVED.findall(server.get('gallery').text)[0]}"
    opened = server.post("api/rooms", {"address": address_now(path, (0, 0, 0))}).json()
    place, secret = f"{server.url}api/rooms/{opened['code']}/place", {"Authorization": f"Bearer {opened['secret']}"}
    context = multiprocessing.get_context("spawn")
    span_s = actions * between_s
    joined, results, lasts = context.Semaphore(0), context.Queue(), [context.Queue() for _ in range(PROCESSES)]
    parts = [count // PROCESSES + (number < count % PROCESSES) for number in range(PROCESSES)]
    processes = [
        context.Process(
            target=follow_many,
            args=(server.url, opened["code"], part, span_s, joined, last, results),
            daemon=True,
        )
        for part, last in zip(parts, lasts, strict=True)
    ]
    for process in processes:
        process.start()
    for _ in processes:
        joined.acquire()
    each = (web.memory_info().rss - before) / count

    sent: dict[Place, float] = {}
    with (
        following(server.url, opened["code"], browsers) as pages,
        ThreadPoolExecutor(1) as pool,
        requests.Session() as presenter,
    ):
        presenter.headers.update(secret)
        began, runs = time.monotonic(), pool.submit(runs_s, server.url, RUNS)
        for number in range(actions):
            time.sleep(max(0.0, began + number * between_s - time.monotonic()))
            chosen = 1 + number % 9, number // 9 % 30, number % 7
            sent[chosen], address = time.time(), address_now(path, chosen)
            presenter.put(place, json={"address": address}, timeout=30).raise_for_status()
        meanwhile = statistics.median(runs.result())
        in_browsers, wrong = delays(pages, sent)
    if browsers:
        yield f"  {browsers} browsers, {wrong} at a wrong place: {spread(in_browsers)}"
    for last in lasts:
        last.put(address)
    arrivals = [results.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    yield f"  sockets: {spread(sorted(delay for one in arrivals for delay in one.delays))}"
    yield f"  {sum(one.rejoined for one in arrivals)} rejoined; {sum(one.wrong for one in arrivals)} at a wrong place"
    yield f"  {each / 1024:.0f} KB of the web process per follower"
    yield f"  a run of {TOKENS} tokens: {meanwhile:.2f} s, {meanwhile / alone:.2f} × its time before ({alone:.2f} s)"
