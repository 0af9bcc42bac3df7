"""Requests for values wait for a turn; requests about runs and those that wait for the engine hold none."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from flask import Flask

from kvscope.app.http import reads
from kvscope.app.http.access import COMPUTES, READS_STATE, declare
from kvscope.app.http.problems import Problem
from kvscope.app.http.reads import AT_ONCE, Turns
from tests.support.waiting import eventually


class Gated:
    """An application whose routes wait until they are let go on."""

    def __init__(self) -> None:
        self.inside, self.asking = list[str](), list[str]()
        self.go_on, self.answered = Event(), Event()
        self.turns, self.app = Turns(), Flask(__name__)
        self.turns.init_app(self.app)
        self.app.register_error_handler(Problem, Problem.response)

        @self.app.get("/values")
        @declare(COMPUTES)
        def values() -> str:
            self.inside.append("values")
            assert self.go_on.wait(20)
            return ""

        @self.app.get("/asks")
        @declare(COMPUTES)
        def asks() -> str:
            with self.turns.left():
                self.asking.append("asks")
                assert self.answered.wait(20)
            return ""

        @self.app.get("/run")
        @declare(READS_STATE)
        def run() -> str:
            return "running"

        @self.app.get("/fails")
        @declare(COMPUTES)
        def fails() -> str:
            raise RuntimeError

        self.clients = ThreadPoolExecutor(AT_ONCE + 6)

    def ask(self, path: str, times: int) -> None:
        for _ in range(times):
            self.clients.submit(self.app.test_client().get, path)


@pytest.fixture
def gated() -> Iterator[Gated]:
    made = Gated()
    with made.clients:
        yield made
        made.go_on.set()
        made.answered.set()


def test_a_request_about_a_run_passes_those_that_read_values(gated: Gated) -> None:
    gated.ask("/values", AT_ONCE + 6)
    eventually(lambda: len(gated.inside) == AT_ONCE, 20)
    assert gated.app.test_client().get("/run").text == "running"
    assert len(gated.inside) == AT_ONCE
    gated.go_on.set()
    eventually(lambda: len(gated.inside) == AT_ONCE + 6, 20)


def test_one_that_waits_for_the_engine_has_no_turn(gated: Gated) -> None:
    gated.ask("/asks", AT_ONCE + 6)
    eventually(lambda: len(gated.asking) == AT_ONCE + 6, 20)
    gated.go_on.set()
    assert gated.app.test_client().get("/values").status_code == 200


def test_a_turn_ends_with_its_request_however_that_ends(gated: Gated) -> None:
    gated.go_on.set()
    for path in ("/fails", "/asks", "/nowhere", "/values") * (AT_ONCE + 1):
        gated.answered.set()
        gated.app.test_client().get(path)
    assert gated.app.test_client().get("/values").status_code == 200


def test_a_request_whose_turn_does_not_come_is_answered(gated: Gated, monkeypatch: pytest.MonkeyPatch) -> None:
    gated.ask("/values", AT_ONCE)
    eventually(lambda: len(gated.inside) == AT_ONCE, 20)
    monkeypatch.setattr(reads, "WAIT_S", 0.01)
    answer = gated.app.test_client().get("/values")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, str(reads.RETRY_S))
    gated.go_on.set()
