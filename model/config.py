"""The shape of a model: everything the transformer needs to know that is not a weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ARCHITECTURES = ("llama", "mistral", "qwen2", "qwen3", "gpt2")


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Raises ValueError when the numbers contradict each other."""

    arch: str
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    d: int
    d_mlp: int
    vocab: int
    context: int
    norm: str = "rms"
    norm_eps: float = 1e-5
    mlp: str = "swiglu"
    rope_theta: float | None = 10_000.0
    """Base of the rotary angles; None where positions are learned (GPT-2)."""
    rope_scaling: dict[str, Any] | None = None
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    tied: bool = False
    window: int | None = None
    """Sliding window: a query sees itself and the window − 1 keys before it."""

    def __post_init__(self) -> None:
        if self.arch not in ARCHITECTURES:
            raise ValueError(f"architecture {self.arch!r} is not one of {', '.join(ARCHITECTURES)}")
        for name in ("layers", "heads", "kv_heads", "head_dim", "d", "d_mlp", "vocab", "context"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.heads % self.kv_heads:
            raise ValueError(f"{self.heads} query heads cannot share {self.kv_heads} K/V heads evenly")
        if self.rope_theta is not None and self.head_dim % 2:
            raise ValueError(f"rotary positions need an even head_dim, not {self.head_dim}")

    @property
    def group(self) -> int:
        """Query heads per K/V head (1: MHA; heads: MQA; between: GQA)."""
        return self.heads // self.kv_heads
