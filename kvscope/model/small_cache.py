"""KV caches with fewer bits or fewer heads: they take less memory and return approximate values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

import torch
from torch import Tensor

from kvscope.model.api import CacheDtype
from kvscope.model.config import ModelConfig
from kvscope.model.kv_cache import KVCache

SCALE = torch.float16
"""The dtype of scales. Each vector of integers has one scale."""
LARGEST = {"int8": 127, "int4": 7}


@dataclass(frozen=True, slots=True)
class Form:
    """How K and V are stored: the number format and the number of KV heads."""

    dtype: CacheDtype
    kv_heads: int

    def position_bytes(self, config: ModelConfig) -> int:
        """Computes the bytes of one position: 2 · layers · KV heads · (head dim · bits ÷ 8 + 2 for a scale)."""
        bits = dict(zip(get_args(CacheDtype), (32, 16, 8, 4), strict=True))[self.dtype]
        vector = config.head_dim * bits // 8 + (SCALE.itemsize if self.dtype in LARGEST else 0)
        return 2 * config.layers * self.kv_heads * vector


class SmallCache(KVCache):
    """A cache that stores K and V in another form, with the same methods as `KVCache`.

    Integers: a vector of K or V is divided by its largest absolute value ÷ 127 (int8) or ÷ 7 (int4, two per byte) and
    rounded. Fewer heads: the mean of the merged heads. Merging W_K and W_V by their mean gives the same values, also
    after RoPE, which rotates all heads by the same angles (GQA, arXiv:2305.13245, §2.1).
    """

    def __init__(self, config: ModelConfig, blocks: int, form: Form, device: str = "cpu"):
        small = replace(config, kv_heads=form.kv_heads, head_dim=config.head_dim // (2 if form.dtype == "int4" else 1))
        super().__init__(small, blocks, device, torch.uint8 if form.dtype == "int4" else getattr(torch, form.dtype))
        self.form, self.merged = form, config.kv_heads // form.kv_heads
        self.scales = torch.empty((*self.pool.shape[:-1], 1), device=device, dtype=SCALE)
        if form.dtype not in LARGEST:
            self.scales = self.scales[..., :0]

    @property
    def position_bytes(self) -> int:
        """Bytes of one position in all layers, read from the stored tensors."""
        return sum(stored[:, :, :, 0].nbytes for stored in self._stored)

    def write(self, layer: int, slots: Tensor, k: Tensor, v: Tensor) -> None:
        """Stores K and V rows, each [T, Hkv, Dh], at `slots` [T]."""
        slots = self.places(layer, slots)
        both = torch.stack((k.transpose(0, 1), v.transpose(0, 1)))  # 2 Hkv T Dh
        both = both.reshape(2, self.form.kv_heads, self.merged, *both.shape[2:]).mean(2)
        if self.form.dtype in LARGEST:
            largest = LARGEST[self.form.dtype]
            scale = (both.abs().amax(-1, keepdim=True) / largest).to(SCALE)
            self.scales[layer].index_copy_(2, slots, scale)
            # If a scale is 0, its vector reads back as zeros.
            both = (both / scale.float().clamp_min(1e-12)).round().clamp(-largest, largest)
        if self.form.dtype == "int4":
            both = (both + 8).to(torch.uint8)
            both = both[..., ::2] | both[..., 1::2] << 4
        self.pool[layer].index_copy_(2, slots, both.to(self.pool.dtype))

    def read(self, layer: int, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Returns K and V at `slots` [n], each float32 [Hkv, n, Dh], approximately as they were written."""
        slots = self.places(layer, slots)
        both = self.pool[layer].index_select(2, slots)
        if self.form.dtype == "int4":
            both = torch.stack((both & 15, both >> 4), dim=-1).flatten(-2).float() - 8
        both = both.float()
        if self.form.dtype in LARGEST:
            both = both * self.scales[layer].index_select(2, slots).float()
        keys, values = both.repeat_interleave(self.merged, dim=1)
        return keys, values

    def read_all(self, slots: Tensor) -> Tensor:
        """Returns K and V of every layer at `slots` [n], [layers, 2, Hkv, n, Dh]."""
        return torch.stack([torch.stack(self.read(layer, slots)) for layer in range(len(self.pool))])

    @property
    def _stored(self) -> list[Tensor]:
        return [self.pool, self.scales]
