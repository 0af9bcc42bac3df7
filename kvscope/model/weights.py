"""What is said of bytes of weights, everywhere: as stored in the file, as held in memory, as read by a pass.

Bytes go with their format, such as "4-bit groups", and those of two formats are never compared without saying so.
"""

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
    """All parts together, format by format."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def weights_read(layers: Iterable[Linear]) -> ByFormat:
    """What these take where a product with them reads them."""
    return added(*(layer.bytes_by_format for layer in layers))


def always_read(module: nn.Module) -> list[Linear]:
    """The linear layers in `module` that every pass multiplies by: all but those of experts."""
    apart = {linear for experts in module.modules() if isinstance(experts, Experts) for linear in experts.of_experts}
    return [linear for linear in linears(module) if linear not in apart]


def expert_read(transformer: Transformer) -> ByFormat:
    """What one expert takes where rows go through it; all are alike."""
    found = (module for module in transformer.modules() if isinstance(module, Experts))
    experts = next(found, None)
    return {} if experts is None else weights_read(linear for linear in experts.of_experts[:2])


def weights_held(transformer: Transformer) -> ByFormat:
    """What all weights take in memory; what two share counts once."""
    embed, head = transformer.embed, transformer.lm_head
    # Parameters are what no linear layer has laid out its own way.
    laid_out = [linear for linear in linears(transformer) if linear.packed is not None or linear.groups]
    plain = ({name_of(parameter.dtype): parameter.nbytes} for parameter in transformer.parameters())
    table = [embed.groups] if isinstance(embed, GroupedEmbedding) else []
    own = ({each.format: each.nbytes} for each in table if each not in head.groups)
    return added(weights_read(laid_out), *own, *plain)


def embedding_row_bytes(transformer: Transformer) -> int:
    """Of one token's row of the embedding table, as the table is held."""
    embed, config = transformer.embed, transformer.config
    return embed.groups.nbytes // config.vocab if isinstance(embed, GroupedEmbedding) else embed.weight[0].nbytes
