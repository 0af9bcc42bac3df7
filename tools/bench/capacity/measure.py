"""Measures what a server takes for each part of serving a run: a profile for `kvscope plan`."""

from __future__ import annotations

import multiprocessing
import time
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import requests

from kvscope.app.plan.profile import Profile
from kvscope.model.engine.scheduler import PREFILL_CHUNK
from kvscope.model.log.frames import from_stream, header
from kvscope.model.service.service import CAPACITY_POSITIONS
from kvscope.model.settings import MAX_NEW_TOKENS, MAX_PROMPT_TOKENS
from tools.bench.capacity.served import Arrivals, Person, Served, timed
from tools.load.crowd import watch_many

TOGETHER = (1, 2, 4, 8, 16)
PROMPTS = (8, 32, 128, 384)
STEPS = 64
TURNS = 4
STARTS, VIEWERS, READS = 20, 24, 5
LEAST_MS = 0.001
"""What a profile says of a part that takes too little to be measured."""


@dataclass(frozen=True, slots=True)
class Written:
    """The frames of a run between its first and its last, and how long its prompt was."""

    payloads: list[bytes]
    prompt: int

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return sum(map(len, self.payloads))

    @property
    def parts(self) -> tuple[int, int, int]:
        """Steps, rows, and attention weights."""
        steps = sum(header(payload).kind == "step" for payload in self.payloads)
        chunks = [(at, min(at + PREFILL_CHUNK, self.prompt)) for at in range(0, self.prompt, PREFILL_CHUNK)]
        decoded = range(self.prompt + 1, self.prompt + steps)
        weights = sum((end - first) * end for first, end in chunks) + sum(decoded)
        return steps, self.prompt + len(decoded), weights

    @property
    def passes(self) -> int:
        """Of the engine."""
        return -(-self.prompt // PREFILL_CHUNK) + self.parts[0] - 1


def measured(served: Served, command: str, machine: str, page: dict[str, float], database: dict[str, float]) -> Profile:
    """All of it. `page`, `database`: members of the profile that other functions measure."""
    start_s, request_ms = starts(served)
    step = [{"runs": count, "ms": 1000 * step_s(served, count)} for count in TOGETHER]
    logs = [log_of(served, served.prompt_of(prompt), tokens) for prompt, tokens in ((8, STEPS), (128, 2), (384, 4))]
    log = log_bytes(logs)
    web = {"request_ms": request_ms, "status_ms": status_ms(served)}
    web |= storing(served, request_ms) | watching(served, logs[1]) | compressing(logs)
    web |= {"read_mb_ms": reading(served)} | page
    call_ms = max(LEAST_MS, (1000 * start_s - request_ms) / 2)
    found: dict[str, Any] = {
        "format": "kvscope capacity 1",
        "machine": machine,
        "model": str(served.server.get("readyz").json()["model"]["name"]),
        "date": date.today().isoformat(),
        "command": command,
        "step": step,
        "call_ms": call_ms,
        "chunk": PREFILL_CHUNK,
        "positions": CAPACITY_POSITIONS - MAX_PROMPT_TOKENS - MAX_NEW_TOKENS,
        "log": log,
        "web": web,
        "database": database,
    }
    draft = Profile.model_validate(found | {"prefill": [{"tokens": at, "ms": 1.0 + at} for at in (1, 2)]})
    return Profile.model_validate(found | {"prefill": prefill(served, draft, start_s)})


def starts(served: Served) -> tuple[float, float]:
    """Seconds until a run has started on an idle server; ms of the web process for it and for its one step."""
    before, took = served.web_s(), []
    for number in range(STARTS):
        took.append(timed(lambda number=number: served.ask(Person(number), "The sky is", 1)))
        time.sleep(0.1)
    return min(took), 1000 * (served.web_s() - before) / STARTS


def status_ms(served: Served) -> float:
    """Of the web process, to answer for the state of a run."""
    run = served.start(Person(0), "The sky is", 1)
    served.wait_for_end(run)
    before = served.web_s()
    for _ in range(5 * STARTS):
        served.status(run)
    return 1000 * (served.web_s() - before) / (5 * STARTS)


def started_together(served: Served, count: int, tokens: int) -> list[str]:
    """As many runs, all asked for at once, each by somebody at another address."""
    with ThreadPoolExecutor(count) as pool:
        return list(
            pool.map(lambda number: served.start(Person(number), f"{number} is a number", tokens), range(count))
        )


def step_s(served: Served, count: int) -> float:
    """Mean time between two steps of so many runs that decode, in the fastest of some turns: other programs can only
    make one slower.
    """
    turns = []
    for _ in range(TURNS):
        viewer = Arrivals(served.url)
        runs = started_together(served, count, STEPS)
        viewer.watch(runs[-1])
        viewer.wait_for_close(300)
        viewer.leave()
        for run in runs:
            served.wait_for_end(run)
        # The first of them began some steps earlier and so ends earlier.
        steps = viewer.steps()[STEPS // 4 : STEPS * 3 // 4]
        turns.append((steps[-1] - steps[0]) / (len(steps) - 1))
    return min(turns)


def log_of(served: Served, prompt: str, tokens: int) -> Written:
    """The log of a run of its own."""
    run = served.start(Person(1), prompt, tokens)
    return written(served, run)


def written(served: Served, run: str) -> Written:
    """The log of a run, once it has ended."""
    served.wait_for_end(run)
    response = requests.get(f"{served.url}api/runs/{run}/frames?after=-1", timeout=120)
    return Written(list(from_stream(response.content))[1:-1], int(served.status(run)["prompt_tokens"]))


def log_bytes(logs: Sequence[Written]) -> dict[str, float]:
    """What a step, a row and an attention weight add to a log."""
    found = solved([log.parts for log in logs], [log.size for log in logs])
    return dict(zip(("step", "row", "weight"), found, strict=True))


def solved(rows: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    """What each column adds, by least squares, none of them less than nothing."""
    matrix, wanted = np.asarray(rows, float), np.asarray(values, float)
    kept = list(range(matrix.shape[1]))
    while True:
        found = np.linalg.lstsq(matrix[:, kept], wanted, rcond=None)[0]
        if (found >= 0).all() or len(kept) == 1:
            break
        del kept[int(found.argmin())]
    result = [LEAST_MS] * matrix.shape[1]
    for place, value in zip(kept, found, strict=True):
        result[place] = max(LEAST_MS, float(value))
    return result


def storing(served: Served, request_ms: float) -> dict[str, float]:
    """ms of the web process for a pass, a frame and a MB that it stores while nobody watches."""
    rows, values = [], []
    for count, prompt, tokens in ((1, 8, STEPS), (8, 8, STEPS), (1, 384, 2), (1, 128, 2)):
        text, before = served.prompt_of(prompt), served.web_s()
        runs = [served.start(Person(2), text, tokens)] if count == 1 else started_together(served, count, tokens)
        while served.status(runs[0])["status"] != "closed":
            time.sleep(1)
        spent = 1000 * (served.web_s() - before) - count * request_ms
        logs = [written(served, run) for run in runs]
        frames, size = sum(len(log.payloads) for log in logs), sum(log.size for log in logs)
        rows.append((logs[0].passes, frames, size / 1e6))
        values.append(max(0.0, spent))
    return dict(zip(("pass_ms", "frame_ms", "mb_ms"), solved(rows, values), strict=True))


def watching(served: Served, large: Written) -> dict[str, float]:
    """ms of the web process to send a frame and a MB to one viewer, with none compressed."""
    rows, values = [], []
    for prompt, tokens in ((8, 2), (8, STEPS), (large.prompt, 2)):
        text = served.prompt_of(prompt)
        alone, log = web_ms(served, text, tokens, 0), log_of(served, text, tokens)
        spent = web_ms(served, text, tokens, VIEWERS) - alone
        rows.append((1, len(log.payloads), log.size / 1e6))
        values.append(max(0.0, spent / VIEWERS))
    _, frame_ms, mb_ms = solved(rows, values)  # the first is of connecting, which a visit includes
    return {"viewer_frame_ms": frame_ms, "viewer_mb_ms": mb_ms}


def web_ms(served: Served, prompt: str, tokens: int, viewers: int) -> float:
    """Of the web process for a run that so many watch, from a process of their own."""
    context = multiprocessing.get_context("spawn")
    connected, go, results = context.Semaphore(0), context.Event(), context.Queue()
    before = served.web_s()
    run = served.start(Person(3), prompt, tokens)
    if viewers:
        arguments = (served.url, run, viewers, connected, go, results)
        watching = context.Process(target=watch_many, args=arguments, daemon=True)
        watching.start()
        go.set()
        results.get(timeout=240)
        watching.join()
    else:
        served.wait_for_end(run, every_s=1.0)
    return 1000 * (served.web_s() - before)


def compressing(logs: Sequence[Written]) -> dict[str, float]:
    """What a websocket's compression takes, and what it leaves, with zlib as wsproto calls it."""
    payloads = [payload for log in logs for payload in log.payloads]
    size = sum(map(len, payloads))
    deflate, before, left = zlib.compressobj(wbits=-15), time.process_time(), 0
    for payload in payloads:
        left += len(deflate.compress(payload)) + len(deflate.flush(zlib.Z_SYNC_FLUSH))
    return {"deflate_mb_ms": 1000 * (time.process_time() - before) / (size / 1e6), "deflated": left / size}


def reading(served: Served) -> float:
    """ms of the web process for each MB of a stored run that somebody reads over HTTP."""
    run = served.start(Person(4), served.prompt_of(128), STEPS)
    served.wait_for_end(run)
    before, size = served.web_s(), 0
    for _ in range(READS):
        after = -1
        while frames := list(from_stream(requests.get(f"{served.url}api/runs/{run}/frames?after={after}").content)):
            size += sum(map(len, frames))
            after += len(frames)
    return max(LEAST_MS, 1000 * (served.web_s() - before) / (size / 1e6))


def prefill(served: Served, profile: Profile, start_s: float) -> list[dict[str, float]]:
    """What is left of the time until a first token is stored, without its start and the storing of its last pass."""
    points = []
    for tokens in PROMPTS:
        prompt, took, length = served.prompt_of(tokens), [], 0
        for _ in range(TURNS):
            began = time.perf_counter()
            run = served.start(Person(5), prompt, 1)
            while (status := served.status(run)).get("steps", 0) < 1:
                time.sleep(0.002)
            took.append(time.perf_counter() - began)
            length = int(status["prompt_tokens"])
        rows = (length - 1) % profile.chunk + 1
        frames, size = (
            profile.frames(rows, length, chooses=True),
            profile.pass_bytes(rows, length, chooses=True),
        )
        seconds = min(took) - start_s - profile.store_s(frames, size)
        points.append({"tokens": length, "ms": max(LEAST_MS, 1000 * seconds)})
    return points
