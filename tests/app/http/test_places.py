"""Places: every address finds one, and nobody waits without an end."""

from contextlib import ExitStack
from threading import Event, Thread

import pytest

from kvscope.app.http.places import Places
from kvscope.app.http.problems import Problem


def taken(places: Places, address: str, wanted: int, stack: ExitStack) -> int:
    """How many of so many places an address gets; they are held until the stack ends."""
    for got in range(wanted):
        try:
            stack.enter_context(places.held(address))
        except Problem:
            return got
    return wanted


@pytest.mark.parametrize("most", [2, 3, 10, 100, 128])
def test_an_address_takes_no_more_than_it_leaves(most: int) -> None:
    places = Places(most, 0)
    with ExitStack() as held:
        assert taken(places, "a", 2 * most, held) == (most + 1) // 2
        if most > 2:
            assert taken(places, "b", most, held) >= most // 4
        assert taken(places, "a", 1, held) == 0
    with ExitStack() as held:
        assert taken(places, "a", 1, held) == 1, "they were given back"


def test_some_addresses_that_take_all_they_can_leave_some_for_the_next() -> None:
    places = Places(100, 0)
    with ExitStack() as held:
        for address in range(5):
            assert taken(places, str(address), 100, held) >= 1
        assert taken(places, "somebody else", 1, held) == 1


def test_whoever_waits_gets_the_place_that_becomes_free() -> None:
    places, got = Places(2, 30), Event()

    def wait() -> None:
        with places.held("a"):
            got.set()

    with ExitStack() as held:
        held.enter_context(places.held("a"))
        waiting = Thread(target=wait, daemon=True)
        waiting.start()
        assert not got.wait(0.05)
    assert got.wait(10)
    waiting.join()


def test_a_place_is_given_back_by_what_fails() -> None:
    places = Places(2, 0)
    for _ in range(5):
        with pytest.raises(RuntimeError), places.held("a"):
            raise RuntimeError


def test_whoever_finds_none_is_asked_to_come_again() -> None:
    places = Places(1, 0)
    with places.held("a"), pytest.raises(Problem) as refused, places.held("b"):
        pass
    assert (refused.value.status, refused.value.limit) == (503, 1)
    assert refused.value.headers["Retry-After"]
