"""Workloads as the service takes them: their log, what is refused, and how one is stopped."""

from __future__ import annotations

from typing import Any

import pytest

from kvscope.model.api import JoinRequest, WorkloadRequest
from kvscope.model.log.frames import header
from kvscope.model.log.reader import LogReader
from kvscope.model.settings import MAX_ASKS, Ask, Drafting, Join, ServingSettings
from tests.support.changed_logs import checked
from tests.support.refused import refusal, refused
from tests.support.tiny_runs import finish, payloads, request, service, workload_request

PLAIN = ServingSettings(blocks=8)
HELLO = Ask(prompt="hello", max_new_tokens=4)


def workload(*asks: Ask, rounds: tuple[ServingSettings, ...] = (PLAIN,), system: str = "") -> WorkloadRequest:
    return workload_request("w", system, asks or (HELLO,), rounds)


def test_its_log_says_what_was_asked_and_then_what_each_pass_did() -> None:
    made = service()
    rounds = (PLAIN, ServingSettings(blocks=8, at_once=1))
    asked = workload(HELLO, Ask(prompt="good day", max_new_tokens=3), rounds=rounds)
    found = made.workload(asked) + finish(made)
    log = LogReader(payloads(found))
    assert [frame.seq for frame in found] == list(range(len(found)))
    assert log.open["study"]["kind"] == "serving"
    assert [each["prompt"] for each in log.open["study"]["requests"]] == ["hello", "good day"]
    assert [each["round"] for each in log.rounds] == [0, 1]
    assert [each["number"] for each in log.passes] == list(range(len(log.passes)))
    for number, most in ((0, 2), (1, 1)):
        assert max(len(each["members"]) for each in log.passes if each["round"] == number) == most
    assert log.reason == "length"
    checked(payloads(found))
    assert not made.busy


def test_others_runs_have_their_own_log_meanwhile() -> None:
    made = service()
    opened = made.start(request("a")) + made.workload(workload())
    found = opened + finish(made)
    assert {frame.run for frame in found} == {"a", "w"}
    log = LogReader(frame.payload for frame in found if frame.run == "w")
    assert log.passes[0]["others"]["requests"] == 1
    assert LogReader(frame.payload for frame in found if frame.run == "a").reason == "length"


def test_it_can_be_stopped_and_not_paused() -> None:
    made = service()
    made.workload(workload(Ask(prompt="hello", max_new_tokens=4, arrives_ms=60_000)))
    assert made.busy
    assert refused(made.control, "w", "pause") == ("action", 409)
    assert made.control("w", "stop") == "closed"
    [closing] = made.advance()
    assert header(closing.payload).data["reason"] == "stopped"
    assert not made.busy


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        (workload(HELLO, Ask(prompt="a" * 600, max_new_tokens=4)), "requests[1].prompt"),
        (workload(Ask(prompt="a" * 500, max_new_tokens=64)), "requests[0]"),
        (workload(Ask(prompt="hello", max_new_tokens=4, retry_of=0)), "requests[0].retry_of"),
        (workload(HELLO, Ask(prompt="hello", max_new_tokens=4, retry_of=0)), "requests[1].retry_of"),
        (workload(rounds=(PLAIN, ServingSettings(draft=Drafting(tokens=2, layers=3)))), "rounds[1].draft.layers"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_left_of_it(asked: WorkloadRequest, field: str) -> None:
    made = service()
    assert refusal(made.workload, asked).field == field
    assert not made.busy
    assert not made.engine.scheduler.promised


def test_a_second_one_waits_for_the_blocks_of_the_first() -> None:
    made = service()
    half = ServingSettings(blocks=made.engine.scheduler.room // 2 + 1)
    made.workload(workload(rounds=(half,)))
    second: Any = workload_request("v", "", (HELLO,), (half,))
    assert refusal(made.workload, second).status == 429
    finish(made)
    assert made.workload(second)


def joining(prompt: str = "good day", new: int = 3, retry_of: int | None = None) -> JoinRequest:
    return JoinRequest("w", Join(prompt=prompt, max_new_tokens=new, retry_of=retry_of))


def events(log: LogReader, request: int) -> list[str]:
    """What happened to a request."""
    told = [*log.passes, *log.rounds]
    return [event["what"] for each in told for event in each["events"] if event["request"] == request]


def test_who_joins_arrives_then_and_gets_the_text_that_it_would_alone() -> None:
    made = service()
    found = made.workload(workload(Ask(prompt="hello", max_new_tokens=6))) + made.advance() + made.advance()
    assert made.join(joining()) == 1
    log = LogReader(payloads(found + finish(made)))
    [joined] = log.joined
    assert (joined["number"], joined["request"]["prompt"], joined["request"]["max_new_tokens"]) == (1, "good day", 3)
    assert [len(each["requests"]) for each in log.passes][:3] == [1, 1, 2]
    assert events(log, 1) == ["arrived", "joined", "shared", "first", "done"]
    arrived = next(each for made in log.passes for each in made["events"] if each["request"] == 1)
    assert arrived["ms"] == joined["request"]["arrives_ms"] <= log.passes[2]["start_ms"]

    def text(log: LogReader, request: int) -> list[int]:
        members = [member for each in log.passes for member in each["members"] if member["request"] == request]
        return [member["token"]["id"] for member in members if member["token"]]

    alone = service()
    opened = alone.workload(workload(Ask(prompt="good day", max_new_tokens=3)))
    assert text(log, 1) == text(LogReader(payloads(opened + finish(alone))), 0)


def test_a_request_is_cancelled_by_hand_and_asked_again() -> None:
    made = service()
    asks = (Ask(prompt=prompt, max_new_tokens=6) for prompt in ("hello", "good day"))
    found = made.workload(workload(*asks)) + made.advance()
    assert "cancelled" in str(refusal(made.join, joining(retry_of=1)))
    made.leave("w", 1)
    assert made.join(joining(retry_of=1)) == 2
    for number, status in ((1, 409), (3, 404)):
        assert refused(made.leave, "w", number) == ("request", status)
    log = LogReader(payloads(found + finish(made)))
    assert events(log, 1)[-1] == "cancelled"
    assert log.joined[0]["request"]["retry_of"] == 1
    assert events(log, 2)[-1] == "done"
    assert not made.engine.scheduler.promised


def test_nobody_joins_beyond_the_limits_and_nothing_changes() -> None:
    made = service()
    two = workload(*[HELLO] * MAX_ASKS)
    found = made.workload(two) + made.advance()
    for asked, field, status in (
        (joining(), "run", 409),
        (joining("a" * 600), "prompt", 422),
        (joining("a" * 500, 64), "prompt", 422),
    ):
        assert refused(made.join, asked) == (field, status)
    assert not LogReader(payloads(found + finish(made))).joined
    assert "has ended" in str(refusal(made.join, joining()))
    made.workload(workload(rounds=(ServingSettings(blocks=1),)))
    assert "1 in total" in str(refusal(made.join, joining("a" * 20)))
    finish(made)
    made.workload(workload(rounds=(PLAIN, PLAIN)))
    assert "several rounds" in str(refusal(made.join, joining()))
    assert "several rounds" in str(refusal(made.leave, "w", 0))
