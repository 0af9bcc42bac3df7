"""Memory and the checkpoint reader read the same shape from the same config.json, or both refuse it: for every family
whose checkpoints can be loaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kvscope.model.api import Refused
from kvscope.model.checkpoint.hf_config import config_from_hf
from kvscope.model.families import COMPUTED, FAMILIES
from tests.static.memory.other_configs import NO_SIZE, changed
from tests.static.memory.tiny_configs import FAMILIES as TINY
from tests.support.node import answer_of
from tools.families import COPY, TABLE

SCRIPT = Path(__file__).parent / "shapes-answers.js"
Config = dict[str, Any]
BAD_VALUES = (None, 0, -1, 2.5, "8", True, [8], 10**12)
MOE = {"num_experts": 6, "num_experts_per_tok": 2}
MIXED = ["full_attention", "sliding_attention"] * 3 + ["full_attention"]
EXTRA: dict[str, list[Config]] = {
    "llama": [{"num_key_value_heads": 3}, {"num_attention_heads": 3, "num_key_value_heads": 3}],
    "mistral": [{"layer_types": value} for value in (MIXED, [], MIXED[:3], "full_attention", 5, [1] * 7)],
    "qwen2": [
        {"use_sliding_window": True, **change}
        for change in ({"layer_types": MIXED}, {"max_window_layers": "2"}, {"max_window_layers": 0}, {})
    ],
    "qwen3_moe": [
        MOE,
        {**MOE, "num_local_experts": 4},
        {**MOE, "num_experts": 1},
        {**MOE, "mlp_only_layers": [0, 5, 99]},
        {**MOE, "mlp_only_layers": "0"},
        {**MOE, "mlp_only_layers": [-1]},
        {**MOE, "mlp_only_layers": None},
        {**MOE, "decoder_sparse_step": 3},
    ],
    "gemma3_text": [{"layer_types": MIXED}, {"sliding_window_pattern": 2}],
    "gemma2": [{"layer_types": MIXED}, {"sliding_window": None}],
    "gpt_neox": [{"num_attention_heads": 7}, {"num_key_value_heads": 2}],
    "gpt2": [{"n_head": 7}, {"n_inner": 9}, {"n_inner": None}, {"num_key_value_heads": None}],
    "phi3": [{"layer_types": ["full_attention"] * 7}],
}


def configs(family: str) -> list[Config]:
    """Of a family: the defaults of its class; no field at its default; each field left out, or with a bad value."""
    whole = {"model_type": family, **changed(family)}
    sizes = [field for field in FAMILIES[family]["defaults"] if field not in (*NO_SIZE, "norm_topk_prob")]
    return [
        {"model_type": family},
        whole,
        *({name: value for name, value in whole.items() if name != field} for field in sizes),
        *({**whole, field: value} for field in sizes for value in BAD_VALUES),
        *({**whole, **change} for change in EXTRA.get(family, [])),
        *({"model_type": family, **tiny} for name, tiny in TINY.values() if name == family),
    ]


def shape_of_checkpoint(config: Config) -> Config | None:
    try:
        read = config_from_hf(config, "test")
    except Refused:
        return None
    layers = range(read.layers)
    window = {"tokens": read.window, "layers": [layer for layer in layers if read.has_window(layer)]}
    experts = {"experts": read.experts, "chosen": read.experts_chosen, "d_expert": read.d_expert}
    sizes = ("layers", "d", "heads", "kv_heads", "head_dim", "d_mlp", "vocab", "tied")
    return {size: getattr(read, size) for size in sizes} | {
        "window": window if read.window is not None else None,
        "moe": experts | {"dense_layers": len(read.dense_layers)} if read.experts else None,
        "biases": [read.qkv_bias, read.out_bias, read.mlp_bias],
        "gated": read.gated,
        "norms": 4 if read.post_norms else 2,
    }


def shape_of_memory(model: Config) -> Config | None:
    if "problem" in model:
        return None
    layer, experts = model["layer"], model["moe"]
    sizes = ("layers", "d", "heads", "kv_heads", "head_dim", "d_mlp", "vocab", "tied", "window")
    return {size: model[size] for size in sizes} | {
        "moe": experts and {name: experts[name] for name in ("experts", "chosen", "d_expert", "dense_layers")},
        "biases": [layer.get(f"{part}_bias", False) for part in ("qkv", "out", "mlp")],
        "gated": layer.get("gated", False),
        "norms": layer["norms"],
    }


@pytest.mark.parametrize("family", COMPUTED)
def test_both_readers_read_the_same_shape_or_refuse(family: str) -> None:
    cases = configs(family)
    different = {}
    for config, model in zip(cases, answer_of(SCRIPT, cases), strict=True):
        shapes = shape_of_checkpoint(config), shape_of_memory(model)
        if shapes[0] != shapes[1]:
            different[str(config)] = shapes
    assert different == {}


def test_the_page_has_the_table_of_the_model() -> None:
    assert COPY.read_bytes() == TABLE.read_bytes(), "run `python -m tools.families`"
