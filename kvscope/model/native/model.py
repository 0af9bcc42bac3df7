"""The C structures that describe a transformer to the native code."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_float, c_int32, c_int64, c_void_p
from ctypes import pointer as points_to
from typing import Any

import torch
from torch import Tensor, nn

from kvscope.model.config import ModelConfig
from kvscope.model.grouped import GroupedEmbedding
from kvscope.model.kv_cache import KVCache
from kvscope.model.linear import Linear as LinearLayer
from kvscope.model.linear import linears
from kvscope.model.native.products import Linear, Weight, linear, native_weight, pointer
from kvscope.model.rope import attention_factor, rotations
from kvscope.model.transformer import MLP, Block, Experts, Transformer


class Norm(Structure):
    """`struct norm`."""

    _fields_ = (("weight", c_void_p), ("bias", c_void_p))


class NativeExperts(Structure):
    """`struct experts`."""

    _fields_ = (
        *(("router", Linear), ("gate_up", POINTER(Linear)), ("down", POINTER(Linear))),
        *((name, c_int64) for name in ("count", "chosen", "width")),
        ("normalized", c_int32),
    )


class Layer(Structure):
    """`struct layer`."""

    _fields_ = (
        *((name, Linear) for name in ("qkv", "out", "gate_up", "down")),
        *((name, Norm) for name in ("attn_norm", "q_norm", "k_norm", "attn_post", "mlp_norm", "mlp_post")),
        ("experts", POINTER(NativeExperts)),
        *((name, c_void_p) for name in ("rotations", "keys", "values")),
        *((name, c_int64) for name in ("pool", "window")),
    )


class Model(Structure):
    """`struct model`."""

    _fields_ = (
        *(("layers", POINTER(Layer)), ("table", Weight), ("positions", c_void_p), ("norm", Norm), ("head", Linear)),
        *((name, c_int64) for name in ("count", "heads", "kv_heads", "head_dim", "d", "d_mlp", "vocab")),
        *((name, c_float) for name in ("embedding_scale", "score_scale", "eps")),
        *((name, c_int32) for name in ("gated", "gelu")),
    )


class NativeModel:
    """`structure` describes `transformer` and its K and V in `cache`, and points to their tensors."""

    def __init__(self, transformer: Transformer, cache: KVCache):
        config = transformer.config
        self._transformer, self._cache = transformer, cache
        blocks = [block for block in transformer.blocks if isinstance(block, Block)]
        self._layers = (Layer * len(blocks))(*(self._layer(layer, block) for layer, block in enumerate(blocks)))
        self._positions = 0
        self.most_groups = max(part.q.shape[1] for each in linears(transformer) for part in each.groups)
        """The most groups of a weight along its inputs."""
        assert isinstance(transformer.embed, GroupedEmbedding)
        learned = transformer.positions
        self.structure = Model(
            *(self._layers, native_weight(transformer.embed.groups)),
            *(pointer(learned.weight) if learned else None, _norm(transformer.norm), _linear(transformer.lm_head)),
            *(len(blocks), config.heads, config.kv_heads, config.head_dim, config.d, config.d_mlp, config.vocab),
            *(config.embedding_scale, config.score_scale, config.norm_eps),
            *(config.gated, config.activation == "gelu_tanh"),
        )

    def reach(self, positions: int) -> None:
        """Prepares the rotations of the first `positions` positions."""
        if positions <= self._positions or self._transformer.inv_freq is None:
            return
        config, count = self._transformer.config, max(1024, 2 * positions)
        self._positions = count
        tables: dict[bool, Tensor] = {}
        for layer, native in enumerate(self._layers):
            window = config.has_window(layer)
            if window not in tables:
                rotation = rotation_of(self._transformer, layer)
                assert rotation is not None
                frequencies, factor = rotation
                tables[window] = torch.cat(rotations(frequencies, torch.arange(count), factor), dim=1).contiguous()
            native.rotations = tables[window].data_ptr()
        self._tables = tables

    def _layer(self, number: int, block: Block) -> Layer:
        config, attn, mlp = block.attn.config, block.attn, block.mlp
        keys, values = self._cache.by_layer[number]
        norms: dict[str, Any] = {"attn_norm": attn.norm}
        if config.qk_norm:
            norms |= {"q_norm": attn.q_norm, "k_norm": attn.k_norm}
        products: dict[str, Any] = {"qkv": attn.qkv, "out": attn.out}
        assert isinstance(mlp, MLP | Experts)
        norms["mlp_norm"] = mlp.norm
        experts = None
        if isinstance(mlp, Experts):
            experts = points_to(_experts(config, mlp))
        else:
            products |= {"gate_up": mlp.gate_up if config.gated else mlp.up, "down": mlp.down}
        if config.post_norms:
            norms |= {"attn_post": attn.post_norm, "mlp_post": mlp.post_norm}
        return Layer(
            **{name: _linear(each) for name, each in products.items()},
            **{name: _norm(each) for name, each in norms.items()},
            experts=experts,
            keys=pointer(keys),
            values=pointer(values),
            pool=keys.shape[1],
            window=config.window if config.has_window(number) else 0,
        )


def rotation_of(transformer: Transformer, layer: int) -> tuple[Tensor, float] | None:
    """Returns a layer's rotary frequencies and the factor of their cosine and sine; None without rotary positions."""
    frequencies, config = transformer.frequencies(layer), transformer.config
    if frequencies is None:
        return None
    own = config.has_window(layer) and transformer.local_inv_freq is not None
    return frequencies, 1.0 if own else attention_factor(config.rope_scaling)


def _experts(config: ModelConfig, mlp: Experts) -> NativeExperts:
    gate_up, down = ((Linear * config.experts)(*map(_linear, each)) for each in (mlp.gate_up, mlp.down))
    sizes = config.experts, config.experts_chosen, config.d_expert, config.shares_normalized
    return NativeExperts(_linear(mlp.router), gate_up, down, *sizes)


def _linear(layer: nn.Module) -> Linear:
    assert isinstance(layer, LinearLayer)
    return linear(layer.groups, layer.bias)


def _norm(norm: nn.Module) -> Norm:
    tensors = dict(norm.named_parameters())
    return Norm(pointer(tensors.get("weight")), pointer(tensors.get("bias")))
