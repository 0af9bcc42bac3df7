"""The queue is fair by address and by client, and estimates when a run starts."""

from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.queue import Place, Requester, Run, in_order, next_run, place_of, run_to_evict
from kvscope.app.engine.run_states import State
from kvscope.model.api import RunRequest

MODEL, OTHER = ServedModel("tiny", None, 0), ServedModel("other", None, 0)


def queue(*runs: str, address: str = "") -> list[Run]:
    """Queued runs; the first letter of a run is its client."""
    requests = [(RunRequest(run, "a"), Requester(run[0], address)) for run in runs]
    return [Run(request.run, request, who, MODEL, number) for number, (request, who) in enumerate(requests)]


def at_places(*requesters: Requester) -> list[Run]:
    """Runs that have a place each."""
    runs = queue(*(f"running {number}" for number in range(len(requesters))))
    for run, requester in zip(runs, requesters, strict=True):
        run.requester, run.state = requester, State.RUNNING
    return runs


def order(runs: list[Run]) -> list[str]:
    return [run.id for run in in_order(runs)]


def next_of(runs: list[Run], places: int) -> str | None:
    run = next_run(runs, {MODEL}, places)
    return run and run.id


def test_clients_take_turns_however_many_runs_one_has_queued() -> None:
    assert order(queue("a1", "a2", "a3", "b1", "c1", "b2")) == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_the_client_with_fewer_runs_open_is_next() -> None:
    placed = at_places(Requester("a"), Requester("a"), Requester("b"))
    assert order([*placed, *queue("a1", "b1", "b2", "c1")]) == ["c1", "b1", "a1", "b2"]


def test_addresses_take_turns_however_many_clients_one_invents() -> None:
    runs = [*queue("a1", "b1", "c1", "d1", address="one"), *queue("z1", "z2", address="other")]
    assert order(runs) == ["a1", "z1", "b1", "z2", "c1", "d1"]
    assert order([*at_places(Requester("e", "one")), *runs])[0] == "z1"


def test_a_client_holds_half_of_the_places_at_most_and_an_address_three_quarters() -> None:
    runs = queue("a9", address="one")
    client, invented = Requester("a", "one"), [Requester(f"name {number}", "one") for number in range(6)]
    assert next_of([*at_places(*[client] * 3), *runs], 8) == "a9"
    assert next_of([*at_places(*[client] * 4), *runs], 8) is None
    assert next_of([*at_places(*invented[:5]), *runs], 8) == "a9"
    assert next_of([*at_places(*invented), *runs], 8) is None
    assert next_of([*at_places(*invented), *runs, *queue("z1", address="other")], 8) == "z1"
    assert next_of(queue("a1"), 1) == "a1"


def test_a_client_without_a_name_is_an_address() -> None:
    nameless, runs = Requester("one", "one"), queue("a1")
    runs[0].requester = nameless
    assert next_of([*at_places(*[nameless] * 5), *runs], 8) == "a1"
    assert next_of([*at_places(*[nameless] * 6), *runs], 8) is None


def test_the_next_run_is_of_a_model_that_has_a_place() -> None:
    first, second = queue("a1", "a2")
    second.model = OTHER
    assert next_run([first, second], {OTHER}, 4) is second
    assert next_run([first, second], set(), 4) is None


def test_the_estimate_comes_from_the_places_and_the_duration_of_ended_runs() -> None:
    runs = queue("a1", "a2", "a3")
    assert place_of(runs[2], runs, [], [None, None]) == Place(3, None)
    assert place_of(runs[2], runs, [], [30.0, None]) == Place(3, 60)  # no run has ended yet
    places = [place_of(run, runs, [10.0, 20.0], [30.0, 4.0]) for run in runs]
    assert places == [Place(1, 4), Place(2, 19), Place(3, 30)]
    assert place_of(runs[0], runs, [10.0], []) == Place(1, 0)


def test_the_run_that_was_paused_first_is_evicted_and_a_study_only_if_it_is_abandoned() -> None:
    study, late, early, running = runs = queue("a", "b", "c", "d")
    for run, since in ((study, 1.0), (late, 3.0), (early, 2.0)):
        run.state, run.since = State.PAUSED, since
    running.state, running.since, study.study = State.RUNNING, 0.0, True
    assert run_to_evict(runs, MODEL, abandoned_since=0.5) is early
    assert run_to_evict(runs, MODEL, abandoned_since=1.5) is study
    assert run_to_evict(runs, OTHER, abandoned_since=1.5) is None
