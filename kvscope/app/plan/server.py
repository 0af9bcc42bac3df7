"""A simulated server: who asks for what, which run starts next and where, and who gets its frames.

It does what app/engine/run_scheduler.py and app/http/live.py do, and chooses the next run with their own `Queue`. A run
goes to the engine that has the fewest runs. Nobody pauses a run, and no prompt begins as an earlier one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

import simpy

from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.queue import Queue, Requester, Waiting
from kvscope.app.plan.parts import (
    NEVER,
    SLICE_S,
    Counted,
    Part,
    Process,
    SimulatedEngine,
    SimulatedRun,
    Tables,
    WebProcess,
)
from kvscope.app.plan.profile import Profile
from kvscope.app.plan.scenario import Arrival, Visit
from kvscope.app.plan.setup import Setup

MODEL = ServedModel("simulated", None, lambda: 0)
PART_BYTES = 1024 * 1024
"""Stored in one transaction (app/engine/storing.py)."""


class Timed(Protocol):
    """What happens at a time, in seconds from the beginning."""

    @property
    def at_s(self) -> float: ...


Event = TypeVar("Event", bound=Timed)


class SimulatedServer:
    """`watched_by_all`: how many watch a run that is shown to everyone.

    With `wait_s` and `most_late`, it ends when more runs than that had to wait longer for their first token: then it is
    known that this setup is too small.
    """

    def __init__(
        self,
        profile: Profile,
        setup: Setup,
        arrivals: Sequence[Arrival],
        visits: Sequence[Visit] = (),
        *,
        watched_by_all: int = 0,
        wait_s: float = NEVER,
        most_late: float = NEVER,
    ) -> None:
        self.env, self.counted = simpy.Environment(), Counted()
        self.web = [WebProcess(self.env, self.counted) for _ in range(setup.web_processes)]
        tables = Tables(profile, setup.open_runs)
        self.engines = [
            SimulatedEngine(self.env, profile, tables, self.counted, self.web[number % setup.web_processes], self._take)
            for number in range(setup.engines)
        ]
        self.runs = [
            SimulatedRun(f"run {number}", arrival, self.web[number % setup.web_processes], self.env.event())
            for number, arrival in enumerate(arrivals)
        ]
        self.begun: list[str] = []
        """Runs in the order in which they were given a place."""
        self.longest_queue = 0
        self.is_too_late = False
        """Whether more runs were late than may be."""
        self._profile, self._setup, self._watched_by_all = profile, setup, watched_by_all
        self._queue, self._by_name = Queue(), {run.name: run for run in self.runs}
        self._placed: dict[str, tuple[SimulatedEngine, Requester]] = {}
        self._is_full = False
        """Whether no engine had room in its KV cache for the next run."""
        self._idle_starters: list[simpy.Event] = []
        self._left, self._over = len(arrivals), self.env.event()
        self._wait_s, self._may_be_late = wait_s, most_late
        for _ in range(setup.starters or setup.engines):
            self.env.process(self._start_queued())
        self.env.process(self._each(self.runs, lambda run, _: self.env.process(self._ask(run))))
        self.env.process(self._each(visits, self._visit))
        if wait_s < NEVER:
            self.env.process(self._each(self.runs, self._count_late, wait_s))

    def simulate(self) -> None:
        """Until every run has ended, or too many are late."""
        if self._left:
            self.env.run(self._over)

    def _each(self, events: Sequence[Event], happens: Callable[[Event, int], object], after_s: float = 0) -> Process:
        """Let each of them happen so long after its time."""
        for number, event in enumerate(events):
            if event.at_s + after_s > self.env.now:
                yield self.env.timeout(event.at_s + after_s - self.env.now)
            happens(event, number)

    def _count_late(self, run: SimulatedRun, _number: int) -> None:
        self._may_be_late -= run.first_s > self._wait_s
        if self._may_be_late < 0 and not self._over.triggered:
            self.is_too_late = True
            self._over.succeed()

    def _visit(self, visit: Visit, number: int) -> None:
        web, costs = self.web[number % len(self.web)], self._profile.web
        read = visit.reads * visit.read_bytes
        seconds = (costs.page_ms + costs.read_mb_ms * read / 1e6) / 1000

        def sent(part: float, _is_last: bool) -> None:
            self.counted.sent_bytes[int(self.env.now)] += round(part * (costs.page_bytes + read))

        self.env.process(web.slices(seconds, sent))

    def _ask(self, run: SimulatedRun) -> Process:
        """As RunScheduler.start: it begins at once if it is next and a place is free, otherwise it is queued."""
        yield run.web.work(self._profile.web.request_ms / 1000)
        requester = Requester(run.arrival.client, run.arrival.address)
        self._queue.put(Waiting(run.name, requester, MODEL, lambda: None))
        place = self._take_place(only=run)
        if place is not None:
            yield from self._begin(*place)
        elif len(self._queue) > self._setup.max_waiting:
            self._queue.take(run.name)
            run.refused = True
            self._one_less()
            return
        else:
            self.longest_queue = max(self.longest_queue, len(self._queue))
            self._wake()
            while not run.started:
                yield self.env.timeout(self._setup.poll_s)
                yield run.web.work(self._profile.web.status_ms / 1000)
        run.followed.succeed()

    def _take_place(self, only: SimulatedRun | None = None) -> tuple[SimulatedRun, SimulatedEngine] | None:
        """The next run of the queue, and the engine on which it now has a place; None if there is no place for it.

        `only`: None too if another run is next.
        """
        holding = [requester for _, requester in self._placed.values()]
        if len(holding) >= self._setup.places or self._is_full:
            return None
        name = self._queue.next(holding, self._setup.places)
        if name is None or (only is not None and name != only.name):
            return None
        run = self._by_name[name]
        room = self._profile.positions - run.positions
        free = [each for each in self.engines if each.placed < self._setup.open_runs and each.promised <= room]
        if not free:
            self._is_full = bool(self._placed)
            return None
        engine = min(free, key=lambda each: each.placed)
        waiting = self._queue.take(name)
        assert waiting is not None
        self._placed[name] = engine, waiting.requester
        engine.placed += 1
        engine.promised += run.positions
        self.begun.append(name)
        return run, engine

    def _begin(self, run: SimulatedRun, engine: SimulatedEngine) -> Process:
        """Ask for its size, then start it: two calls."""
        yield engine.call()
        yield engine.call(starts=run)
        run.started = True

    def _start_queued(self) -> Process:
        """As the run scheduler's thread: start one queued run after another while there are places."""
        while True:
            place = self._take_place()
            if place is not None:
                yield from self._begin(*place)
            else:
                idle = self.env.event()
                self._idle_starters.append(idle)
                yield idle

    def _wake(self) -> None:
        for idle in self._idle_starters:
            idle.succeed()
        self._idle_starters.clear()

    def _take(self, engine: SimulatedEngine, parts: list[Part]) -> simpy.Event:
        """Store what a pass brought, then send it to those who watch; the event of its being stored."""
        frames, size = sum(part.frames for part in parts), sum(part.size for part in parts)
        stored, passed = engine.web.work(self._profile.store_s(frames, size)), self.env.now
        stored.callbacks.append(lambda _: self._publish(parts, size, passed))
        return stored

    def _publish(self, parts: list[Part], size: float, passed: float) -> None:
        second = int(self.env.now)
        self.counted.stored_bytes[second] += round(size)
        self.counted.transactions[second] += math.ceil(size / PART_BYTES)
        watched: defaultdict[WebProcess, list[tuple[Part, float]]] = defaultdict(list)
        for part in parts:
            if part.is_last:
                self._end(part.run)
            if part.run.arrival.everyone:
                for web in self.web:
                    watched[web].append((part, self._watched_by_all / len(self.web)))
            else:
                watched[part.run.web].append((part, 1.0))
        for web, some in watched.items():
            self._send(web, some, passed)

    def _end(self, run: SimulatedRun) -> None:
        engine, _ = self._placed.pop(run.name)
        engine.placed -= 1
        engine.promised -= run.positions
        self._is_full = False
        self._queue.ended(self.env.now - run.at_s)
        run.closed_at = self.env.now
        self._wake()

    def _send(self, web: WebProcess, some: list[tuple[Part, float]], passed: float) -> None:
        """Send parts of one pass, each to so many viewers."""
        profile, elsewhere = self._profile, self._setup.elsewhere
        seconds = sum(viewers * profile.send_s(part.frames, part.size, elsewhere=elsewhere) for part, viewers in some)
        if seconds <= SLICE_S:
            web.work(seconds).callbacks.append(lambda _: self._sent(web, some, passed, 1.0, True))
        else:
            self.env.process(web.slices(seconds, partial(self._sent, web, some, passed)))

    def _sent(self, web: WebProcess, some: list[tuple[Part, float]], passed: float, share: float, done: bool) -> None:
        """`share` of the viewers have them now; `done`: all have."""
        now, ratio = self.env.now, self._profile.web.deflated if self._setup.elsewhere else 1
        self.counted.lags[math.ceil(10 * (now - passed))] += share * sum(viewers for _, viewers in some)
        sizes = sum(viewers * part.size for part, viewers in some)
        self.counted.sent_bytes[int(now)] += round(share * sizes * ratio)
        for part, _ in some:
            if done and web is part.run.web and (part.is_first or part.is_last):
                if part.run.followed.triggered:
                    self._seen(part)
                else:
                    self.env.process(self._seen_later(part))

    def _seen_later(self, part: Part) -> Process:
        """The token is there before the page knows that its run has started."""
        yield part.run.followed
        self._seen(part)

    def _seen(self, part: Part) -> None:
        if part.is_first:
            part.run.first_s = self.env.now - part.run.at_s
        if part.is_last:
            self._one_less()

    def _one_less(self) -> None:
        self._left -= 1
        if not self._left and not self._over.triggered:
            self._over.succeed()
