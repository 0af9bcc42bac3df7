"""`python -m tools.load.cluster`: compares two web processes on one PostgreSQL with one.

Prints how much later a viewer at the process that follows gets a frame than one at the leader; the time of an append
with and without the check that the process leads; and how long a client with one run waits after another has started
sixty.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import requests

from kvscope.app.store.cluster import lead
from kvscope.app.store.runs import RunLog
from kvscope.model.log.frames import encode
from tests.support.live_server import FAKE, LiveServer
from tests.support.postgres import made_database, started_cluster
from tests.support.viewer import Viewer, kind
from tests.support.waiting import eventually
from tests.support.web_processes import web_processes

APPENDS = 2000
TOKENS = 200
MANY = 60
MODEL = "delay=0.05,bytes=20000"
CROWDED = ("--max-waiting", "100", "--max-waiting-by-client", "64")
GREEDY, MODEST = "a-client-with-many-runs", "a-client-with-one-run"


class Timed(Viewer):
    """A viewer that stores the time of each frame."""

    def __init__(self, url: str) -> None:
        self.times: list[float] = []
        super().__init__(url)

    def take(self, payload: bytes) -> None:
        """Stores the time of a frame."""
        self.times.append(time.monotonic())
        super().take(payload)


def delays(leader: LiveServer, follower: LiveServer) -> Iterator[str]:
    """Yields how much later the frames of a run came to the viewer at the follower."""
    viewers = [Timed(server.url) for server in (leader, follower)]
    run = follower.start_run(max_new_tokens=TOKENS)
    for viewer in viewers:
        viewer.watch(run)
    for viewer in viewers:
        viewer.wait_for_close(120)
        viewer.leave()
    # Frames that were stored before both watched came at once.
    later = sorted(
        1000 * (theirs - ours) for ours, theirs in zip(*(viewer.times[20:] for viewer in viewers), strict=True)
    )
    yield (
        f"  {len(later)} frames come to a viewer at the follower {statistics.median(later):.1f} ms later (median), "
        f"{later[len(later) * 95 // 100]:.1f} ms (95 %), {later[-1]:.1f} ms (longest)"
    )


def appends(database: str) -> Iterator[str]:
    """Yields the time to append a frame of 20 kB, in turns without and with the check."""
    taken: dict[bool, list[float]] = {False: [], True: []}
    checks = False
    with tempfile.TemporaryDirectory() as folder, RunLog(Path(folder), database, alone=False) as log:
        with log.engine.begin() as connection:
            mine = lead.take(connection, "kvscope load", "http://127.0.0.1:1")
        log.lead(lambda connection: lead.claim(connection, mine.epoch) if checks else None, lambda _news: None)
        log.append([encode("run", 0, "open", {"tokens": [{"id": 5}], "prompt": "x"})])
        for seq in range(1, APPENDS):
            frame, checks = encode("run", seq, "layer", {"step": seq, "filling": "x" * 20_000}), not checks
            began = time.monotonic()
            log.append([frame])
            taken[checks].append(1000 * (time.monotonic() - began))
    without, with_check = (statistics.median(taken[checked]) for checked in (False, True))
    yield f"  appending a frame takes {without:.2f} ms without and {with_check:.2f} ms with the check (medians)"


def waited(first: LiveServer, second: LiveServer) -> float:
    """Returns the seconds until the first token of a client's one run at `second`, after another has started many at
    `first`.
    """

    def post(server: LiveServer, client: str) -> str:
        body: dict[str, Any] = {"prompt": client, "max_new_tokens": 40, "reuse": False}
        answer = requests.post(f"{server.url}api/runs", json=body, headers={"X-KVScope-Client": client}, timeout=60)
        assert answer.status_code in (201, 202), answer.text
        return str(answer.json()["id"])

    with ThreadPoolExecutor(8) as pool:
        many = list(pool.map(lambda _: post(first, GREEDY), range(MANY)))
    began = time.monotonic()
    mine = post(second, MODEST)
    eventually(lambda: second.get(f"api/runs/{mine}").status_code == 200, 120)
    viewer = Viewer(second.url)
    viewer.watch(mine)
    eventually(lambda: any(kind(frame) == "step" for frame in viewer.frames), 120)
    seconds = time.monotonic() - began
    viewer.leave()
    for run in [*many, mine]:
        eventually(partial(is_over, first, run), 240, every_s=0.1)
    return seconds


def is_over(server: LiveServer, run: str) -> bool:
    """Returns whether a run has ended; or is no longer queued, since nobody has requested its state for a minute."""
    return server.get(f"api/runs/{run}").json().get("status") in ("closed", 404)


@contextmanager
def alone(folder: Path, database: str) -> Iterator[LiveServer]:
    """Yields a web process without others."""
    (folder / "alone").mkdir()
    options = ["--database", database, *CROWDED]
    server = LiveServer(folder / "alone" / "data", MODEL, service=FAKE, options=options)
    try:
        eventually(lambda: server.get("readyz").ok, 60)
        yield server
    finally:
        server.close()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.load.cluster", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of one client beside another")
    rounds = parser.parse_args(arguments).rounds
    with tempfile.TemporaryDirectory() as name, started_cluster() as postgres:
        folder = Path(name)
        with made_database(postgres.url) as database:
            print("\n".join(appends(database)), flush=True)
        with made_database(postgres.url) as database, web_processes(folder, database, *CROWDED, model=MODEL) as two:
            leader, follower = two.start_two()
            print("\n".join(delays(leader, follower)), flush=True)
            print_waits("two processes, the many at the leader", rounds, lambda: waited(leader, follower))
            print_waits("two processes, the many at the follower", rounds, lambda: waited(follower, leader))
        with made_database(postgres.url) as database, alone(folder, database) as server:
            print_waits("one process", rounds, lambda: waited(server, server))


def print_waits(what: str, rounds: int, wait: Callable[[], float]) -> None:
    """Prints how long one client's run waited after the many of another."""
    seconds = sorted(wait() for _ in range(rounds))
    print(
        f"  {what}: first token after {statistics.median(seconds):.2f} s (median), {seconds[-1]:.2f} s (longest)",
        flush=True,
    )


if __name__ == "__main__":
    main()
