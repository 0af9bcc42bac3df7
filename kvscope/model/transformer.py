"""The transformer: one decoder for the Llama family, GPT-2 and GPT-NeoX.

Llama, SmolLM2 (arXiv:2302.13971, 2502.02737), Mistral (2310.06825), Qwen2 and 2.5 (2407.10671), Qwen3 with and
without experts (2505.09388), Phi-3 (2404.14219): RMSNorm (1910.07467), rotary positions (2104.09864), grouped-query
attention (2305.13245), SwiGLU (2002.05202). Gemma 3 (2503.19786): GEGLU, a norm before and after each half of a block,
and layers that read only the newest keys. Gemma 2 (2408.00118): the same, and caps of scores and logits. GPT-2 (Radford
et al. 2019): LayerNorm, learned positions, GELU. GPT-NeoX and Pythia (2204.06745, 2304.01373): LayerNorm, rotary
positions in a part of each head, and attention and MLP that may read the same row.

A forward pass takes a ragged batch: the new rows of several sequences, one sequence after another, any number of rows
each. Only attention lets a row read other rows, through the paged KV cache; all other parts work on single rows.

Shapes are written in letters:
    T  rows of the ragged batch (new tokens of all sequences)   D  width of the residual stream     F  width of the MLP
    H  query heads    Hkv  K/V heads    G  query heads per K/V head (H = Hkv·G)    Dh  head dim    V  vocabulary
    N  rows whose logits are computed
    B  sequences in one attention group    Q  new rows of each of them    K  keys of the longest of them
    E  experts of a layer    X  experts of a row
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar, assert_never

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kvscope.model.config import ModelConfig
from kvscope.model.grouped import GroupedEmbedding, Groups
from kvscope.model.hooks import HookPoint
from kvscope.model.kv_cache import KVCache
from kvscope.model.linear import COMPUTED, GroupedWeight, Linear, Products, can_pack, linears, plain_product
from kvscope.model.rope import attention_factor, frequencies, rotate, rotations

Weight = Tensor | GroupedWeight
Rope = tuple[Tensor, Tensor] | None
"""cos and sin for the rows of a pass, each [T, 1, Dh]; None if positions are not rotary."""
ACTIVATIONS: Mapping[str | None, Callable[[Tensor], Tensor]] = {
    "silu": F.silu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "gelu_erf": F.gelu,
}


@dataclass(frozen=True, slots=True)
class AttentionGroup:
    """Sequences with the same number of new rows, so that one batched product serves them all."""

    start: int
    """First row of the group in the ragged batch."""
    sequences: int
    queries: int
    lengths: tuple[int, ...]
    """[B] keys of each sequence, with the new rows."""
    slots: Tensor
    """[B·K] cache slots of each sequence's keys.

    A sequence is padded with its first slot, because a weight of 0 times another sequence's NaN would be NaN.
    """
    hidden: Tensor | None
    """[B, 1, 1, Q, K] bool, for layers without a window: the keys that a query may not read. None: it may read all."""
    far: Tensor | None = None
    """The same for layers with a window."""

    @property
    def rows(self) -> int:
        return self.sequences * self.queries

    @property
    def keys(self) -> int:
        return self.slots.numel() // self.sequences

    def mask(self, window: bool) -> Tensor | None:
        """Returns the keys that a query may not read, for layers with or without a window."""
        return self.far if window else self.hidden


Part = TypeVar("Part", "AttentionGroup", "Batch")


@dataclass(frozen=True, slots=True)
class Batch:
    """The input of one forward pass."""

    ids: Tensor
    """[T] token ids"""
    positions: Tensor
    """[T] position of each row in its own sequence"""
    slots: Tensor
    """[T] cache slots to which the rows' K and V are written"""
    groups: tuple[AttentionGroup, ...]
    out_rows: Tensor
    """[N] rows whose logits are computed"""

    @property
    def one_row_each(self) -> AttentionGroup | None:
        """The only group, if every sequence of the pass has one new row; otherwise None."""
        group, *others = self.groups
        return None if others or group.queries > 1 else group

    def to(self, device: str) -> Batch:
        """Returns the batch on a device. The host does not wait for the copies."""

        def there(part: Part) -> Part:
            values = {field.name: getattr(part, field.name) for field in fields(part)}
            moved: dict[str, Any] = {
                name: value.to(device, non_blocking=True) for name, value in values.items() if torch.is_tensor(value)
            }
            return replace(part, **moved)

        return replace(there(self), groups=tuple(map(there, self.groups)))


