"""`python -m tools.bench.as_served`: measures the engine in a server started with one command, as users start it.

Servers with native code and without it take turns, round after round. Each computes a run that is started and played on
the page in Chromium, on the same processors; and, behind a proxy, eight runs at once, each with a viewer on another
machine. `--code FOLDER` adds an earlier checkout of this project that was installed there (`pip install -e .` fills its
`static/vendor`).
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests
from playwright.sync_api import Browser, sync_playwright

from kvscope.model.checkpoint.fetch import fetch
from kvscope.model.cuda_graphs import GRAPHED
from kvscope.model.service.loading import NATIVE
from tests.support.chromium import launched
from tests.support.server import ROOT, RUN_S, Server
from tests.support.stage import Stage
from tests.support.viewer import Viewer, kind
from tests.support.waiting import eventually
from tools.bench.__main__ import PROMPT
from tools.bench.contenders import EIGHT
from tools.bench.page import follow, serving, visit
from tools.bench.ratios import Claim, print_claims, print_table, spread

TOKENS = 96
PATIENCE_S = 600
LOOK_S = 0.1
"""Interval between looks. Each takes a few ms of the processors that the model is loaded on."""
MB = 1e6
PROXY = ("--proxy", "127.0.0.1")
ELSEWHERE = {"X-Forwarded-For": "203.0.113.7"}
"""The header by which that proxy names the sender of a request."""
STEP, ARRIVAL, TOGETHER = (
    "one run watched here: a step, ms",
    "… and from step to step as they come to the page, ms",
    "eight runs watched elsewhere: tokens/s",
)
MEASURED = (STEP, ARRIVAL, TOGETHER)


@dataclass(frozen=True, slots=True)
class Side:
    """A server of the code in a folder, started with these options."""

    name: str
    code: Path
    compiling: tuple[str, ...]


PLAIN, FAST = "without native code", "with native code"
NOW = (Side(PLAIN, ROOT, ("--compile", "off")), Side(FAST, ROOT, ("--compile", "auto")))


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds from the start of the process until the server is ready, and the memory of the process with the model.

    `first_s`: from the POST of a run to its end after one token, once the model is ready.
    """

    ready_s: float
    first_s: float
    ready_bytes: int


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.as_served", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="turns each server takes")
    parser.add_argument("--code", type=Path, help="folder of an earlier checkout")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    options = parser.parse_args()
    sides = ((Side("before", options.code, ()),) if options.code else ()) + NOW
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        use_cache(Path(folder) / "cache")
        servers: dict[str, tuple[Server, Server]] = {}
        starts: dict[str, tuple[Start, Start]] = {}
        for side in sides:
            here = started(side, Path(folder) / f"{side.name}, here", "--device", options.device)
            beside_browser, first = running.enter_context(here)
            elsewhere = started(side, Path(folder) / f"{side.name}, elsewhere", "--device", options.device, *PROXY)
            behind_proxy, second = running.enter_context(elsewhere)
            servers[side.name], starts[side.name] = (beside_browser, behind_proxy), (first, second)
        playwright = running.enter_context(sync_playwright())
        with closing(launched(playwright.chromium)) as chromium:
            rounds = [
                {key: value for name, pair in servers.items() for key, value in measured(name, *pair, chromium)}
                for _ in range(options.rounds)
            ]
        sizes = [f"{server.engine_bytes / MB:,.0f}" for server, _ in servers.values()]
    print_table(("", *servers), [*start_rows(starts), ("engine's memory in the end, MB", *sizes)])
    print_table(
        ("median (min to max)", *servers),
        ((what, *(spread([one[f"{what}, {name}"] for one in rounds]) for name in servers)) for what in MEASURED),
    )
    print_claims(rounds, [claim for name in ("before", PLAIN) for claim in claims_against(name)])
    print(f"\nmeasured in {time.perf_counter() - began:.0f} s")


