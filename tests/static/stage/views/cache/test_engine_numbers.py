"""The page's FLOPs by operation add up to those of the engine, and both divide an eviction budget in the same way."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from kvscope.model.api import Policy
from kvscope.model.engine.cost import Cost
from kvscope.model.engine.eviction import staying
from kvscope.model.service.info import describe
from tests.support.node import answer_of
from tests.support.tiny import ARCHS, shared_model, tiny_checkpoint

PASSES = [(1, 1), (7, 7), (1, 40), (5, 12)]
"""Rows and keys of a pass."""


def test_the_page_counts_and_divides_as_the_engine_does() -> None:
    models = {arch: shared_model(arch) for arch in ARCHS}
    passes = [(arch, rows, keys) for arch in ARCHS for rows, keys in PASSES]
    budgets = [(policy, budget) for policy in get_args(Policy) for budget in (*range(1, 20), 256)]
    question = {
        "passes": [
            {
                "model": describe(tiny_checkpoint(arch), models[arch], "cpu"),
                "rows": rows,
                "keys": keys,
                "sparse": sum(map(models[arch].config.has_experts, range(models[arch].config.layers))),
            }
            for arch, rows, keys in passes
        ],
        "budgets": budgets,
    }
    page = answer_of(Path(__file__).parent / "engine-numbers.js", question)
    assert page["flops"] == [Cost.of_pass(models[arch], rows, keys, {}).flops for arch, rows, keys in passes]
    kept = [staying(policy, budget) for policy, budget in budgets]
    assert page["parts"] == [{"sinks": k.sinks, "heavy": k.heavy, "newest": k.recent} for k in kept]
