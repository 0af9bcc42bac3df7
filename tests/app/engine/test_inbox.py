"""What the engine answers first, and how much of its time questions get."""

from functools import partial

from kvscope.app.engine.inbox import QUESTIONS_SHARE, Inbox, Share
from kvscope.app.engine.messages import Call


def given(inbox: Inbox) -> int:
    """The number of the call that is given out next."""
    call = inbox.urgent() or inbox.question()
    return call.number


def call(number: int, method: str = "mask", client: str = "", within_s: float | None = None) -> Call:
    return Call(number, method, (), client, within_s)


def test_what_is_about_runs_comes_before_all_questions() -> None:
    inbox = Inbox(("start",))
    for each in (call(1), call(2), call(3, "start"), call(4, "start")):
        inbox.put(each)
    assert [given(inbox) for _ in range(4)] == [3, 4, 1, 2]
    assert inbox.urgent() is inbox.question() is None


def test_clients_take_turns_however_many_questions_one_asks() -> None:
    inbox = Inbox(("start",))
    for number in range(4):
        inbox.put(call(number, client="a"))
    inbox.put(call(10, client="b"))
    inbox.put(call(11, client="b"))
    assert [given(inbox) for _ in range(6)] == [0, 10, 1, 11, 2, 3]


def test_a_question_that_nobody_waits_for_any_more_is_not_answered() -> None:
    clock = [5.0]
    inbox = Inbox(("start",), now=lambda: clock[0])
    for each in (call(1, within_s=0.9), call(2, within_s=1.1)):
        inbox.put(each)
    clock[0] += 1
    assert given(inbox) == 2
    assert inbox.is_waited_for
    clock[0] += 1
    assert not inbox.is_waited_for
    assert inbox.question() is None


def test_questions_take_their_share_of_the_time_and_no_more() -> None:
    clock = [0.0]

    def takes(seconds: float) -> None:
        clock[0] += seconds

    share, answering, computing = Share(now=lambda: clock[0]), 0.0, 0.0
    for _ in range(200):
        while share.is_left:
            share.spend(partial(takes, 0.35))
            answering += 0.35
        share.earn(partial(takes, 0.05))
        computing += 0.05
    assert QUESTIONS_SHARE * computing - 0.35 <= answering <= QUESTIONS_SHARE * computing + 0.35
