"""Each question is computed once, and nobody's questions crowd out others'."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from kvscope.app.engine import questions as module
from kvscope.app.engine.calls import Calls
from kvscope.app.engine.questions import MOST_BY_ADDRESS, MOST_BY_CLIENT, Computation, Questions, TooManyQuestions
from kvscope.app.engine.queue import Requester
from kvscope.model.api import Refused
from tests.support.waiting import eventually

SOMEBODY = Requester("somebody", "here")
MODEL = {"sha256": "f" * 64, "weight_dtype": "float32"}


class Engine(Calls):
    """Answers a question with what it was asked, once `free` is set."""

    def __init__(self) -> None:
        super().__init__(5)
        self.asked: list[tuple[Any, ...]] = []
        self.free = Event()
        self.free.set()

    def call(self, method: str, *arguments: Any, **_how: Any) -> Any:
        self.asked.append((method, *arguments))
        assert self.free.wait(20)
        if method == "refused":
            raise Refused("step", "No.")
        return b"\x00\xff" if method == "bytes" else {"asked": list(arguments)}


@pytest.fixture
def engine() -> Engine:
    return Engine()


def questions(engine: Engine, folder: Path, model: dict[str, Any] = MODEL) -> Questions:
    return Questions(engine, lambda _chosen: model, folder / "answers")


def test_the_same_question_is_computed_once_also_while_it_is_being_computed(engine: Engine, tmp_path: Path) -> None:
    asks, question = questions(engine, tmp_path), Computation("mask", ([1, 2], 3))
    engine.free.clear()
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(asks.ask, question, Requester(f"client {number}")) for number in range(4)]
        eventually(lambda: engine.asked)
        engine.free.set()
        assert [answer.result() for answer in answers] == [{"asked": [[1, 2], 3]}] * 4
    assert asks.ask(question, SOMEBODY) == {"asked": [[1, 2], 3]}
    assert asks.ask(Computation("mask", ([1, 2], 4)), SOMEBODY) == {"asked": [[1, 2], 4]}
    assert len(engine.asked) == 2


def test_what_is_kept_of_a_saved_session_outlives_the_server_but_not_the_model(engine: Engine, tmp_path: Path) -> None:
    kept, passing = Computation("bytes", (1,), lasting=True), Computation("bytes", (2,))
    for _ in range(2):
        again = questions(engine, tmp_path)
        assert again.ask(kept, SOMEBODY) == again.ask(passing, SOMEBODY) == b"\x00\xff"
    assert engine.asked == [("bytes", 1), ("bytes", 2), ("bytes", 2)]
    questions(engine, tmp_path, {**MODEL, "sha256": "another"}).ask(kept, SOMEBODY)
    assert len(engine.asked) == 4


def test_answers_take_as_much_memory_and_disk_as_they_may(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MEMORY_BYTES", 10)
    monkeypatch.setattr(module, "DISK_BYTES", 10)
    asks = questions(engine, tmp_path)
    for number in range(20):
        asks.ask(Computation("bytes", (number,), lasting=True), SOMEBODY)  # 3 bytes each
    assert sum(file.stat().st_size for file in (tmp_path / "answers").iterdir()) <= 10
    asks.ask(Computation("bytes", (19,)), SOMEBODY)
    asks.ask(Computation("bytes", (0,)), SOMEBODY)
    assert len(engine.asked) == 21


def test_a_refusal_is_everybodys_and_is_not_kept(engine: Engine, tmp_path: Path) -> None:
    asks = questions(engine, tmp_path)
    for _ in range(2):
        with pytest.raises(Refused):
            asks.ask(Computation("refused", ()), SOMEBODY)
    assert len(engine.asked) == 2


def test_a_client_and_an_address_have_so_many_questions_at_once_and_known_answers_are_free(
    engine: Engine, tmp_path: Path
) -> None:
    asks, known, counted = questions(engine, tmp_path), Computation("mask", ("known",)), list[int]()
    asks.ask(known, SOMEBODY)
    engine.free.clear()
    with ThreadPoolExecutor(MOST_BY_ADDRESS) as pool:
        for number in range(MOST_BY_ADDRESS):
            client = Requester(f"client {number // MOST_BY_CLIENT}", "here")
            pool.submit(asks.ask, Computation("mask", (number,)), client)
        eventually(lambda: len(engine.asked) == 1 + MOST_BY_ADDRESS)
        for requester, limit in ((Requester("client 0", "here"), MOST_BY_CLIENT), (SOMEBODY, MOST_BY_ADDRESS)):
            with pytest.raises(TooManyQuestions) as refused:
                asks.ask(Computation("mask", (-1,)), requester)
            assert refused.value.limit == limit
        assert asks.ask(known, SOMEBODY, lambda: counted.append(1)) == {"asked": ["known"]}
        engine.free.set()
    assert asks.ask(Computation("mask", (-1,)), SOMEBODY, lambda: counted.append(1)) == {"asked": [-1]}
    assert counted == [1]
