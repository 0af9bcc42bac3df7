"""Decides whether `step` of kernels.c implements a model; if not, the modules compute it.

A new field, module, weight or hook point of the
transformer turns native steps off, and tests/model/native/test_steps.py fails, until it is listed here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import torch
from torch import nn

from kvscope.model.config import ModelConfig
from kvscope.model.grouped import GroupedEmbedding
from kvscope.model.hooks import HookPoint
from kvscope.model.kv_cache import KVCache
from kvscope.model.linear import Linear, linears
from kvscope.model.transformer import MLP, Attention, AttentionGroup, Batch, Block, Experts, RMSNorm, Transformer
from kvscope.model.windowed_cache import WindowedCache

ANY_VALUE = frozenset(
    (
        *("arch", "layers", "heads", "kv_heads", "head_dim", "d", "d_mlp", "vocab", "context", "norm_eps", "tied"),
        *("rope_theta", "rotary_dim", "rope_scaling", "local_rope_theta", "embedding_scale", "window"),
        *("qkv_bias", "out_bias", "mlp_bias", "qk_norm", "post_norms", "score_width", "global_layers"),
        *("experts", "experts_chosen", "d_expert", "shares_normalized", "dense_layers"),
    )
)
"""Fields of a config with every value implemented …"""
VALUES: Mapping[str, tuple[Any, ...]] = {
    "norm": ("rms", "layer"),
    "mlp": ("swiglu", "geglu", "gelu"),
    "positions": ("rotary", "learned"),
    "residual": (True,),
    "score_cap": (None,),
    "logit_cap": (None,),
    "parallel": (False,),
}
"""… and fields with only these values implemented."""
_NUMBER = re.compile(r"\.\d+$")
NORMS = (RMSNorm, nn.LayerNorm)
MODULES: Mapping[str, tuple[type[nn.Module], ...]] = {
    "": (Block,),
    "attn": (Attention,),
    "mlp": (MLP, Experts),
    **dict.fromkeys(("attn.norm", "attn.q_norm", "attn.k_norm", "attn.post_norm", "mlp.norm", "mlp.post_norm"), NORMS),
    **dict.fromkeys(("attn.qkv", "attn.out", "mlp.up", "mlp.router", "mlp.gate_up.N", "mlp.down.N"), (Linear,)),
    **dict.fromkeys(("mlp.gate_up", "mlp.down"), (Linear, nn.ModuleList)),
}
"""The modules of a block, except its hook points; N: a number."""
TENSORS = frozenset(
    f"{name}.{tensor}"
    for name, kinds in MODULES.items()
    for tensor in (("weight", "bias") if kinds is NORMS else ("bias",))
)
"""Weights of a block that are not in groups."""
OF_A_PASS: Mapping[type, frozenset[str]] = {
    Batch: frozenset(("ids", "positions", "slots", "groups", "out_rows")),
    AttentionGroup: frozenset(("start", "sequences", "queries", "lengths", "slots", "hidden", "far")),
}
"""Fields that describe a pass."""


def implements(transformer: Transformer, cache: KVCache) -> bool:
    """Returns whether native steps of this transformer over this cache compute the same as its modules."""
    return (
        all(names == {field.name for field in fields(described)} for described, names in OF_A_PASS.items())
        and type(cache) in (KVCache, WindowedCache)
        and cache.pool.dtype == torch.float32
        and not not_computed(transformer.config)
        and isinstance(transformer.embed, GroupedEmbedding)
        and all(linear.groups for linear in linears(transformer))
        and all(_has_block(block) for block in transformer.blocks)
    )


def not_computed(config: ModelConfig) -> dict[str, Any]:
    """Returns the fields of a config with a value that is not implemented, and their values."""
    settings = {field.name: getattr(config, field.name) for field in fields(config) if field.name not in ANY_VALUE}
    return {name: value for name, value in settings.items() if value not in VALUES.get(name, ())}


def _has_block(block: nn.Module) -> bool:
    modules = {name: module for name, module in block.named_modules() if not isinstance(module, HookPoint)}
    tensors = {name for each in (block.named_parameters, block.named_buffers) for name, _ in each()}
    known = all(type(module) in MODULES.get(_NUMBER.sub(".N", name), ()) for name, module in modules.items())
    return known and tensors <= TENSORS
