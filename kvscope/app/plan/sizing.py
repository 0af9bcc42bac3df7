"""How many engines and web processes a scenario needs, by simulating it with more and more of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from kvscope.app.plan.errors import CannotPlan
from kvscope.app.plan.profile import Profile
from kvscope.app.plan.scenario import Arrival, Scenario, arrivals, visits
from kvscope.app.plan.server import SimulatedServer
from kvscope.app.plan.setup import OPEN_RUNS, Setup
from kvscope.app.settings import DEFAULT_VIEWERS

MOST_ENGINES, MOST_WEB = 1024, 256
SIMULATED_RUNS = 1_000
"""Of a period in which people start runs at any time, so much is simulated."""
WINDOW_S = 10
STAY_MINUTES = 10
"""Assumed of who comes at any time: how long a page stays open."""
NETWORK_MBIT = 1_000
"""Assumed of the server's link."""
INSTEAD = "allow a longer --wait, or plan for fewer people, runs or tokens"


@dataclass(frozen=True, slots=True)
class Goal:
    """This percentage of runs is to have its first token within so many seconds."""

    wait_s: float = 5.0
    percent: float = 95.0


@dataclass(frozen=True, slots=True)
class Use:
    """How much of a part is used, 1 for all of it: the mean of the period, and of its busiest WINDOW_S seconds."""

    mean: float
    busiest: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What a scenario needs, and how that served it in the simulation.

    `wait_s`: of the goal's percentage of runs. `queued`: most runs that were queued at the same time. `stored_bytes`:
    that PostgreSQL holds in the end; `day_bytes`, `wal_bytes`: stored and written to its log each day.
    """

    engines: int
    web_processes: int
    runs: int
    wait_s: float
    median_s: float
    queued: int
    stored_bytes: float
    day_bytes: float
    wal_bytes: float
    transactions_per_s: float
    written_bytes_per_s: float
    sent_bits_per_s: float
    uses: dict[str, Use]

    @property
    def limit(self) -> str:
        """The part of which most is used."""
        return max(self.uses, key=lambda name: self.uses[name].busiest)


@dataclass(frozen=True, slots=True)
class Planner:
    """Simulates one scenario with one setup after another, with the same people each time.

    `engines`: those that there are; None to find how many it needs. `rounds`: periods that are simulated.
    """

    profile: Profile
    scenario: Scenario
    goal: Goal = Goal()
    seed: int = 1
    rounds: int = 2
    open_runs: int = OPEN_RUNS
    engines: int | None = None

    def plan(self) -> Plan:
        """The smallest setup that reaches the goal; with given engines, how near they come. Raises CannotPlan."""
        self._check_alone()
        engines = self.engines or _least(MOST_ENGINES, lambda count: self._reaches(self._setup(count, MOST_WEB)))
        if engines is None:
            raise CannotPlan(
                f"{MOST_ENGINES:,} engines are too few for {self.scenario.runs:,} runs in {self.scenario.minutes} "
                f"minutes; {INSTEAD}."
            )
        for_connections = -(-self._connections // DEFAULT_VIEWERS)
        web_processes = _least(
            MOST_WEB, lambda count: self._reaches(self._setup(engines, count), in_time=True), max(1, for_connections)
        )
        if web_processes is None:
            raise CannotPlan(f"{MOST_WEB} web processes are too few for what {engines} engines compute; {INSTEAD}.")
        return self._plan(self._setup(engines, web_processes))

    def simulate(self, setup: Setup, number: int, *, until_late: bool = False) -> SimulatedServer:
        """One period. `until_late`: no longer than until the goal is missed."""
        random = Random(f"{self.seed} {number}")
        runs = [arrival for arrival in arrivals(self.scenario, random) if arrival.at_s < self._simulated_s]
        read_bytes = run_bytes(self.profile, self.scenario.prompt_tokens, self.scenario.tokens)
        some = [visit for visit in visits(self.scenario, read_bytes, random) if visit.at_s < self._simulated_s]
        server = SimulatedServer(
            self.profile,
            setup,
            runs,
            some,
            watched_by_all=self.scenario.present,
            wait_s=self.goal.wait_s if until_late else math.inf,
            most_late=math.floor(len(runs) * (1 - self.goal.percent / 100)),
        )
        server.simulate()
        return server

    @property
    def _simulated_s(self) -> float:
        """A period without moments at which many start is the same all along, so its first part stands for all."""
        scenario = self.scenario
        part = 1.0 if scenario.together_percent or scenario.shown else min(1.0, SIMULATED_RUNS / scenario.runs)
        return part * scenario.period_s

    @property
    def _connections(self) -> int:
        """Live connections at a time: each page that shows a run has one."""
        scenario = self.scenario
        part = 1.0 if scenario.together_percent or scenario.shown else min(1.0, STAY_MINUTES / scenario.minutes)
        return round(scenario.present * part * (1 if scenario.shown else scenario.running_percent / 100))

    def _setup(self, engines: int, web_processes: int) -> Setup:
        return Setup(engines, web_processes, self.open_runs)

    def _check_alone(self) -> None:
        alone = Arrival(0, "alone", "alone", self.scenario.prompt_tokens, self.scenario.tokens)
        server = SimulatedServer(self.profile, self._setup(1, 1), [alone])
        server.simulate()
        first_s = server.runs[0].first_s
        if first_s > self.goal.wait_s and self.engines is None:
            raise CannotPlan(
                f"--wait is {self.goal.wait_s:g}; a run that has an engine to itself gets its first token after "
                f"{first_s:.2f} s, so it must be more."
            )

    def _reaches(self, setup: Setup, *, in_time: bool = False) -> bool:
        """Whether each round reaches the goal, where engines are to be found; and with `in_time`, whether frames are
        sent without delay.
        """
        for number in range(self.rounds):
            server = self.simulate(setup, number, until_late=self.engines is None)
            if server.is_too_late or (in_time and _lag_s(server, self.goal.percent) > self.goal.wait_s):
                return False
        return True

    def _plan(self, setup: Setup) -> Plan:
        rounds = [self.simulate(setup, number) for number in range(self.rounds)]
        waits = [run.first_s for server in rounds for run in server.runs]
        period_s, profile = self._simulated_s, self.profile
        stored = sum(server.counted.stored_bytes.total() for server in rounds) / self.rounds
        stored *= self.scenario.period_s / period_s
        day = stored * self.scenario.periods
        written = max(_busiest(server.counted.stored_bytes) for server in rounds)
        sent = 8 * max(_busiest(server.counted.sent_bytes) for server in rounds)
        return Plan(
            engines=setup.engines,
            web_processes=setup.web_processes,
            runs=self.scenario.runs,
            wait_s=percentile(waits, self.goal.percent),
            median_s=percentile(waits, 50),
            queued=max(server.longest_queue for server in rounds),
            stored_bytes=day * self.scenario.kept_days * profile.database.stored,
            day_bytes=day * profile.database.stored,
            wal_bytes=day * profile.database.wal,
            transactions_per_s=max(_busiest(server.counted.transactions) for server in rounds),
            written_bytes_per_s=written * profile.database.stored,
            sent_bits_per_s=sent,
            uses={
                "engines": _use([server.counted.run_s for server in rounds], setup.places, period_s),
                "web processes": _use([server.counted.web_s for server in rounds], setup.web_processes, period_s),
                "database": _use(
                    [server.counted.stored_bytes for server in rounds], 1e9 / profile.database.mb_ms, period_s
                ),
                "network": _use([server.counted.sent_bytes for server in rounds], NETWORK_MBIT * 1e6 / 8, period_s),
            },
        )


def run_bytes(profile: Profile, prompt_tokens: int, new_tokens: int) -> float:
    """Bytes of the log of a run."""
    chunks = [(first, min(first + profile.chunk, prompt_tokens)) for first in range(0, prompt_tokens, profile.chunk)]
    prefill = sum(profile.pass_bytes(end - first, end, chooses=end == prompt_tokens) for first, end in chunks)
    return prefill + sum(
        profile.pass_bytes(1, keys, chooses=True) for keys in range(prompt_tokens + 1, prompt_tokens + new_tokens)
    )


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent of them do not exceed; 0 of none."""
    if not values:
        return 0.0
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def _least(most: int, suffices: Callable[[int], bool], first: int = 1) -> int | None:
    """The least number from `first` to `most` that suffices, if all greater ones do too; None if none does."""
    too_few, count = first - 1, first
    while not suffices(count):
        if count >= most:
            return None
        too_few, count = count, min(2 * count, most)
    while count - too_few > 1:
        middle = (too_few + count) // 2
        if suffices(middle):
            count = middle
        else:
            too_few = middle
    return count


def _lag_s(server: SimulatedServer, percent: float) -> float:
    """Within how many seconds after a pass so many percent of viewers had it."""
    lags, seen = server.counted.lags, 0.0
    for tenths in sorted(lags):
        seen += lags[tenths]
        if seen >= sum(lags.values()) * percent / 100:
            return tenths / 10
    return 0.0


def _busiest(by_second: Mapping[int, float]) -> float:
    """The mean per second of the busiest window."""
    windows = defaultdict[int, float](float)
    for second, amount in by_second.items():
        windows[second // WINDOW_S] += amount
    return max(windows.values(), default=0) / WINDOW_S


def _use(rounds: Sequence[Mapping[int, float]], capacity: float, period_s: float) -> Use:
    mean = sum(sum(each.values()) for each in rounds) / len(rounds) / period_s
    return Use(mean / capacity, max(_busiest(each) for each in rounds) / capacity)
