"""Which experts rows went through: computed, counted, recorded, and what is refused of a model with experts."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import load
from torch import Tensor

from kvscope.model.hooks import hook_points, observing
from kvscope.model.log.frames import header, tensors
from tests.support.changed_logs import checked
from tests.support.refused import refusal
from tests.support.tiny import GREEDY, advance_all, prompt, rows, shared_model, tiny_engine, tokens, whole_logits
from tests.support.tiny_runs import payloads, request, run_to_end, service

MODEL = shared_model("qwen3_moe")
"""Layers 0 and 2 have 5 experts, of which a row goes through 2; layer 1 has none."""


def test_a_row_is_the_sum_of_its_experts_by_their_shares() -> None:
    experts = MODEL.blocks[2].mlp
    seen: dict[str, Tensor] = {}
    points = hook_points(experts)
    with observing(points, {name: lambda value, name=name: seen.__setitem__(name, value) for name in points}):
        experts(torch.randn(4, 32, generator=torch.Generator().manual_seed(1)))
    assert seen["probabilities"].sum(-1) == pytest.approx([1] * 4)
    for row in range(4):
        order = seen["probabilities"][row].argsort(descending=True)[:2]
        assert seen["chosen"][row].tolist() == order.tolist()
        shares = seen["probabilities"][row][order]
        torch.testing.assert_close(seen["shares"][row], shares / shares.sum())
        expected = torch.zeros(32)
        for share, expert in zip(seen["shares"][row], order.tolist(), strict=True):
            gate, up = experts.gate_up[expert](seen["normed"][row]).chunk(2)
            expected += share * experts.down[expert](torch.nn.functional.silu(gate) * up)
        torch.testing.assert_close(seen["change"][row], expected, atol=1e-5, rtol=1e-4)


def test_runs_together_choose_as_alone_and_each_has_the_experts_of_its_rows() -> None:
    engine, texts = tiny_engine("qwen3_moe"), [prompt(20, 1), prompt(7, 2)]
    for index, text in enumerate(texts):
        engine.admit(str(index), text, GREEDY, 5)
    records = advance_all(engine)
    for index, text in enumerate(texts):
        alone: dict[int, Tensor] = {}
        points = {f"blocks.{n}.mlp.chosen": partial(alone.__setitem__, n) for n in (0, 2)}
        chosen = tokens(records, str(index))
        with observing(hook_points(MODEL), points):
            logits = whole_logits(MODEL, [*text, *chosen[:-1]])
        assert logits.argmax(-1)[len(text) - 1 :].tolist() == chosen
        found = np.concatenate([record.rows.experts for record in rows(records, str(index))], axis=1)
        assert found.shape == (3, len(text) + 4, 2)
        assert (found[1] == -1).all()
        for layer in (0, 2):
            assert found[layer].tolist() == alone[layer].tolist()


def test_weights_read_are_those_of_the_experts_that_were_chosen() -> None:
    engine = tiny_engine("qwen3_moe")
    engine.admit("a", prompt(12), GREEDY, 2)
    expert = 4 * 3 * 32 * 24
    read, used = [], []
    while engine.busy:
        (record,) = rows(engine.advance(), "a")
        used.append(sum(len(np.unique(record.rows.experts[layer])) for layer in (0, 2)))
        (made,) = engine.passes
        read.append(made.weights["float32"])
    assert used[0] > used[1] == 4
    assert read[0] - read[1] == (used[0] - used[1]) * expert
    apart = sum(linear.in_features * linear.out_features for linear in MODEL.blocks[0].mlp.of_experts)
    assert apart * 4 == 5 * expert


def test_a_log_has_the_experts_of_each_row_and_is_accepted() -> None:
    log = run_to_end(service(arch="qwen3_moe"), request())
    checked(payloads(log))
    assert header(log[0].payload).data["model"]["experts"] == {"count": 5, "chosen": 2, "width": 24}
    first = tensors(next(frame for frame in log if frame.kind == "layer").payload)
    assert first["experts"].dtype == np.int32
    assert first["experts"].shape == first["expert_shares"].shape == (*first["residual_norm"].shape, 2)
    assert np.allclose(first["expert_shares"].sum(-1)[[0, 2]], 1, atol=2e-3)
    assert not any("experts" in tensors(frame.payload) for frame in run_to_end(service(), request()))


def test_a_block_answer_has_the_inside_of_the_experts_that_the_router_chose() -> None:
    made = service(arch="qwen3_moe")
    values = load(made.block(prompt(5), 0, 2))
    experts = MODEL.blocks[0].mlp
    assert values["mlp.hidden"].shape == (2, 24)
    assert values["mlp.shares"].tolist() == sorted(values["mlp.shares"].tolist(), reverse=True)
    change = torch.zeros(32)
    for rank, expert in enumerate(values["mlp.chosen"].int().tolist()):
        gate, up = experts.gate_up[expert](values["mlp.normed"]).chunk(2)
        torch.testing.assert_close(values["mlp.gate"][rank], gate)
        torch.testing.assert_close(values["mlp.raised"][rank], up)
        torch.testing.assert_close(values["mlp.hidden"][rank], torch.nn.functional.silu(gate) * up)
        change += values["mlp.shares"][rank] * values["mlp.parts"][rank]
    torch.testing.assert_close(values["mlp.change"], change)
    assert "mlp.parts" not in load(made.block(prompt(5), 1, 2))


def test_what_experts_cannot_do_yet_is_refused() -> None:
    made = service(arch="qwen3_moe")
    assert "experts" in str(refusal(made.shards, prompt(5), 0, 2, 2))
    assert "no mlp.up" in str(refusal(made.weights, 0, "mlp.up", 0))
    assert made.weights(1, "mlp.up", 0)
    assert made.head(prompt(5), 0, 0, 0)
