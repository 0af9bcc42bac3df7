"""The configuration of a model: the sizes and options of the transformer, without its weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from kvscope.model.families import COMPUTED

ARCHITECTURES = (*COMPUTED, "by hand")
Norm = Literal["rms", "layer", "none"]
Mlp = Literal["swiglu", "geglu", "gelu", "gelu_erf", "none"]
Positions = Literal["rotary", "learned", "none"]
Activation = Literal["silu", "gelu_tanh", "gelu_erf"]
_MLPS: dict[Mlp, tuple[bool, Activation | None]] = {
    "swiglu": (True, "silu"),
    "geglu": (True, "gelu_tanh"),
    "gelu": (False, "gelu_tanh"),
    "gelu_erf": (False, "gelu_erf"),
    "none": (False, None),
}
"""For each kind of MLP: whether it multiplies by a gate, and its activation."""
_CHOICES = {"norm": get_args(Norm), "mlp": get_args(Mlp), "positions": get_args(Positions)}


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
    norm: Norm = "rms"
    norm_eps: float = 1e-5
    mlp: Mlp = "swiglu"
    positions: Positions = "rotary"
    """Rotary, a learned row added to each embedding (GPT-2), or none."""
    rope_theta: float = 10_000.0
    """Base of the rotary angles."""
    rotary_dim: int | None = None
    """How many numbers of a head are rotated; None: all. The other pairs have an angle of 0."""
    rope_scaling: dict[str, Any] | None = None
    local_rope_theta: float | None = None
    """Base of the rotary angles, unscaled, in layers with a window; None: as in the other layers."""
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    post_norms: bool = False
    """Whether each half of a block also normalizes its change before it adds it to the row."""
    embedding_scale: float = 1.0
    """The factor of every embedding."""
    score_width: float | None = None
    """The products of q and k are divided by the square root of this number; None: of head_dim."""
    score_cap: float | None = None
    """Each score s becomes cap · tanh(s ÷ cap) before the mask and softmax (Gemma 2, arXiv:2408.00118, §2); None: it
    stays as it is."""
    logit_cap: float | None = None
    """The same for logits."""
    parallel: bool = False
    """Whether the MLP reads the row that attention reads, not the row after attention (GPT-NeoX, arXiv:2204.06745,
    §2.1). Both changes are added to the row in either case."""
    tied: bool = False
    experts: int = 0
    """Number of experts in a layer's MLP, or 0. `d_mlp` is the width in layers without experts."""
    experts_chosen: int = 0
    """How many experts each row goes through."""
    d_expert: int = 0
    """Width of the MLP of one expert."""
    shares_normalized: bool = False
    """Whether the shares of a row's experts are divided by their sum."""
    dense_layers: tuple[int, ...] = ()
    """Layers without experts in a model with experts."""
    residual: bool = True
    """Whether a block adds its changes to the row; otherwise they replace the row."""
    window: int | None = None
    """Sliding window: a query reads its own key and the window − 1 keys before it; in `global_layers`, all keys."""
    global_layers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.arch not in ARCHITECTURES:
            raise ValueError(f"architecture {self.arch!r} is not one of {', '.join(ARCHITECTURES)}")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(choices)}")
        for name in ("layers", "heads", "kv_heads", "head_dim", "d", "d_mlp", "vocab", "context"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.experts and not (0 < self.experts_chosen <= self.experts and self.d_expert > 0):
            raise ValueError(f"a row cannot go through {self.experts_chosen} of {self.experts} experts")
        for name in ("score_cap", "logit_cap"):
            cap = getattr(self, name)
            if cap is not None and not 0 < cap < math.inf:
                raise ValueError(f"{name} is {cap}; it must be a positive number, or None for no cap")
        if self.heads % self.kv_heads:
            raise ValueError(f"{self.heads} query heads cannot share {self.kv_heads} K/V heads evenly")
        if self.positions == "rotary" and (
            self.head_dim % 2 or self.rotated % 2 or not 0 < self.rotated <= self.head_dim
        ):
            raise ValueError(
                f"rotary positions of {self.rotated} numbers do not fit into a head_dim of {self.head_dim}"
            )

    @property
    def gated(self) -> bool:
        """Whether the MLP multiplies by a gate, and so has three matrices instead of two."""
        return _MLPS[self.mlp][0]

    @property
    def activation(self) -> Activation | None:
        """The MLP's activation: "silu", "gelu_tanh" (GELU approximated by tanh), "gelu_erf" (exact GELU), or None."""
        return _MLPS[self.mlp][1]

    def has_experts(self, layer: int) -> bool:
        """Returns whether that layer's MLP has experts."""
        return self.experts > 0 and layer not in self.dense_layers

    @property
    def rotated(self) -> int:
        """How many numbers of a head are rotated."""
        return self.head_dim if self.rotary_dim is None else self.rotary_dim

    @property
    def windows(self) -> list[int | None] | None:
        """The sliding window of each layer; None if no layer has one."""
        if self.window is None:
            return None
        return [self.window if self.has_window(layer) else None for layer in range(self.layers)]

    def has_window(self, layer: int) -> bool:
        """Returns whether the queries of that layer read only the keys in the window."""
        return self.window is not None and layer not in self.global_layers

    @property
    def score_scale(self) -> float:
        """The factor of the products of q and k."""
        return 1 / math.sqrt(self.head_dim if self.score_width is None else self.score_width)

    @property
    def group(self) -> int:
        """Query heads per K/V head (1: MHA; heads: MQA; between: GQA)."""
        return self.heads // self.kv_heads
