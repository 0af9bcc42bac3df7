"""What is made of a session: once, one at a time, within a bound, and nothing of one that was deleted."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from unittest.mock import Mock

import pytest

from kvscope.app.http.problems import Problem
from kvscope.app.http.produced import Produced

A_MOMENT_S = 0.05


def kept(produced: Produced, session: str, tag: str = "png") -> bool:
    """Whether it need not be made. Only for a kept one nothing changes."""
    make = Mock(side_effect=LookupError)
    with suppress(LookupError):
        produced.of(session, tag, make)
    return not make.called


def many(count: int, call: Callable[[int], bytes]) -> list[bytes]:
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(call, range(count)))


def test_it_is_made_once_for_all_who_ask() -> None:
    produced, make = Produced(100), Mock(return_value=b"made")
    assert many(20, lambda _: produced.of("s", "png", make)) == [b"made"] * 20
    assert make.call_count == 1


@pytest.mark.parametrize("other", [("t", "png"), ("s", "html"), ("s", "png-2"), ("", "s-png"), ("png", "s")])
def test_another_session_or_form_is_another_one(other: tuple[str, str]) -> None:
    produced = Produced(100)
    assert produced.of("s", "png", lambda: b"one") == b"one"
    assert produced.of(*other, lambda: b"two") == b"two"
    produced.forget(other[0] if other[0] != "s" else "nobody")
    assert kept(produced, "s", "png")


def test_two_are_not_made_at_the_same_time() -> None:
    produced, at_once, most = Produced(100), [], []

    def make() -> bytes:
        at_once.append(1)
        most.append(len(at_once))
        Event().wait(A_MOMENT_S)
        at_once.pop()
        return b"x"

    many(4, lambda number: produced.of(str(number), "png", make))
    assert most == [1] * 4


@pytest.mark.parametrize(
    ("sizes", "left"), [([4, 4, 4], [1, 2]), ([10], [0]), ([11], []), ([4, 11], [0]), ([3, 3, 3, 10], [3])]
)
def test_what_was_used_longest_ago_makes_room(sizes: list[int], left: list[int]) -> None:
    produced = Produced(10)
    for number, size in enumerate(sizes):
        assert len(produced.of(str(number), "png", lambda size=size: b"x" * size)) == size
    assert [number for number in range(len(sizes)) if kept(produced, str(number), "png")] == left


def test_what_is_used_stays() -> None:
    produced = Produced(10)
    for name in ("a", "b", "a", "c"):
        produced.of(name, "png", lambda: b"x" * 4)
    assert [kept(produced, name, "png") for name in ("a", "b", "c")] == [True, False, True]


def test_a_failure_is_everybody_s_who_waits_and_is_not_kept() -> None:
    produced = Produced(10)
    with pytest.raises(LookupError):
        produced.of("s", "png", Mock(side_effect=LookupError))
    assert produced.of("s", "png", lambda: b"now") == b"now"


def test_nothing_is_kept_of_what_was_deleted_before_or_while_it_was_made() -> None:
    produced, begun, deleted = Produced(100), Event(), Event()
    produced.of("s", "html", lambda: b"before")

    def make() -> bytes:
        begun.set()
        deleted.wait(10)
        return b"late"

    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(produced.of, "s", "png", make)
        begun.wait(10)
        produced.forget("s")
        deleted.set()
        assert late.result(10) == b"late"
    assert not kept(produced, "s", "png")
    assert not kept(produced, "s", "html")


def test_nobody_waits_without_an_end() -> None:
    produced, begun, over = Produced(100, wait_s=A_MOMENT_S), Event(), Event()

    def make() -> bytes:
        begun.set()
        over.wait(10)
        return b"slow"

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(produced.of, "s", "png", make)
        begun.wait(10)
        for who in ("s", "t"):
            with pytest.raises(Problem, match="in a moment") as refused:
                produced.of(who, "png", lambda: b"")
            assert refused.value.status == 503
        over.set()
        slow.result(10)
