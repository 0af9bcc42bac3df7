"""The line: fair by address and by client, with an estimate once it is known how long runs take."""

from __future__ import annotations

from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.queue import Place, Queue, Requester, Waiting

MODEL = ServedModel("tiny", None, 0)


def line(*runs: str, address: str = "") -> Queue:
    """The first letter of a run is its client."""
    queue = Queue()
    join(queue, *runs, address=address)
    return queue


def join(queue: Queue, *runs: str, address: str) -> None:
    for run in runs:
        queue.put(Waiting(run, Requester(run[0], address), MODEL, lambda: None))


def test_clients_take_turns_however_many_runs_one_has_asked_for() -> None:
    queue = line("a1", "a2", "a3", "b1", "c1", "b2")
    assert queue.order([]) == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_a_run_that_is_queued_again_keeps_its_place_and_begins_as_it_was_last_asked_to() -> None:
    queue, begun = line("a1", "a2"), list[str]()
    first = queue.take("a1")
    assert first
    queue.put_back(first)
    again = queue.put(Waiting("a1", Requester("a"), MODEL, lambda: begun.append("again")))
    assert again is first
    assert queue.order([]) == ["a1", "a2"]
    again.begin()
    assert begun == ["again"]


def test_the_client_with_fewer_runs_open_is_next() -> None:
    queue = line("a1", "b1", "b2", "c1")
    assert queue.order([Requester("a"), Requester("a"), Requester("b")]) == ["c1", "b1", "a1", "b2"]


def test_addresses_take_turns_however_many_clients_one_says_it_is() -> None:
    queue = line("a1", "b1", "c1", "d1", address="one")
    join(queue, "z1", "z2", address="other")
    assert queue.order([]) == ["a1", "z1", "b1", "z2", "c1", "d1"]
    assert queue.order([Requester("e", "one")])[0] == "z1"


def test_a_client_holds_half_of_the_places_at_most_and_an_address_three_quarters() -> None:
    queue = line("a9", address="one")
    assert queue.next([Requester("a", "one")] * 3, 8) == "a9"
    assert queue.next([Requester("a", "one")] * 4, 8) is None
    made_up = [Requester(f"name {number}", "one") for number in range(6)]
    assert queue.next(made_up[:5], 8) == "a9"
    assert queue.next(made_up, 8) is None
    join(queue, "z1", address="other")
    assert queue.next(made_up, 8) == "z1"
    assert line("a1").next([], 1) == "a1"


def test_a_client_without_a_name_is_an_address() -> None:
    queue, nameless = Queue(), Requester("one", "one")
    queue.put(Waiting("a1", nameless, MODEL, lambda: None))
    assert queue.next([nameless] * 5, 8) == "a1"
    assert queue.next([nameless] * 6, 8) is None


def test_the_estimate_is_made_of_when_places_are_free_and_of_the_time_that_runs_took() -> None:
    queue = line("a1", "a2", "a3")
    assert queue.place("a3", [], [None, None]) == Place(3, None)
    assert queue.place("a3", [], [30.0, None]) == Place(3, 60)  # nothing but the one that runs is there to go by
    for took in (10.0, 20.0):
        queue.ended(took)
    places = [queue.place(run, [], [30.0, 4.0]) for run in ("a1", "a2", "a3")]
    assert places == [Place(1, 4), Place(2, 19), Place(3, 30)]
    assert queue.place("a1", [], []) == Place(1, 0)


def test_what_was_next_and_found_no_room_is_next_again() -> None:
    queue = line("a1", "a2")
    first = queue.take("a1")
    assert first is not None
    assert queue.take("a1") is None
    queue.put_back(first)
    assert queue.order([]) == ["a1", "a2"]


def test_what_nobody_asks_for_is_abandoned() -> None:
    queue = line("a1", "a2")
    long_ago = queue.take("a1")
    assert long_ago is not None
    long_ago.seen -= 100
    queue.put(long_ago)
    since = long_ago.seen + 50
    assert queue.abandoned(since) == ["a1"]
    queue.seen("a1")
    assert queue.abandoned(since) == []