class Attention(nn.Module):
    """The first half of a block: norm, Q K V, positions, scores, softmax, mix, output projection."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        heads, kv_heads, head_dim = config.heads, config.kv_heads, config.head_dim
        self.norm = make_norm(config, config.d)
        self.qkv = Linear(config.d, (heads + 2 * kv_heads) * head_dim, bias=config.qkv_bias)
        self.out = Linear(heads * head_dim, config.d, bias=config.out_bias)
        self.normed = HookPoint("T D")
        if config.qk_norm:
            self.q_norm, self.k_norm = make_norm(config, head_dim), make_norm(config, head_dim)
            self.q_raw = HookPoint("T H Dh")
            self.k_raw = HookPoint("T Hkv Dh")
        self.q = HookPoint("T H Dh")
        self.k = HookPoint("T Hkv Dh")
        self.v = HookPoint("T Hkv Dh")
        self.q_rot = HookPoint("T H Dh")
        self.k_rot = HookPoint("T Hkv Dh")
        self.scores = HookPoint("B Hkv G Q K")
        self.weights = HookPoint("B Hkv G Q K")
        self.mixed = HookPoint("T H Dh")
        if config.post_norms:
            self.post_norm = make_norm(config, config.d)
            self.raw_change = HookPoint("T D")
        self.change = HookPoint("T D")

    def forward(self, rows: Tensor, batch: Batch, rope: Rope, cache: KVCache, layer: int) -> Tensor:
        config = self.config
        sizes = (config.heads, config.kv_heads, config.kv_heads)
        qkv = self.qkv(self.normed(self.norm(rows)))  # T D -> T (H+2Hkv)*Dh
        q, k, v = qkv.view(rows.shape[0], sum(sizes), config.head_dim).split(sizes, dim=1)  # T H Dh, T Hkv Dh, T Hkv Dh
        if config.qk_norm:
            q, k = self.q_norm(self.q_raw(q)), self.k_norm(self.k_raw(k))
        q, k, v = self.q(q), self.k(k), self.v(v)
        if rope is not None:
            q, k = rotate(torch.cat((q, k), dim=1), *rope).split_with_sizes(sizes[:2], dim=1)
        q, k = self.q_rot(q), self.k_rot(k)
        cache.write(layer, batch.slots, k, v)
        mixed = [self._mix(q, group, cache, layer) for group in batch.groups]
        mix = self.mixed(mixed[0] if len(mixed) == 1 else torch.cat(mixed))  # T H Dh
        change = self.out(mix.flatten(1))  # T H*Dh -> T D
        if config.post_norms:
            change = self.post_norm(self.raw_change(change))
        return self.change(change)

    def _mix(self, q: Tensor, group: AttentionGroup, cache: KVCache, layer: int) -> Tensor:
        """softmax(Q·Kᵀ·scale)·V (arXiv:1706.03762, eq. 1) for one group; returns its rows, [B·Q, H, Dh].

        If the model caps its scores, softmax takes the capped ones, and the hook point shows these.
        """
        B, Q, K = group.sequences, group.queries, group.keys
        Hkv, G, Dh = self.config.kv_heads, self.config.group, self.config.head_dim
        k, v = cache.read(layer, group.slots)  # each Hkv B*K Dh
        k, v = k.view(Hkv * B, K, Dh), v.view(Hkv * B, K, Dh)
        q = q[group.start : group.start + group.rows].view(B, Q, Hkv, G, Dh)
        q = q.permute(2, 0, 3, 1, 4).reshape(Hkv * B, G * Q, Dh)
        scores = torch.bmm(q, k.transpose(1, 2)).mul_(self.config.score_scale)  # Hkv*B G*Q K
        scores = capped(scores, self.config.score_cap)
        scores = self.scores(scores.view(Hkv, B, G, Q, K).transpose(0, 1))  # B Hkv G Q K
        hidden = group.mask(self.config.has_window(layer))
        if hidden is not None:
            scores = scores.masked_fill(hidden, -math.inf)
        weights = self.weights(scores.softmax(dim=-1)).transpose(0, 1).reshape(Hkv * B, G * Q, K)
        mixed = torch.bmm(weights, v).view(Hkv, B, G, Q, Dh)
        return mixed.permute(1, 3, 0, 2, 4).reshape(B * Q, Hkv * G, Dh)


class MLP(nn.Module):
    """The second half of a block, which computes each row alone."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.gated, self.post_norms = config.gated, config.post_norms
        self.activation = ACTIVATIONS[config.activation]
        self.norm = make_norm(config, config.d)
        if self.gated:
            self.gate_up = Linear(config.d, 2 * config.d_mlp, bias=config.mlp_bias)
            self.gate = HookPoint("T F")
        else:
            self.up = Linear(config.d, config.d_mlp, bias=config.mlp_bias)
        self.down = Linear(config.d_mlp, config.d, bias=config.mlp_bias)
        self.normed = HookPoint("T D")
        self.raised = HookPoint("T F")
        self.hidden = HookPoint("T F")
        if config.post_norms:
            self.post_norm = make_norm(config, config.d)
            self.raw_change = HookPoint("T D")
        self.change = HookPoint("T D")

    def forward(self, rows: Tensor) -> Tensor:
        normed = self.normed(self.norm(rows))  # T D
        if self.gated:
            gate, up = self.gate_up(normed).chunk(2, dim=-1)  # T F, T F
            hidden = self.activation(self.gate(gate)) * self.raised(up)
        else:
            hidden = self.activation(self.raised(self.up(normed)))
        change = self.down(self.hidden(hidden))  # T F -> T D
        if self.post_norms:
            change = self.post_norm(self.raw_change(change))
        return self.change(change)


