"""The shape of a model: everything the transformer needs to know that is not a weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ARCHITECTURES = ("llama", "mistral", "qwen2", "qwen3", "gpt2", "by hand")
_CHOICES = {
    "norm": ("rms", "layer", "none"),
    "mlp": ("swiglu", "gelu", "none"),
    "positions": ("rotary", "learned", "none"),
}


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
    positions: str = "rotary"
    """Rotary, a learned row added to each embedding (GPT-2), or none."""
    rope_theta: float = 10_000.0
    """Base of the rotary angles."""
    rope_scaling: dict[str, Any] | None = None
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    tied: bool = False
    residual: bool = True
    """Whether a block adds its changes to the row, or puts them in its place."""
    window: int | None = None
    """Sliding window: a query sees itself and the window − 1 keys before it."""

    def __post_init__(self) -> None:
        if self.arch not in ARCHITECTURES:
            raise ValueError(f"architecture {self.arch!r} is not one of {', '.join(ARCHITECTURES)}")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(choices)}")
        for name in ("layers", "heads", "kv_heads", "head_dim", "d", "d_mlp", "vocab", "context"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.heads % self.kv_heads:
            raise ValueError(f"{self.heads} query heads cannot share {self.kv_heads} K/V heads evenly")
        if self.positions == "rotary" and self.head_dim % 2:
            raise ValueError(f"rotary positions need an even head_dim, not {self.head_dim}")

    @property
    def gated(self) -> bool:
        """Whether the MLP multiplies with a gate, and so has three matrices in place of two."""
        return self.mlp == "swiglu"

    @property
    def activation(self) -> str | None:
        """What bends the numbers inside the MLP: "silu", or "gelu_tanh", GELU by tanh; None without one."""
        return {"swiglu": "silu", "gelu": "gelu_tanh"}.get(self.mlp)

    @property
    def windows(self) -> list[int | None] | None:
        """The sliding window of each layer; None where no layer has one."""
        return None if self.window is None else [self.window] * self.layers

    @property
    def group(self) -> int:
        """Query heads per K/V head (1: MHA; heads: MQA; between: GQA)."""
        return self.heads // self.kv_heads
