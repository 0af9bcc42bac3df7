"""What is said of bytes of weights, everywhere: as stored in the file, as held in memory, as read by a pass.

The three differ. The default model's file has groups of 4 and 8 bits, memory holds float32 made of them beside the
groups themselves, and which of the two a pass reads depends on the pass: compiled code for one row reads groups, all
else float32. So bytes go with their format, and those of two formats are never compared without saying so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from torch import nn

from kvscope.model.grouped import GroupedEmbedding, Groups
from kvscope.model.linear import Linear, name_of
from kvscope.model.transformer import Transformer

ByFormat = dict[str, int]
"""Bytes by format: "float32", "bfloat16", "4-bit groups" and so on."""


def added(*parts: Mapping[str, int]) -> ByFormat:
    """All parts together, format by format."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def weights_read(layers: Iterable[Linear | Groups]) -> ByFormat:
    """What these take where a product with them reads them."""
    return added(*({layer.format: layer.nbytes} for layer in layers))


def linears(module: nn.Module) -> list[Linear]:
    """The linear layers in `module`: of a transformer, all that a pass multiplies by."""
    return [each for each in module.modules() if isinstance(each, Linear)]


def weights_held(transformer: Transformer, groups: Iterable[Groups]) -> ByFormat:
    """What all weights take in memory, those in `groups` included; what two share counts once."""
    embed = [transformer.embed.groups] if isinstance(transformer.embed, GroupedEmbedding) else []
    kept = {each.q.data_ptr(): each for each in (*groups, *embed)}
    packed = [each for each in linears(transformer) if each.packed is not None]
    plain = ({name_of(parameter.dtype): parameter.nbytes} for parameter in transformer.parameters())
    return added(weights_read([*packed, *kept.values()]), *plain)


def embedding_row_bytes(transformer: Transformer) -> int:
    """Of one token's row of the embedding table, as the table is held."""
    embed, config = transformer.embed, transformer.config
    return embed.groups.nbytes // config.vocab if isinstance(embed, GroupedEmbedding) else embed.weight[0].nbytes
