"""Plays one arrival trace on a real server and in the simulation, and compares what came of it.

Step times are those of the trace itself, by how many runs were decoding: what else runs on the machine slows both
alike, and what is compared is what the simulation adds: who starts when, and how long runs wait. Everything else comes
from a profile that is measured just before.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random

from kvscope.app.cli import main
from kvscope.app.plan.profile import Profile, StepTime
from kvscope.app.plan.scenario import Arrival
from kvscope.app.plan.server import SimulatedServer
from kvscope.app.plan.setup import Setup
from kvscope.app.plan.sizing import percentile
from kvscope.model.settings import MAX_PROMPT_TOKENS
from tools.bench.capacity.measure import measured
from tools.bench.capacity.served import Arrivals, Person, Served, serving
from tools.bench.ratios import print_table

PLACES = 4
"""Of each engine, so few that runs are queued."""
POLL_S = 1.0
PROMPT, TOKENS = (8, 96), (16, 64)
WAITING = 400
NOT_MEASURED = {"page_ms": 1.0, "page_bytes": 1.0}
NO_DATABASE = {"stored": 1.0, "wal": 1.0, "mb_ms": 1.0}
NEAR = 0.2
ENOUGH = 30
"""Times between two tokens of which a mean is taken."""


@dataclass(frozen=True, slots=True)
class Result:
    """Seconds until each run's first token, and runs per minute from the first request to the last end."""

    waits: list[float]
    per_minute: float
    steps: list[list[float]] = field(default_factory=list)
    """When each run had each of its tokens, where that was measured."""

    @property
    def figures(self) -> dict[str, float]:
        """What is compared."""
        return {
            "first token, mean, s": statistics.fmean(self.waits),
            "first token, 95 %, s": percentile(self.waits, 95),
            "runs per minute": self.per_minute,
        }


def check(model: str, engines: Sequence[int], runs: int, load: float, seed: int) -> None:
    """Print a table: measured, simulated, and how far apart. Ends the command where servers cannot have so many."""
    if max(engines) > 1 and not any("--engines" in option.opts for option in main.params):
        raise SystemExit("kvscope has no option --engines here; --engines must be 1")
    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), []
        options = ("--max-waiting", str(WAITING), "--max-viewers-per-address", "600")
        with serving(model, folder / "profile", options) as served:
            profile = measured(served, "--check", "this machine", NOT_MEASURED, NO_DATABASE)
        for count in engines:
            arrivals = trace(profile, count, runs * count, load, Random(seed))
            several = ("--engines", str(count)) if count > 1 else ()
            with serving(model, folder / f"{count}", (*options, "--max-open-runs", str(PLACES), *several)) as served:
                real = played(served, arrivals)
            simulated = simulate(with_steps_of(profile, real), count, arrivals)
            for what, figure in real.figures.items():
                other = simulated.figures[what]
                apart = other / figure - 1
                rows.append((str(count), what, f"{figure:.2f}", f"{other:.2f}", f"{apart:+.0%}"))
    print_table(("engines", f"{model} model", "measured", "simulated", "simulated ÷ measured − 1"), rows)
    far = [row for row in rows if abs(float(row[-1].rstrip("%"))) > 100 * NEAR]
    print(f"{len(rows) - len(far)} of {len(rows)} figures are within {NEAR:.0%}")


def trace(profile: Profile, engines: int, runs: int, load: float, random: Random) -> list[Arrival]:
    """Arrivals at random times, `load` of what that many engines can do."""
    mean = statistics.fmean(TOKENS)
    each_s = mean * profile.step_s(PLACES) + profile.prefill_s(round(statistics.fmean(PROMPT)))
    per_s, at_s, found = load * engines * PLACES / each_s, 0.0, []
    for number in range(runs):
        at_s += random.expovariate(per_s)
        prompt = min(random.randint(*PROMPT), MAX_PROMPT_TOKENS)
        found.append(Arrival(at_s, f"client {number}", f"address {number}", prompt, random.randint(*TOKENS)))
    return found


def played(served: Served, arrivals: Sequence[Arrival]) -> Result:
    """Ask for each run at its time, as a page does: poll while it is queued, then watch it."""
    viewers = [Arrivals(served.url) for _ in arrivals]
    prompts = {length: served.prompt_of(length) for length in {arrival.prompt_tokens for arrival in arrivals}}
    waits, began = [0.0] * len(arrivals), time.perf_counter()

    def one(number: int, arrival: Arrival) -> None:
        person = Person(10 + number)
        asked = time.perf_counter()
        response = served.ask(person, prompts[arrival.prompt_tokens], arrival.new_tokens)
        run, queued = response.json()["id"], response.status_code == 202
        while queued:
            time.sleep(POLL_S)
            queued = served.status(run, person)["status"] == "queued"
        viewers[number].watch(run)
        viewers[number].wait_for_close(300)
        waits[number] = viewers[number].steps()[0] - asked

    threads = [threading.Thread(target=one, args=each) for each in enumerate(arrivals)]
    for arrival, thread in zip(arrivals, threads, strict=True):
        time.sleep(max(0.0, began + arrival.at_s - time.perf_counter()))
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began - arrivals[0].at_s
    for viewer in viewers:
        viewer.leave()
    return Result(waits, 60 * len(arrivals) / took, [viewer.steps() for viewer in viewers])


def with_steps_of(profile: Profile, real: Result) -> Profile:
    """The profile with the mean times between two tokens of that trace, by how many runs were decoding."""
    spans = [(steps[0], steps[-1]) for steps in real.steps]
    by_count: defaultdict[int, list[float]] = defaultdict(list)
    for steps in real.steps:
        for before, after in pairwise(steps):
            by_count[sum(first <= before and after <= last for first, last in spans)].append(after - before)
    step, longest = [], 0.0
    for count in sorted(by_count):
        if len(by_count[count]) >= ENOUGH:
            longest = max(longest, 1000 * statistics.fmean(by_count[count]))
            step.append(StepTime(runs=count, ms=longest))
    return profile.model_copy(update={"step": step if len(step) > 1 else [*step, StepTime(runs=1024, ms=longest)]})


def simulate(profile: Profile, engines: int, arrivals: Sequence[Arrival]) -> Result:
    """The same trace."""
    setup = Setup(engines, open_runs=PLACES, elsewhere=False, poll_s=POLL_S, starters=1)
    server = SimulatedServer(profile, setup, arrivals)
    server.simulate()
    took = max(run.closed_at for run in server.runs) - arrivals[0].at_s
    return Result([run.first_s for run in server.runs], 60 * len(arrivals) / took)