class Experts(nn.Module):
    """An MLP of several experts; a router chooses the experts of each row (arXiv:1701.06538, §2; 2505.09388)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.experts_chosen, self.normalized = config.experts_chosen, config.shares_normalized
        self.activation = ACTIVATIONS[config.activation]
        self.norm = make_norm(config, config.d)
        self.router = Linear(config.d, config.experts, bias=False)
        self.gate_up = nn.ModuleList(Linear(config.d, 2 * config.d_expert, bias=False) for _ in range(config.experts))
        self.down = nn.ModuleList(Linear(config.d_expert, config.d, bias=False) for _ in range(config.experts))
        self.normed = HookPoint("T D")
        self.probabilities = HookPoint("T E")
        self.chosen = HookPoint("T X")
        self.shares = HookPoint("T X")
        self.change = HookPoint("T D")

    @property
    def of_experts(self) -> list[Linear]:
        """The linear layers of all experts, expert by expert."""
        pairs = zip(self.gate_up, self.down, strict=True)
        return [linear for pair in pairs for linear in pair if isinstance(linear, Linear)]

    def forward(self, rows: Tensor) -> Tensor:
        normed = self.normed(self.norm(rows))  # T D
        probabilities = self.probabilities(self.router(normed).softmax(dim=-1))  # T E
        shares, chosen = probabilities.topk(self.experts_chosen, dim=-1)  # T X, T X
        if self.normalized:
            shares = shares / shares.sum(dim=-1, keepdim=True)
        chosen, shares = self.chosen(chosen), self.shares(shares)
        change = torch.zeros_like(rows)
        for expert in sorted(set(chosen.flatten().tolist())):
            row, rank = (chosen == expert).nonzero(as_tuple=True)
            *_, part = self.inside(expert, normed[row])
            change.index_add_(0, row, part * shares[row, rank, None])
        return self.change(change)

    def inside(self, expert: int, normed: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Computes one expert on normed rows [T, D]: gate, up, their product, [T, F] each, and the output [T, D]."""
        gate, up = self.gate_up[expert](normed).chunk(2, dim=-1)
        hidden = self.activation(gate) * up
        return gate, up, hidden, self.down[expert](hidden)


