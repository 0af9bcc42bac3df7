"""Calls and who waits for their answers."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import Pipe
from threading import Thread

import pytest

from kvscope.app.engine.calls import Calls, EngineUnavailable
from kvscope.app.engine.messages import Call, Failure, Result
from kvscope.model.api import Refused
from tests.support.engine_side import Started
from tests.support.waiting import eventually


def test_a_refusal_crosses_the_pipe_whole(engine_side: Started) -> None:
    engine = engine_side()
    with pytest.raises(Refused) as caught:
        engine.start("a", "long")
    assert (caught.value.field, caught.value.limit, caught.value.status) == ("prompt", 512, 413)
    assert engine.log.head("a") is None


def test_a_call_that_waits_when_the_engine_dies_is_told(engine_side: Started) -> None:
    engine = engine_side(model="delay=5")
    engine.start("a")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(engine.calls.call, "lens", [1])
        eventually(lambda: engine.calls._waiting)  # the engine sleeps in its step and has not answered
        engine.kill_engine()
        assert isinstance(answer.exception(10), EngineUnavailable)


def test_a_call_without_an_engine_is_refused_at_once() -> None:
    calls = Calls(60)
    calls.close("It is being fetched")
    with pytest.raises(EngineUnavailable, match="It is being fetched"):
        calls.call("lens", [1])


def test_answers_are_noted_in_the_order_they_come_and_before_whoever_asked_goes_on() -> None:
    ours, theirs = Pipe()
    calls, noted = Calls(60), list[str]()
    calls.open(ours)
    going_on = list[list[str]]()

    def ask(text: str) -> None:
        with suppress(Refused):
            calls.call(text, noted=noted.append)
        going_on.append(list(noted))

    threads = []
    for text in ("first", "second", "third"):
        threads.append(Thread(target=ask, args=(text,)))
        threads[-1].start()
        sent: Call = theirs.recv()
        assert (sent.number, sent.method, sent.arguments) == (len(threads), text, ())
    for number, value in ((3, "c"), (1, "a")):
        calls.answer(Result(number, value))
    calls.answer(Failure(2, Refused("run", "no")))
    for thread in threads:
        thread.join()
    assert noted == ["c", "a"]
    assert all(going_on)
    ours.close()
    theirs.close()
