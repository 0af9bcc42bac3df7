"""Divides a step's logit among the parts that write to the last row: direct logit attribution.

The residual stream is a sum, of the embedding and of what every attention and MLP adds. With the scale of the final
norm held fixed at its value in this run, the norm and the LM head are linear, so each part has its own share of a logit
(direct logit attribution; Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; TransformerLens,
`logit_attrs`). Heads pass through W_O and, if the model norms its changes, through that norm, its scale fixed too.

Adding one number to all logits changes no probability, so each share is also given for the mean of all logits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from kvscope.model.activations.effects import likeliest_but
from kvscope.model.activations.observe import observe
from kvscope.model.activations.shards import change_of
from kvscope.model.engine.engine import Engine
from kvscope.model.pieces import pause
from kvscope.model.transformer import Block, RMSNorm, Transformer

CHUNK = 4096
"""How many rows of the LM head are read between two pauses."""
REPLACED = ("attn.change", "resid_out")
"""Hook points at which a change writes into what parts have written."""


class Replaced(ValueError):
    """A run's changes write to the residual stream or to an attention's output, so that what its parts write need not
    add up to the logits.
    """


@dataclass(frozen=True, slots=True)
class Direct:
    """Shares of three logits: of the step's token, of the foil, and the mean of all; each row is [3], in that order."""

    foil: int
    logits: list[float]
    """The model's own, before the cap of a model that caps its logits: a cap is not linear."""
    heads: list[list[float]]
    """Layer by layer."""
    attention: list[list[float]]
    """With W_O's bias, which no head has: `out_bias`."""
    out_bias: list[list[float]]
    mlp: list[list[float]]
    embedding: list[float]
    bias: list[float]
    """The final norm's."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A norm whose scale is fixed: linear, and a bias [D] or None."""

    linear: Callable[[Tensor], Tensor]
    bias: Tensor | None


def direct(engine: Engine, ids: list[int], token: int, foil: int | None, mean_row: Tensor) -> Direct:
    """Divides three logits of the last row of `ids` among the parts. `foil`: None for the likeliest token other than
    `token`; `mean_row`: from `mean_head_row`.

    The sum of `embedding`, `attention`, `mlp` and `bias` is `logits`; the sum of a layer's heads and `out_bias` is its
    `attention`, up to the rounding of the model's products. Raises CacheFull and Replaced.
    """
    transformer = engine.transformer
    config, layers = transformer.config, range(transformer.config.layers)
    if engine.changes and any(edit.point.endswith(REPLACED) for edit in engine.changes.edits):
        raise Replaced
    of_layer = ("attn.mixed", "attn.change", "mlp.change", change_of("attn", config))
    names = [f"blocks.{layer}.{name}" for layer in layers for name in dict.fromkeys(of_layer)]
    last = f"blocks.{config.layers - 1}.resid_out"
    values = {
        name: value[-1].double()
        for name, value in observe(engine, ids, len(ids) - 1, ["embedded", last, *names]).values.items()
    }
    with torch.inference_mode():
        normed = transformer.final(transformer.norm(values[last].float()[None]))
        logits = transformer.lm_head(normed)[0].double()
        if foil is None:
            foil = likeliest_but(logits, token)
        final = fixed(transformer.norm, values[last])
        rows = head_rows(transformer, torch.tensor([token, foil], device=mean_row.device)).double()
        readers = torch.cat([rows, mean_row.double()[None]])  # 3 D

        def shares(row: Tensor) -> Any:
            return (final.linear(row) @ readers.T).tolist()

        heads: list[list[float]] = []
        out_bias: list[list[float]] = []
        for layer in layers:
            partials, bias = _heads(transformer, layer, values)
            heads += shares(partials)
            out_bias.append(shares(bias))
            pause()
        attention, mlp = (
            shares(torch.stack([values[f"blocks.{layer}.{part}.change"] for layer in layers]))
            for part in ("attn", "mlp")
        )
        return Direct(
            foil,
            [float(logits[token]), float(logits[foil]), float(logits.mean())],
            *(heads, attention, out_bias, mlp, shares(values["embedded"])),
            [0.0, 0.0, 0.0] if final.bias is None else (final.bias @ readers.T).tolist(),
        )


def _heads(transformer: Transformer, layer: int, values: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Returns what each head of a layer adds to the last row [H, D], and what W_O's bias and the norm's add [D]."""
    config, attn = transformer.config, cast(Block, transformer.blocks[layer]).attn
    weight = attn.out.dense().double().reshape(-1, config.heads, config.head_dim)  # D H Dh
    partials = torch.einsum("he,dhe->hd", values[f"blocks.{layer}.attn.mixed"], weight)
    bias = torch.zeros_like(partials[0]) if attn.out.bias is None else attn.out.bias.double()
    if not config.post_norms:
        return partials, bias
    norm = fixed(attn.post_norm, values[f"blocks.{layer}.{change_of('attn', config)}"])
    bias = norm.linear(bias)
    return norm.linear(partials), bias if norm.bias is None else bias + norm.bias


def fixed(norm: nn.Module, row: Tensor) -> Fixed:
    """Returns a norm as the linear function that it is at the scale which it has for `row`, [D].

    RMSNorm: v · weight ÷ √(mean(row²) + ε) (arXiv:1910.07467, eq. 4); LayerNorm: v less its mean, · weight ÷
    √(variance(row) + ε), plus the bias (arXiv:1607.06450).
    """
    if isinstance(norm, RMSNorm):
        scale = norm.weight.double() / (row.square().mean() + norm.eps).sqrt()
        return Fixed(lambda rows: rows * scale, None)
    if isinstance(norm, nn.LayerNorm):
        scale = norm.weight.double() / (row.var(correction=0) + norm.eps).sqrt()
        bias = norm.bias.double()
        return Fixed(lambda rows: (rows - rows.mean(dim=-1, keepdim=True)) * scale, bias)
    return Fixed(lambda rows: rows, None)


def head_rows(transformer: Transformer, tokens: Tensor) -> Tensor:
    """Returns the LM head's rows of some tokens [n], float32 [n, D]."""
    if transformer.config.tied:
        rows: Tensor = transformer.embed(tokens)
        return rows.float()
    return transformer.lm_head.rows(tokens).float()


def mean_head_row(transformer: Transformer, device: str) -> Tensor:
    """Returns the mean of all rows of the LM head, [D]: its product with a normed row is the mean of all logits."""
    config = transformer.config
    total = torch.zeros(config.d, dtype=torch.double, device=device)
    with torch.inference_mode():
        for start in range(0, config.vocab, CHUNK):
            tokens = torch.arange(start, min(start + CHUNK, config.vocab), device=device)
            total += head_rows(transformer, tokens).double().sum(dim=0)
            pause()
    return total / config.vocab
