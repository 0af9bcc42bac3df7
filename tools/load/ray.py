"""`python -m tools.load.ray`: computes 200 runs with 100 viewers on a Ray cluster.

It has three nodes, four engines, two web processes and one PostgreSQL, all on this machine. Each viewer watches a run
through one of the web processes. The frames it got are compared with the stored ones.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests

from kvscope.model.log.frames import header
from tests.support.live_server import LiveServer
from tests.support.postgres import made_database, started_cluster
from tests.support.ray_cluster import ray_cluster
from tests.support.viewer import Viewer
from tests.support.waiting import eventually
from tests.support.web_processes import web_processes

ENGINES, NODES = 4, 2
TOKENS = 40
TOGETHER = 16
OPTIONS = ("--engines", str(ENGINES), "--engine-resources", "num_cpus=0,engine=1", "--max-waiting", "400")
LIMITS = ("--max-waiting-by-client", "400", "--max-disk", "0")
MODEL = "delay=0.03,bytes=20000"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.load.ray", description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--viewers", type=int, default=100)
    asked = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory() as folder,
        ray_cluster(NODES, ENGINES // NODES) as cluster,
        started_cluster() as postgres,
        made_database(postgres.url) as database,
        web_processes(Path(folder), database, "--ray", cluster.address, *OPTIONS, *LIMITS, model=MODEL) as processes,
    ):
        servers = processes.start_two()
        eventually(lambda: servers[0].engines_ready() == ENGINES, 300)
        return _play(servers, asked.runs, asked.viewers)


def _play(servers: Sequence[LiveServer], runs: int, viewers: int) -> int:
    """Starts the runs and watches them; prints the result. Returns 1 if a frame was lost or differs, or a run did not
    end well.
    """
    began = time.monotonic()
    with ThreadPoolExecutor(TOGETHER) as pool:
        started = list(pool.map(lambda number: _start(servers[number % 2], number), range(runs)))
        watching = [Viewer(servers[number % 2].url) for number in range(viewers)]
        for number, viewer in enumerate(watching):
            run = started[number * runs // viewers]
            eventually(lambda run=run: servers[0].get(f"api/runs/{run}").status_code == 200, 600, 0.2)
            viewer.watch(run)
    for run in started:
        eventually(lambda run=run: servers[0].get(f"api/runs/{run}").json()["status"] == "closed", 900, 0.2)
    took = time.monotonic() - began
    stored = {run: [server.frames(run) for server in servers] for run in started}
    ends = Counter(header(frames[0][-1]).data["reason"] for frames in stored.values())
    lost = sum(_is_other(frames) for frames in stored.values())
    unlike = 0
    for number, viewer in enumerate(watching):
        viewer.wait_for_close(60)
        unlike += viewer.frames != stored[started[number * runs // viewers]][0]
        viewer.leave()
    used = servers[0].get("metrics").text
    tokens = [line.split()[-1] for line in used.splitlines() if line.startswith("kvscope_engine_tokens{")]
    print(f"{runs} runs in {took:.0f} s ({60 * runs / took:.0f} per minute), ended by {dict(ends)}")
    print(f"tokens by engine: {', '.join(tokens)}")
    print(f"logs with a gap, or different at the two web processes: {lost}; viewers that saw other frames: {unlike}")
    return int(bool(lost or unlike or set(ends) - {"length", "eos"}))


def _is_other(frames: Sequence[list[bytes]]) -> bool:
    first, second = frames
    return first != second or [header(frame).seq for frame in first] != list(range(len(first)))


def _start(server: LiveServer, number: int) -> str:
    body = {"prompt": f"number {number}", "max_new_tokens": TOKENS, "reuse": False}
    response = requests.post(f"{server.url}api/runs", json=body, timeout=120)
    response.raise_for_status()
    return str(response.json()["id"])


if __name__ == "__main__":
    sys.exit(main())
