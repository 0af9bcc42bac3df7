"""Prefix caching: a prompt whose beginning an earlier run of the same owner had is read as far as that goes."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import numpy as np
import pytest

from kvscope.model.api import Frame, ReadmitRequest
from kvscope.model.log import frames
from kvscope.model.log.reader import LogReader
from kvscope.model.service import ModelService
from tests.support.changed_logs import checked
from tests.support.tiny import forget_all
from tests.support.tiny_runs import finish, fork_of, payloads, request, run_to_end, service, twin_of

BEGINNING = "The cat sat on the mat, looked at the moon, and thought of the sea."
OTHER_ENDING = BEGINNING[:-4] + "sky."


def accepted(log: list[Frame]) -> list[bytes]:
    checked(payloads(log))
    return payloads(log)


def log_of(made: ModelService, run: str, prompt: str, **options: Any) -> LogReader:
    """A run of one owner, whose log is checked as a stranger's is."""
    return LogReader(accepted(run_to_end(made, request(run, prompt, **{"owner": "mine", **options}))))


def common(a: LogReader, b: LogReader) -> int:
    """How many tokens their prompts begin with alike."""
    pairs = zip(a.open["tokens"], b.open["tokens"], strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def prefix_of(log: LogReader) -> tuple[int, str | None]:
    return log.open["prefix"]["common"], log.open["prefix"]["reason"]


def test_what_an_earlier_run_has_left_is_read_and_only_the_rest_is_computed() -> None:
    made = service()
    first, second = log_of(made, "a", BEGINNING), log_of(made, "b", OTHER_ENDING)
    assert 0 < second.reused == common(first, second) < second.prompt_length
    assert second.rows(0) == range(second.reused, second.prompt_length)
    step = second.steps[0]
    assert step["rows_computed"] == second.prompt_length - second.reused
    assert step["kv"]["positions"] == second.prompt_length
    assert step["kv"]["bytes_written"] * second.prompt_length == step["kv"]["bytes_used"] * step["rows_computed"]
    assert max(step["kv"]["refcounts"]) == 2
    assert second.rows(1) == range(second.prompt_length, second.prompt_length + 1)


def test_of_a_prompt_that_is_all_there_the_last_token_is_computed() -> None:
    made = service()
    log_of(made, "a", BEGINNING)
    again = log_of(made, "b", BEGINNING)
    assert again.rows(0) == range(again.prompt_length - 1, again.prompt_length)


@pytest.mark.parametrize("prompt", [BEGINNING, OTHER_ENDING])
def test_a_run_that_reads_gives_what_one_that_does_not_gives(prompt: str) -> None:
    made = service()
    log_of(made, "a", BEGINNING)
    read, whole = log_of(made, "b", prompt), log_of(made, "c", prompt, reuse=False)
    assert read.reused > whole.reused == 0
    assert [token["id"] for token in read.tokens] == [token["id"] for token in whole.tokens]
    for step in range(len(whole.steps)):
        mine, theirs = (dict(zip(log.top_ids(step), log.top_logits(step), strict=True)) for log in (read, whole))
        assert mine == pytest.approx(theirs, abs=1e-4)
    rows = whole.attention(0, 1, 0)[read.reused :]
    np.testing.assert_allclose(read.attention(0, 1, 0), rows, atol=0.01)
    np.testing.assert_allclose(read.norms(0)["k_norm"], whole.norms(0)["k_norm"][..., read.reused :], rtol=2e-3)


@pytest.mark.parametrize("options", [{"owner": "another"}, {"owner": ""}, {"reuse": False}])
def test_nothing_is_read_of_strangers_nor_where_it_is_not_wanted(options: dict[str, Any]) -> None:
    made = service()
    assert log_of(made, "a", BEGINNING).open["reused"] == 0
    log_of(made, "ownerless", BEGINNING, owner="")
    assert log_of(made, "b", BEGINNING, **options).reused == 0


def test_what_was_computed_to_look_into_a_strangers_run_is_not_read() -> None:
    made = service()
    log = log_of(made, "a", BEGINNING, owner="another")
    made.head([token["id"] for token in log.open["tokens"]], 0, 0, 0)
    assert log_of(made, "b", BEGINNING).reused == 0


def test_a_run_that_goes_on_is_read_as_far_as_it_has_come() -> None:
    made = service()
    made.start(request("a", BEGINNING, owner="mine"))
    made.advance()
    started = made.start(request("b", BEGINNING, owner="mine"))
    assert frames.header(started[0].payload).data["reused"] > 0
    finish(made)


def test_a_prompt_of_one_token_has_nothing_to_read() -> None:
    made = service()
    log_of(made, "a", "a")
    again = log_of(made, "b", "a")
    assert (again.prompt_length, again.open["reused"]) == (1, 0)


def test_a_fork_tells_what_its_parents_run_had_read_and_a_twin_computes_it() -> None:
    made = service()
    log_of(made, "a", BEGINNING)
    log = run_to_end(made, request("b", BEGINNING, owner="mine"))
    reader = LogReader(payloads(log))
    forked = made.fork(fork_of(log, 0, 5)) + finish(made)
    fork = LogReader(accepted(forked))
    assert (fork.reused, fork.rows(0)) == (reader.reused, reader.rows(0))
    twin = LogReader(payloads(made.twin(twin_of(log, "none")) + finish(made)))
    assert (twin.reused, twin.open["prefix"]) == (0, None)
    assert twin.steps[0]["rows_computed"] == reader.prompt_length


@pytest.mark.parametrize("gone", [False, True])
def test_a_run_that_was_set_aside_before_its_first_step_reads_as_much_as_its_log_says(gone: bool) -> None:
    made = service()
    whole = log_of(made, "a", OTHER_ENDING, reuse=False)
    log_of(made, "b", BEGINNING)
    made.engine.scheduler.forget("a")
    started = made.start(request("c", OTHER_ENDING, owner="mine"))
    made.control("c", "pause")
    made.evict_run("c")
    if gone:
        forget_all(made.engine)
    log_of(made, "d", OTHER_ENDING, reuse=False)  # of whose rows more could be read by now
    made.readmit(ReadmitRequest("c", 1, (started[0].payload,)))
    made.control("c", "resume")
    log = LogReader(accepted(started + finish(made)))
    assert 0 < log.reused < log.prompt_length - 1
    assert log.steps[0]["rows_computed"] == log.prompt_length - log.reused
    assert [token["id"] for token in log.tokens] == [token["id"] for token in whole.tokens]


def test_of_what_is_kept_that_which_was_read_last_is_forgotten_last() -> None:
    made = service()
    log_of(made, "a", BEGINNING)
    log_of(made, "b", "Something else entirely.")
    log_of(made, "c", BEGINNING)
    assert list(made.engine.scheduler.kept) == ["b", "a", "c"]


def test_a_run_says_how_much_its_clients_runs_had_and_that_nothing_of_it_was_left_out() -> None:
    made = service()
    assert prefix_of(log_of(made, "a", BEGINNING)) == (0, None)
    second = log_of(made, "b", OTHER_ENDING)
    assert prefix_of(second) == (second.reused, None)


@pytest.mark.parametrize(("options", "reason"), [({"reuse": False}, "off"), ({"owner": ""}, "no_client")])
def test_a_run_that_may_not_read_says_so(options: dict[str, Any], reason: str) -> None:
    made = service()
    first = log_of(made, "a", BEGINNING)
    second = log_of(made, "b", OTHER_ENDING, **options)
    assert prefix_of(second) == (common(first, second) if reason == "off" else 0, reason)


def test_evicted_rows_are_the_reason_while_their_run_is_remembered_and_no_more_once_they_are_there_again() -> None:
    made = service()
    first = log_of(made, "a", BEGINNING)
    made.engine.scheduler.forget("a")
    again = log_of(made, "b", OTHER_ENDING)
    assert (again.reused, prefix_of(again)) == (0, (common(first, again), "evicted"))
    assert prefix_of(log_of(made, "c", BEGINNING))[1] == "evicted", "the run b has fewer of these tokens"
    assert prefix_of(log_of(made, "d", BEGINNING))[1] is None


def test_rows_that_are_still_being_computed_are_the_reason() -> None:
    made = service()
    made.start(request("a", BEGINNING, owner="mine"))
    started = made.start(request("b", BEGINNING, owner="mine"))
    data = frames.header(started[0].payload).data
    assert data["prefix"] == {"common": len(data["tokens"]) - 1, "reason": "computing"}
    finish(made)


def test_nothing_is_said_of_what_strangers_have_or_had() -> None:
    made = service()
    alone = prefix_of(log_of(service(), "x", BEGINNING))
    log_of(made, "kept", BEGINNING, owner="another")
    log_of(made, "gone", OTHER_ENDING, owner="another")
    made.engine.scheduler.forget("gone")
    log_of(made, "ownerless", BEGINNING, owner="")
    assert prefix_of(log_of(made, "mine", BEGINNING)) == alone == (0, None)