def use_cache(folder: Path) -> None:
    """Makes servers use a cache folder that has the model and no compiled code."""
    model = fetch(lambda progress: None)
    folder.mkdir()
    (folder / model.name).symlink_to(model)
    os.environ["KVSCOPE_CACHE"] = str(folder)


@contextmanager
def started(side: Side, folder: Path, *options: str) -> Iterator[tuple[Server, Start]]:
    """Yields a server that is ready. Ends the command if it lacks the native code or graphs that it should have."""
    began = time.perf_counter()
    with serving(folder, *options, code=side.code, compiling=side.compiling) as server:
        eventually(lambda: server.ready, PATIENCE_S, LOOK_S)
        ready, ready_bytes = time.perf_counter(), server.engine_bytes
        server.finished_run(PROMPT, max_new_tokens=1)
        answered = time.perf_counter()
        if "auto" in side.compiling and server.compiled not in (NATIVE, GRAPHED):
            raise SystemExit(server.compiled)
        yield server, Start(ready - began, answered - ready, ready_bytes)


def measured(name: str, beside_browser: Server, behind_proxy: Server, chromium: Browser) -> Iterator[tuple[str, float]]:
    """Yields the measurements of one side's servers in one round."""
    step, arrival = watched_here(beside_browser, chromium)
    yield f"{STEP}, {name}", step
    yield f"{ARRIVAL}, {name}", arrival
    yield f"{TOGETHER}, {name}", watched_elsewhere(behind_proxy)


def watched_here(server: Server, chromium: Browser) -> tuple[float, float]:
    """Returns the median ms of the decode steps, by the log, and the mean ms from one step to the next in Chromium."""
    with visit(chromium, f"{server.url}#view=head") as page:
        run = Stage(page, server).run(PROMPT, TOKENS)
        follow(page)
        arrived = page.evaluate("window.arrived")
    steps = [step["ms"]["total"] for step in server.log(run).steps if step["phase"] == "decode"]
    return statistics.median(steps), (arrived[-1] - arrived[0]) / (len(arrived) - 1)


def watched_elsewhere(server: Server) -> float:
    """Returns the tokens per second of all runs together, from the first POST to the last frame that a viewer has."""
    viewers = [Viewer(server.url, headers=ELSEWHERE) for _ in range(EIGHT)]
    began = time.perf_counter()
    for viewer in viewers:
        body = {"prompt": PROMPT, "max_new_tokens": TOKENS, "reuse": False}
        started = requests.post(f"{server.url}api/runs", json=body, headers=ELSEWHERE, timeout=60)
        started.raise_for_status()
        viewer.watch(started.json()["id"])
    steps = sum(kind(frame) == "step" for viewer in viewers for frame in viewer.wait_for_close(RUN_S))
    rate = steps / (time.perf_counter() - began)
    for viewer in viewers:
        viewer.leave()
    return rate


def start_rows(starts: dict[str, tuple[Start, Start]]) -> Iterator[tuple[str, ...]]:
    for which, when in enumerate(("first start", "second start")):
        took = [start[which] for start in starts.values()]
        yield f"{when}: ready, s", *(f"{start.ready_s:.1f}" for start in took)
        yield f"{when}: then a run's first token, s", *(f"{start.first_s:.2f}" for start in took)
        yield f"{when}: engine's memory when ready, MB", *(f"{start.ready_bytes / MB:,.0f}" for start in took)


def claims_against(name: str) -> tuple[Claim, ...]:
    """Returns the claims that compare the server with native code with another."""
    return (
        Claim(f"{STEP}: {FAST} ÷ {name}", f"{STEP}, {FAST}", f"{STEP}, {name}", at_most=0.6),
        Claim(f"{TOGETHER}: {FAST} ÷ {name}", f"{TOGETHER}, {FAST}", f"{TOGETHER}, {name}", at_least=1.8),
    )


if __name__ == "__main__":
    main()
