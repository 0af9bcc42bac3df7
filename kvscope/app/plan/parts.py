"""The parts of a simulated server that take time: web processes, and engines that advance all their runs together."""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import simpy

from kvscope.app.plan.profile import Profile
from kvscope.app.plan.scenario import Arrival
from kvscope.model.settings import MAX_PROMPT_TOKENS

Process = Generator[simpy.Event, Any, None]
BLOCK = 16
"""Positions of a block of the KV cache. A run reserves whole blocks (model/engine/run.py)."""
NEVER = math.inf
SLICE_S = 0.05
"""Longer work of a web process lets other work have its turn."""


@dataclass(slots=True)
class Counted:
    """Work by the second in which it was done: bytes, transactions, seconds of runs in engines and of web processes.

    `lags`: how many viewers got a part of a pass so many tenths of a second after it, rounded up.
    """

    stored_bytes: Counter[int] = field(default_factory=Counter)
    transactions: Counter[int] = field(default_factory=Counter)
    sent_bytes: Counter[int] = field(default_factory=Counter)
    run_s: defaultdict[int, float] = field(default_factory=partial(defaultdict, float))
    web_s: defaultdict[int, float] = field(default_factory=partial(defaultdict, float))
    lags: defaultdict[int, float] = field(default_factory=partial(defaultdict, float))


class WebProcess:
    """One processor's worth of Python: what it has to do, it does one after another, in the order it comes.

    Threads take turns, so long work goes in slices, between which other work has its turn.
    """

    def __init__(self, env: simpy.Environment, counted: Counted) -> None:
        self._env, self._counted, self._free_at = env, counted, 0.0

    def work(self, seconds: float) -> simpy.Timeout:
        """Take so long, once everything before is done; the event of its end."""
        now = self._env.now
        self._free_at = max(now, self._free_at) + seconds
        self._counted.web_s[int(self._free_at)] += seconds
        return self._env.timeout(self._free_at - now)

    def slices(self, seconds: float, after_each: Callable[[float, bool], None]) -> Process:
        """Take so long in slices; `after_each` gets how much of the whole each was, and whether it was the last."""
        count = max(1, math.ceil(seconds / SLICE_S))
        for left in reversed(range(count)):
            yield self.work(seconds / count)
            after_each(1 / count, not left)


@dataclass(slots=True)
class SimulatedRun:
    """One run. `first_s`: seconds from its request to its first token on the page of whoever asked; `closed_at`: when
    it ended. Both are infinite if that did not happen.
    """

    name: str
    arrival: Arrival
    web: WebProcess
    followed: simpy.Event
    """The page of whoever asked knows that it has started."""
    fed: int = 0
    chosen: int = 0
    started: bool = False
    first_s: float = NEVER
    closed_at: float = NEVER
    refused: bool = False

    @property
    def at_s(self) -> float:
        """When it is asked for."""
        return self.arrival.at_s

    @property
    def positions(self) -> int:
        """Reserved for it in the KV cache."""
        return -(-(self.arrival.prompt_tokens + self.arrival.new_tokens) // BLOCK) * BLOCK


@dataclass(frozen=True, slots=True)
class Part:
    """What one run brought to a pass. `is_first`, `is_last`: of its tokens."""

    run: SimulatedRun
    frames: int
    size: float
    is_first: bool
    is_last: bool


class Tables:
    """Seconds of passes by how many runs decode, and by how much of a prompt is read, computed once."""

    def __init__(self, profile: Profile, open_runs: int) -> None:
        self.step_s = [profile.step_s(runs) for runs in range(open_runs + 1)]
        self.prefill_s = [profile.prefill_s(tokens) for tokens in range(MAX_PROMPT_TOKENS + 1)]
        self.pass_s = profile.pass_s


class SimulatedEngine:
    """One engine process, as app/engine/process.py: it answers calls between two passes, then advances all its runs.

    `take` stores what a pass brought. Until that is done, a second pass may end but not a third.
    """

    def __init__(
        self,
        env: simpy.Environment,
        profile: Profile,
        tables: Tables,
        counted: Counted,
        web: WebProcess,
        take: Callable[[SimulatedEngine, list[Part]], simpy.Event],
    ) -> None:
        self.web = web
        self.placed, self.promised = 0, 0
        """Runs that have a place here, and positions of the KV cache reserved for them."""
        self._env, self._profile, self._counted, self._take = env, profile, counted, take
        self._tables = tables
        self._runs: list[SimulatedRun] = []
        self._calls: deque[tuple[simpy.Event, SimulatedRun | None]] = deque()
        self._called = env.event()
        env.process(self._serve())

    def call(self, starts: SimulatedRun | None = None) -> simpy.Event:
        """The event of the answer. `starts`: a run that the call starts."""
        answered = self._env.event()
        self._calls.append((answered, starts))
        if not self._called.triggered:
            self._called.succeed()
        return answered

    def _serve(self) -> Process:
        stored: simpy.Event | None = None
        while True:
            if not self._runs and not self._calls:
                self._called = self._env.event()
                yield self._called
            while self._calls:
                answered, starts = self._calls.popleft()
                yield self._env.timeout(self._profile.call_ms / 1000)
                if starts is not None:
                    self._runs.append(starts)
                answered.succeed()
            if self._runs:
                seconds, parts = self._pass()
                yield self._env.timeout(seconds)
                self._counted.run_s[int(self._env.now)] += len(parts) * seconds
                if stored is not None and not stored.processed:
                    yield stored
                stored = self._take(self, parts)

    def _pass(self) -> tuple[float, list[Part]]:
        """Its seconds, those that all runs share and those that each adds; and what it brings."""
        profile, prefill_s, shared = self._profile, self._tables.prefill_s, self._tables.pass_s
        decoding = sum(run.fed >= run.arrival.prompt_tokens for run in self._runs)
        seconds = self._tables.step_s[decoding] if decoding else shared
        parts = []
        for run in self._runs:
            left = run.arrival.prompt_tokens - run.fed
            rows, chooses = (min(left, profile.chunk), left <= profile.chunk) if left > 0 else (1, True)
            keys = run.fed + rows
            if left > 0:
                seconds += max(0.0, prefill_s[keys] - prefill_s[run.fed] - shared)
            run.fed, run.chosen = keys, run.chosen + chooses
            part = Part(
                run,
                profile.frames(rows, keys, chooses=chooses),
                profile.pass_bytes(rows, keys, chooses=chooses),
                is_first=chooses and run.chosen == 1,
                is_last=run.chosen >= run.arrival.new_tokens,
            )
            parts.append(part)
        self._runs = [part.run for part in parts if not part.is_last]
        return seconds, parts
