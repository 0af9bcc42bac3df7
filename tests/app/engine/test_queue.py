"""The line: fair by client, and with an estimate once it is known how long runs take."""

from __future__ import annotations

from collections import Counter

from kvscope.app.engine.queue import Place, Queue, Waiting

NOBODY: Counter[str] = Counter()


def line(*runs: str) -> Queue:
    """The first letter of a run is its client."""
    queue = Queue()
    for run in runs:
        queue.put(Waiting(run, run[0], lambda: None))
    return queue


def test_clients_take_turns_however_many_runs_one_has_asked_for() -> None:
    queue = line("a1", "a2", "a3", "b1", "c1", "b2")
    assert queue.order(NOBODY) == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_who_has_fewer_runs_open_is_next() -> None:
    queue = line("a1", "b1", "b2", "c1")
    assert queue.order(Counter(a=2, b=1)) == ["c1", "b1", "a1", "b2"]


def test_a_place_tells_of_the_time_that_runs_took() -> None:
    queue = line("a1", "a2", "a3")
    assert queue.place("a3", NOBODY, 2) == Place(3, None)
    for took in (10.0, 20.0):
        queue.ended(took)
    assert [queue.place(run, NOBODY, 2) for run in ("a1", "a3")] == [Place(1, 8), Place(3, 23)]


def test_what_was_next_and_found_no_room_is_next_again() -> None:
    queue = line("a1", "a2")
    first = queue.take("a1")
    assert first is not None
    assert queue.take("a1") is None
    queue.put_back(first)
    assert queue.order(NOBODY) == ["a1", "a2"]


def test_what_nobody_asks_for_is_forsaken() -> None:
    queue = line("a1", "a2")
    long_ago = queue.take("a1")
    assert long_ago is not None
    long_ago.seen -= 100
    queue.put(long_ago)
    since = long_ago.seen + 50
    assert queue.forsaken(since) == ["a1"]
    queue.place("a1", NOBODY, 1)
    assert queue.forsaken(since) == []
