from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from kvscope.model.engine.batch import Entry, make_batch
from kvscope.model.engine.cost import Cost
from kvscope.model.kv_cache import KVCache, Sequence
from kvscope.model.weights import linears, weights_read
from tests.support.tiny import ARCHS, prompt, random_weights, shared_model


def test_costs_add_up() -> None:
    assert Cost(1, 2) + Cost(30, 40) == Cost(31, 42)
    mixed = Cost(weights={"float32": 1, "4-bit groups": 2}) + Cost(weights={"float32": 3})
    assert mixed.weights == {"float32": 4, "4-bit groups": 2}
    assert Cost() + Cost(5, 6) == Cost(5, 6)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(("cached", "new"), [(0, 1), (0, 24), (30, 1), (16, 7)])
def test_a_pass_costs_what_it_multiplies_and_reads(arch: str, cached: int, new: int) -> None:
    model = shared_model(arch)
    config = model.config
    pool, sequence = KVCache(config, 4), Sequence()
    pool.extend(sequence, cached)
    slots = pool.extend(sequence, new)
    batch, _ = make_batch([Entry(prompt(new), cached, slots, pool.slots(sequence))], config.window)
    with FlopCounterMode(display=False) as counter:
        model(batch, pool)
    attention = counter.get_flop_counts()["Global"][torch.ops.aten.bmm]
    weights = random_weights(config)
    matrices = sum(weight.numel() for name, weight in weights.items() if "blocks" in name and weight.dim() == 2)
    head = config.d * config.vocab
    keys_and_values = 0
    for layer in range(2):
        all_slots = pool.slots(sequence)
        seen = min(len(all_slots), config.window - 1 + new) if config.has_window(layer) else len(all_slots)
        keys_and_values += sum(part.nbytes for part in pool.read(layer, all_slots[-seen:]))

    cost = Cost.of_pass(model, new, cached + new, weights_read(linears(model)))
    assert cost.flops == attention + 2 * new * matrices + 2 * head
    assert cost.rows == new
    assert cost.weights == {"float32": 4 * (matrices + head)}
    assert cost.bytes_read == 4 * (matrices + head + new * config.d) + keys_and_values


@pytest.mark.parametrize("arch", ARCHS)
def test_weights_in_bfloat16_are_read_as_half_the_bytes_and_the_cache_is_not(arch: str) -> None:
    models = (shared_model(arch, dtype) for dtype in (torch.float32, torch.bfloat16))
    usual, smaller = (Cost.of_pass(model, 3, 9, weights_read(linears(model))) for model in models)
    config = shared_model(arch).config
    keys_and_values = KVCache(config, 1).position_bytes * 9
    assert (smaller.flops, smaller.rows) == (usual.flops, usual.rows)
    assert smaller.bytes_read - keys_and_values == (usual.bytes_read - keys_and_values) / 2
