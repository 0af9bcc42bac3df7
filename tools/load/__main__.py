"""`python -m tools.load [SCENARIO …]`: starts a server with the fake model, load-tests it, and prints the figures."""

from __future__ import annotations

import argparse
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests

from tests.support.live_server import LiveServer
from tests.support.viewer import Viewer
from tools.load.crowd import crowd
from tools.load.floods import HALF_BODY, HALF_HEAD, HANDSHAKE, Answers, while_flooded
from tools.load.hanging import hung
from tools.load.keeping import kept
from tools.load.many_rooms import many_rooms
from tools.load.room import room

PAGES = ["/healthz", "/"]
FOR_S = 8.0
CLASS = 40
FILES_OF_A_PAGE = [
    "/",
    "/static/main.js",
    "/static/shared/log/client.js",
    "/readyz",
    "/static/stage/page/app.js",
    "/healthz",
]


def flooded(first: bytes, count: int) -> Callable[[LiveServer], Iterator[str]]:
    return lambda server: while_flooded(server.port, count, first, PAGES, FOR_S, server.process.pid)


def a_class(server: LiveServer) -> Iterator[str]:
    """Opens forty pages behind one address at the same moment, each with a run that it watches."""
    server.start_run(max_new_tokens=1)
    at_once = threading.Barrier(CLASS)

    def one(_: int) -> tuple[list[float], int, str]:
        at_once.wait()
        seconds, refused = [], 0
        with requests.Session() as session:
            for path in FILES_OF_A_PAGE:
                response = session.get(server.url + path.lstrip("/"), timeout=60)
                seconds.append(response.elapsed.total_seconds())
                refused += response.status_code >= 400
        viewer = Viewer(server.url)
        started = server.post("api/runs", {"prompt": "abc", "max_new_tokens": 4})
        if started.status_code == 201:
            viewer.watch(started.json()["id"])
            viewer.wait_for_close()
        viewer.leave()
        return seconds, refused, str(started.status_code)

    with ThreadPoolExecutor(CLASS) as pool:
        pages = list(pool.map(one, range(CLASS)))
    answers = Answers(
        [second for seconds, _, _ in pages for second in seconds], sum(refused for _, refused, _ in pages)
    )
    started = [status for _, _, status in pages]
    yield f"  files of {CLASS} pages: {answers}"
    yield "  runs asked for: " + ", ".join(f"{started.count(status)} × {status}" for status in sorted(set(started)))


SCENARIOS: dict[str, tuple[str, list[str], Callable[[LiveServer], Iterator[str]]]] = {
    "half-heads": ("1,050 connections that send half a head", [], flooded(HALF_HEAD, 1050)),
    "half-bodies": ("1,050 connections that send half a body", [], flooded(HALF_BODY, 1050)),
    "handshakes": ("2,000 polling handshakes that nobody goes on with", [], flooded(HANDSHAKE, 2000)),
    "class": (f"{CLASS} pages behind one address, opened at once", [], a_class),
    "kept": ("20 clients, 300 requests each on one connection, now and then with a large unwanted body", [], kept),
    "hung": ("an engine that is stopped in the middle of a run", [], hung),
    "viewers": (
        "500 viewers of one run",
        ["--max-viewers-per-address", "600"],
        lambda server: crowd(server, 500, 30),
    ),
    "room": (
        "a presenter who acts 200 times, and 500 followers; a tenth of them lose their connection",
        ["--max-viewers-per-address", "600"],
        lambda server: room(server, 500, 200, 0.25),
    ),
    "rooms": (
        "40 rooms at once, 12 followers each",
        ["--max-viewers-per-address", "600"],
        lambda server: many_rooms(server, 40, 12, 10, 4.0),
    ),
    "room-pages": (
        "a presenter who acts 30 times, and 500 followers, 20 of them in browsers",
        ["--max-viewers-per-address", "600"],
        lambda server: room(server, 480, 30, 3.0, 20),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.load", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", help=f"of {', '.join(SCENARIOS)}; all by default")
    for name in parser.parse_args().scenarios or list(SCENARIOS):
        what, options, run = SCENARIOS[name]
        print(f"{name}: {what}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            server = LiveServer(Path(folder) / "data", "delay=0.2", options=options)
            try:
                for line in run(server):
                    print(line, flush=True)
                print(f"  {len(server.errors.splitlines())} lines on standard error", flush=True)
            finally:
                server.close()


if __name__ == "__main__":
    main()
