"""How large a log can come to be is known before it is begun, and is not many times what it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvscope.model.api import BeamRequest, Frame, Keeping
from kvscope.model.settings import Ask, Sampling, ServingSettings
from tests.support.tiny_runs import (
    chosen,
    encoded,
    finish,
    fork_of,
    request,
    run_to_end,
    service,
    twin_of,
    workload_request,
)


def size(log: list[Frame]) -> int:
    return sum(len(frame.payload) for frame in log)


def check(log: list[Frame], most: int, times: float = 4) -> None:
    assert size(log) <= most
    assert most <= 70_000 + times * size(log), "the first frame is counted with all that it may have"


@settings(max_examples=15)
@given(st.integers(1, 200), st.integers(1, 24), st.integers(1, 12), st.sampled_from((4, 8, 16)))
def test_a_run_keeps_within_its_bound(prompt: int, new: int, layers: int, heads: int) -> None:
    made = service(layers=layers, heads=heads, kv_heads=2)
    asked = request(prompt="x" * prompt, max_new_tokens=new, sampling=Sampling(strategy="sample", temperature=2.0))
    most = made.most_bytes(asked)
    assert size(run_to_end(made, asked)) <= most


def test_a_bound_is_near_for_what_makes_a_log_large() -> None:
    made = service(layers=12, heads=16, kv_heads=2)
    asked = request(prompt="x" * 250, max_new_tokens=24)
    check(run_to_end(made, asked), made.most_bytes(asked), times=1.5)


def test_forks_and_studies_keep_within_theirs() -> None:
    made = service()
    asked = request(max_new_tokens=12)
    log = run_to_end(made, asked)
    fork, twin = fork_of(log, 3, 70), twin_of(log, "none")
    keeping = replace(twin_of(log, "kept"), keeping=Keeping("heavy", 9, given=True))
    beam = BeamRequest("d", "a", 0, 4, 8, encoded() + chosen(log)[:1], log[0].payload)
    asked_of = ((made.fork, fork), (made.twin, twin), (made.twin, keeping), (made.beam, beam))
    for begin, derived in asked_of:
        check(begin(derived) + finish(made), made.most_bytes(derived))


@pytest.mark.parametrize("more", [{}, {"prefix": "blocks", "budget": 4}], ids=["plain", "as vLLM"])
@pytest.mark.parametrize("rounds", [1, 2])
def test_a_workload_keeps_within_its_bound(rounds: int, more: dict[str, Any]) -> None:
    made = service()
    asks = tuple(Ask(prompt=f"{number} and what follows", max_new_tokens=12) for number in range(6))
    scarce = ServingSettings(at_once=4, chunk=4, blocks=8, **more)
    asked = workload_request("w", "Be brief.", asks, (scarce, ServingSettings(batching="static"))[:rounds])
    most = made.most_bytes(asked)
    assert size(made.workload(asked) + finish(made)) <= most