class Block(nn.Module):
    """A layer: adds the changes of attention, which mixes positions, and of the MLP, which mixes features."""

    def __init__(self, config: ModelConfig, layer: int):
        super().__init__()
        self.residual, self.parallel = config.residual, config.parallel
        self.attn = Attention(config)
        self.mlp: MLP | Experts | None = None
        if config.has_experts(layer):
            self.mlp = Experts(config)
        elif config.mlp != "none":
            self.mlp = MLP(config)
        self.resid_in = HookPoint("T D")
        self.resid_mid = HookPoint("T D")
        self.resid_out = HookPoint("T D")

    def forward(self, rows: Tensor, batch: Batch, rope: Rope, cache: KVCache, layer: int) -> Tensor:
        before = self.resid_in(rows)
        change = self.attn(before, batch, rope, cache, layer)
        rows = self.resid_mid(before + change if self.residual else change)
        if self.mlp is not None:
            change = self.mlp(before if self.parallel else rows)
            rows = rows + change if self.residual else change
        out: Tensor = self.resid_out(rows)
        return out


class Entering(NamedTuple):
    """Rows of the residual stream that enter a layer, [T, D]."""

    layer: int
    rows: Tensor


class Transformer(nn.Module):
    """Embedding, blocks, final norm, LM head. `forward` returns logits [len(batch.out_rows), V]."""

    inv_freq: Tensor | None
    local_inv_freq: Tensor | None

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        self.weight_dtype = COMPUTED
        """The dtype of the matrices and the embedding that are not in groups."""
        self.embed: nn.Embedding | GroupedEmbedding = _table(config.vocab, config.d)
        match config.positions:
            case "learned":
                self.positions: nn.Embedding | None = _table(config.context, config.d)
            case "rotary" | "none":
                self.positions = None
            case unknown:
                assert_never(unknown)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.layers))
        self.norm = make_norm(config, config.d)
        self.lm_head = Linear(config.d, config.vocab, bias=False)
        if config.tied:
            self.lm_head.weight = self.embed.weight
        self.embedded = HookPoint("T D")
        self.final = HookPoint("N D")
        self.register_buffer("inv_freq", None, persistent=False)
        self.register_buffer("local_inv_freq", None, persistent=False)

    @classmethod
    def from_weights(
        cls,
        config: ModelConfig,
        weights: Mapping[str, Weight],
        device: str = "cpu",
        products: Products = plain_product,
    ) -> Transformer:
        """Builds the transformer with these weights and allocates no others. Matrices and the embedding may be in
        groups, or all in another dtype than the rest. `products` creates the products with weights in groups; if it is
        not `plain_product`, every matrix is laid out in groups for it.

        Raises RuntimeError if names or shapes differ.
        """
        with torch.device("meta"):
            transformer = cls(config)
        if products is not plain_product:
            weights = {
                name: _laid_out(weight) if name in transformer.matrices else weight for name, weight in weights.items()
            }
        if config.tied:
            weights = {**weights, "lm_head.weight": weights["embed.weight"]}
        dense: dict[str, Tensor] = {}
        for name, weight in weights.items():
            if isinstance(weight, Tensor):
                dense[name] = weight
            else:
                transformer._hold(name, weight)
        if (table := dense.get("embed.weight")) is not None:
            transformer.weight_dtype = table.dtype
        transformer.load_state_dict(dense, assign=True, strict=True)
        if config.tied and isinstance(transformer.embed, nn.Embedding):
            transformer.lm_head.weight = transformer.embed.weight
        transformer = transformer.to(device).eval().requires_grad_(False)
        if config.positions == "rotary":
            angles = frequencies(config.rope_theta, config.rotated, config.rope_scaling)
            transformer.inv_freq = F.pad(angles, (0, (config.head_dim - config.rotated) // 2)).to(device)
        if config.local_rope_theta is not None:
            transformer.local_inv_freq = frequencies(config.local_rope_theta, config.head_dim, None).to(device)
        packs = transformer.weight_dtype == COMPUTED and can_pack(device)
        for linear in linears(transformer):
            if linear.groups:
                linear.use(products)
            elif packs:
                linear.pack()
        return transformer

    @property
    def matrices(self) -> set[str]:
        """The names of the weights that rows are multiplied by, and of the embedding table."""
        return {"embed.weight", *(f"{name}.weight" for name, each in self.named_modules() if isinstance(each, Linear))}

    def _hold(self, name: str, parts: GroupedWeight) -> None:
        """Replaces the dense weight `name` by one in groups."""
        if name == "embed.weight":
            (table,) = parts
            self.embed = GroupedEmbedding(table)
        else:
            linear = self.get_submodule(name.removesuffix(".weight"))
            assert isinstance(linear, Linear)
            linear.hold(parts)

    @cached_property
    def block_products(self) -> int:
        """Multiply-adds per row in the products of all blocks, with only the experts that a row goes through."""
        config, sparse = self.config, sum(self.config.has_experts(layer) for layer in range(self.config.layers))
        per_expert = 3 * config.d * config.d_expert
        unused = sparse * (config.experts - config.experts_chosen) * per_expert
        return sum(linear.in_features * linear.out_features for linear in linears(self.blocks)) - unused

    @torch.inference_mode()
    def forward(
        self,
        batch: Batch,
        cache: KVCache,
        layers: int | None = None,
        blocks: Sequence[Callable[..., Tensor]] | None = None,
        entering: Entering | None = None,
    ) -> Tensor:
        """Computes logits [N, V] with the first `layers` blocks; None: all. `blocks` are called in place of its own.

        `entering`: begins at its layer, with its rows; None: with the embedding.
        """
        first, rows = entering or (0, self._embedded(batch))
        ropes = self.ropes(batch.positions)
        for layer, block in islice(enumerate(blocks or list(self.blocks)), first, layers):
            rows = block(rows, batch, ropes[self.config.has_window(layer)], cache, layer)
        return self.decode_rows(rows[batch.out_rows])

    def _embedded(self, batch: Batch) -> Tensor:
        """Returns the rows that enter the first layer, [T, D]."""
        rows = self.embed(batch.ids).to(COMPUTED) * self.config.embedding_scale
        if self.positions is not None:
            rows = rows + self.positions(batch.positions)
        entering: Tensor = self.embedded(rows)
        return entering

    def frequencies(self, layer: int) -> Tensor | None:
        """Returns the rotary frequencies of a layer, [Dh/2] radians per position; None if positions are not rotary."""
        own = self.local_inv_freq is not None and self.config.has_window(layer)
        return self.local_inv_freq if own else self.inv_freq

    def ropes(self, positions: Tensor) -> tuple[Rope, Rope]:
        """Returns cos and sin for rows at these positions, for layers without a window and with one."""
        if self.inv_freq is None:
            return None, None
        rope = rotations(self.inv_freq, positions, attention_factor(self.config.rope_scaling))
        return rope, rope if self.local_inv_freq is None else rotations(self.local_inv_freq, positions)

    def decode_rows(self, rows: Tensor) -> Tensor:
        """Computes logits [n, V] from rows of the residual stream [n, D] by the final norm and LM head."""
        return self.unembed(self.final(self.norm(rows)))

    def unembed(self, normed: Tensor) -> Tensor:
        """Computes logits [n, V] from rows after the final norm [n, D], capped if the model caps its logits."""
        logits: Tensor = self.lm_head(normed)
        return capped(logits, self.config.logit_cap)


def capped(values: Tensor, cap: float | None) -> Tensor:
    """Returns cap · tanh(values ÷ cap), computed in place (arXiv:2408.00118, §2, logit soft-capping); None: no cap."""
    return values if cap is None else values.div_(cap).tanh_().mul_(cap)


def _laid_out(weight: Weight) -> GroupedWeight:
    return (Groups.plain(weight),) if isinstance(weight, Tensor) else weight


def _table(rows: int, width: int) -> nn.Embedding:
    """Returns an uninitialized table: to draw random numbers on the meta device, torch imports its compiler, > 1 s."""
    return nn.Embedding(rows, width, _weight=torch.empty(rows, width))


class RMSNorm(nn.Module):
    """Computes x / √(mean(x²) + ε) · weight along the last axis (arXiv:1910.07467, eq. 4)."""

    def __init__(self, width: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


def make_norm(config: ModelConfig, width: int) -> nn.Module:
    match config.norm:
        case "none":
            return nn.Identity()
        case "layer":
            return nn.LayerNorm(width, eps=config.norm_eps)
        case "rms":
            return RMSNorm(width, eps=config.norm_eps)
        case unknown:
            assert_never(unknown)
