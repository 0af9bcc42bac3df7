"""What the engine process says that it holds, and how fast its steps were."""

from __future__ import annotations

import numpy as np
import pytest

from kvscope.model.service.info import weights_held
from tests.support.tiny_runs import encoded, finish, request, run_to_end, service, twin_of


def test_it_is_read_off_the_tensors() -> None:
    made = service()
    held, pool = made.held(), made.engine.cache.pool
    cache = held["cache"]
    assert cache["bytes"] == pool.nbytes == cache["blocks"] * cache["block_size"] * cache["position_bytes"]
    assert held["weights"] == weights_held(made.engine.transformer)
    run_to_end(made, request())
    assert made.held()["cache"]["free_blocks"] < cache["free_blocks"], "an ended run's blocks stay"


def test_the_pace_is_that_of_the_steps_that_shared_no_pass() -> None:
    made = service()
    assert made.held()["pace"]["prefill"] == {"steps": 0, "rows": 0, "ms": 0.0, "disturbed": 0}
    log = run_to_end(made, request())
    pace = made.held()["pace"]
    assert (pace["prefill"]["steps"], pace["prefill"]["rows"]) == (1, len(encoded()))
    assert (pace["decode"]["steps"], pace["decode"]["rows"]) == (5, 5)
    assert pace["prefill"]["ms"] > 0
    made.twin(twin_of(log, "none"))
    finish(made)
    after = made.held()["pace"]
    assert after["prefill"]["steps"] == 2
    assert after["decode"] == pace["decode"], "a step that computes all rows again is no decode step with a cache"
    made.start(request(run="b"))
    made.start(request(run="c"))
    finish(made)
    assert made.held()["pace"] == after, "these two shared their passes"


def test_words_have_the_rows_of_their_tokens() -> None:
    made = service()
    table = made.engine.transformer.embed.weight.numpy()
    found = made.words(["a", "the cat"])
    ids = [[token["id"] for token in each["tokens"]] for each in found["words"]]
    assert len(ids[1]) > 1
    rows = [table[each].mean(axis=0) for each in ids]
    assert [each["length"] for each in found["words"]] == pytest.approx([float(np.linalg.norm(row)) for row in rows])
    wanted = rows[0] @ rows[1] / np.linalg.norm(rows[0]) / np.linalg.norm(rows[1])
    assert found["cosines"][0][1] == pytest.approx(float(wanted), rel=1e-5)
    assert found["plane"]["kept"] == pytest.approx(1), "two rows differ in one direction"
    assert found["width"] == table.shape[1]
