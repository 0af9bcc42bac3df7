"""No piece of an answer, or of a start, is more work than a piece may be. Work is counted, not timed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from torch import Tensor

from kvscope.app.http.questions import QUESTIONS, Steps
from kvscope.model.api import ChangedRun, ForkRequest, ReadmitRequest, Refused, ValuesRequest
from kvscope.model.engine.scheduler import PREFILL_CHUNK
from kvscope.model.pieces import PIECE_ROWS, Pieces
from kvscope.model.service import ModelService
from kvscope.model.settings import Change
from kvscope.model.transformer import Block, Transformer
from tests.support.asking import QUERY
from tests.support.in_pieces import begun
from tests.support.tiny import check_cache, tiny_checkpoint
from tests.support.tiny_runs import chosen, datas, request, run_to_end, what_twins_need

LAYERS, NEW = 12, 6
TEXT = "The cat sat on the mat and looked at the sea, which was grey. "
"""With it a step has about 70 positions: a pass of them is several pieces."""
IN_ONE = {"calls": PREFILL_CHUNK}
"""Rows of a pass that cannot pause: `calls` records what the engine does for a run, as it does it."""
OF_NUMBERS = ("weights", "matrix", "positions")
"""What computes next to nothing: one pause is enough."""
Count = dict[str, int]


@pytest.fixture(scope="module")
def made() -> Iterator[ModelService]:
    made = ModelService(tiny_checkpoint(layers=LAYERS), "cpu")
    yield made
    check_cache(made.engine)


@pytest.fixture(scope="module")
def steps(made: ModelService) -> Steps:
    log = run_to_end(made, request("seen", TEXT, max_new_tokens=NEW))
    made.engine.scheduler.forget("seen")  # so that every row is computed again
    return Steps(datas(log, "open")[0], list(enumerate(chosen(log))), 0)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Count:
    """Rows times layers, and rows of logits, since this was cleared."""
    count: Count = {"layers": 0, "logits": 0}

    def counting(what: str, inner: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def forward(self: Any, rows: Tensor, *others: Any) -> Tensor:
            count[what] += len(rows)
            return inner(self, rows, *others)

        return forward

    monkeypatch.setattr(Block, "forward", counting("layers", Block.forward))
    monkeypatch.setattr(Transformer, "decode_rows", counting("logits", Transformer.decode_rows))
    return count


def check_pieces(count: Count, work: Callable[[], Any], most_rows: int = PIECE_ROWS) -> int:
    """Compute it in pieces, and check each of them; how many there were."""
    pieces = Pieces("test")
    found = begun(pieces, work)
    for number in itertools.count():
        count.update(layers=0, logits=0)
        pieces.go_on()
        assert count["layers"] <= most_rows * LAYERS
        assert count["logits"] <= PIECE_ROWS
        if not pieces.in_progress:
            assert [each for each in found if isinstance(each, Exception)] == []
            return number + 1
    raise AssertionError


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_run_that_begins_meanwhile_goes_on_as_if_alone(made: ModelService, steps: Steps, name: str) -> None:
    """Of a question that has to be computed alone, it is the answer that ends."""
    expected = chosen(run_to_end(made, request("alone", "Not about that.", max_new_tokens=NEW)))
    long = request("long", TEXT * 4, max_new_tokens=2)  # more than one chunk of prefill
    log = run_to_end(made, long)
    other = Steps(datas(log, "open")[0], list(enumerate(chosen(log))), 0)
    made.engine.scheduler.forget("long")
    pieces = Pieces("test")
    found = begun(pieces, lambda: getattr(made, name)(*asked(name, other, **of(name))))
    for _ in range(2):  # far enough for `calls` to be in the middle of prefill
        if pieces.in_progress:
            pieces.go_on()
    made.engine.scheduler.forget("alone")
    frames = made.start(request("meanwhile", "Not about that.", max_new_tokens=NEW))
    while pieces.in_progress or made.busy:
        if made.busy:
            frames += made.advance()
            pieces.is_interrupted = True
        if pieces.in_progress:
            pieces.go_on()
    assert chosen(frames) == expected
    raised = [each for each in found if isinstance(each, Exception)]
    assert [error for error in raised if not isinstance(error, Refused)] == []
    assert not raised or QUESTIONS[name].anew or "at most" in str(raised[0])
    check_cache(made.engine)


def asked(name: str, steps: Steps, **others: Any) -> tuple[Any, ...]:
    """What the service is asked."""
    question = QUESTIONS[name]
    known = question.query.model_fields
    said = {name: value for name, value in {**QUERY, **others}.items() if name in known}
    return question.arguments(steps, question.query.model_validate(said, context=steps.bounds(steps.last)))


def of(name: str) -> dict[str, Any]:
    return {"of": "tokens"} if name == "effects" else {}


@pytest.mark.parametrize("name", QUESTIONS)
def test_of_a_question_about_a_run(made: ModelService, steps: Steps, counted: Count, name: str) -> None:
    made.head_patterns.cache_clear()
    work = partial(getattr(made, name), *asked(name, steps, step=steps.last, **of(name)))
    count = check_pieces(counted, work, IN_ONE.get(name, PIECE_ROWS))
    assert count > 1 or name in OF_NUMBERS


@pytest.mark.parametrize("name", [name for name, each in QUESTIONS.items() if each.of_changed])
def test_of_a_question_about_a_changed_run(made: ModelService, steps: Steps, counted: Count, name: str) -> None:
    """Its rows are changed with those of a second prompt, which are computed first."""
    ids = tuple(steps.before(0))
    patch = Change(site="mlp", op="patch", layer=1, source=TEXT)
    run = ChangedRun(tokens=ids, chat=False, changes=(patch,))
    made.changing._prepared.cache_clear()
    check_pieces(
        counted, lambda: made.of_changed(run, name, *asked(name, steps, **of(name))), IN_ONE.get(name, PIECE_ROWS)
    )


@pytest.mark.parametrize(
    "ask",
    [
        lambda made, ids: made.values(ValuesRequest("seen", 0, ids, 0, 1, "block")),
        lambda made, ids: made.embedding(7),
        lambda made, ids: made.words(["cat", "dog"]),
        lambda made, ids: made.tokens(TEXT, False),
        lambda made, ids: made.held(),
    ],
    ids=["values", "embedding", "words", "tokens", "held"],
)
def test_of_a_question_about_a_model(
    made: ModelService, steps: Steps, counted: Count, ask: Callable[[ModelService, list[int]], Any]
) -> None:
    check_pieces(counted, lambda: ask(made, steps.before(0)))


@pytest.mark.parametrize("kind", ["fork", "readmit"])
def test_of_what_begins_with_rows_that_are_computed_again(made: ModelService, counted: Count, kind: str) -> None:
    log = run_to_end(made, request(f"{kind}-of", f"{kind}: {TEXT}", max_new_tokens=NEW))
    made.engine.scheduler.forget(f"{kind}-of")
    frames = what_twins_need(log)
    prompt = len(datas(log, "open")[0]["tokens"])

    def begin() -> None:
        if kind == "fork":
            made.fork(ForkRequest("new", f"{kind}-of", prompt + 1, 5, frames[:3]))
        else:
            made.readmit(ReadmitRequest("new", 9, frames[:3]))

    assert check_pieces(counted, begin) > 1
    made.control("new", "stop")
    made.advance()


def test_of_a_table_that_is_looked_through(monkeypatch: pytest.MonkeyPatch, made: ModelService) -> None:
    monkeypatch.setattr("kvscope.model.activations.embedding.PART_NUMBERS", 64 * made.info["d"])
    pieces = Pieces("test")
    pieces.begin(lambda: made.embedding(7))
    count = 0
    while pieces.in_progress:
        pieces.go_on()
        count += 1
    assert count == 1 + -(-made.info["vocab"] // 64)
