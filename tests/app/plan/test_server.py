"""The simulated server: every run is accounted for, in the queue's order, as fast as known formulas say."""

from __future__ import annotations

import statistics
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvscope.app.engine.queue import Queue, Requester, Waiting
from kvscope.app.plan.parts import NEVER
from kvscope.app.plan.scenario import Arrival, Visit
from kvscope.app.plan.server import MODEL, SimulatedServer
from kvscope.app.plan.setup import Setup
from tests.support.planned import STEP_MS, poisson, profile


def simulated(arrivals: list[Arrival], setup: Setup, **options: float) -> SimulatedServer:
    server = SimulatedServer(options.pop("profile", profile()), setup, arrivals, **options)  # type: ignore[arg-type]
    server.simulate()
    return server


def mean_wait(server: SimulatedServer) -> float:
    return statistics.fmean(run.first_s for run in server.runs)


def test_a_run_alone_waits_for_its_prefill() -> None:
    slow = profile(prefill=[{"tokens": 1, "ms": STEP_MS}, {"tokens": 300, "ms": 310.0}])
    server = simulated([Arrival(5.0, "a", "a", 300, 10)], Setup(1), profile=slow)
    run = server.runs[0]
    assert run.first_s == pytest.approx(0.310, abs=0.001)
    assert run.closed_at - run.at_s == pytest.approx(0.310 + 9 * STEP_MS / 1000, abs=0.001)


def test_runs_that_share_passes_take_as_long_as_the_measured_step_of_so_many() -> None:
    steps = profile(step=[{"runs": 1, "ms": 10.0}, {"runs": 2, "ms": 12.0}, {"runs": 4, "ms": 20.0}])
    server = simulated([Arrival(0.0, f"{n}", f"{n}", 1, 101) for n in range(4)], Setup(1), profile=steps)
    for run in server.runs:
        assert run.closed_at - run.first_s == pytest.approx(100 * 0.020, rel=0.05)


def test_one_place_and_random_lengths_wait_as_long_as_an_m_m_1_queue() -> None:
    """Mean wait before service: ρ / (1 − ρ) mean services (Kleinrock, Queueing Systems, 1975)."""
    mean_s, load = 100 * STEP_MS / 1000, 0.6
    arrivals = poisson(4000, load / mean_s, tokens=None, prompt_tokens=1)
    server = simulated(arrivals, Setup(1, open_runs=1, poll_s=0.001))
    services = [arrival.new_tokens * STEP_MS / 1000 for arrival in arrivals]
    load = statistics.fmean(services) * len(arrivals) / arrivals[-1].at_s
    expected = load / (1 - load) * statistics.fmean(services)
    assert mean_wait(server) == pytest.approx(expected, rel=0.15)


@given(
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(0, 12),
    st.lists(st.tuples(st.floats(0, 3), st.integers(0, 3), st.integers(1, 200), st.integers(1, 40)), max_size=40),
)
@settings(max_examples=50, deadline=None)
def test_every_run_ends_or_is_refused_and_no_place_is_lost(
    engines: int, open_runs: int, waiting: int, asked: list[tuple[float, int, int, int]]
) -> None:
    arrivals = [Arrival(at_s, f"{who}", f"{who % 2}", prompt, new) for at_s, who, prompt, new in sorted(asked)]
    little_room = profile(positions=512)
    server = simulated(arrivals, Setup(engines, 2, open_runs, max_waiting=waiting), profile=little_room)
    assert all(run.refused != (run.first_s < NEVER and run.closed_at < NEVER) for run in server.runs)
    assert len(server.begun) == sum(not run.refused for run in server.runs) == len(set(server.begun))
    assert [(engine.placed, engine.promised) for engine in server.engines] == [(0, 0)] * engines
    assert sum(run.chosen for run in server.runs) == sum(
        run.arrival.new_tokens for run in server.runs if not run.refused
    )
    assert server.longest_queue <= waiting


def test_runs_begin_in_the_order_of_the_queue() -> None:
    random = Random(3)
    first = Arrival(0.0, "z", "z", 1, 50)
    rest = [Arrival(0.01 + n / 1000, f"{random.randrange(4)}", f"{random.randrange(2)}", 1, 5) for n in range(30)]
    server = simulated([first, *rest], Setup(1, open_runs=1))
    queue = Queue()
    for number, arrival in enumerate(rest, 1):
        queue.put(Waiting(f"run {number}", Requester(arrival.client, arrival.address), MODEL, lambda: None))
    expected = ["run 0"]
    while (name := queue.next([], 1)) is not None:
        queue.take(name)
        expected.append(name)
    assert server.begun == expected


def test_one_client_never_has_more_places_than_the_server_gives_it() -> None:
    greedy = [Arrival(0.0, "greedy", "one", 1, 30) for _ in range(10)]
    server = simulated([*greedy, Arrival(0.05, "late", "two", 1, 5)], Setup(1, open_runs=4))
    late = server.runs[-1]
    assert late.first_s < 0.1
    assert server.begun.index(late.name) == 2


def test_more_engines_never_make_the_mean_wait_longer() -> None:
    arrivals = poisson(300, 12.0, tokens=60)
    waits = [mean_wait(simulated(arrivals, Setup(count, 2, open_runs=4))) for count in (1, 2, 4, 8)]
    assert waits == sorted(waits, reverse=True)
    assert waits[0] > 2 * waits[-1]


def test_the_same_arrivals_give_the_same_waits() -> None:
    arrivals = poisson(100, 8.0)
    once, again = (simulated(arrivals, Setup(2, 2)) for _ in range(2))
    assert [run.first_s for run in once.runs] == [run.first_s for run in again.runs]


def test_it_ends_once_more_runs_are_late_than_may_be() -> None:
    arrivals = poisson(300, 30.0, tokens=200)
    server = simulated(arrivals, Setup(1, open_runs=1), wait_s=1.0, most_late=5)
    assert server.is_too_late
    assert server.env.now < 60


def test_all_viewers_of_a_shown_run_are_sent_every_frame() -> None:
    costly = profile(web=profile().web.model_dump() | {"viewer_frame_ms": 1.0})
    shown = [Arrival(0.0, "who shows", "one", 1, 10, everyone=True)]
    server = SimulatedServer(costly, Setup(1, 2), shown, watched_by_all=100)
    server.simulate()
    frames = 20
    assert sum(server.counted.web_s.values()) == pytest.approx(frames * 100 * 0.001, rel=0.01)
    stored = server.counted.stored_bytes.total()
    assert server.counted.sent_bytes.total() == pytest.approx(100 * stored * 0.5, rel=0.01)


def test_visits_make_a_first_token_late_but_take_turns_with_it() -> None:
    slow = profile(web=profile().web.model_dump() | {"page_ms": 500.0})
    arrivals, many = [Arrival(1.0, "a", "a", 1, 2)], [Visit(0.9, 0, 0.0)] * 4
    busy, idle = (SimulatedServer(slow, Setup(1), arrivals, visits) for visits in (many, ()))
    for server in (busy, idle):
        server.simulate()
    later_s = busy.runs[0].first_s - idle.runs[0].first_s
    assert 0.2 < later_s < 1.0
