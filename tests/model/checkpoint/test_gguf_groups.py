"""Weights that a file has in groups are read as they are; what is in no groups that are held so is dequantized."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from gguf import GGMLQuantizationType as Kind
from torch import Tensor

from kvscope.model.api import Progress, Refused
from kvscope.model.checkpoint import load
from kvscope.model.checkpoint.gguf_file import GgufModel, read_gguf
from kvscope.model.checkpoint.layout import slots
from kvscope.model.grouped import GroupedEmbedding
from kvscope.model.linear import dense, plain_product
from tests.support.grouped import CODES, write_grouped, write_k_quants
from tests.support.tiny_files import write_folder

CAN_BE_WRITTEN = (Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1, Kind.Q8_0)
"""`gguf` quantizes to these; of the others its blocks are tried in tests/model/native/test_products.py."""


def read(path: Path) -> tuple[GgufModel, GgufModel]:
    """In groups and dense."""
    grouped, plain = (read_gguf(path, lambda progress: None, grouped=how) for how in (True, False))
    assert grouped.config == plain.config
    assert grouped.stored == plain.stored
    assert list(grouped.weights) == list(plain.weights)
    return grouped, plain


def check(path: Path, dense_ones: tuple[str, ...] = ()) -> GgufModel:
    """All matrices but `dense_ones` are in groups, and every number is the one that is dequantized, to the bit."""
    grouped, plain = read(path)
    for slot in slots(grouped.config):
        found, expected = grouped.weights[slot.name], plain.weights[slot.name]
        assert isinstance(found, Tensor) == (not slot.matrix or slot.name in dense_ones), slot.name
        assert torch.equal(found if isinstance(found, Tensor) else dense(found), expected), slot.name
    return grouped


@pytest.mark.parametrize("kind", CAN_BE_WRITTEN)
def test_groups_are_the_weights_to_the_bit_and_multiply_as_they_do(tmp_path: Path, kind: Kind) -> None:
    write_grouped(tmp_path / "a.gguf", weight=kind)
    model = check(tmp_path / "a.gguf")
    table, weight = (model.weights[name] for name in ("embed.weight", "blocks.1.mlp.down.weight"))
    ids = torch.tensor([5, 0, 5, 31])
    assert torch.equal(GroupedEmbedding(*table)(ids), F.embedding(ids, dense(table)))
    row = torch.randn(1, weight[0].inputs, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(plain_product(weight, None)(row), F.linear(row, dense(weight)))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("arch", CODES)
def test_all_matrices_of_every_architecture_are_held_so(tmp_path: Path, arch: str, tied: bool) -> None:
    write_grouped(tmp_path / "a.gguf", arch, tied)
    assert check(tmp_path / "a.gguf").config.tied == tied


def test_v_may_be_in_another_kind_than_q_and_k(tmp_path: Path) -> None:
    write_grouped(tmp_path / "a.gguf", attn_v=Kind.Q8_0)
    weight = check(tmp_path / "a.gguf").weights["blocks.0.attn.qkv.weight"]
    assert [(part.format, part.outputs) for part in weight] == [("4-bit groups", 48), ("8-bit groups", 16)]


def test_a_file_called_q4_k_m_is_held_as_it_is(tmp_path: Path) -> None:
    write_k_quants(tmp_path / "a.gguf")
    model = check(tmp_path / "a.gguf")
    formats = {
        name: [part.format for part in weight] for name, weight in model.weights.items() if isinstance(weight, tuple)
    }
    assert formats["blocks.0.attn.qkv.weight"] == ["4-bit groups", "8-bit groups"]
    assert formats["blocks.1.mlp.down.weight"] == formats["embed.weight"] == ["8-bit groups"]


@pytest.mark.parametrize("kind", [Kind.F16, Kind.BF16])
def test_a_matrix_of_which_a_part_is_in_no_groups_is_dequantized(tmp_path: Path, kind: Kind) -> None:
    write_grouped(tmp_path / "a.gguf", attn_k=kind, ffn_down=kind)
    rest = [f"blocks.{layer}.{name}.weight" for layer in (0, 1) for name in ("attn.qkv", "mlp.down")]
    check(tmp_path / "a.gguf", tuple(rest))


def test_a_folder_has_no_groups(tmp_path: Path) -> None:
    write_folder(tmp_path, "llama")
    loaded = load(str(tmp_path), lambda progress: None, grouped=True)
    assert all(isinstance(weight, Tensor) for weight in loaded.weights.values())


# `gguf`, which dequantizes the dense ones, warns of infinite numbers.
@pytest.mark.parametrize(("number", "grouped"), [(np.nan, False), (np.nan, True), (np.inf, True), (-np.inf, True)])
@pytest.mark.parametrize("kind", [Kind.Q4_1, Kind.Q8_0])
def test_a_scale_that_is_no_finite_number_is_refused(tmp_path: Path, kind: Kind, number: float, grouped: bool) -> None:
    path = tmp_path / "a.gguf"
    write_grouped(path, weight=kind)
    data = bytearray(path.read_bytes())
    at = len(data) - {Kind.Q4_1: 20, Kind.Q8_0: 34}[kind]  # the last block, whose scale is its first number
    data[at : at + 2] = np.float16(number).tobytes()
    path.write_bytes(data)
    with pytest.raises(Refused, match=r"is corrupted: blocks\.1\..* holds values that are NaN or infinite"):
        read_gguf(path, lambda progress: None, grouped=grouped)


def test_progress_counts_the_same_bytes(tmp_path: Path) -> None:
    write_grouped(tmp_path / "a.gguf")
    seen: dict[bool, list[Progress]] = {True: [], False: []}
    for grouped, progress in seen.items():
        read_gguf(tmp_path / "a.gguf", progress.append, grouped=grouped)
    assert seen[True][-1] == seen[False][-1]
    assert seen[True][-1].done == seen[True][-1].total
    assert len(seen[True]) == len(seen[False])
