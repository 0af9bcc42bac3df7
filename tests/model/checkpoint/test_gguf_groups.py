from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from gguf import GGMLQuantizationType as Kind

from kvscope.model.checkpoint.gguf_file import GgufModel, read_gguf
from kvscope.model.grouped import GroupedEmbedding
from tests.support.tiny_files import gguf_tensors, write_gguf


def stored_as(kind: Kind, path: Path) -> GgufModel:
    write_gguf(path, kinds={name: kind for name, value in gguf_tensors().items() if value.ndim == 2})
    return read_gguf(path, lambda progress: None)


@pytest.mark.parametrize("kind", [Kind.Q4_0, Kind.Q4_1, Kind.Q8_0])
def test_groups_are_the_weights_to_the_bit_and_multiply_as_they_do(tmp_path: Path, kind: Kind) -> None:
    model = stored_as(kind, tmp_path / "a.gguf")
    weights = {**model.weights, "lm_head.weight": model.weights["embed.weight"]}
    groups = model.groups()
    assert len(groups) == 2 * 4 + 1
    for name, found in groups.items():
        assert torch.equal(found.dense(), weights[name])
    ids = torch.tensor([5, 0, 5, 31])
    assert torch.equal(GroupedEmbedding(groups["lm_head.weight"])(ids), F.embedding(ids, weights["embed.weight"]))
    weight = weights["blocks.1.mlp.down.weight"]
    row = torch.randn(1, weight.shape[1], generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(groups["blocks.1.mlp.down.weight"].times(row), F.linear(row, weight))
