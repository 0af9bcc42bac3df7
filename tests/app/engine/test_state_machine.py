"""Whatever happens in whatever order, the scheduler takes runs along the table of transitions, and along all of it."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from kvscope.app.engine import run_scheduler as module
from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.filling import Request
from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.pool import ENGINE_IS_FULL, Pool
from kvscope.app.engine.queue import Requester, TooManyRuns
from kvscope.app.engine.run_scheduler import RunScheduler
from kvscope.app.engine.run_states import TERMINAL, TRANSITIONS, State, Trigger
from kvscope.app.settings import Settings
from kvscope.app.store.budget import Budget, Full
from kvscope.app.store.runs import RunLog
from kvscope.model.api import Refused, RunRequest

MODELS = [ServedModel("small", None, 0), ServedModel("large", None, 0)]
PLACES = 2
"""Of each model."""


@dataclass
class World:
    """Log, engines and disk as one: they keep what the scheduler says, and fail as they are told to."""

    runs: dict[str, str] = field(default_factory=dict)
    """Runs that an engine has: running or paused."""
    logs: dict[str, bool] = field(default_factory=dict)
    """Whether the log of a run is closed."""
    model: dict[str, ServedModel] = field(default_factory=dict)
    reserved: set[str] = field(default_factory=set)
    fails: Exception | None = None
    """What the next call to an engine raises."""
    on_begin: Callable[[str], None] = lambda _run: None

    # As Pool.
    models = SimpleNamespace(all=MODELS)
    places = PLACES * len(MODELS)

    def places_of(self, _model: ServedModel) -> int:
        return PLACES

    def model_of(self, request: Request) -> ServedModel:
        return self.model[request.run]

    def when_no_room(self, evict: Callable[[ServedModel], bool]) -> None:
        self.evict_other_models = evict

    def call(self, method: str, about: Any, action: str = "", noted: Callable[[Any], None] | None = None) -> Any:
        run, failure = getattr(about, "run", about), self.fails
        if method == "most_bytes":
            return 1
        if failure is not None and (method in ("start", "readmit") or isinstance(failure, EngineUnavailable)):
            self.fails = None
            raise failure
        if method in ("start", "readmit"):
            others = [other for other in self.runs if self.model[other] is self.model[run]]
            assert len(others) < PLACES, "more runs than places"
            self.on_begin(run)
            self.runs[run] = "running" if method == "start" else "paused"
            self.logs[run] = False
            return None
        if run not in self.runs or (method == "evict_run" and self.runs[run] != "paused"):
            raise Refused("run", "No.", status=409)
        if method == "evict_run":
            return self.runs.pop(run)
        if action == "stop":
            self.close_run(run)
            return "closed"
        self.runs[run] = "running" if action == "resume" else "paused"
        noted(self.runs[run])
        return self.runs[run]

    def load(self, _model: ServedModel) -> None: ...
    def end_drained(self) -> None: ...
    def why_unopened(self, _run: str) -> None: ...

    # As RunLog.
    def when_closed(self, hear: Callable[[str], None]) -> None:
        self.hear = hear

    def head(self, run: str) -> Any:
        return SimpleNamespace(bytes=7, steps=0, last_seq=0, closed=self.logs[run]) if run in self.logs else None

    def chosen(self, _run: str) -> list[tuple[int, int]]:
        return []

    def frames(self, _run: str, _after: int, _limit: int) -> list[bytes]:
        return [b"open"]

    def own(self, _run: str, _token: str) -> None: ...

    def open_runs(self) -> list[str]:
        return [run for run, is_closed in self.logs.items() if not is_closed]

    def evicted(self) -> list[str]:
        return [run for run in self.open_runs() if run not in self.runs]

    def close_run(self, run: str, *_why: object) -> None:
        assert not self.logs[run], "a log is closed once"
        self.logs[run] = True
        self.runs.pop(run, None)
        self.hear(run)

    # As Budget.
    def reserve(self, run: str, _size: int) -> None:
        self.reserved.add(run)

    def release(self, run: str) -> None:
        self.reserved.discard(run)

    def left(self, _run: str) -> int:
        return 1


class Table(dict[tuple[State, Trigger], Any]):
    """TRANSITIONS, noting which are used."""

    def __init__(self) -> None:
        super().__init__(TRANSITIONS)
        self.taken: set[tuple[State, Trigger]] = set()

    def get(self, key: Any, default: Any = None) -> Any:
        if key in self:
            self.taken.add(key)
        return super().get(key, default)


NO_ROOM = [Refused("run", "Full.", status=ENGINE_IS_FULL), Full("No room.", 1, passes=True)]
FAILURES = [*NO_ROOM, Refused("prompt", "Too long."), EngineUnavailable("Gone.")]
MAY_FAIL = [None, *NO_ROOM, *FAILURES]
NOT_STARTED = (Refused, TooManyRuns, EngineUnavailable, Full)


class Visitors(RuleBasedStateMachine):
    """Visitors, engines and the disk, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.world.on_begin = self.check_order
        options: dict[str, Any] = {"max_waiting": 6, "max_waiting_by_client": 3, "abandoned_after_s": 0.0}
        parts = cast(RunLog, self.world), cast(Pool, self.world), cast(Budget, self.world)
        self.scheduler = RunScheduler(*parts, cast(Settings, SimpleNamespace(**options)))
        self.requesters: dict[str, Requester] = {}
        self.joined: dict[str, int] = {}
        """When a run last joined the queue; later runs have larger numbers."""
        self.tokens: dict[str, str] = {}
        self.ends: dict[str, list[str]] = {}
        """How each run ended."""
        self.clock = count()

    def check_order(self, run: str) -> None:
        """Of the runs of one client and model, the one that joined first begins first."""
        for other in self.tokens:
            rivals = self.requesters[other] == self.requesters[run] and self.world.model[other] is self.world.model[run]
            if rivals and other != run and self.is_queued(other):
                assert self.joined[other] > self.joined[run]

    def is_queued(self, run: str) -> bool:
        with suppress(*NOT_STARTED):
            return self.scheduler.waits(run) is not None
        return False

    @rule(client=st.sampled_from("abc"), model=st.sampled_from([0, 0, 1]), study=st.sampled_from([False, False, True]))
    def start(self, client: str, model: int, study: bool) -> None:
        run = f"run {len(self.ends)}"
        self.world.model[run], self.requesters[run] = MODELS[model], Requester(client, client)
        self.joined[run], ends = next(self.clock), self.ends.setdefault(run, [])
        request = RunRequest(run, "a")
        try:
            started = self.scheduler.start(request, self.requesters[run], lambda _: ends.append("ended"), study=study)
        except NOT_STARTED:
            ends.append("refused")
        else:
            self.tokens[run] = started.token

    @precondition(lambda self: self.world.runs)
    @rule(data=st.data(), action=st.sampled_from(["pause", "pause", "resume", "step", "stop"]))
    def control(self, data: st.DataObject, action: str) -> None:
        self.control_one(data.draw(st.sampled_from(sorted(self.world.runs))), action)

    @precondition(lambda self: self.world.evicted())
    @rule(data=st.data(), action=st.sampled_from(["resume", "step", "pause", "stop"]), fails=st.sampled_from(MAY_FAIL))
    def control_evicted(self, data: st.DataObject, action: str, fails: Exception | None) -> None:
        self.world.fails = fails
        run = data.draw(st.sampled_from(self.world.evicted()))
        if not self.is_queued(run):
            self.joined[run] = next(self.clock)
        self.control_one(run, action)

    def control_one(self, run: str, action: str) -> None:
        with suppress(*NOT_STARTED):
            self.scheduler.control(run, action)

    @precondition(lambda self: self.world.runs)
    @rule(data=st.data())
    def a_run_ends(self, data: st.DataObject) -> None:
        self.world.close_run(data.draw(st.sampled_from(sorted(self.world.runs))))

    @rule(failure=st.sampled_from(FAILURES))
    def the_next_call_fails(self, failure: Exception) -> None:
        self.world.fails = failure

    @rule()
    def work(self) -> None:
        self.scheduler.work()

    @precondition(lambda self: self.tokens)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from(sorted(self.tokens)))
        assert not self.scheduler.leave(run, "guessed")
        # An evicted run that waits to resume has a log, and leaves the queue when it is paused or stopped.
        assert self.scheduler.leave(run, self.tokens[run]) == (run not in self.world.logs)

    @rule()
    def everybody_abandons_the_queue(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "ABANDONED_S", -1.0)
            self.scheduler.work()

    @invariant()
    def a_run_without_a_log_is_queued_or_has_ended(self) -> None:
        for run in [run for run in self.tokens if run not in self.world.logs]:
            try:
                if self.scheduler.waits(run) is not None:
                    continue
                self.ends[run].append("left")
            except NOT_STARTED:
                self.ends[run].append("failed")
            del self.tokens[run]

    @invariant()
    def an_engine_has_no_more_runs_than_places(self) -> None:
        for model in MODELS:
            assert sum(self.world.model[run] is model for run in self.world.runs) <= PLACES

    def teardown(self) -> None:
        """End all runs: then each has ended once, and holds nothing."""
        self.world.fails = None
        self.everybody_abandons_the_queue()
        for run in self.world.open_runs():
            self.scheduler.control(run, "stop")
        self.everybody_abandons_the_queue()
        self.a_run_without_a_log_is_queued_or_has_ended()
        assert {run: ends for run, ends in self.ends.items() if len(ends) != 1} == {}
        assert self.world.reserved == set()
        assert self.scheduler.waiting == self.scheduler.evicted == 0


