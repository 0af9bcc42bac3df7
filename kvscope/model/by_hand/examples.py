"""Defines a worked example, and the examples A, B and C.

Of B's weights only W_Q of the first head was published. The others were chosen here, with two decimals at most, to give
the published Q, K, V, output and logits (tests/model/by_hand has these figures). C has those of B, and an MLP whose
weights were chosen here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

MOST = 1_000.0
"""Largest absolute value of a number in an example."""
MOST_TOKENS, MOST_WIDTH = 15, 8
NORM_EPS = 1e-5
"""ε of the norms of an example that has norms."""
Matrix = tuple[tuple[float, ...], ...]
Phase = Literal["prefill", "decode"]


@dataclass(frozen=True, slots=True)
class Head:
    """The weights of a head, [d, d_k] each: a row of Q is a row of X times `w_q`."""

    w_q: Matrix
    w_k: Matrix
    w_v: Matrix


@dataclass(frozen=True, slots=True)
class MLP:
    """The weights of an MLP with a gate: (silu(x · `w_gate`) × (x · `w_up`)) · `w_down` (arXiv:2002.05202, eq. 6)."""

    w_gate: Matrix
    """[d, d_mlp], as `w_up`"""
    w_up: Matrix
    w_down: Matrix
    """[d_mlp, d]"""


@dataclass(frozen=True, slots=True)
class Example:
    """One block: attention alone, or, with `mlp`, all of a block and the norm after it."""

    words: tuple[str, ...]
    """The vocabulary."""
    embeddings: Matrix
    """[vocabulary, d]"""
    prompt: tuple[int, ...]
    """Ids of tokens."""
    heads: tuple[Head, ...]
    positions: Matrix | None = None
    """[positions, d], added to the embeddings; None for an example without positions."""
    w_o: Matrix | None = None
    """[heads · d_k, d]; None if the example ends with the heads' output."""
    lm_head: Matrix | None = None
    """[vocabulary, d]; None if `given` is the next token."""
    given: int | None = None
    """The next token; None if the LM head chooses it."""
    temperature: float = 1.0
    mlp: MLP | None = None
    """The MLP of an example with RMSNorms (factors 1) and a residual stream, which also has `w_o` and `lm_head`; None
    for attention alone."""

    @property
    def parts(self) -> dict[str, Matrix]:
        """Returns matrices by name: embeddings, positions, w_q1 … w_v1 of the first head and so on, w_o, those of the
        MLP, lm_head.
        """
        heads = {
            f"{name}{number}": getattr(head, name)
            for number, head in enumerate(self.heads, 1)
            for name in Head.__slots__
        }
        start = {"embeddings": self.embeddings, "positions": self.positions}
        mlp = {name: getattr(self.mlp, name, None) for name in MLP.__slots__}
        every = {**start, **heads, "w_o": self.w_o, **mlp, "lm_head": self.lm_head}
        return {name: matrix for name, matrix in every.items() if matrix is not None}

    def with_parts(self, parts: Mapping[str, Matrix]) -> Example:
        """Returns the example with these matrices replaced."""
        heads = tuple(
            Head(*(parts.get(f"{name}{number}", getattr(head, name)) for name in Head.__slots__))
            for number, head in enumerate(self.heads, 1)
        )
        return replace(
            self,
            heads=heads,
            embeddings=parts.get("embeddings", self.embeddings),
            positions=parts.get("positions", self.positions),
            w_o=parts.get("w_o", self.w_o),
            mlp=self.mlp and MLP(*(parts.get(name, getattr(self.mlp, name)) for name in MLP.__slots__)),
            lm_head=parts.get("lm_head", self.lm_head),
        )


A = Example(
    words=("the", "cat", "sat", "new"),
    embeddings=((1, 0), (0, 1), (1, 1), (0.5, 0.5)),
    prompt=(0, 1, 2),
    heads=(Head(w_q=((1, 0), (0, 1)), w_k=((0, 1), (1, 0)), w_v=((1, 1), (1, -1))),),
    given=3,
)
"""One head, d = 2: “the cat sat”, and a fourth token."""

B = Example(
    words=("<PAD>", "I", "love", "AI", "<EOS>"),
    embeddings=((0, 0, 0, 0), (0.8, 0.3, -0.2, 0.5), (0.4, 0.6, 0.7, -0.3), (0.5, -0.4, 0.6, 0.8), (0, 0, 0, 0)),
    positions=((0, 1, 0, 1), (0.8, 0.5, 0.1, 1), (0.9, -0.4, 0.2, 1)),
    prompt=(1, 2),
    heads=(
        Head(
            w_q=((0.2, 0.3), (0.1, 0.4), (0.3, 0.2), (0.4, 0.1)),
            w_k=((0.4, 0.1), (-0.2, 0.2), (0.4, 0.4), (0.5, 0.7)),
            w_v=((0.2, 0.2), (0.6, 0.3), (0.1, 0.3), (0.3, 0.2)),
        ),
        Head(
            w_q=((0.1, 0), (0.5, 0.2), (0.35, 0.4), (0.1, 0.5)),
            w_k=((0.5, 0.35), (0, 0.2), (0.25, 0.05), (0.4, 0.5)),
            w_v=((0.4, 0.35), (0.45, 0.35), (0, 0.2), (0.25, 0.15)),
        ),
    ),
    w_o=((0.4, 0.35, 0.25, 0), (-0.25, 0.3, -0.2, 0.25), (0.05, 0.3, 0.2, 0.65), (0.57, -0.02, 0.47, -0.02)),
    lm_head=(
        (-0.15, 0.5, 0, 0.55),
        (0, 0.35, 0, 0.64),
        (0.25, 0.3, 0.1, 0.29),
        (0, 0.55, 0.15, 0.57),
        (-0.15, 0.5, 0, 0.55),
    ),
)
"""Two heads, d = 4, a vocabulary of five: “I love”, and the next token “AI”."""

C = replace(
    B,
    mlp=MLP(
        w_gate=((0.5, -0.3, 0.2), (0.1, 0.4, -0.2), (0.3, 0.2, 0.5), (-0.2, 0.6, 0.1)),
        w_up=((0.4, 0.1, -0.3), (0.2, 0.5, 0.3), (-0.1, 0.2, 0.4), (0.3, -0.2, 0.6)),
        w_down=((-0.3, 0.4, -0.2, 0.1), (0.2, 0.3, -0.1, 0.2), (-0.1, 0.2, 0.1, 0.3)),
    ),
)
"""B as a whole block: norms, the residual stream and an MLP."""

EXAMPLES: Mapping[str, Example] = {"a": A, "b": B, "c": C}
