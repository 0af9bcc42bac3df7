"""What each head adds to a row, against the same slices of W_O in float64, and against the model's own change."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load
from torch import Tensor

from kvscope.model.activations.answers import block_values
from kvscope.model.activations.contributions import head_contributions
from kvscope.model.service import ModelService
from tests.support.refused import refusal
from tests.support.tiny import ARCHS, prompt, random_weights, tiny_checkpoint, tiny_config, tiny_engine

LAYER = 1
IDS = prompt(21)


def answer_of(arch: str) -> dict[str, Tensor]:
    return load(head_contributions(tiny_engine(arch), IDS, LAYER))


@pytest.mark.parametrize("arch", ARCHS)
def test_the_heads_contributions_add_up_to_the_change_of_the_model(arch: str) -> None:
    answer, values = answer_of(arch), load(block_values(tiny_engine(arch), IDS, LAYER))
    own = values.get("attn.raw_change", values["attn.change"])
    torch.testing.assert_close(answer["attn.change"], own, rtol=0, atol=0)
    total = answer["attn.partials"].sum(dim=0) + answer.get("attn.bias", 0)
    torch.testing.assert_close(answer["attn.sum"], total)
    assert (answer["attn.sum"] - own).abs().max() < 2e-6 * own.abs().max()
    assert len(answer["attn.partials"]) == tiny_config(arch).heads


@pytest.mark.parametrize("arch", ["llama", "gpt2", "qwen3"])
def test_a_heads_contribution_is_its_output_times_its_columns_of_w_o(arch: str) -> None:
    config, answer = tiny_config(arch), answer_of(arch)
    weight = random_weights(config)[f"blocks.{LAYER}.attn.out.weight"].double()
    mixed = load(block_values(tiny_engine(arch), IDS, LAYER))["attn.mixed"].double()
    for head in range(config.heads):
        columns = slice(head * config.head_dim, (head + 1) * config.head_dim)
        expected = weight[:, columns] @ mixed[head]
        torch.testing.assert_close(answer["attn.partials"][head].double(), expected, rtol=0, atol=1e-5)


def test_what_a_run_lacks_is_refused() -> None:
    service = ModelService(tiny_checkpoint(), "cpu")
    assert "position is 5" in str(refusal(service.contributions, prompt(5), LAYER, 5))
    assert "layer is 9" in str(refusal(service.contributions, prompt(5), 9, 0))