def test_no_sequence_of_events_breaks_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_EVICTED", 3)
    options = hypothesis_settings(max_examples=100, stateful_step_count=50, derandomize=True, deadline=None)
    run_state_machine_as_test(Visitors, settings=options)


def test_every_transition_can_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table()
    monkeypatch.setattr(module, "TRANSITIONS", table)
    visitors = Visitors()
    world, control = visitors.world, visitors.control_one
    full, refused = FAILURES[0], FAILURES[2]

    def start(client: str, fails: Exception | None = None, study: bool = False) -> str:
        world.fails = fails
        visitors.start(client, 0, study)
        return list(visitors.ends)[-1]

    start("a", fails=refused)
    first, second = start("a"), start("b", fails=full)
    assert visitors.scheduler.leave(second, visitors.tokens[second])
    third = start("b")  # queued: there was no room
    world.close_run(first)
    visitors.work()
    fourth = start("c")
    for action in ("pause", "step", "resume", "pause"):
        control(third, action)
    fifth = start("d")  # evicts the third
    for action in ("resume", "pause", "resume", "stop"):
        control(third, action)
    control(fourth, "pause")
    sixth = start("e")  # evicts the fourth
    control(fourth, "stop")
    control(fifth, "pause")
    seventh = start("a")  # evicts the fifth
    world.close_run(sixth)
    world.fails = full
    control(fifth, "resume")
    world.close_run(seventh)
    world.fails = refused
    visitors.work()
    control(fifth, "resume")
    control(fifth, "pause")
    world.close_run(fifth)
    control(start("a", study=True), "pause")
    start("b")
    start("c")  # stops the study
    visitors.teardown()
    assert table.taken == set(TRANSITIONS)


def test_a_terminal_state_is_never_left_and_every_other_one_is() -> None:
    left = {state for state, _ in TRANSITIONS}
    assert left.isdisjoint(TERMINAL)
    assert left | TERMINAL == set(State)
