"""What one client may do in a minute, and what all of an address may."""

from typing import Any

import pytest

from kvscope.app.http.limits import MOST_COUNTED, Limits
from kvscope.app.http.problems import Problem
from kvscope.app.http.visitors import Visitor
from tests.support.over_http import NewClient, finished, problem

ELSEWHERE = "203.0.113.7"
NOTHING = {"runs": 0, "shares": 0, "imports": 0, "bytes": 0}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def limits(clock: Clock, clients: int = 2, **per_minute: int) -> Limits:
    return Limits({**NOTHING, **per_minute}, clients, clock)  # type: ignore[dict-item]


def refused(limits: Limits, visitor: Visitor, what: Any = "runs") -> Problem | None:
    try:
        limits.take(visitor, what)
    except Problem as found:
        return found
    return None


def test_a_share_is_used_up_and_grows_again() -> None:
    clock = Clock()
    mine = limits(clock, runs=3)
    me = Visitor("a" * 16, ELSEWHERE)
    assert [refused(mine, me) for _ in range(3)] == [None] * 3
    found = refused(mine, me)
    assert (found.status, found.limit, found.headers["Retry-After"]) == (429, 3, "20")
    clock.now += 20
    assert refused(mine, me) is None
    assert refused(mine, me) is not None
    clock.now += 1000
    assert [refused(mine, me) is None for _ in range(4)] == [True, True, True, False]


def test_those_behind_one_address_have_shares_of_their_own_up_to_the_address_s() -> None:
    mine = limits(Clock(), clients=2, runs=3)
    one, two, three = (Visitor(name * 16, ELSEWHERE) for name in "abc")
    assert [refused(mine, one) is None for _ in range(4)] == [True, True, True, False]
    assert [refused(mine, two) is None for _ in range(4)] == [True, True, True, False]
    assert refused(mine, three) is not None  # whoever makes tokens up has the address's share and no more
    assert refused(mine, Visitor("d" * 16, "203.0.113.8")) is None


def test_bytes_are_counted_when_they_are_there_and_refuse_what_would_add_to_them() -> None:
    clock = Clock()
    mine = limits(clock, runs=10, bytes=600)
    me = Visitor("a" * 16, ELSEWHERE)
    assert refused(mine, me) is None
    mine.charge(me, 1200)
    for what in ("runs", "shares", "imports"):
        found = refused(mine, me, what)
        assert (found.limit, found.headers["Retry-After"]) == (600, "60")
    clock.now += 61
    assert refused(mine, me) is None


def test_nobody_on_the_machine_itself_is_counted() -> None:
    mine = limits(Clock(), runs=1)
    for address in ("127.0.0.1", "::1"):
        assert [refused(mine, Visitor(address, address)) for _ in range(5)] == [None] * 5


def test_what_is_remembered_does_not_grow_with_the_tokens_that_are_made_up() -> None:
    clock = Clock()
    mine = limits(clock, clients=10**6, runs=1)
    for number in range(MOST_COUNTED + 500):
        clock.now += 0.02
        mine.take(Visitor(f"{number:016}", ELSEWHERE), "runs")
    assert len(mine._whole_at) < MOST_COUNTED + 10


@pytest.mark.parametrize("what", ["runs", "shares", "imports"])
def test_a_server_keeps_to_its_limits(new_client: NewClient, what: str) -> None:
    client = new_client(**{f"{what}_per_minute": 2})
    here = finished(client, max_new_tokens=1)
    asks = {
        "runs": ("/api/runs", {"json": {"prompt": "abc", "max_new_tokens": 1}}),
        "shares": (f"/api/runs/{here}/share", {"json": {}}),
        "imports": ("/api/sessions", {"data": b"x", "content_type": "application/octet-stream"}),
    }
    path, body = asks[what]

    def ask(address: str) -> Any:
        return client.post(path, environ_overrides={"REMOTE_ADDR": address}, **body)

    assert all(ask(ELSEWHERE).status_code != 429 for _ in range(2))
    assert 0 < int(ask(ELSEWHERE).headers["Retry-After"]) <= 30
    assert problem(ask(ELSEWHERE), 429)["limit"] == 2
    assert ask("203.0.113.8").status_code != 429
    assert ask("127.0.0.1").status_code != 429
