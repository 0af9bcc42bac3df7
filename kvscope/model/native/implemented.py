"""Decides whether `block` of kernels.c implements a model; if not, the modules compute it.

The lists include fields that only the code around a block uses. So a new field, module, weight or hook point of the
transformer turns native steps off, and tests/model/native/test_steps.py fails, until it is listed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import torch
from torch import nn

from kvscope.model.config import ModelConfig
from kvscope.model.hooks import HookPoint
from kvscope.model.kv_cache import KVCache
from kvscope.model.linear import Linear, linears
from kvscope.model.transformer import MLP, Attention, AttentionGroup, Batch, Block, RMSNorm, Transformer
from kvscope.model.windowed_cache import WindowedCache

ANY_VALUE = frozenset(
    (
        *("arch", "layers", "heads", "kv_heads", "head_dim", "d", "d_mlp", "vocab", "context", "norm_eps", "tied"),
        *("rope_theta", "rotary_dim", "rope_scaling", "local_rope_theta", "embedding_scale", "window"),
        *("qkv_bias", "out_bias", "mlp_bias", "qk_norm"),
        *("experts_chosen", "d_expert", "shares_normalized", "dense_layers"),  # no effect without experts
    )
)
"""Fields of a config with every value implemented, in a block or around it …"""
VALUES: Mapping[str, tuple[Any, ...]] = {
    "norm": ("rms",),
    "mlp": ("swiglu",),
    "positions": ("rotary",),
    "post_norms": (False,),
    "experts": (0,),
    "residual": (True,),
    "global_layers": ((),),
}
"""… and fields with only these values implemented. `score_width` must be `head_dim`."""
MODULES: Mapping[str, type[nn.Module]] = {
    "": Block,
    "attn": Attention,
    "mlp": MLP,
    **dict.fromkeys(("attn.norm", "attn.q_norm", "attn.k_norm", "mlp.norm"), RMSNorm),
    **dict.fromkeys(("attn.qkv", "attn.out", "mlp.gate_up", "mlp.down"), Linear),
}
"""The modules of a block, except its hook points."""
TENSORS = frozenset(f"{name}.{'weight' if kind is RMSNorm else 'bias'}" for name, kind in MODULES.items())
"""Weights of a block that are not in groups."""
OF_A_PASS: Mapping[type, frozenset[str]] = {
    Batch: frozenset(("ids", "positions", "slots", "groups", "out_rows")),
    AttentionGroup: frozenset(("start", "sequences", "queries", "slots", "visible", "near")),
}
"""Fields that describe a pass."""


def implements(transformer: Transformer, cache: KVCache) -> bool:
    """Returns whether native steps of this transformer over this cache compute the same as its modules."""
    return (
        all(names == {field.name for field in fields(described)} for described, names in OF_A_PASS.items())
        and type(cache) in (KVCache, WindowedCache)
        and cache.pool.dtype == torch.float32
        and _has_config(transformer.config)
        and all(_has_block(block) for block in transformer.blocks)
    )


def _has_config(config: ModelConfig) -> bool:
    settings = {field.name: getattr(config, field.name) for field in fields(config) if field.name not in ANY_VALUE}
    return settings.pop("score_width") in (None, config.head_dim) and all(
        value in VALUES.get(name, ()) for name, value in settings.items()
    )


def _has_block(block: nn.Module) -> bool:
    modules = {name: module for name, module in block.named_modules() if not isinstance(module, HookPoint)}
    tensors = {name for each in (block.named_parameters, block.named_buffers) for name, _ in each()}
    return (
        all(MODULES.get(name) is type(module) for name, module in modules.items())
        and tensors <= TENSORS
        and all(linear.groups for linear in linears(block))
    )
