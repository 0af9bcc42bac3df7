"""Count the bytes of weights by format, such as "4-bit groups": held in memory, and read by a pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from torch import nn

from kvscope.model.grouped import GroupedEmbedding
from kvscope.model.linear import Linear, linears, name_of
from kvscope.model.transformer import Experts, Transformer

ByFormat = dict[str, int]
"""Bytes by format: "float32", "bfloat16", "4-bit groups" and so on."""


def added(*parts: Mapping[str, int]) -> ByFormat:
    """Adds the bytes of all parts, format by format."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def weights_read(layers: Iterable[Linear]) -> ByFormat:
    """Returns the bytes that products with these layers read."""
    return added(*(layer.bytes_by_format for layer in layers))


def always_read(module: nn.Module) -> list[Linear]:
    """Returns the linear layers in `module` that every pass multiplies by: all except those of experts."""
    apart = {linear for experts in module.modules() if isinstance(experts, Experts) for linear in experts.of_experts}
    return [linear for linear in linears(module) if linear not in apart]


def expert_read(transformer: Transformer) -> ByFormat:
    """Returns the bytes that one expert reads if rows go through it. All experts have the same size."""
    experts = next((module for module in transformer.modules() if isinstance(module, Experts)), None)
    return {} if experts is None else weights_read(linear for linear in experts.of_experts[:2])


def weights_held(transformer: Transformer) -> ByFormat:
    """Returns the bytes of all weights in memory; a shared weight counts once."""
    embed, head = transformer.embed, transformer.lm_head
    # Packed and grouped weights are not among the module's parameters.
    laid_out = [linear for linear in linears(transformer) if linear.packed is not None or linear.groups]
    plain = ({name_of(parameter.dtype): parameter.nbytes} for parameter in transformer.parameters())
    table = [embed.groups] if isinstance(embed, GroupedEmbedding) else []
    own = ({each.format: each.nbytes} for each in table if each not in head.groups)
    return added(weights_read(laid_out), *own, *plain)


def embedding_row_bytes(transformer: Transformer) -> int:
    """Returns the bytes of one token's row of the embedding table, in the table's format."""
    embed, config = transformer.embed, transformer.config
    return embed.groups.nbytes // config.vocab if isinstance(embed, GroupedEmbedding) else embed.weight[0].nbytes
