"""`python -m tools.faults.all_at_once`: attacks a server with half requests, half handshakes, idle sockets, files and
readers at once.

Prints the times of `/healthz` and `/` meanwhile, the memory of both processes and the lines of the log.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import requests

from tests.support.live_server import LiveServer, engine_of
from tests.support.waiting import eventually
from tools.faults.attack import PROXY, READERS, STRANGER, file_of_elements, said_by, together, web_of
from tools.faults.numbers import BINARY
from tools.load.floods import HALF_HEAD, HANDSHAKE, Answers, ask, flood

HALF_REQUESTS, HALF_HANDSHAKES, IDLE = 1050, 500, 200
LONGEST_S = 1.0
FILES_S = 3.0
"""Interval between two files."""
FILE_ELEMENTS = 2_000_000


def attacked(server: LiveServer, seconds: float) -> tuple[dict[str, Answers], Counter[str], dict[str, float]]:
    """Returns the answers of each page, the counts of the attackers' answers, and the most memory of both processes, in
    MB.
    """
    statuses: Counter[str] = Counter()
    memory: dict[str, float] = {}
    file = file_of_elements(FILE_ELEMENTS)
    stranger = said_by(STRANGER, "somebody-who-reads")

    def upload(over: threading.Event) -> None:
        while not over.wait(FILES_S):
            with suppress(requests.RequestException):
                answer = requests.post(f"{server.url}api/sessions", data=file, headers=BINARY | stranger, timeout=60)
                statuses[f"file {answer.status_code}"] += 1

    def read(over: threading.Event) -> None:
        while not over.is_set():
            with suppress(requests.RequestException):
                answer = requests.get(f"{server.url}api/runs/{run}/lens?step=0", headers=stranger, timeout=60)
                statuses[f"read {answer.status_code}"] += 1
                over.wait(float(answer.headers.get("Retry-After", 0)))

    def weigh(over: threading.Event) -> None:
        while not over.wait(0.5):
            for name, process in (("web", web_of(server)), ("engine", engine_of(server))):
                memory[name] = max(memory.get(name, 0.0), process.memory_info().rss / 1e6)

    run = server.start_run(max_new_tokens=4)
    server.finished(run)
    with ExitStack() as stack:
        stack.enter_context(flood(server.port, HALF_REQUESTS, HALF_HEAD))
        stack.enter_context(flood(server.port, HALF_HANDSHAKES, HANDSHAKE))
        stack.enter_context(flood(server.port, IDLE, b""))
        stack.enter_context(together([upload, weigh, *[read] * READERS]))
        with ThreadPoolExecutor() as pool:
            pages = {path: pool.submit(ask, f"{server.url}{path[1:]}", seconds) for path in ("/healthz", "/")}
            return {path: answers.result() for path, answers in pages.items()}, statuses, memory


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.faults.all_at_once", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    seconds = parser.parse_args(arguments).seconds
    with tempfile.TemporaryDirectory() as folder:
        server = LiveServer(Path(folder) / "data", None, service="kvscope.model.service:load_service", options=PROXY)
        try:
            eventually(lambda: server.get("readyz").ok, 300)
            time.sleep(1)
            pages, statuses, memory = attacked(server, seconds)
            for path, answers in pages.items():
                print(f"{path}: {answers}")
            print(f"answers: {dict(sorted(statuses.items()))}")
            print("; ".join(f"{name} {most:.0f} MB at most" for name, most in memory.items()))
            written = server.errors
            print(f"{len(written.splitlines())} lines in the log, {written.count('Traceback')} tracebacks")
        finally:
            server.close()
    late = [each for each in pages.values() if each.failed or max(each.seconds, default=0.0) > LONGEST_S]
    return 1 if late or "Traceback" in written else 0


if __name__ == "__main__":
    sys.exit(main())
